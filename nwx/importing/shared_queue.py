"""The file queue shared by several importers through claims in the ledger.

The importers have no coordinator and never compare clocks. An importer claims a file before reading
it, increments its claim's counter while it works, and writes ledger entries of the file only in
place of its own claim. Others watch the counter, each by its own clock. An importer taken for dead
finds that it no longer holds the claim and drops the file: its earlier writes equal the other
importer's, as ids come from content and place.
"""

import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from itertools import islice
from random import SystemRandom
from typing import Protocol, TypeVar

from nwx.data_classes import dataclass
from nwx.engine.capabilities import Claim, ClaimChange, ClaimedFile, FileClaims
from nwx.importing.file_queue import FileQueue, Job, is_known_dead
from nwx.importing.report import tells_errors_only
from nwx.importing.sole_import import SoleImport
from nwx.model import SourceFile

_T = TypeVar("_T")


class Retried(Protocol):
    """Returns the result of a call, retried while its engine is unavailable."""

    def __call__(self, call: Callable[[], _T], /) -> _T: ...


def _call(call: Callable[[], _T], /) -> _T:
    return call()


_LOOKED_AT = 16
"""The number of files examined to find a free one."""

_TRIED = 4
"""The number of free files from which one is chosen at random, to avoid collisions."""

_RENEWALS = 4  # in a lease
_LOOKS = 20  # in a lease, at the claims of others


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """The holder of claims, the length of its lease, and the clock for watching other claims."""

    holder: str
    seconds: float
    clock: Callable[[], float] = time.monotonic


class _Watched:
    """A file claimed by another importer, and how long its claim has been seen unchanged.

    Time counts only between consecutive checks: an importer that was stopped, or had no server, has
    not observed that the other was inactive.
    """

    def __init__(self, job: Job, claim: Claim, now: float) -> None:
        self.job, self.claim = job, claim
        self._still, self._looked = 0.0, now

    def look(self, claim: Claim, now: float, most: float) -> None:
        """Record a claim; at most `most` seconds count since the last check."""
        if claim != self.claim:
            self.claim, self._still = claim, 0.0
        else:
            self._still += min(now - self._looked, most)
        self._looked = now

    @property
    def is_left(self) -> bool:
        """Whether the holder is taken for dead."""
        return self._still >= self.claim.lease_seconds


