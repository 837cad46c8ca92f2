"""The additional dates indices of an archive, by name.

Attached indices are listed in the mapping of the main index, so that the list is stored with the
archive and visible to all clients.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial

from cachetools import TTLCache

from nwx.engine.document_index import DatesBuilder, check_name, is_name
from nwx.engine.entries import IndexEntry, dates_from_entry, merged_dates
from nwx.engine.search_server.date_store import DatesStore
from nwx.engine.search_server.documents.compile import EVERYTHING, Query
from nwx.engine.search_server.documents.date_entries import CHUNK_ENTRIES, MANY, joined_chunks
from nwx.engine.search_server.pages import pages, search_page
from nwx.engine.search_server.schema import NUMBER, OWN_FIELDS, Schema, index_version
from nwx.engine.search_server.server import Body, Server, quoted
from nwx.engine.search_server.writes import (
    block_writes,
    current_version,
    delete_unplaced,
    index_states,
    next_version,
    refresh,
    swap_versions,
)
from nwx.errors import (
    EngineBusyError,
    EngineError,
    EngineVersionError,
    PartialAnswerError,
    UsageError,
)
from nwx.model import MAIN_DATES, Dates, IndexName, NamedDates

BUILDING = ".building"
"""The suffix of the alias of an index that is being built."""


class IndexBuilder(DatesBuilder):
    """Builder of a dates index, which appends dates to it."""

    def __init__(self, server: Server, index: str) -> None:
        self._index = DatesStore(server, index)

    def append(self, dates: Sequence[Dates]) -> int:
        return self._index.add(dates)


@contextmanager
def building(server: Server, schema: Schema, alias: str) -> Iterator[IndexBuilder]:
    """Yield a builder of a dates index's next version, which is current after the context.

    Dates that other writers add to the previous version meanwhile are copied to the new one.
    """
    old, state = current_version(server, alias)
    written = _last_change(server, alias) if old else -1
    aside = f"{alias}{BUILDING}"
    for left_behind in index_states(server, aside):
        server.request("DELETE", f"/{quoted(left_behind)}")
    new = schema.create_dates(aside, next_version(alias, old))
    try:
        yield IndexBuilder(server, aside)
        refresh(server, aside)
        swap_versions(server, [old] if old else [], new, [alias, *state.get("aliases", ())], aside)
    except BaseException:
        with suppress(EngineError):
            delete_unplaced(server, new, aside)
        raise
    if old:
        _add_later(server, old, alias, written)
        server.request("DELETE", f"/{quoted(old)}")


def _last_change(server: Server, index: str) -> int:
    """Return the sequence number of the last change visible to searches, -1 if there is none."""
    refresh(server, index)
    body: Body = {"query": EVERYTHING, "size": 1, "seq_no_primary_term": True,
                  "sort": [{"_seq_no": "desc"}]}  # fmt: skip
    hits = search_page(server, index, body)["hits"]["hits"]
    return int(hits[0]["_seq_no"]) if hits else -1


def _add_later(server: Server, old: str, alias: str, written: int) -> None:
    """Copy dates that other writers added to the old version after a change to the new one."""
    block_writes(server, old)
    refresh(server, old)
    body = {"query": {"range": {"_seq_no": {"gt": written}}}}
    for page in pages(server, old, body, [{"id": "asc"}]):
        DatesStore(server, alias).add(dates_from_entry(hit["_source"]) for hit in page)


REMEMBERED_SECONDS = 1.0
"""How long the list of attached indices is cached; changes by this process apply at once."""

_ATTEMPTS = 5

IndexAddresses = dict[str, str]


class ServerDatesIndices:
    """Attaches, fills and lists the additional dates indices of an archive.

    New ones are named `<main>@<name>`; existing ones keep their names.
    """

    def __init__(self, server: Server, schema: Schema) -> None:
        self._server = server
        self._schema = schema
        self._main = schema.name(IndexName.DATES)
        self._guard = threading.Lock()
        self._remembered: TTLCache[str, IndexAddresses] = TTLCache(1, REMEMBERED_SECONDS)
        self._stores: dict[str, DatesStore] = {}

    def read(self, ids: Sequence[str]) -> dict[str, Dates]:
        """Return the dates of ids, merged from all indices."""
        parts = [self._index(self._main).read(ids)]
        parts += [self._index(one).read(ids) for one in self._addresses().values()]
        return merged_dates(parts)

    def further(self) -> list[tuple[str, Query]]:
        """Return each index with the query of its entries that may have dates documents lack."""
        others = [(one, EVERYTHING) for one in self._addresses().values()]
        return [(self._main, MANY), *others]

    def others(self) -> list[str]:
        """Return the names of the attached indices on the server."""
        return list(self._addresses().values())

    def _index(self, index: str) -> DatesStore:
        return self._stores.setdefault(index, DatesStore(self._server, index))

    def _addresses(self) -> IndexAddresses:
        with self._guard:
            found = self._remembered.get(self._main)
        return self._remember(self._meta().get("attached", {})) if found is None else found

    def _remember(self, addresses: IndexAddresses) -> IndexAddresses:
        found = dict(sorted(addresses.items()))
        with self._guard:
            self._remembered[self._main] = found
        return found

    def _meta(self) -> Body:
        path = f"/{quoted(self._main)}/_mapping"
        answer = self._server.request("GET", path, params={"filter_path": "*.mappings._meta"})
        for state in answer.values():
            meta: Body = state["mappings"]["_meta"]
            return meta
        return {}

    def _change(self, change: Callable[[IndexAddresses], None]) -> None:
        """Change the list of attached indices; retried on a concurrent change."""
        for _ in range(_ATTEMPTS):
            meta = self._meta()
            wanted: IndexAddresses = dict(meta.get("attached", {}))
            change(wanted)
            path = f"/{quoted(self._main)}/_mapping"
            self._server.request("PUT", path, {"_meta": meta | {"attached": wanted}})
            if self._meta().get("attached") == wanted:
                self._remember(wanted)
                return
        raise EngineBusyError(
            f"other processes keep changing what is attached to {self._main}; try again"
        )

    def listed(self) -> list[NamedDates]:
        """Return all dates indices, the main one first."""
        with self._guard:
            self._remembered.clear()
        attached = self._addresses()
        names = sorted({*attached, *self._own_names()})
        others = [self._named(name, attached.get(name), self._own(name)) for name in names]
        try:
            main = self._measured(MAIN_DATES, self._main, attached=True)
        except PartialAnswerError as error:
            main = NamedDates(MAIN_DATES, self._main, attached=True, problem=str(error))
        return [main, *others]

    def _named(self, name: str, attached: str | None, own: str) -> NamedDates:
        index = attached or own
        try:
            return self._measured(name, index, attached=attached is not None)
        except EngineError as error:
            return NamedDates(name, index, attached is not None, problem=str(error))

    def _measured(self, name: str, index: str, *, attached: bool) -> NamedDates:
        totals = {"dates": {"sum": {"field": "count"}}, "chunks": {"filter": CHUNK_ENTRIES}}
        body: Body = {"query": EVERYTHING, "size": 0, "track_total_hits": True, "aggs": totals}
        found = search_page(self._server, index, body)
        chunks = found["aggregations"]["chunks"]["doc_count"]
        return NamedDates(
            name,
            index,
            attached,
            entries=found["hits"]["total"]["value"] - chunks,
            dates=int(found["aggregations"]["dates"]["value"]),
            bytes=self._schema.stored_bytes(index),
        )

    def _own(self, name: str) -> str:
        return f"{self._main}@{name}"

    def _own_names(self) -> Iterator[str]:
        found = self._server.request("GET", f"/_alias/{quoted(self._own('*'))}")
        for state in found.values():
            for alias in state["aliases"]:
                name = alias.removeprefix(self._own(""))
                if not name.endswith(BUILDING):
                    yield name

    def attach(self, name: str, address: str) -> None:
        """Attach an index, as in `Engine.attach_dates`."""
        check_name(name)
        index = address or self._own(name)
        self._check(index)
        self._change(partial(_attach, name, index))

    def _check(self, index: str) -> None:
        """Raise EngineError if an index is not a dates index, or is the main one."""
        found = index_states(self._server, index)
        if len(found) != 1:
            raise EngineError(
                f"there is no dates index {index!r} at {self._server.address}; "
                f"build one with add-dates"
            )
        concrete, state = next(iter(found.items()))
        if self._main in (concrete, *state["aliases"]):
            raise EngineError(f"{index} is the archive's own, whose dates are always included")
        fields = state["mappings"].get("properties", {})
        if not {"seen", NUMBER} <= set(fields):
            raise EngineError(f"the index {index} at {self._server.address} has no dates")
        made = state["mappings"].get("_meta", {}).get("version", 0)
        if made > index_version(IndexName.DATES):
            raise EngineVersionError(
                f"the dates index {index} was made by a newer version of nwx; update nwx"
            )

    def detach(self, name: str) -> None:
        """Detach an index, as in `Engine.detach_dates`."""
        self._change(partial(_detach, name))

    def drop(self, name: str) -> None:
        """Detach and delete an index, as in `Engine.drop_dates`."""
        check_name(name)
        own = self._own(name)
        with self._guard:
            self._remembered.clear()
        address = self._addresses().get(name, own)
        if address != own:
            raise EngineError(
                f"the dates index {name!r} is {address}, which the archive did not create; "
                f"detach it, and delete it on the server"
            )
        concrete = list(index_states(self._server, own))
        if not concrete:
            raise EngineError(f"the archive has no dates index {name!r}")
        if name in self._addresses():
            self.detach(name)
        for index in concrete:
            self._server.request("DELETE", f"/{quoted(index)}")

    def made(self) -> list[str]:
        """Return the names of the indices that the archive made, attached or not."""
        return sorted(self._own_names())

    def addresses(self) -> IndexAddresses:
        """Return the additional indices by name, attached or not."""
        return {name: self._own(name) for name in self.made()} | self._addresses()

    def index_of(self, name: str) -> str:
        """Return the server index of a dates index made by the archive, including the main one."""
        return self._main if name == MAIN_DATES else self._own(name)

    def append(self, name: str, dates: Sequence[Dates]) -> int:
        """Add dates to an index, creating and attaching a missing one; return the number added."""
        if name == MAIN_DATES:
            return self._index(self._main).add(dates)
        check_name(name)
        index = self._addresses().get(name, self._own(name))
        if index == self._own(name) and not index_states(self._server, index):
            self._schema.create_dates(index)
            self._change(partial(_attach, name, index))
        return self._index(index).add(dates)

    def scan(self, place: str) -> Iterator[Dates]:
        """Stream the dates of one index, as in `Engine.scan_dates`."""
        return map(dates_from_entry, self._dates_entries(self._place(place)))

    def entries(self, index: str, query: Query = EVERYTHING) -> Iterator[IndexEntry]:
        """Stream the entries of an index in the order of their ids."""
        body = {"query": query, "_source": {"excludes": OWN_FIELDS}}
        for page in pages(self._server, index, body, [{"id": "asc"}]):
            for hit in page:
                yield hit["_source"]

    def scanned(self) -> list[Iterator[IndexEntry]]:
        """Return a stream of entries per index, the main one first, with one entry per document."""
        return [self._dates_entries(one) for one in (self._main, *self._addresses().values())]

    def _dates_entries(self, index: str) -> Iterator[IndexEntry]:
        return joined_chunks(self.entries(index))

    def refresh(self) -> None:
        """Make all writes to attached indices visible to searches."""
        others = ",".join(self._addresses().values())
        if others:
            refresh(self._server, others)

    def _place(self, place: str) -> str:
        """Return the index with this name in the archive, or else on the server.

        An unknown name is taken as that of a new index of the archive.
        """
        if place == MAIN_DATES:
            return self._main
        if place in self._addresses():
            return self._addresses()[place]
        own = self._own(place)
        is_own = is_name(place) and (
            index_states(self._server, own) or not index_states(self._server, place)
        )
        return own if is_own else place

    @contextmanager
    def build(self, place: str) -> Iterator[DatesBuilder]:
        """Yield a builder that rebuilds an index, as in `Engine.build_dates`."""
        alias = self._place(place)
        if alias == self._main:
            raise UsageError(
                "the archive's own dates cannot be rebuilt; build another index and attach it"
            )
        with building(self._server, self._schema, alias) as builder:
            yield builder


def _attach(name: str, index: str, addresses: IndexAddresses) -> None:
    for known, place in addresses.items():
        if place == index and known != name:
            raise EngineError(f"{index} is already attached as {known!r}")
        if known == name and place != index:
            raise EngineError(
                f"another dates index is attached as {name!r} ({place}); detach it first"
            )
    addresses[name] = index


def _detach(name: str, addresses: IndexAddresses) -> None:
    if addresses.pop(name, None) is None:
        raise EngineError(f"no dates index is attached as {name!r}")
