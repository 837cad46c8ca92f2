"""Entries of a dates index: the dates of a document, spread over chunks by time."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from nwx.engine.entries import IndexEntry, dates_entry
from nwx.engine.search_server import schema
from nwx.engine.search_server.documents.compile import Query
from nwx.engine.search_server.pages import entries_by_id
from nwx.engine.search_server.schema import (
    CHUNK,
    CHUNKS,
    COLLECTIONS,
    NUMBER,
    YEARS,
    allow_chunks,
    number_of,
)
from nwx.engine.search_server.server import Body, Server
from nwx.engine.search_server.writes import BulkAction, send
from nwx.model import Dates

CHUNK_ENTRIES: Query = {"exists": {"field": CHUNK}}
"""The chunk entries: all but the first of each document."""

IN_CHUNKS: tuple[Query, ...] = (CHUNK_ENTRIES, {"exists": {"field": CHUNKS}})
"""The entries of documents with chunks: chunks and first entries."""

FIRST_ENTRIES: Query = {"bool": {"must_not": [CHUNK_ENTRIES]}}
"""The first entry of each document."""

MANY: Query = {
    "bool": {"should": [{"range": {"count": {"gte": 2}}}, *IN_CHUNKS], "minimum_should_match": 1}
}
"""The entries of the main index with dates that the document lacks: it has one date itself."""

FIRST_OF_MANY: Query = {"bool": {"filter": [MANY], "must_not": [CHUNK_ENTRIES]}}
"""The first entry of each document with several dates."""

ONCE: Query = {
    "bool": {"filter": [{"range": {"count": {"lte": 1}}}], "must_not": [*IN_CHUNKS]},
}
"""The entries of documents with a single date."""


FIRST_ENTRY = ""
"""The name of the entry with the document's id; chunks are named by their time."""

_YEAR, _LONGEST = 4, 14
_MARK = "."

SeenTexts = frozenset[str]
"""Dates as stored in entries, `<collection>/<timestamp>`."""


@dataclass(frozen=True, slots=True)
class EntryState:
    """The state of an entry: its dates, the names of its chunks, its years and collections.

    Only a first entry has years and collections, those of all dates of the document.
    """

    seen: SeenTexts = frozenset()
    chunks: frozenset[str] = frozenset()
    years: frozenset[int] = frozenset()
    collections: frozenset[str] = frozenset()


def entry_id(id: str, name: str) -> str:
    """Return the id of an entry of a document."""
    return f"{id}{_MARK}{name}" if name else id


def document_of(id: str) -> str:
    """Return the id of an entry's document."""
    return id.partition(_MARK)[0]


def seen_texts(dates: Dates) -> SeenTexts:
    """Return dates in the form stored in entries."""
    return frozenset(f"{collection}/{timestamp}" for timestamp, collection in dates.seen)


def dates_of_texts(key: str, seen: Iterable[str]) -> Dates:
    """Return the union of stored dates for a key, sorted."""
    pairs = (text.rpartition("/") for text in set(seen))
    return Dates(key, tuple(sorted((timestamp, collection) for collection, _, timestamp in pairs)))


def state_of(entry: IndexEntry | None) -> EntryState:
    """Return the state of a stored entry, an empty one for None."""
    if entry is None:
        return EntryState()
    return EntryState(
        frozenset(entry["seen"]),
        frozenset(entry.get(CHUNKS, ())),
        frozenset(entry.get(YEARS, ())),
        frozenset(entry.get(COLLECTIONS, ())),
    )


def with_dates(
    name: str, state: EntryState, wanted: SeenTexts
) -> tuple[EntryState, dict[str, SeenTexts]]:
    """Return the entry with added dates as far as it has room, and the other dates by chunk."""
    new = wanted - state.seen
    if not new:
        return state, {}
    room = _room(name, state)
    taken = new if len(new) <= room else frozenset(sorted(new, key=_timestamp)[:room])
    below = by_chunk(name, new - taken)
    changed = EntryState(
        state.seen | taken,
        state.chunks.union(below),
        *_covered(state, new if name == FIRST_ENTRY else ()),
    )
    return changed, below


def without_dates(state: EntryState, removed: SeenTexts) -> EntryState:
    """Return an entry without some dates; an entry that lists chunks still accepts no new dates."""
    return EntryState(state.seen - removed, state.chunks, state.years, state.collections)


def covering(state: EntryState, seen: Iterable[str]) -> EntryState:
    """Return a first entry with exactly the years and collections of these dates."""
    return EntryState(state.seen, state.chunks, *_covered(EntryState(), seen))


def by_chunk(name: str, seen: Iterable[str]) -> dict[str, SeenTexts]:
    """Return dates grouped by their chunks below an entry."""
    digits = len(name) + 2 if name else _YEAR
    found: dict[str, set[str]] = {}
    for text in seen:
        found.setdefault(_timestamp(text)[:digits], set()).add(text)
    return {chunk: frozenset(texts) for chunk, texts in found.items()}


def above(name: str) -> list[str]:
    """Return the names of the entries above a chunk, including the first entry."""
    if name == FIRST_ENTRY:
        return []
    return [FIRST_ENTRY, *(name[:digits] for digits in range(_YEAR, len(name), 2))]


def stored_entry(id: str, name: str, key: str, state: EntryState) -> IndexEntry:
    """Return the stored form of an entry."""
    seen = sorted(state.seen, key=lambda text: (_timestamp(text), text))
    dates = sorted(set(map(_timestamp, seen)))
    entry: IndexEntry = {
        "id": entry_id(id, name),
        "key": key,
        "dates": dates,
        "seen": seen,
        "count": len(seen),
        NUMBER: number_of(id),
    }
    if state.chunks:
        entry[CHUNKS] = sorted(state.chunks)
    if name != FIRST_ENTRY:
        return entry | {CHUNK: name}
    named = state if state.chunks else covering(state, seen)
    return entry | {YEARS: sorted(named.years), COLLECTIONS: sorted(named.collections)}


