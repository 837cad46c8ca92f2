"""Dates on the server: added, removed and read by document, safe with concurrent writers."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from nwx.bulk.progress import batches
from nwx.engine.entries import dates_from_entry
from nwx.engine.search_server.documents.date_entries import (
    ATTEMPTS,
    FIRST_ENTRY,
    DatesEntries,
    EntryState,
    Place,
    SeenTexts,
    above,
    by_chunk,
    covering,
    dates_of_texts,
    known_state,
    seen_texts,
    version_of,
    with_dates,
    without_dates,
)
from nwx.engine.search_server.server import Body, Server, pause
from nwx.errors import EngineBusyError
from nwx.keys import document_id, document_key
from nwx.model import Batch, Dates

_Asked = dict[Place, SeenTexts]


class Addition:
    """Adds the dates of some documents to an index.

    A pass descends from first entries to chunks. It is repeated for documents with a chunk written
    while an entry above it changed, which may no longer list the chunk.
    """

    def __init__(self, entries: DatesEntries, dates: Mapping[str, Dates]) -> None:
        self._entries = entries
        self._keys = {id: one.key for id, one in dates.items()}
        self._seen = {id: seen_texts(one) for id, one in dates.items()}
        self._chunks: set[Place] = set()  # written so far
        self._conflicts = 0
        self._added: set[tuple[str, str]] = set()

    def run(self) -> int:
        """Add the dates; return the number of new ones."""
        ids: Collection[str] = self._seen
        while ids:
            ids = self._pass(ids)
        return len(self._added)

    def _pass(self, ids: Collection[str]) -> Collection[str]:
        """Add the dates of documents; return the ids that need another pass."""
        known: dict[Place, Body | None] = {}
        written: set[Place] = set()
        looked: set[Place] = set()
        asked: _Asked = {(id, FIRST_ENTRY): self._seen[id] for id in ids}
        while asked:
            looked.update(asked)
            wanted = {place for place in _ahead(asked) if place not in known}
            known |= self._entries.read(wanted)
            asked = self._step(asked, known, written)
        self._chunks.update((id, name) for id, name in written if name != FIRST_ENTRY)
        for id, name in [place for place in self._chunks - looked if place[0] in ids]:
            self._chunks.remove((id, name))  # no entry lists it any more
            add_unlisted(self._entries, id, [name])
        return self._unsure(known, written)

    def _step(self, asked: _Asked, known: dict[Place, Body | None], written: set[Place]) -> _Asked:
        """Write entries; return the dates left for chunks and those with conflicts."""
        states = {place: known_state(known[place]) for place in asked}
        after = {place: with_dates(place[1], states[place], asked[place]) for place in asked}
        changes: dict[Place, tuple[str, EntryState]] = {
            place: (self._keys[place[0]], state)
            for place, (state, _) in after.items()
            if state != states[place]
        }
        conflicts = self._entries.write(changes, known) if changes else set()
        left: _Asked = {}
        for place, (state, below) in after.items():
            if place in conflicts:
                left[place] = asked[place]
                del known[place]
            else:
                left |= {(place[0], chunk): seen for chunk, seen in below.items()}
                self._added.update((place[0], one) for one in state.seen - states[place].seen)
        written.update(changes.keys() - conflicts)
        self._wait(conflicts)
        return left

    def _wait(self, conflicts: Collection[Place]) -> None:
        """Pause after conflicts to let other writers finish; raises EngineBusyError if too many."""
        if not conflicts:
            return
        self._conflicts += 1
        if self._conflicts == ATTEMPTS:
            raise EngineBusyError(
                f"other processes keep writing the dates of {len(conflicts)} documents "
                f"at {self._entries.address}; try again later"
            )
        pause(min(self._conflicts, 4))

    def _unsure(self, known: Mapping[Place, Body | None], written: set[Place]) -> Collection[str]:
        """Return the documents with a written chunk below an entry that changed meanwhile."""
        over = {(id, name) for id, chunk in written for name in above(chunk)}
        unsure = {id for id, _ in over & written}
        looked = [place for place in over if place[0] not in unsure]
        now = self._entries.versions(looked) if looked else {}
        unsure.update(id for (id, name), one in now.items() if one != version_of(known[id, name]))
        return unsure


def _ahead(asked: _Asked) -> set[Place]:
    """Return the entries to read: chunks together with those below them, to save a request."""
    below = {
        (id, chunk)
        for (id, name), seen in asked.items()
        if name != FIRST_ENTRY
        for chunk in by_chunk(name, seen)
    }
    return below.union(asked)


def add_unlisted(entries: DatesEntries, id: str, names: Collection[str]) -> None:
    """Move dates from chunks of a document written while the entries above were deleted."""
    while True:
        listed = entries.whole([id]).get(id, {})
        found = entries.read([(id, name) for name in names if name not in listed])
        left = {place: body for place, body in found.items() if body is not None}
        if not left:
            return
        for body in left.values():
            dates = dates_of_texts(body["_source"]["key"], known_state(body).seen)
            Addition(entries, {id: dates}).run()
        entries.delete(left)


class Removal:
    """Removes the dates of some documents from an index.

    They are removed from all entries that may hold them. First entries of documents with chunks are
    then updated to the remaining dates; without any, all entries are deleted.
    """

    def __init__(self, entries: DatesEntries, dates: Mapping[str, Dates]) -> None:
        self._entries = entries
        self._seen = {id: seen_texts(one) for id, one in dates.items()}
        self._removed: set[tuple[str, str]] = set()
        self._chunked: set[str] = set()
        self._conflicts = 0

    def run(self) -> int:
        """Remove the dates; return the number removed."""
        asked: _Asked = {(id, FIRST_ENTRY): seen for id, seen in self._seen.items()}
        while asked:
            asked = self._step(asked)
        for id in sorted(self._chunked):
            self._tidy(id)
        return len(self._removed)

    def _step(self, asked: _Asked) -> _Asked:
        """Write entries; return the dates that may be in chunks and those with conflicts."""
        known = self._entries.read(asked)
        states = {place: known_state(body) for place, body in known.items()}
        changes: dict[Place, tuple[str, EntryState]] = {
            place: (body["_source"]["key"], without_dates(states[place], asked[place]))
            for place, body in known.items()
            if body is not None and states[place].seen & asked[place]
        }
        conflicts = self._entries.write(changes, known) if changes else set()
        left = {place: asked[place] for place in conflicts}
        for place, seen in asked.items():
            if place not in conflicts:
                self._removed.update((place[0], one) for one in states[place].seen & seen)
                left |= self._below(place, states[place], seen)
        if conflicts:
            self._wait()
        return left

    def _below(self, place: Place, state: EntryState, seen: SeenTexts) -> _Asked:
        id, name = place
        if name == FIRST_ENTRY and state.chunks:
            self._chunked.add(id)
        chunks = by_chunk(name, seen) if state.chunks else {}
        return {(id, one): some for one, some in chunks.items() if one in state.chunks}

    def _tidy(self, id: str) -> None:
        """Update a document's first entry to the remaining dates, or delete all entries."""
        listed: set[str] = set()
        while whole := self._entries.whole([id]).get(id, {}):
            states = {name: known_state(body) for name, body in whole.items()}
            listed.update(*(state.chunks for state in states.values()))
            every = frozenset().union(*(state.seen for state in states.values()))
            if not every:
                is_done = self._deleted(id, whole)
            else:
                is_done = self._named(id, whole, covering(states[FIRST_ENTRY], every))
            if is_done:
                break
            self._wait()
        add_unlisted(self._entries, id, listed)

    def _named(self, id: str, whole: Mapping[str, Body], state: EntryState) -> bool:
        """Write the first entry; return whether it already had this state."""
        first = whole[FIRST_ENTRY]
        if known_state(first) == state:
            return True
        place = id, FIRST_ENTRY
        self._entries.write({place: (first["_source"]["key"], state)}, {place: first})
        return False

    def _deleted(self, id: str, whole: Mapping[str, Body]) -> bool:
        """Delete the entries of a document, the first entry last; return whether all are gone."""
        for digits in sorted({len(name) for name in whole}, reverse=True):
            some = {(id, name): body for name, body in whole.items() if len(name) == digits}
            if self._entries.delete(some):
                return False
        return True

    def _wait(self) -> None:
        self._conflicts += 1
        if self._conflicts == ATTEMPTS:
            raise EngineBusyError(
                f"other processes keep writing the dates to be removed "
                f"at {self._entries.address}; try again later"
            )
        pause(min(self._conflicts, 4))


