"""The entries of indices that a viewer may see."""

from collections.abc import Iterator, Mapping
from itertools import islice
from typing import Any

from nwx.engine.access.decisions import Decisions
from nwx.engine.base import Engine
from nwx.engine.entries import dates_entry, dates_from_entry, document_entry
from nwx.model import IndexName

_AT_ONCE = 500
_NAMING = ("redirect_to", "refers_to_url", "via")
"""The fields of a capture that name other URLs."""

_Entry = Mapping[str, Any]


def visible_entries(
    restricted: Engine, engine: Engine, decisions: Decisions, index: IndexName
) -> Iterator[_Entry]:
    """Stream the entries of an index of an engine as the restricted one shows them."""
    entries = engine.scan(index)
    if index is IndexName.CAPTURES:
        return _captures(restricted, (one for one in entries if not _is_hidden(decisions, one)))
    if index is IndexName.DOCUMENTS:
        return _documents(restricted, decisions, entries)
    if index is IndexName.DATES:
        return _dates(restricted, entries)
    return entries


def _is_hidden(decisions: Decisions, entry: _Entry) -> bool:
    return decisions.hides_values(
        entry.get("urlkey", ""),
        entry.get("url", ""),
        entry.get("digest", ""),
        entry.get("collection", ""),
        entry.get("source_file", ""),
        entry.get("timestamp", ""),
    )


def _captures(restricted: Engine, entries: Iterator[_Entry]) -> Iterator[_Entry]:
    """Stream entries of captures without the hidden URLs that they name."""
    while some := list(islice(entries, _AT_ONCE)):
        out = restricted.hidden_urls({one[name] for one in some for name in _NAMING if name in one})
        for entry in some:
            if out:
                naming = {name for name in _NAMING if entry.get(name) in out}
                yield {name: value for name, value in entry.items() if name not in naming}
            else:
                yield entry


def _named(entry: _Entry) -> list[str]:
    """Return the URLs that a document names: those that it links and redirects to."""
    return [*entry.get("links", ()), *filter(None, [entry.get("redirect_to")])]


def _documents(
    restricted: Engine, decisions: Decisions, entries: Iterator[_Entry]
) -> Iterator[_Entry]:
    while some := list(islice(entries, _AT_ONCE)):
        hidden = [one["id"] for one in some if _is_hidden(decisions, one)]
        out = restricted.hidden_urls({url for one in some for url in _named(one)})
        hidden += [one["id"] for one in some if out.intersection(_named(one))]
        # A document whose own capture is hidden has another that is visible, or none;
        # one that links to hidden URLs is shown without these links.
        shown = restricted.documents(hidden) if hidden else {}
        for entry in some:
            if entry["id"] in shown:
                yield document_entry(shown[entry["id"]])
            elif entry["id"] not in hidden:
                yield entry


def _dates(restricted: Engine, entries: Iterator[_Entry]) -> Iterator[_Entry]:
    while some := list(islice(entries, _AT_ONCE)):
        visible = restricted.dates([one["id"] for one in some])
        for entry in some:
            found = visible.get(entry["id"])
            if found is None:
                continue
            changed = len(found.seen) != len(dates_from_entry(entry).seen)
            yield {**dates_entry(found), "id": entry["id"]} if changed else entry