def joined_chunks(entries: Iterable[IndexEntry]) -> Iterator[IndexEntry]:
    """Yield entries, sorted by id, with the chunks of each document joined."""
    for id, group in groupby(entries, key=lambda entry: document_of(entry["id"])):
        first, *others = group
        if not others and first["id"] == id:
            yield first
            continue
        dates = dates_of_texts(
            first["key"], (text for one in (first, *others) for text in one["seen"])
        )
        if dates.seen:
            yield dates_entry(dates)


def _room(name: str, state: EntryState) -> int:
    """Return how many more dates an entry can take; all dates of one second fit in an entry."""
    if len(name) == _LONGEST:
        return len(state.seen) + schema.MAX_IDS
    return 0 if state.chunks else max(0, schema.DATES_OF_ENTRY - len(state.seen))


def _covered(state: EntryState, seen: Iterable[str]) -> tuple[frozenset[int], frozenset[str]]:
    pairs = [text.rpartition("/") for text in seen]
    years = {int(timestamp[:_YEAR]) for _, _, timestamp in pairs}
    return state.years | years, state.collections.union(name for name, _, _ in pairs)


def _timestamp(text: str) -> str:
    return text.rpartition("/")[2]


ATTEMPTS = 20

Place = tuple[str, str]
"""An entry: the id of its document, and its name."""

_STATE = ",".join(("key", "seen", CHUNKS, YEARS, COLLECTIONS))


class DatesEntries:
    """Reads and writes dates entries.

    An entry is written only if it is unchanged since it was read.
    """

    def __init__(self, server: Server, index: str) -> None:
        self.address = server.address
        self._server = server
        self._index = index
        self._allows_chunks = False

    def read(self, places: Collection[Place]) -> dict[Place, Body | None]:
        """Return the stored body of each entry, None if missing."""
        return self._read(places, _STATE)

    def versions(self, places: Collection[Place]) -> dict[Place, tuple[int, int] | None]:
        """Return the version of each entry: its sequence number and primary term."""
        return {place: version_of(body) for place, body in self._read(places, "false").items()}

    def _read(self, places: Collection[Place], source: str) -> dict[Place, Body | None]:
        ids = {place: entry_id(*place) for place in places}
        found = entries_by_id(self._server, self._index, list(ids.values()), source)
        return {place: found.get(id) for place, id in ids.items()}

    def whole(self, ids: Iterable[str]) -> dict[str, dict[str, Body]]:
        """Return all entries of documents by name, the first entry first."""
        found: dict[str, dict[str, Body]] = {}
        asked: list[Place] = [(id, FIRST_ENTRY) for id in ids]
        while asked:
            below: list[Place] = []
            for (id, name), body in self.read(asked).items():
                if body is not None:
                    found.setdefault(id, {})[name] = body
                    below += ((id, chunk) for chunk in body["_source"].get(CHUNKS, ()))
            asked = below
        return found

    def write(
        self, changes: Mapping[Place, tuple[str, EntryState]], known: Mapping[Place, Body | None]
    ) -> set[Place]:
        """Write the states of entries, each with its key; return the places with conflicts.

        A conflict is an entry that another writer changed first. A state without dates and chunks
        deletes its entry.
        """
        if any(name or state.chunks for (_, name), (_, state) in changes.items()):
            self._allow_chunks()
        actions = [
            self._action(place, key, state, known.get(place))
            for place, (key, state) in changes.items()
        ]
        return self._refused(list(changes), actions)

    def delete(self, known: Mapping[Place, Body]) -> set[Place]:
        """Delete entries; return those that other writers changed meanwhile."""
        actions = [self._deletion(place, body) for place, body in known.items()]
        return self._refused(list(known), actions)

    def discard(self, places: Iterable[Place]) -> None:
        """Delete entries, even if other writers changed them meanwhile."""
        ids = (entry_id(*place) for place in places)
        send(self._server, (BulkAction(self._index, id, None, "delete") for id in ids))

    def _refused(self, places: Sequence[Place], actions: Sequence[BulkAction]) -> set[Place]:
        outcomes = zip(places, send(self._server, actions), strict=True)
        return {place for place, outcome in outcomes if outcome == "conflict"}

    def _action(self, place: Place, key: str, state: EntryState, known: Body | None) -> BulkAction:
        if known is not None and not state.seen and not state.chunks:
            return self._deletion(place, known)
        entry = stored_entry(*place, key, state)
        if known is None:
            return BulkAction(self._index, entry["id"], entry, operation="create")
        return BulkAction(self._index, entry["id"], entry, control=_control(known))

    def _deletion(self, place: Place, known: Body) -> BulkAction:
        return BulkAction(self._index, entry_id(*place), None, "delete", _control(known))

    def _allow_chunks(self) -> None:
        if not self._allows_chunks:
            allow_chunks(self._server, self._index)
            self._allows_chunks = True


def version_of(body: Body | None) -> tuple[int, int] | None:
    """Return the sequence number and primary term of an entry, None if it is missing."""
    return None if body is None else (body["_seq_no"], body["_primary_term"])


def known_state(body: Body | None) -> EntryState:
    """Return the state of an entry that was read."""
    return state_of(None if body is None else body["_source"])


def _control(known: Body) -> tuple[tuple[str, int], ...]:
    return ("if_seq_no", known["_seq_no"]), ("if_primary_term", known["_primary_term"])