DOCUMENTS_AT_ONCE = 1_000

Pair = tuple[str, str]


class DatesStore:
    """The dates of documents in one index.

    On a conflict the second writer reads the entry again and adds to its new state.
    """

    def __init__(self, server: Server, index: str) -> None:
        self._entries = DatesEntries(server, index)

    def read(self, ids: Sequence[str]) -> dict[str, Dates]:
        """Return the dates of documents by id."""
        found = self._entries.whole(ids)
        dates = {id: _dates(list(bodies.values())) for id, bodies in found.items()}
        return {id: one for id, one in dates.items() if one.seen}

    def add(self, dates: Iterable[Dates]) -> int:
        """Add dates; return the number of new pairs of timestamp and collection."""
        return sum(Addition(self._entries, some).run() for some in _parts(_merged(dates)))

    def remove(self, dates: Iterable[Dates]) -> int:
        """Remove pairs of timestamp and collection; return the number removed."""
        return sum(Removal(self._entries, some).run() for some in _parts(_merged(dates)))

    def delete(self, ids: Sequence[str]) -> int:
        """Delete all dates of documents; return the number of documents that had any."""
        found = self._entries.whole(ids)
        self._entries.discard((id, name) for id, bodies in found.items() for name in bodies)
        return len(found)


def dates_of_batch(batch: Batch) -> Iterator[Dates]:
    """Yield the dates of a batch, including those of its documents' captures."""
    yield from batch.dates
    for document in (*batch.documents, *batch.amended):
        capture = document.capture
        yield Dates(
            document_key(capture.url, capture.digest), ((capture.timestamp, capture.collection),)
        )


def _dates(bodies: Sequence[Body]) -> Dates:
    sources = [body["_source"] for body in bodies]
    if len(sources) == 1:
        return dates_from_entry(sources[0])
    return dates_of_texts(sources[0]["key"], (text for one in sources for text in one["seen"]))


def _merged(dates: Iterable[Dates]) -> dict[str, Dates]:
    pairs: dict[str, set[Pair]] = {}
    for one in dates:
        pairs.setdefault(one.key, set()).update(one.seen)
    return {
        document_id(key): Dates(key, tuple(sorted(seen))) for key, seen in pairs.items() if seen
    }


def _parts(dates: dict[str, Dates]) -> Iterator[dict[str, Dates]]:
    return map(dict, batches(dates.items(), DOCUMENTS_AT_ONCE))
