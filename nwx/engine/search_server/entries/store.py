"""The entry store of a small index on a server."""

import uuid
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from nwx.engine.entries import IndexEntry
from nwx.engine.indices.declarations import INDICES
from nwx.engine.indices.entry_store import (
    BY_ID,
    EVERY_ENTRY,
    Change,
    EntryFilter,
    EntryGroup,
    EntryOrder,
    EntryStore,
    Totals,
)
from nwx.engine.search_server.blobs import ServerStates, make_blob_index
from nwx.engine.search_server.pages import count_hits, entries_by_id, pages, search_page
from nwx.engine.search_server.refusals import IndexMissingError
from nwx.engine.search_server.schema import Schema
from nwx.engine.search_server.server import Body, Server, pause, quoted
from nwx.engine.search_server.writes import BulkAction, refresh, send
from nwx.errors import EngineBusyError
from nwx.model import IndexName, IndexStats
from nwx.settings import ServerSettings

_WINDOW = 10_000
_MOST_VALUES = 10_000
_ATTEMPTS = 40
_LONGEST_PAUSE = 3
_VERSION_ID = "version"
_AT_ONCE = 1_000


@dataclass(frozen=True, slots=True)
class StoredEntry:
    """An entry of an index, with the version that was read."""

    source: IndexEntry
    sequence: int
    term: int

    @classmethod
    def of_hit(cls, hit: Body) -> "StoredEntry":
        """Return the entry of a hit or of a read by id."""
        return cls(hit["_source"], hit["_seq_no"], hit["_primary_term"])


class ServerEntryStore(EntryStore):
    """The index `<prefix>-NAME`, created on the first write, and its states."""

    def __init__(
        self, server: Server, schema: Schema, settings: ServerSettings, index: IndexName
    ) -> None:
        self.server = server
        self.alias = schema.name(index)
        self._schema = schema
        self._name = index
        self._declared = INDICES[index]
        self._states = ServerStates(server, self.alias, settings)
        self._version = EntryVersion(server, f"{self.alias}-files", settings)
        self._is_made = False

    def is_made(self) -> bool:
        self._is_made = self._is_made or self._schema.is_made(self._name)
        return self._is_made

    def make(self) -> None:
        """Create the index if missing."""
        if not self.is_made():
            self._schema.create_lazily(self._name)
            self._is_made = True

    def refresh(self) -> bool:
        """Make writes visible to searches; return whether the index exists."""
        if self.is_made():
            refresh(self.server, self.alias)
        return self._is_made

    def put(self, entries: Sequence[IndexEntry]) -> None:
        if entries:
            self.make()
            unique = {entry["id"]: entry for entry in entries}
            self._send(BulkAction(self.alias, id, entry) for id, entry in unique.items())

    def _send(self, actions: Iterable[BulkAction]) -> list[str]:
        if not self._declared.fields.has_version:
            return send(self.server, actions)
        self._version.begin_change()
        outcomes = send(self.server, actions)
        self._version.end_change()
        return outcomes

    def update(self, ids: Collection[str], change: Change) -> Mapping[str, IndexEntry | None]:
        done: dict[str, IndexEntry | None] = {}
        left = list(dict.fromkeys(ids))
        for attempt in range(_ATTEMPTS):
            if attempt:
                pause(min(attempt, _LONGEST_PAUSE))
            known = self.read(left)
            changed = change({id: known[id].source if id in known else None for id in left})
            if not changed:
                return done
            self.make()
            failed = self.write(changed, known)
            done |= {id: one for id, one in changed.items() if id not in failed}
            left = list(failed)
            if not left:
                return done
        raise EngineBusyError(
            f"other processes keep writing {len(left)} entries of {self.alias} at "
            f"{self.server.address}; try again later"
        )

    def read(self, ids: Sequence[str]) -> dict[str, StoredEntry]:
        """Return the entries with these ids and their versions, as of the last write."""
        found = entries_by_id(self.server, self.alias, ids, "true") if self.is_made() else {}
        return {id: StoredEntry.of_hit(entry) for id, entry in found.items()}

    def write(
        self, entries: Mapping[str, IndexEntry | None], known: Mapping[str, StoredEntry]
    ) -> set[str]:
        """Replace known entries, and create others; return the ids of failed writes.

        A write fails if another process wrote the entry meanwhile.
        """
        actions = [self._action(id, entry, known.get(id)) for id, entry in entries.items()]
        outcomes = zip(entries, self._send(actions), strict=True)
        return {id for id, outcome in outcomes if outcome == "conflict"}

    def _action(self, id: str, entry: IndexEntry | None, known: StoredEntry | None) -> BulkAction:
        if known is None:
            return BulkAction(self.alias, id, entry, "create" if entry else "delete")
        control = (("if_seq_no", known.sequence), ("if_primary_term", known.term))
        return BulkAction(self.alias, id, entry, "index" if entry else "delete", control)

    def search(self, body: Body) -> Body:
        """Return the answer to one search."""
        return search_page(self.server, self.alias, body)

    def stream(
        self, query: Body, sort: list[Any], source: object = True, size: int = _AT_ONCE
    ) -> Iterator[Body]:
        """Stream the hits of a search with their versions, as of the last write."""
        if self.refresh():
            body: Body = {"query": query, "_source": source, "seq_no_primary_term": True}
            for page in pages(self.server, self.alias, body, sort, size):
                yield from page

    def get(self, ids: Collection[str], fields: Sequence[str] = ()) -> dict[str, IndexEntry]:
        if not ids or not self.is_made():
            return {}
        wanted = ",".join(fields) or "true"
        found = entries_by_id(self.server, self.alias, list(dict.fromkeys(ids)), wanted)
        return {id: hit["_source"] for id, hit in found.items()}

    def delete(self, ids: Collection[str]) -> int:
        if not self.is_made():
            return 0
        actions = (BulkAction(self.alias, id, None, "delete") for id in dict.fromkeys(ids))
        return self._send(actions).count("deleted")

    def find(
        self,
        where: EntryFilter = EVERY_ENTRY,
        order: EntryOrder = BY_ID,
        limit: int | None = None,
        offset: int = 0,
    ) -> Iterator[IndexEntry]:
        if limit is not None and offset + limit <= _WINDOW:
            yield from self._window(where, order, limit, offset)
        else:
            end = None if limit is None else offset + limit
            hits = self.stream(entry_query(where), _sort(order))
            yield from (hit["_source"] for hit in islice(hits, offset, end))

    def _window(
        self, where: EntryFilter, order: EntryOrder, limit: int, offset: int
    ) -> Iterator[IndexEntry]:
        if self.refresh():
            body: Body = {"query": entry_query(where), "sort": _sort(order)}
            body |= {"from": offset, "size": limit, "track_total_hits": False}
            for hit in self.search(body)["hits"]["hits"]:
                yield hit["_source"]

    def count(self, where: EntryFilter = EVERY_ENTRY) -> int:
        return count_hits(self.server, self.alias, entry_query(where)) if self.refresh() else 0

    def totals(self, where: EntryFilter, groups: Mapping[str, int], mean: str) -> Totals:
        if not self.refresh():
            return Totals(groups=dict.fromkeys(groups, ()))
        average = {"avg": {"field": mean}}
        aggs: Body = {name: _grouped(name, most, average) for name, most in groups.items()}
        body: Body = {"query": entry_query(where), "size": 0, "track_total_hits": True}
        found = self.search(body | {"aggs": aggs | {"mean": average}})
        counted = found["aggregations"]
        return Totals(
            found["hits"]["total"]["value"],
            counted["mean"]["value"],
            {name: tuple(map(_group, counted[name]["buckets"])) for name in groups},
        )

    def version(self) -> str:
        return self._version.current()

    def renew(self) -> None:
        self._version.renew()

    def drop(self) -> None:
        """Delete the index and its states."""
        if self.is_made():
            for name in self.server.request("GET", f"/{quoted(self.alias)}"):
                self.server.request("DELETE", f"/{quoted(name)}")
            self._is_made = False
        for state in self.states():
            self.put_state(state, b"")

    def put_state(self, name: str, state: bytes, *, derived: bool = False) -> None:
        del derived  # a server has no archives open for reading only
        self._states.put(name, state)

    def state(self, name: str) -> bytes | None:
        return self._states.get(name)

    def states(self) -> list[str]:
        return self._states.names()

    def stats(self) -> IndexStats:
        if not self.is_made():
            return IndexStats(0, 0)
        return IndexStats(self.count(self._declared.shown), self._schema.stored_bytes(self.alias))


