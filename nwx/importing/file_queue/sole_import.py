"""Imports without deduplication, each of which must be the only import into an archive.

Such an import looks at the documents of keys before it writes them; what
another writes in between would take the place of a document that is to
stay. So it claims the whole archive, in an entry of the ledger that is no
file's, and each other import looks at that entry after each file that it
claims. Both put their own claim first and look then: one of them sees the other.
"""

import time
from collections.abc import Callable
from dataclasses import replace

from nwx.engine.ledger import Claim, ClaimedFile, FileClaims
from nwx.errors import EngineBusyError
from nwx.importing.file_queue.holder import is_known_dead

SOLE_NAME = "import without deduplication"
"""The name of the entry, of no collection."""

_NO_COLLECTION = ""
_RENEWALS, _LOOKS = 4, 20  # in a lease


class SoleImport:
    """What an importer, the `holder`, knows of imports that must be alone, and tells of itself."""

    def __init__(
        self,
        claims: FileClaims,
        holder: str,
        lease_seconds: float,
        clock: Callable[[], float] = time.monotonic,
        sleep: Callable[[float], object] = time.sleep,
    ) -> None:
        self._claims, self._holder, self._lease = claims, holder, lease_seconds
        self._clock, self._sleep = clock, sleep
        self._is_alone = False
        self._renewed = clock()
        self._void: Claim | None = None

    def begin(self, *, alone: bool) -> None:
        """Begin an import, which is to be `alone` where it does not deduplicate.

        Raises EngineBusyError where others do not allow that. Waits for a
        lease where one of them may be dead.
        """
        row = self._row()
        if self._binds(row):
            if self._lives(row):
                raise self._busy(row)
            self._void = row.claim
        if alone:
            self._look_at_files()  # first, so that others that are at work seldom see the claim
            self._claim()
            self._look_at_files()

    def check(self) -> None:
        """Raise EngineBusyError where another import must be alone now."""
        row = self._row()
        if self._binds(row):
            raise self._busy(row)

    def keep(self) -> None:
        """Count the claim up when it is time, so that others see that this import goes on."""
        if self._is_alone and self._clock() - self._renewed >= self._lease / _RENEWALS:
            self._claim()

    def end(self) -> None:
        """Let others import."""
        if self._is_alone:
            self._is_alone = False
            self._update(lambda row: replace(row, claim=None) if self._is_own(row) else None)

    def _claim(self) -> None:
        row = self._update(lambda row: None if self._binds(row) else self._claimed(row))
        if not self._is_own(row):
            raise self._busy(row)
        self._is_alone, self._renewed = True, self._clock()

    def _claimed(self, row: ClaimedFile) -> ClaimedFile:
        counter = row.claim.counter + 1 if row.claim else 1
        return replace(row, claim=Claim(self._holder, counter, self._lease))

    def _look_at_files(self) -> None:
        """Raise EngineBusyError where another importer has a file."""
        for row in self._claims.held():
            if row.collection != _NO_COLLECTION and self._binds(row) and self._lives(row):
                self.end()
                raise EngineBusyError(
                    f"an import without deduplication must be alone, and {_place(row)} imports "
                    f"{row.name}; try again when it has ended"
                )

    def _binds(self, row: ClaimedFile) -> bool:
        """Tell whether a claim is another's that may be at work."""
        claim = row.claim
        if claim is None or claim.ended or self._is_own(row) or claim == self._void:
            return False
        return not is_known_dead(claim.holder)

    def _lives(self, row: ClaimedFile) -> bool:
        """Tell whether the holder of a claim does anything within the time of its lease."""
        if row.claim is None:
            return False
        began = self._clock()
        while self._clock() - began < row.claim.lease_seconds:
            self._sleep(row.claim.lease_seconds / _LOOKS)
            now = self._claims.read(row.collection, [row.name])[row.name]
            if now.claim != row.claim:
                return True
        return False

    def _is_own(self, row: ClaimedFile) -> bool:
        return row.claim is not None and row.claim.holder == self._holder

    def _row(self) -> ClaimedFile:
        return self._claims.read(_NO_COLLECTION, [SOLE_NAME])[SOLE_NAME]

    def _update(self, change: Callable[[ClaimedFile], ClaimedFile | None]) -> ClaimedFile:
        return self._claims.update(_NO_COLLECTION, [SOLE_NAME], change)[SOLE_NAME]

    def _busy(self, row: ClaimedFile) -> EngineBusyError:
        return EngineBusyError(
            f"{_place(row)} imports without deduplication, during which nothing else may be "
            f"imported; try again when it has ended"
        )


def _place(row: ClaimedFile) -> str:
    host, process = (*(row.claim.holder if row.claim else "").split("/"), "")[:2]
    return f"process {process} on {host}"
