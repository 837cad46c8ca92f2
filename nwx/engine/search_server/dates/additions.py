"""Dates added to the entries of documents, whoever else writes at the same time."""

from collections.abc import Collection, Mapping

from nwx.engine.search_server.dates.chunks import (
    FIRST_ENTRY,
    EntryState,
    SeenTexts,
    above,
    by_chunk,
    dates_of_texts,
    seen_texts,
    with_dates,
)
from nwx.engine.search_server.dates.entries import (
    ATTEMPTS,
    DatesEntries,
    Place,
    known_state,
    version_of,
)
from nwx.engine.search_server.server import Body, pause
from nwx.errors import EngineBusyError
from nwx.model import Dates

_Asked = dict[Place, SeenTexts]


class Addition:
    """Dates of some documents on their way into an index.

    A pass goes from first entries down to chunks. It is done again for
    documents of which a chunk was written while an entry above it changed:
    that may no longer list the chunk.
    """

    def __init__(self, entries: DatesEntries, dates: Mapping[str, Dates]) -> None:
        self._entries = entries
        self._keys = {id: one.key for id, one in dates.items()}
        self._seen = {id: seen_texts(one) for id, one in dates.items()}
        self._chunks: set[Place] = set()  # that were written
        self._conflicts = 0
        self._added: set[tuple[str, str]] = set()

    def run(self) -> int:
        """Add the dates; return how many were new."""
        ids: Collection[str] = self._seen
        while ids:
            ids = self._pass(ids)
        return len(self._added)

    def _pass(self, ids: Collection[str]) -> Collection[str]:
        """Add the dates of documents; return those that are to be looked at again."""
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
            self._chunks.remove((id, name))  # nothing lists it any more
            add_unlisted(self._entries, id, [name])
        return self._unsure(known, written)

    def _step(self, asked: _Asked, known: dict[Place, Body | None], written: set[Place]) -> _Asked:
        """Write entries; return what is left for chunks, and what others got in the way of."""
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
        """Let others go first, for a while; they cannot for ever."""
        if not conflicts:
            return
        self._conflicts += 1
        if self._conflicts == ATTEMPTS:
            raise EngineBusyError(
                f"others keep writing the dates of {len(conflicts)} documents "
                f"at {self._entries.address}; try again later"
            )
        pause(min(self._conflicts, 4))

    def _unsure(self, known: Mapping[Place, Body | None], written: set[Place]) -> Collection[str]:
        """Return the documents of which a chunk was written, and an entry above it changed."""
        over = {(id, name) for id, chunk in written for name in above(chunk)}
        unsure = {id for id, _ in over & written}
        looked = [place for place in over if place[0] not in unsure]
        now = self._entries.versions(looked) if looked else {}
        unsure.update(id for (id, name), one in now.items() if one != version_of(known[id, name]))
        return unsure


def _ahead(asked: _Asked) -> set[Place]:
    """Return the entries to read: with chunks also those below, to ask for both at once."""
    below = {
        (id, chunk)
        for (id, name), seen in asked.items()
        if name != FIRST_ENTRY
        for chunk in by_chunk(name, seen)
    }
    return below.union(asked)


def add_unlisted(entries: DatesEntries, id: str, names: Collection[str]) -> None:
    """Move what was written to chunks of a document while the entries above them were deleted."""
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
