"""The running figures of an import."""

from collections import Counter
from collections.abc import Sequence

from nwx.bulk.progress import WorkProgress
from nwx.importing.messages import FilePart, Verdict
from nwx.importing.report import ErrorLog, ImportReport, Outcome
from nwx.model import ReadError
from nwx.warc.sources import ArchiveSource, FileError


class ImportTally:
    """The running figures of an import."""

    def __init__(self) -> None:
        self.errors = ErrorLog()
        self.outcomes: Counter[str] = Counter()
        self.excluded_before = 0
        self._records: Counter[str] = Counter()
        self._captures = self._documents = self._candidates = self._excluded = 0
        self._renders = self._purged = 0
        self._bytes = self._closed_bytes = 0
        self._files = 0
        self._bytes_total: int | None = 0

    def expect(self, sources: list[ArchiveSource]) -> None:
        """Note what is to be done."""
        sizes = [source.size for source in sources]
        self._files += len(sources)
        self._bytes_total = None if None in sizes else sum(size or 0 for size in sizes)

    def note(self, errors: Sequence[ReadError]) -> None:
        """Count errors that concern files as a whole."""
        for error in errors:
            self.errors.add(error)
        refused = {e.file for e in errors if isinstance(e, FileError) and e.is_refused}
        self._files += len(refused)
        self.outcomes.update(Outcome.UNREADABLE for _ in refused)

    def add(self, part: FilePart, documents: int) -> None:
        """Count a part that was written and made so many documents."""
        self._records.update(part.records)
        self._captures += part.captures
        self._renders += part.renders
        self._purged += part.purged
        self._documents += documents
        self._candidates += part.candidates
        self._excluded += part.excluded
        self._bytes += part.bytes
        for error in part.errors:
            self.errors.add(error)

    def close(self, source: ArchiveSource, verdict: Verdict) -> None:
        """Count a file that is done with."""
        self.outcomes[verdict.outcome] += 1
        self._closed_bytes += source.size or 0
        for error in verdict.errors:
            self.errors.add(error)

    @property
    def _duplicates(self) -> int:
        return max(0, self._candidates - self._documents)

    def progress(self, reading: int) -> WorkProgress:
        """Return the figures with `reading` bytes of files that are not done with."""
        return WorkProgress(
            "importing",
            self._closed_bytes + reading,
            self._bytes_total or 0,
            in_bytes=True,
            files=(self.outcomes.total(), self._files),
            counts={
                "capture": self._captures,
                "document": self._documents,
                "duplicate": self._duplicates,
                "error": self.errors.total,
            },
        )

    def report(self, interrupted: bool, seconds: float) -> ImportReport:
        """Return the figures at the end."""
        return ImportReport(
            files=self._files,
            outcomes=dict(self.outcomes),
            records=dict(self._records),
            captures=self._captures,
            renders=self._renders,
            documents=self._documents,
            duplicates=self._duplicates,
            excluded=self._excluded,
            excluded_before=self.excluded_before,
            purged=self._purged,
            bytes=self._bytes,
            errors=tuple(self.errors.kept),
            errors_total=self.errors.total,
            errors_by_kind=dict(self.errors.by_kind),
            interrupted=interrupted,
            seconds=seconds,
        )
