"""The import ledger, brought into agreement with the captures that a purge leaves."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from nwx.engine.base import Engine
from nwx.model import PURGED, UNDEDUPLICATED, Batch, SourceFile
from nwx.takedown.record_places import RecordPlace

_STATE = "purged-counts-{}"
_Planned = list[list[str | int]]


class LedgerCounts:
    """Takes the purged captures of a rule from the counts of their files.

    What is to be counted is kept (as a state of the index access) until it
    is, so that a purge that is killed is counted by the next one, and once.
    """

    def __init__(self, engine: Engine, rule_id: str) -> None:
        self._engine, self._access = engine, engine.access_index()
        self._name = _STATE.format(rule_id)

    def plan(self, places: Iterable[RecordPlace]) -> None:
        """Keep how many captures of each file are about to be deleted."""
        found = Counter((one.collection, one.file) for one in places)
        planned = self._planned()
        known = {(collection, name) for collection, name, _, _ in planned}
        more: _Planned = [
            [file.collection, file.name, file.counts.get("captures", 0), number]
            for file in self._engine.files()
            if (number := found[file.collection, file.name])
            and (file.collection, file.name) not in known
        ]
        if more:
            self._access.put_state(self._name, json.dumps(planned + more).encode())

    def settle(self) -> None:
        """Count the captures that were deleted as purged."""
        planned = {(str(one[0]), str(one[1])): (one[2], one[3]) for one in self._planned()}
        if not planned:
            return
        self._engine.write(Batch(files=tuple(_counted(self._engine.files(), planned))))
        self._engine.refresh()
        self._access.put_state(self._name, b"")

    def _planned(self) -> _Planned:
        found: _Planned = json.loads(self._access.state(self._name) or b"[]")
        return found


def _counted(
    files: Iterable[SourceFile], planned: Mapping[tuple[str, str], tuple[str | int, str | int]]
) -> Iterator[SourceFile]:
    """Yield the files whose counts are still as they were when the purge was planned."""
    for file in files:
        before, number = planned.get((file.collection, file.name), (-1, 0))
        if before == file.counts.get("captures", 0):
            yield replace(file, counts=_after(file.counts, int(number)))


def _after(counts: Mapping[str, int], number: int) -> dict[str, int]:
    after = dict(counts)
    after["captures"] = counts.get("captures", 0) - number
    after[PURGED] = counts.get(PURGED, 0) + number
    if UNDEDUPLICATED in counts:
        after[UNDEDUPLICATED] = max(0, counts[UNDEDUPLICATED] - number)
    return after
