"""How the dates of a document are spread over entries: a first one, and chunks by time.

The first entry has the id of the document and takes limits.DATES_OF_ENTRY
dates. What comes later goes to a chunk: the entry `<id>.<year>`, and where
that is full too, `<id>.<year><month>`, and so on down to seconds. An entry
that is full or lists chunks takes no more dates. So each date has one place,
and one more date costs the reading of the few entries on its way and the
writing of one, however many dates the document has.

Whoever writes keeps two rules, so that nothing is lost when it is stopped:
a chunk is listed by the entry above it before it is written, and the first
entry names the years and collections of all its chunks before they have them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby

from nwx.engine.entries import IndexEntry, dates_entry
from nwx.engine.search_server import limits
from nwx.engine.search_server.schema import (
    CHUNK,
    CHUNKS,
    COLLECTIONS,
    NUMBER,
    YEARS,
    number_of,
)
from nwx.model import Dates

FIRST_ENTRY = ""
"""The name of the entry that has the document's own id; chunks are named by their time."""

_YEAR, _LONGEST = 4, 14
_MARK = "."

SeenTexts = frozenset[str]
"""Dates as entries have them, `<collection>/<timestamp>`."""


@dataclass(frozen=True, slots=True)
class EntryState:
    """What an entry holds: its dates, the names of the chunks below it, and of what they are.

    Only a first entry has years and collections: those of all dates of the document.
    """

    seen: SeenTexts = frozenset()
    chunks: frozenset[str] = frozenset()
    years: frozenset[int] = frozenset()
    collections: frozenset[str] = frozenset()


def entry_id(id: str, name: str) -> str:
    """Return the id of an entry of a document."""
    return f"{id}{_MARK}{name}" if name else id


def document_of(id: str) -> str:
    """Return the id of the document that an entry is of."""
    return id.partition(_MARK)[0]


def seen_texts(dates: Dates) -> SeenTexts:
    """Return dates as entries have them."""
    return frozenset(f"{collection}/{timestamp}" for timestamp, collection in dates.seen)


def dates_of_texts(key: str, seen: Iterable[str]) -> Dates:
    """Return the dates of a key that entries have between them, in order."""
    pairs = (text.rpartition("/") for text in set(seen))
    return Dates(key, tuple(sorted((timestamp, collection) for collection, _, timestamp in pairs)))


def state_of(entry: IndexEntry | None) -> EntryState:
    """Return the state of a stored entry, None for one that is not there."""
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
    """Return an entry with those of some dates that it takes, and the others by their chunks."""
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
    """Return an entry without some dates; it still takes none where it lists chunks."""
    return EntryState(state.seen - removed, state.chunks, state.years, state.collections)


def covering(state: EntryState, seen: Iterable[str]) -> EntryState:
    """Return a first entry that names the years and collections of these dates, and no others."""
    return EntryState(state.seen, state.chunks, *_covered(EntryState(), seen))


def by_chunk(name: str, seen: Iterable[str]) -> dict[str, SeenTexts]:
    """Return dates by the chunks below an entry that they belong to."""
    digits = len(name) + 2 if name else _YEAR
    found: dict[str, set[str]] = {}
    for text in seen:
        found.setdefault(_timestamp(text)[:digits], set()).add(text)
    return {chunk: frozenset(texts) for chunk, texts in found.items()}


def above(name: str) -> list[str]:
    """Return the names of the entries above a chunk, the first entry included."""
    if name == FIRST_ENTRY:
        return []
    return [FIRST_ENTRY, *(name[:digits] for digits in range(_YEAR, len(name), 2))]


def stored_entry(id: str, name: str, key: str, state: EntryState) -> IndexEntry:
    """Return what is stored of an entry."""
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
    """Return entries in the order of their ids, those of one document as one."""
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
    """Return how many more dates an entry takes: all of a second fit into one."""
    if len(name) == _LONGEST:
        return len(state.seen) + limits.MAX_IDS
    return 0 if state.chunks else max(0, limits.DATES_OF_ENTRY - len(state.seen))


def _covered(state: EntryState, seen: Iterable[str]) -> tuple[frozenset[int], frozenset[str]]:
    pairs = [text.rpartition("/") for text in seen]
    years = {int(timestamp[:_YEAR]) for _, _, timestamp in pairs}
    return state.years | years, state.collections.union(name for name, _, _ in pairs)


def _timestamp(text: str) -> str:
    return text.rpartition("/")[2]
