"""What an import says while it runs and when it is over."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from enum import StrEnum
from typing import Any

from nwx.model import ReadError

ERRORS_OF_A_KIND = 20
ERRORS_LISTED = 10_000
"""How many errors a report lists: of one kind in one file, and in all. All are counted."""


class Outcome(StrEnum):
    """What became of a file."""

    IMPORTED = "imported"  # to its end
    SKIPPED = "skipped"  # it was in the archive already
    REFUSED = "refused"  # another file of its name is in the archive
    UNREADABLE = "unreadable"  # it cannot be opened, or holds no record
    BY_OTHERS = "by others"  # another importer did it, or left it, meanwhile
    PARTIAL = "partial"  # stopped on the way; the next import goes on


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did.

    `files` counts all files looked at, `outcomes` what became of them.
    `records` counts records read, by type; `captures` those stored, and
    `renders` those of them that are what a browser showed of a page;
    `documents` those new to the archive; `duplicates` the captures that
    could have made a document whose key was held already, and the
    revisits; `excluded` those left out but for their dates, and
    `excluded_before` those that earlier imports left out of these files;
    `purged` those that access rules keep out altogether.
    `bytes` are as stored. `errors` lists the first of each kind in each file,
    `errors_total` counts all.
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
        """Whether a record was read, or a file was found to be in the archive already."""
        held = self.outcomes.get(Outcome.SKIPPED) or self.outcomes.get(Outcome.BY_OTHERS)
        return bool(self.records or held) or not self.errors_total


def report_of_errors(errors: Iterable[ReadError]) -> ImportReport:
    """Return the report of an import that found no file, but errors."""
    log = ErrorLog()
    for error in errors:
        log.add(error)
    return ImportReport(
        errors=tuple(log.kept), errors_total=log.total, errors_by_kind=dict(log.by_kind)
    )


def import_report_json(report: ImportReport) -> dict[str, Any]:
    """Return a report as programs read it."""
    fields = asdict(report)
    fields["seconds"] = round(report.seconds, 3)
    return fields


class ErrorLog:
    """All errors counted, the first of each kind in each file kept."""

    def __init__(self) -> None:
        self.kept: list[ReadError] = []
        self.by_kind: Counter[str] = Counter()
        self._of_file: Counter[tuple[str, str]] = Counter()

    def add(self, error: ReadError) -> None:
        """Count an error and keep it where there is room."""
        self.by_kind[error.kind] += 1
        place = (error.file, error.kind)
        if self._of_file[place] < ERRORS_OF_A_KIND and len(self.kept) < ERRORS_LISTED:
            self.kept.append(error)
            self._of_file[place] += 1

    @property
    def total(self) -> int:
        """The number of all errors, those not kept included."""
        return self.by_kind.total()
