"""Rebuild of a dates index next to the current one, which it replaces as a whole."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from nwx.engine.document_index import DatesBuilder
from nwx.engine.entries import dates_from_entry
from nwx.engine.search_server.cluster.copies import block_writes, delete_unplaced, refresh
from nwx.engine.search_server.dates.store import DatesStore
from nwx.engine.search_server.documents.compile import EVERYTHING
from nwx.engine.search_server.pages import pages, search_page
from nwx.engine.search_server.schema import FIRST, Schema
from nwx.engine.search_server.server import Body, Server, quoted
from nwx.errors import EngineError
from nwx.model import Dates

BUILDING = ".building"
"""What the alias of an index that is not ready ends with."""


class IndexBuilder(DatesBuilder):
    """An index while it is filled."""

    def __init__(self, server: Server, index: str) -> None:
        self._index = DatesStore(server, index)

    def append(self, dates: Sequence[Dates]) -> int:
        return self._index.add(dates)


@contextmanager
def building(server: Server, schema: Schema, alias: str) -> Iterator[IndexBuilder]:
    """Yield a builder of the next version of a dates index, current once the context ends.

    Dates that others add to the previous version meanwhile are added to the new one.
    """
    old = _version(server, alias)
    written = _last_change(server, alias) if old else -1
    aside = f"{alias}{BUILDING}"
    for left_behind in _state(server, aside):
        server.request("DELETE", f"/{quoted(left_behind)}")
    new = schema.create_dates(aside, _next_name(alias, old))
    try:
        yield IndexBuilder(server, aside)
        refresh(server, aside)
        _swap(server, old, new, [alias, *_aliases(server, old)], aside)
    except BaseException:
        with suppress(EngineError):
            delete_unplaced(server, new, aside)
        raise
    if old:
        _add_later(server, old, alias, written)
        server.request("DELETE", f"/{quoted(old)}")


def _state(server: Server, index: str) -> Body:
    return server.request("GET", f"/{quoted(index)}", params={"ignore_unavailable": "true"})


def _version(server: Server, alias: str) -> str:
    """Return the index of an alias, "" without one."""
    found = list(_state(server, alias))
    if found == [alias]:
        raise EngineError(
            f"{alias} is an index of that very name, which nothing can be swapped in for; "
            f"build under another name"
        )
    return found[0] if found else ""


def _next_name(alias: str, old: str) -> str:
    number = old.rpartition("-")[2]
    if not number.isdigit():
        return f"{alias}-{FIRST}"
    return f"{alias}-{int(number) + 1:06}"


def _aliases(server: Server, old: str) -> list[str]:
    return list(_state(server, old)[old]["aliases"]) if old else []


def _swap(server: Server, old: str, new: str, aliases: Sequence[str], aside: str) -> None:
    """Let the new version take the place of the old one, in one step."""
    actions: list[Body] = [{"remove": {"index": new, "alias": aside}}]
    for alias in dict.fromkeys(aliases):
        actions.append({"add": {"index": new, "alias": alias, "is_write_index": True}})
        if old:
            actions.append({"remove": {"index": old, "alias": alias}})
    server.request("POST", "/_aliases", {"actions": actions})


def _last_change(server: Server, index: str) -> int:
    """Return the number of the last change of an index that a search sees."""
    refresh(server, index)
    body: Body = {"query": EVERYTHING, "size": 1, "seq_no_primary_term": True,
                  "sort": [{"_seq_no": "desc"}]}  # fmt: skip
    hits = search_page(server, index, body)["hits"]["hits"]
    return int(hits[0]["_seq_no"]) if hits else -1


def _add_later(server: Server, old: str, alias: str, written: int) -> None:
    """Add dates to the new version that others wrote to the old one since a change."""
    block_writes(server, old)
    refresh(server, old)
    body = {"query": {"range": {"_seq_no": {"gt": written}}}}
    for page in pages(server, old, body, [{"id": "asc"}]):
        DatesStore(server, alias).add(dates_from_entry(hit["_source"]) for hit in page)
