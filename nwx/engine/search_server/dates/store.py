"""Dates on the server: sets that only grow, however many write at once."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from nwx.engine.entries import dates_entry, dates_from_entry
from nwx.engine.search_server.bulk import BulkAction, send
from nwx.engine.search_server.pages import entries_by_id
from nwx.engine.search_server.schema import own_of_dates
from nwx.engine.search_server.server import Body, Server, pause
from nwx.errors import EngineBusyError
from nwx.keys import document_id
from nwx.model import Dates

ATTEMPTS = 20
CHUNK = 1_000

Pair = tuple[str, str]
Change = Callable[
    [Mapping[str, Dates], Mapping[str, Body]], Iterator[tuple[str, tuple[Dates, int]]]
]
"""Gives the new state of the entries that change, and by how many pairs it differs."""


class DatesStore:
    """The entries of one index of dates.

    An entry is written only over the state that was read, or not at all:
    who comes second reads again and adds to what is there then.
    """

    def __init__(self, server: Server, index: str) -> None:
        self._server = server
        self._index = index

    def read(self, ids: Sequence[str]) -> dict[str, Dates]:
        """Return the dates of these ids."""
        found = entries_by_id(self._server, self._index, ids, "true")
        return {id: dates_from_entry(entry["_source"]) for id, entry in found.items()}

    def add(self, dates: Iterable[Dates]) -> int:
        """Add dates and return how many pairs of timestamp and collection were new."""
        return sum(self._changed(chunk, _changes) for chunk in _chunks(_merged(dates)))

    def remove(self, dates: Iterable[Dates]) -> int:
        """Remove pairs of timestamp and collection; return how many there were."""
        return sum(self._changed(chunk, _removals) for chunk in _chunks(_merged(dates)))

    def _changed(self, wanted: dict[str, Dates], change: Change) -> int:
        """Change entries, again where another did meanwhile; return how many pairs that was."""
        changed = 0
        for attempt in range(ATTEMPTS):
            if attempt:
                pause(min(attempt, 4))
            known = entries_by_id(self._server, self._index, list(wanted), "key,seen")
            changes = dict(change(wanted, known))
            actions = [
                _action(self._index, id, state, known.get(id)) for id, (state, _) in changes.items()
            ]
            outcomes = zip(changes, send(self._server, actions), strict=True)
            done = {id for id, outcome in outcomes if outcome != "conflict"}
            changed += sum(changes[id][1] for id in done)
            wanted = {id: wanted[id] for id in changes if id not in done}
            if not wanted:
                return changed
        raise EngineBusyError(
            f"others keep writing the dates of {len(wanted)} documents "
            f"at {self._server.address}; try again later"
        )


def _merged(dates: Iterable[Dates]) -> dict[str, Dates]:
    pairs: dict[str, set[Pair]] = {}
    for one in dates:
        pairs.setdefault(one.key, set()).update(one.seen)
    return {
        document_id(key): Dates(key, tuple(sorted(seen))) for key, seen in pairs.items() if seen
    }


def _chunks(dates: dict[str, Dates]) -> Iterator[dict[str, Dates]]:
    ids = list(dates)
    for start in range(0, len(ids), CHUNK):
        yield {id: dates[id] for id in ids[start : start + CHUNK]}


def _changes(
    wanted: Mapping[str, Dates], known: Mapping[str, Body]
) -> Iterator[tuple[str, tuple[Dates, int]]]:
    """Give the new state, and how many pairs it has more, of the entries that change."""
    for id, dates in wanted.items():
        old = set(dates_from_entry(known[id]["_source"]).seen) if id in known else set()
        union = old.union(dates.seen)
        if len(union) > len(old):
            yield id, (Dates(dates.key, tuple(sorted(union))), len(union) - len(old))


def _removals(
    wanted: Mapping[str, Dates], known: Mapping[str, Body]
) -> Iterator[tuple[str, tuple[Dates, int]]]:
    """Give what is left, and how many pairs it has less, of the entries that change."""
    for id, dates in wanted.items():
        old = set(dates_from_entry(known[id]["_source"]).seen) if id in known else set()
        left = old.difference(dates.seen)
        if len(left) < len(old):
            yield id, (Dates(dates.key, tuple(sorted(left))), len(old) - len(left))


def _action(index: str, id: str, dates: Dates, known: Body | None) -> BulkAction:
    """Return what writes the new state of an entry, or removes one without dates."""
    if known is not None and not dates.seen:
        seen = (("if_seq_no", known["_seq_no"]), ("if_primary_term", known["_primary_term"]))
        return BulkAction(index, id, None, "delete", seen)
    entry = own_of_dates(dates_entry(dates))
    if known is None:
        return BulkAction(index, id, entry, operation="create")
    control = (("if_seq_no", known["_seq_no"]), ("if_primary_term", known["_primary_term"]))
    return BulkAction(index, id, entry, control=control)
