"""The progress and the final report of an import."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, field, replace
from typing import Any

from nwx.bulk.progress import WorkProgress
from nwx.data_classes import dataclass
from nwx.importing.messages import FilePart, Outcome, Verdict
from nwx.model import UNREADABLE, ReadError, SourceFile
from nwx.warc.sources import ArchiveSource, FileError, source_name

ERRORS_OF_A_KIND = 20
ERRORS_LISTED = 10_000
"""The maximum number of errors a report lists: per kind and file, and in all; all are counted."""


@dataclass(frozen=True, slots=True)
class ImportReport:
    """The result of an import.

    `files` counts all files examined, `outcomes` their outcomes. `records` counts records read, by
    type; `captures` stored captures, `renders` the browser's renders of pages among them;
    `documents` documents new to the archive; `duplicates` revisits, and captures whose document's
    key was already known; `excluded` captures that keep only their dates, `excluded_before` those
    that earlier imports excluded from these files; `purged` captures that access rules keep out.
    `bytes` are as stored. `errors` has the first of each kind and file, `errors_total` counts all.
    """

    files: int = 0
    outcomes: Mapping[str, int] = field(default_factory=dict)
    records: Mapping[str, int] = field(default_factory=dict)
    captures: int = 0
    renders: int = 0
    documents: int = 0
    duplicates: int = 0
    excluded: int = 0
    excluded_before: int = 0
    purged: int = 0
    bytes: int = 0
    errors: tuple[ReadError, ...] = ()
    errors_total: int = 0
    errors_by_kind: Mapping[str, int] = field(default_factory=dict)
    interrupted: bool = False
    seconds: float = 0.0

    @property
    def useful(self) -> bool:
        """Whether a record was read, a file was already in the archive, or no error occurred."""
        held = self.outcomes.get(Outcome.SKIPPED) or self.outcomes.get(Outcome.BY_OTHERS)
        return bool(self.records or held) or not self.errors_total


def report_of_errors(errors: Iterable[ReadError]) -> ImportReport:
    """Return the report of an import that found errors but no files."""
    log = ErrorLog()
    for error in errors:
        log.add(error)
    return ImportReport(
        errors=tuple(log.kept), errors_total=log.total, errors_by_kind=dict(log.by_kind)
    )


def import_report_json(report: ImportReport) -> dict[str, Any]:
    """Return a report as JSON values."""
    fields = asdict(report)
    fields["seconds"] = round(report.seconds, 3)
    return fields


class ErrorLog:
    """Counts errors, and keeps the first of each kind in each file."""

    def __init__(self) -> None:
        self.kept: list[ReadError] = []
        self.by_kind: Counter[str] = Counter()
        self._of_file: Counter[tuple[str, str]] = Counter()

    def add(self, error: ReadError) -> None:
        """Count an error, and keep it unless a limit is reached."""
        self.by_kind[error.kind] += 1
        place = (error.file, error.kind)
        if self._of_file[place] < ERRORS_OF_A_KIND and len(self.kept) < ERRORS_LISTED:
            self.kept.append(error)
            self._of_file[place] += 1

    @property
    def total(self) -> int:
        """The number of all errors, kept or not."""
        return self.by_kind.total()


def error_entries(
    errors: Iterable[ReadError], collection: str, ledger: Mapping[str, SourceFile]
) -> list[SourceFile]:
    """Return the ledger entries of files with errors about the whole file, refused or read anyway.

    `ledger` maps names to the existing entries: the entry of an imported file is unchanged.
    """
    of_file: defaultdict[str, list[FileError]] = defaultdict(list)
    for error in errors:
        if isinstance(error, FileError):
            of_file[source_name(error.file)].append(error)
    return [
        _entry(collection, name, own)
        for name, own in of_file.items()
        if name not in ledger or tells_errors_only(ledger[name])
    ]


def _entry(collection: str, name: str, errors: list[FileError]) -> SourceFile:
    refused = any(error.is_refused for error in errors)
    counts = {"errors": len(errors)} | ({UNREADABLE: 1} if refused else {})
    path, size = errors[0].path, errors[0].size
    return SourceFile(collection, name, path, size, "", finished=not refused, counts=counts)


def outdated_entries(
    ledger: Mapping[str, SourceFile],
    sources: Iterable[ArchiveSource],
    entries: Collection[SourceFile],
) -> list[SourceFile]:
    """Return the ledger entries that record only errors which no longer occur."""
    members = {source.path for source in sources if source.member}
    fresh = {entry.name for entry in entries}
    return [
        entry
        for name, entry in ledger.items()
        if entry.path in members and tells_errors_only(entry) and name not in fresh
    ]


def with_error(entry: SourceFile | None, new: SourceFile) -> SourceFile:
    """Return a ledger entry with one more error; `new`, unreadable, if no file was read."""
    if entry is None or entry.counts.get(UNREADABLE):
        return replace(new, counts={"errors": 1, UNREADABLE: 1})
    return with_errors(entry, 1)


def with_errors(entry: SourceFile, count: int) -> SourceFile:
    """Return a ledger entry with `count` more errors."""
    return replace(entry, counts={**entry.counts, "errors": entry.counts.get("errors", 0) + count})


def tells_errors_only(entry: SourceFile) -> bool:
    """Return whether a ledger entry records only errors, its file having not been read."""
    return bool(entry.counts.get(UNREADABLE)) or not entry.checksum


class ImportTally:
    """The running counts of an import."""

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
        """Count the files and bytes to import."""
        sizes = [source.size for source in sources]
        self._files += len(sources)
        self._bytes_total = None if None in sizes else sum(size or 0 for size in sizes)

    def note(self, errors: Sequence[ReadError]) -> None:
        """Count errors about whole files."""
        for error in errors:
            self.errors.add(error)
        refused = {e.file for e in errors if isinstance(e, FileError) and e.is_refused}
        self._files += len(refused)
        self.outcomes.update(Outcome.UNREADABLE for _ in refused)

    def add(self, part: FilePart, documents: int) -> None:
        """Count a written part and its new documents."""
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
        """Count a finished file."""
        self.outcomes[verdict.outcome] += 1
        self._closed_bytes += source.size or 0
        for error in verdict.errors:
            self.errors.add(error)

    @property
    def _duplicates(self) -> int:
        return max(0, self._candidates - self._documents)

    def progress(self, reading: int) -> WorkProgress:
        """Return the progress, with `reading` bytes of unfinished files."""
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
        """Return the final report."""
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
