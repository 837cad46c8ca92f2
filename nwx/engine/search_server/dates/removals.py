"""Dates removed from the entries of documents, whoever else writes at the same time."""

from collections.abc import Mapping

from nwx.engine.search_server.dates.additions import add_unlisted
from nwx.engine.search_server.dates.chunks import (
    FIRST_ENTRY,
    EntryState,
    SeenTexts,
    by_chunk,
    covering,
    seen_texts,
    without_dates,
)
from nwx.engine.search_server.dates.entries import (
    ATTEMPTS,
    DatesEntries,
    Place,
    known_state,
)
from nwx.engine.search_server.server import Body, pause
from nwx.errors import EngineBusyError
from nwx.model import Dates

_Asked = dict[Place, SeenTexts]


class Removal:
    """Dates of some documents on their way out of an index.

    They are taken out of all entries that may hold them. First entries of
    documents with chunks then name what is left, or all of them go.
    """

    def __init__(self, entries: DatesEntries, dates: Mapping[str, Dates]) -> None:
        self._entries = entries
        self._seen = {id: seen_texts(one) for id, one in dates.items()}
        self._removed: set[tuple[str, str]] = set()
        self._chunked: set[str] = set()
        self._conflicts = 0

    def run(self) -> int:
        """Remove the dates; return how many there were."""
        asked: _Asked = {(id, FIRST_ENTRY): seen for id, seen in self._seen.items()}
        while asked:
            asked = self._step(asked)
        for id in sorted(self._chunked):
            self._tidy(id)
        return len(self._removed)

    def _step(self, asked: _Asked) -> _Asked:
        """Write entries; return what may be in chunks, and what others got in the way of."""
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
        """Let the first entry of a document with chunks name what is left, or delete all."""
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
        """Write the first entry; return whether it was as it is to be."""
        first = whole[FIRST_ENTRY]
        if known_state(first) == state:
            return True
        place = id, FIRST_ENTRY
        self._entries.write({place: (first["_source"]["key"], state)}, {place: first})
        return False

    def _deleted(self, id: str, whole: Mapping[str, Body]) -> bool:
        """Delete the entries of a document, the first one last; return whether all are gone."""
        for digits in sorted({len(name) for name in whole}, reverse=True):
            some = {(id, name): body for name, body in whole.items() if len(name) == digits}
            if self._entries.delete(some):
                return False
        return True

    def _wait(self) -> None:
        self._conflicts += 1
        if self._conflicts == ATTEMPTS:
            raise EngineBusyError(
                f"others keep writing the dates that are to be removed "
                f"at {self._entries.address}; try again later"
            )
        pause(min(self._conflicts, 4))
