"""Imports without deduplication: they run alone, and every capture gets a document."""

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from nwx.engine.base import Engine
from nwx.engine.capabilities import Claim, ClaimedFile, FileClaims
from nwx.errors import EngineBusyError
from nwx.importing.file_queue import is_known_dead
from nwx.keys import capture_key, document_id, precedence
from nwx.model import UNDEDUPLICATED, Batch, Capture, Dates, Document, SourceFile, Written

SOLE_NAME = "import without deduplication"
"""The name of the claim's entry in the ledger, which has no collection."""

_NO_COLLECTION = ""
_RENEWALS, _LOOKS = 4, 20  # in a lease


class SoleImport:
    """Mutual exclusion between an import that must run alone and all others, for one `holder`."""

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
        """Begin an import, `alone` if it does not deduplicate.

        Raises EngineBusyError if other imports prevent it. Waits for one lease if one of them may
        be dead.
        """
        row = self._row()
        if self._binds(row):
            if self._lives(row):
                raise self._busy(row)
            self._void = row.claim
        if alone:
            self._look_at_files()  # first, so that running imports seldom see the claim
            self._claim()
            self._look_at_files()

    def check(self) -> None:
        """Raise EngineBusyError if another import must run alone now."""
        row = self._row()
        if self._binds(row):
            raise self._busy(row)

    def renew_claims(self) -> None:
        """Increment the claim's counter when due, as a sign of life to other importers."""
        if self._is_alone and self._clock() - self._renewed >= self._lease / _RENEWALS:
            self._claim()

    def end(self) -> None:
        """Release the claim, so that other imports can run."""
        if self._is_alone:
            self._is_alone = False
            self._update(lambda row: row.left_by(self._holder))

    def _claim(self) -> None:
        own, lease = self._holder, self._lease
        row = self._update(lambda row: None if self._binds(row) else row.claimed(own, lease))
        if not row.is_held_by(self._holder):
            raise self._busy(row)
        self._is_alone, self._renewed = True, self._clock()

    def _look_at_files(self) -> None:
        """Raise EngineBusyError if another importer holds a file."""
        for row in self._claims.held():
            if row.collection != _NO_COLLECTION and self._binds(row) and self._lives(row):
                self.end()
                raise EngineBusyError(
                    f"an import without deduplication must be the only one, and {_place(row)} "
                    f"is importing {row.name}; try again when it has ended"
                )

    def _binds(self, row: ClaimedFile) -> bool:
        """Return whether a row has a claim of another importer that may be running."""
        claim = row.claim
        if claim is None or claim.ended or row.is_held_by(self._holder) or claim == self._void:
            return False
        return not is_known_dead(claim.holder)

    def _lives(self, row: ClaimedFile) -> bool:
        """Return whether the holder of a claim changes it within its lease."""
        if row.claim is None:
            return False
        began = self._clock()
        while self._clock() - began < row.claim.lease_seconds:
            self._sleep(row.claim.lease_seconds / _LOOKS)
            now = self._claims.read(row.collection, [row.name])[row.name]
            if now.claim != row.claim:
                return True
        return False

    def _row(self) -> ClaimedFile:
        return self._claims.read(_NO_COLLECTION, [SOLE_NAME])[SOLE_NAME]

    def _update(self, change: Callable[[ClaimedFile], ClaimedFile | None]) -> ClaimedFile:
        return self._claims.update(_NO_COLLECTION, [SOLE_NAME], change)[SOLE_NAME]

    def _busy(self, row: ClaimedFile) -> EngineBusyError:
        return EngineBusyError(
            f"{_place(row)} is importing without deduplication, and no other import may run; "
            f"try again when it has ended"
        )


def _place(row: ClaimedFile) -> str:
    host, process = (*(row.claim.holder if row.claim else "").split("/"), "")[:2]
    return f"process {process} on {host}"


Write = Callable[[], Written]


class Separated:
    """Writes batches so that captures of files imported without deduplication keep documents."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._files: set[tuple[str, str]] = set()

    def note(self, files: Iterable[SourceFile]) -> None:
        """Record which of these files were imported without deduplication."""
        self._files.update(
            (file.collection, file.name) for file in files if file.counts.get(UNDEDUPLICATED)
        )

    @property
    def needed(self) -> bool:
        """Whether existing documents must be checked before new ones are written."""
        return bool(self._files)

    def writes(self, batch: Batch, *, every: bool) -> list[Write]:
        """Return the calls that store a batch, to be made in order.

        With `every`, each document of the batch is kept, otherwise only the document of each id
        that takes precedence.
        """
        if not (every or self._files) or not batch.documents:
            return [lambda: self._engine.write(batch)]
        own, shared = self._sorted_out(batch.documents, every=every)
        rest = replace(batch, documents=tuple(shared))
        # Replaced documents are written first: a stop between the two then loses nothing.
        first: list[Write] = [lambda: self._engine.write(_own(own))] if own else []
        return [*first, lambda: self._engine.write(rest)]

    def _sorted_out(
        self, documents: Sequence[Document], *, every: bool
    ) -> tuple[list[Document], list[Document]]:
        """Return the documents to store under their own key, and those to store under their id."""
        by_id: defaultdict[str, list[Document]] = defaultdict(list)
        for document in documents:
            by_id[document.capture.document_id].append(document)
        own: list[Document] = []
        shared: list[Document] = []
        ranks = self._engine.known(by_id)
        beaten = [id for id, new in by_id.items() if -1 < ranks.get(id, -1) <= max(map(_rank, new))]
        held = self._engine.documents(beaten)
        for id, new in by_id.items():
            before = [held[id]] if id in held else []
            stay = [one for one in before if self._is_separate(one.capture)]
            stay += new if every else []
            if id in ranks and not before:
                own += stay
                continue
            best = max((*before, *new), key=_rank)
            own += [one for one in stay if _capture_place(one) != _capture_place(best)]
            if not before or best is not before[0]:
                shared.append(best)
        return own, shared

    def _is_separate(self, capture: Capture) -> bool:
        return (capture.collection, capture.source_file) in self._files


def _rank(document: Document) -> int:
    return precedence(document.capture)


def _capture_place(document: Document) -> tuple[str, str, int]:
    capture = document.capture
    return capture.collection, capture.source_file, capture.source_file_offset


def _own(documents: Iterable[Document]) -> Batch:
    """Return a batch that stores documents under their captures' own keys, each with its date."""
    named, dates = [], []
    for document in documents:
        capture, key = document.capture, capture_key(document.capture)
        named.append(replace(document, capture=capture._replace(document_id=document_id(key))))
        dates.append(Dates(key, ((capture.timestamp, capture.collection),)))
    return Batch(documents=tuple(named), dates=tuple(dates))