class SharedFileQueue(FileQueue):
    """A queue of files shared by several importers through claims.

    `retried` makes the ledger calls. `sole` detects imports that must run alone.
    """

    is_shared = True

    def __init__(
        self,
        claims: FileClaims,
        collection: str,
        terms: LeaseTerms,
        retried: Retried = _call,
        sole: SoleImport | None = None,
    ) -> None:
        super().__init__(lambda files: None)
        self._sole = sole or SoleImport(claims, terms.holder, terms.seconds)
        self._claims, self._collection, self._terms = claims, collection, terms
        self._retried = retried
        self._own: deque[Job] = deque()  # claimed files, to be read again
        self._held: dict[str, Job] = {}
        self._finished: set[str] = set()  # files that this importer read to their ends
        self._watched: dict[str, _Watched] = {}
        self._void: dict[str, Claim] = {}  # claims that are no longer valid
        self._closed: list[Job] = []
        self._lost: list[Job] = []
        self._renewed = self._looked = terms.clock()

    def __len__(self) -> int:
        return sum(map(len, (self._waiting, self._own, self._watched, self._lost)))

    def add(self, jobs: Iterable[Job]) -> None:
        """Append files; their ended claims are of earlier imports, and void."""
        jobs = list(jobs)
        super().add(jobs)
        for name, row in self._rows([job.name for job in jobs if not job.is_finished]).items():
            if row.claim and row.claim.ended:
                self._void[name] = row.claim

    def put_back(self, jobs: Sequence[Job]) -> None:
        self._own.extend(jobs)

    def take(self) -> Job | None:
        """Claim and return the next file; None if other importers have all.

        A file finished before the import began needs no claim.
        """
        if self._own:
            return self._own.popleft()
        while self._waiting:
            if self._waiting[0].is_finished:
                return self._waiting.popleft()
            free = self._free()
            if free and self._claim(free):
                self._waiting.remove(free)
                return free
        return None

    def _free(self) -> Job | None:
        """Return a random free file of the next few; set claimed and finished ones aside."""
        unfinished = (job for job in self._waiting if not job.is_finished)
        jobs = list(islice(unfinished, _LOOKED_AT))
        rows = self._rows([job.name for job in jobs])
        free = [job for job in jobs if self._is_free(rows[job.name])]
        for job in jobs:
            if job not in free:
                self._waiting.remove(job)
                self._put_aside(job, rows[job.name])
        return SystemRandom().choice(free[:_TRIED]) if free else None

    def _is_free(self, row: ClaimedFile) -> bool:
        """Return whether a file may be claimed."""
        if row.file and row.file.finished:
            return False
        claim = row.claim
        return (
            claim is None
            or claim.holder == self._terms.holder
            or claim == self._void.get(row.name)
            or (not claim.ended and is_known_dead(claim.holder))
        )

    def _put_aside(self, job: Job, row: ClaimedFile) -> None:
        """Watch a file that another importer has claimed; close or requeue a finished one."""
        if row.claim and not row.claim.ended and not (row.file and row.file.finished):
            self._watched[job.name] = _Watched(job, row.claim, self._terms.clock())
        elif row.file and row.file.finished and not _is_same(job, row.file):
            job.entry = row.file  # perhaps another file of this name: its reader checks that
            self._waiting.appendleft(job)
        else:
            self._closed.append(job)

    def _claim(self, job: Job) -> bool:
        """Claim a file; return False if another importer was faster."""
        row = self._updated([job.name], self._claimed)[job.name]
        if not row.is_held_by(self._terms.holder):
            return False
        job.entry = row.file
        self._held[job.name] = job
        self._retried(self._sole.check)
        return True

    def _claimed(self, row: ClaimedFile) -> ClaimedFile | None:
        return self._counted(row) if self._is_free(row) else None

    def _counted(self, row: ClaimedFile) -> ClaimedFile:
        """Return a row with a new or incremented claim of this importer."""
        return row.claimed(self._terms.holder, self._terms.seconds)

    def record(self, files: Sequence[SourceFile]) -> None:
        """Write entries to the ledger, except for files that another importer now claims.

        Entries of files that this importer has finished are written too.
        """
        entries = {file.name: file for file in files}

        def recorded(row: ClaimedFile) -> ClaimedFile | None:
            if not row.is_held_by(self._terms.holder) and not self._is_finished_here(row):
                return None
            row = replace(self._counted(row), file=entries[row.name])
            return replace(row, claim=None) if entries[row.name].finished else row

        for name, row in self._updated(list(entries), recorded).items():
            if row.file is not entries[name]:
                self._lose(name)
            elif row.claim is None:
                self._held.pop(name, None)
                self._finished.add(name)

    def note_unread(self, files: Sequence[SourceFile]) -> None:
        """Write error entries to the ledger, except for files claimed or already read."""
        entries = {file.name: file for file in files}

        def noted(row: ClaimedFile) -> ClaimedFile | None:
            is_held = row.claim is not None and not row.claim.ended
            if is_held or (row.file and not tells_errors_only(row.file)):
                return None
            return replace(row, file=entries[row.name])

        self._updated(list(entries), noted)

    def done(self, job: Job) -> None:
        if self._held.pop(job.name, None) is None:
            return

        def ended(row: ClaimedFile) -> ClaimedFile | None:
            own = row.claim if row.is_held_by(self._terms.holder) else None
            return replace(row, claim=replace(own, ended=True)) if own else None

        self._updated([job.name], ended)

    def _lose(self, name: str) -> None:
        if job := self._held.pop(name, None):
            self._lost.append(job)

    def has_lost(self, job: Job) -> bool:
        return job in self._lost

    def lost(self) -> Sequence[Job]:
        """Return the files lost to other importers since the last call; they are queued again."""
        lost, self._lost = self._lost, []
        for job in lost:
            if job in self._own:
                self._own.remove(job)
        self._waiting.extend(lost)
        return lost

    def renew_claims(self) -> None:
        """Increment the counters of own claims and check other importers' claims, when due."""
        now, lease = self._terms.clock(), self._terms.seconds
        self._retried(self._sole.renew_claims)
        if self._held and now - self._renewed >= lease / _RENEWALS:
            self._renewed = now
            self._renew()
        if self._watched and now - self._looked >= lease / _LOOKS:
            self._look(now, 2 * lease / _LOOKS)
            self._looked = now

    def _renew(self) -> None:
        def renewed(row: ClaimedFile) -> ClaimedFile | None:
            return self._counted(row) if row.is_held_by(self._terms.holder) else None

        for name, row in self._updated(list(self._held), renewed).items():
            if not row.is_held_by(self._terms.holder):
                self._lose(name)

    def _look(self, now: float, most: float) -> None:
        """Check the claims of others; files whose claims have ended or expired are read next."""
        for name, row in self._rows(list(self._watched)).items():
            watched, claim = self._watched[name], row.claim
            if claim is not None and not claim.ended and not is_known_dead(claim.holder):
                watched.look(claim, now, most)
                if not watched.is_left:
                    continue
                self._void[name] = claim
            del self._watched[name]
            self._waiting.appendleft(watched.job)

    def done_by_others(self) -> Sequence[Job]:
        closed, self._closed = self._closed, []
        return closed

    def end(self) -> None:
        """Release the claims of unread files, so that others need not wait."""
        if self._held:
            self._claims.update(
                self._collection, list(self._held), lambda row: row.left_by(self._terms.holder)
            )
            self._held.clear()
        self._sole.end()

    def _is_finished_here(self, row: ClaimedFile) -> bool:
        """Return whether this importer read the file of a row to its end."""
        return row.name in self._finished and row.claim is None

    def _rows(self, names: Sequence[str]) -> dict[str, ClaimedFile]:
        return self._retried(lambda: self._claims.read(self._collection, names)) if names else {}

    def _updated(self, names: Sequence[str], change: ClaimChange) -> dict[str, ClaimedFile]:
        if not names:
            return {}
        return self._retried(lambda: self._claims.update(self._collection, names, change))


def _is_same(job: Job, file: SourceFile) -> bool:
    """Return whether an entry has the path and size of a job's file."""
    return (file.path, file.size) == (job.path, job.source.size)
