"""The entries that a viewer may see of indices that are built from captures, or beside them."""

from collections.abc import Iterator, Mapping
from itertools import groupby, islice
from typing import TYPE_CHECKING, Any

from nwx.engine.base import Engine
from nwx.engine.crawls.entries import (
    link_entry,
    link_from_entry,
    score_entry,
    score_from_entry,
)
from nwx.model import IndexName

if TYPE_CHECKING:
    from nwx.access.restricted.engine import RestrictedEngine

BUILT = (IndexName.INLINKS, IndexName.CRAWLS, IndexName.QUEUE)
"""The indices of which `visible_built_entries` gives entries."""

_AT_ONCE = 500
_Entry = Mapping[str, Any]


def visible_built_entries(
    engine: Engine, restricted: "RestrictedEngine", index: IndexName
) -> Iterator[_Entry]:
    """Stream the entries of an index of an engine as the restricted one shows them."""
    if index is IndexName.INLINKS:
        # Imported here: what counts links takes a while to load.
        from nwx.engine.inlinks.entries import table_entries

        table = restricted.inlink_index().table()
        return iter(()) if table is None else table_entries(table)
    entries = engine.scan(index)
    if index is IndexName.CRAWLS:
        return _crawl_entries(restricted, entries)
    return _queue_entries(restricted, entries)


def _crawl_entries(restricted: "RestrictedEngine", entries: Iterator[_Entry]) -> Iterator[_Entry]:
    crawls = restricted.crawl_index()
    for kind, same in groupby(entries, key=lambda one: one["kind"]):
        if kind == "score":
            while some := list(islice(same, _AT_ONCE)):
                yield from map(score_entry, crawls.shown([score_from_entry(one) for one in some]))
        elif kind == "link":
            for entry in same:
                crawl, version, link = entry["crawl"], entry["version"], link_from_entry(entry)
                if found := crawls.shown_link(crawl, version, link):
                    yield (
                        entry if found == link else link_entry(crawl, version, found, entry["host"])
                    )
        else:
            yield from same


def _queue_entries(restricted: "RestrictedEngine", entries: Iterator[_Entry]) -> Iterator[_Entry]:
    while some := list(islice(entries, _AT_ONCE)):
        urls = {one[name] for one in some for name in ("url", "via") if one.get(name)}
        hidden = restricted.hidden_urls(urls)
        for entry in some:
            if entry.get("url") not in hidden:
                yield _without_via(entry) if entry.get("via") in hidden else entry


def _without_via(entry: _Entry) -> _Entry:
    return {name: value for name, value in entry.items() if name != "via"}