def term(field: str, value: object) -> Body:
    """Return the condition that a field has a value."""
    return {"term": {field: value}}


def entry_query(where: EntryFilter) -> Body:
    """Return the query of the entries that meet all conditions."""
    return {"bool": {"filter": [_condition(name, value) for name, value in where.items()]}}


def _condition(name: str, value: object) -> Body:
    if value == "":
        return {"bool": {"must_not": [{"exists": {"field": name}}]}}
    return {"terms": {name: list(value)}} if isinstance(value, tuple) else term(name, value)


def _sort(order: EntryOrder) -> list[Body]:
    sort: list[Body] = [{by.field: "desc" if by.descending else "asc"} for by in order]
    return sort if order and order[-1].field == "id" else [*sort, {"id": "asc"}]


def _grouped(field: str, most: int, mean: Body) -> Body:
    terms: Body = {"field": field, "size": min(most, _MOST_VALUES), "shard_size": _MOST_VALUES}
    return {"terms": terms, "aggs": {"mean": mean}}


def _group(bucket: dict[str, Any]) -> EntryGroup:
    return EntryGroup(bucket["key"], bucket["doc_count"], bucket["mean"]["value"])


class EntryVersion:
    """The version of a store's entries: an entry of the index `<alias>-files`, read by its id.

    It is marked as changing before entries are written, and gets a new version afterwards. While it
    is marked, each read returns a different version, so that readers reread the entries, even if
    the writer was stopped midway.
    """

    def __init__(self, server: Server, index: str, settings: ServerSettings) -> None:
        self._server = server
        self._settings = settings
        self._index = index
        self._mark = ""

    def current(self) -> str:
        """Return the version, "" before the first change."""
        try:
            found = entries_by_id(self._server, self._index, [_VERSION_ID], "true")
        except IndexMissingError:
            return ""
        if not found:
            return ""
        version = str(found[_VERSION_ID]["_source"]["name"])
        return version or uuid.uuid4().hex

    def begin_change(self) -> None:
        """Mark the version as changing, so that readers reread entries until the change ends."""
        make_blob_index(self._server, self._index, self._settings)
        self._mark = self.current().rpartition("-")[0] or uuid.uuid4().hex
        self._put("")

    def end_change(self) -> None:
        """Set a new version for the current entries; its mark stays."""
        mark = self.current().rpartition("-")[0] or self._mark
        self._put(f"{mark}-{uuid.uuid4().hex}")

    def renew(self) -> None:
        """Set another version, with another mark, for the same entries, if they have one."""
        if self.current():
            self._put(f"{uuid.uuid4().hex}-{uuid.uuid4().hex}")

    def _put(self, version: str) -> None:
        send(self._server, [BulkAction(self._index, _VERSION_ID, {"name": version})])
