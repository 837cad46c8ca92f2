"""The entries of one dates index on the server, read and written by documents and chunks."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from nwx.engine.search_server.bulk import BulkAction, send
from nwx.engine.search_server.dates.chunks import (
    FIRST_ENTRY,
    EntryState,
    entry_id,
    state_of,
    stored_entry,
)
from nwx.engine.search_server.pages import entries_by_id
from nwx.engine.search_server.schema import CHUNKS, COLLECTIONS, YEARS, allow_chunks
from nwx.engine.search_server.server import Body, Server

ATTEMPTS = 20

Place = tuple[str, str]
"""An entry: the id of its document, and its name."""

_STATE = ",".join(("key", "seen", CHUNKS, YEARS, COLLECTIONS))


class DatesEntries:
    """What reads and writes entries.

    An entry is written only over the state that was read, or not at all.
    """

    def __init__(self, server: Server, index: str) -> None:
        self.address = server.address
        self._server = server
        self._index = index
        self._allows_chunks = False

    def read(self, places: Collection[Place]) -> dict[Place, Body | None]:
        """Return what the server has of each of these entries, None of what is not there."""
        return self._read(places, _STATE)

    def versions(self, places: Collection[Place]) -> dict[Place, tuple[int, int] | None]:
        """Return the number of the last change of each of these entries."""
        return {place: version_of(body) for place, body in self._read(places, "false").items()}

    def _read(self, places: Collection[Place], source: str) -> dict[Place, Body | None]:
        ids = {place: entry_id(*place) for place in places}
        found = entries_by_id(self._server, self._index, list(ids.values()), source)
        return {place: found.get(id) for place, id in ids.items()}

    def whole(self, ids: Iterable[str]) -> dict[str, dict[str, Body]]:
        """Return all entries of documents by their names, the first one first."""
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
        """Write the states of entries, each with its key; return those that others wrote first.

        A state without dates and chunks deletes its entry.
        """
        if any(name or state.chunks for (_, name), (_, state) in changes.items()):
            self._allow_chunks()
        actions = [
            self._action(place, key, state, known.get(place))
            for place, (key, state) in changes.items()
        ]
        return self._refused(list(changes), actions)

    def delete(self, known: Mapping[Place, Body]) -> set[Place]:
        """Delete entries; return those that others wrote to meanwhile."""
        actions = [self._deletion(place, body) for place, body in known.items()]
        return self._refused(list(known), actions)

    def discard(self, places: Iterable[Place]) -> None:
        """Delete entries, whoever wrote to them meanwhile."""
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
    """Return the number of the last change of an entry, None where it is not there."""
    return None if body is None else (body["_seq_no"], body["_primary_term"])


def known_state(body: Body | None) -> EntryState:
    """Return the state of an entry as it was read."""
    return state_of(None if body is None else body["_source"])


def _control(known: Body) -> tuple[tuple[str, int], ...]:
    return ("if_seq_no", known["_seq_no"]), ("if_primary_term", known["_primary_term"])
