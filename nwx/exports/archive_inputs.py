"""The archive files of an export, and the records in them that a viewer may see."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from nwx.engine.access.decisions import AccessRules
from nwx.engine.access.rules import EVERYBODY, AccessRule, Viewer
from nwx.engine.base import Engine
from nwx.errors import FormatError, SourceError
from nwx.model import DEFAULT_COLLECTION, Capture, ReadError
from nwx.warc.captures import ENRICHING, CaptureBuilder, is_capture
from nwx.warc.members import READ_FAILURES, Members, open_members
from nwx.warc.record import Record
from nwx.warc.record_groups import belongs_to
from nwx.warc.scanner import Scanner
from nwx.warc.sources import ArchiveSource, expand, stored_source
from nwx.warc.stored_bytes import RecordFault

_MOST_KEPT_BYTES = 16 << 20

FILE_FAILURES = (SourceError, *READ_FAILURES)
"""The errors of a file that cannot be opened or read to its end."""

_MOST_PENDING = 8


class Visibility:
    """The captures that access rules allow a viewer to see; can be pickled."""

    def __init__(self, viewer: Viewer = EVERYBODY, rules: AccessRules | None = None) -> None:
        self._viewer, self._rules = viewer, rules or AccessRules()
        self._decisions = self._rules.for_viewer(viewer)

    def __reduce__(self) -> tuple[Any, ...]:
        return _shown, (self._viewer, self._rules.rules, self._rules.version)

    @property
    def is_all(self) -> bool:
        """Whether nothing is hidden."""
        return self._decisions.hides_nothing and self._rules.purges_nothing

    @property
    def key(self) -> str:
        """A text that differs for viewers or rules that hide different captures."""
        return "" if self.is_all else f"{self._decisions.key} {self._rules.version}"

    def hides(self, capture: Capture) -> bool:
        """Return whether a capture is hidden or purged."""
        return self._rules.purges(capture) or self._decisions.hides(capture)


def _shown(viewer: Viewer, rules: Sequence[AccessRule], version: str) -> Visibility:
    return Visibility(viewer, AccessRules(rules, version))


SEES_ALL = Visibility()


class VisibleRecords:
    """Iterates over the visible records of a file; requests and metadata follow their capture.

    `hidden` counts the hidden records, `errors` has the faults in the file. Raises FILE_FAILURES
    if the file cannot be read.
    """

    def __init__(self, source: ArchiveSource, collection: str, shown: Visibility) -> None:
        self.hidden = 0
        self.errors: list[ReadError] = []
        self._source, self._shown = source, shown
        self._builder = CaptureBuilder(collection, source.name, [])
        self._last: Record | None = None
        self._last_is_hidden = False

    def __iter__(self) -> Iterator[Record]:
        with self._source.open() as handle:
            members = open_members(handle, 0)
            scanner = Scanner(members, _MOST_KEPT_BYTES, ask_digests)
            count = 0
            for count, record in enumerate(self._shown_of(scanner), 1):  # noqa: B007
                yield record
            self._finish(scanner, members, empty=not (count or self.hidden))

    def _shown_of(self, scanner: Scanner) -> Iterator[Record]:
        return iter(scanner) if self._shown.is_all else self._visible(scanner)

    def _finish(self, scanner: Scanner, members: Members, *, empty: bool) -> None:
        if empty and not scanner.faults:
            self._fault(RecordFault(0, "format", "no WARC or ARC record was found in the file"))
        for fault in scanner.faults:
            self._fault(fault)
        if members.raw.failure:
            raw = members.raw
            self._fault(RecordFault(raw.offset, raw.failure_kind, raw.failure))

    def _fault(self, fault: RecordFault) -> None:
        self.errors.append(ReadError(self._source.name, fault.offset, fault.kind, fault.message))

    def _visible(self, scanner: Scanner) -> Iterator[Record]:
        pending: list[Record] = []  # records that may belong to the next capture
        for record in scanner:
            if record.kind in ENRICHING and not self._is_of_last(record):
                if len(pending) >= _MOST_PENDING:
                    yield from self._alone(pending.pop(0))
                pending.append(record)
                continue
            if is_capture(record):
                self._last, self._last_is_hidden = record, self._hides(record)
                for other in pending:
                    if belongs_to(other, record):
                        yield from self._counted(other, is_hidden=self._last_is_hidden)
                    else:
                        yield from self._alone(other)
                pending = []
            if self._is_of_last(record):
                yield from self._counted(record, is_hidden=self._last_is_hidden)
            else:
                yield from self._alone(record)
        for other in pending:
            yield from self._alone(other)

    def _is_of_last(self, record: Record) -> bool:
        last = self._last
        if last is None or record is last:
            return last is not None
        return record.kind in ENRICHING and belongs_to(record, last)

    def _alone(self, record: Record) -> Iterator[Record]:
        is_hidden = record.kind != "warcinfo" and self._hides(record)
        yield from self._counted(record, is_hidden=is_hidden)

    def _counted(self, record: Record, *, is_hidden: bool) -> Iterator[Record]:
        if is_hidden:
            self.hidden += 1
        else:
            yield record

    def _hides(self, record: Record) -> bool:
        """Return whether a record is hidden; True, to be safe, if its URL or date is invalid."""
        try:
            capture = self._builder.build(record, ())
        except FormatError:
            return True
        finally:
            self._builder.faults.clear()
        return self._shown.hides(capture)


def ask_digests(record: Record) -> None:
    """Request the digests of the block and the body of a record too long to be kept."""
    size = record.http_head().size
    for algorithm, start in {("sha1", 0), ("sha1", size), ("md5", size)}:
        record.ask(algorithm, start)


@dataclass(slots=True)
class ExtractReport:
    """The counts of an export of data extracted from records.

    `present` counts files written by an earlier run, `hidden` the records excluded by access
    rules. `errors` are read errors and faults.
    """

    files: int = 0
    present: int = 0
    records: int = 0
    written: int = 0
    hidden: int = 0
    bytes: int = 0
    seconds: float = 0.0
    errors: list[ReadError] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class InputFile:
    """An archive file to read, and its collection."""

    source: ArchiveSource
    collection: str = DEFAULT_COLLECTION


def _none(urls: Collection[str]) -> set[str]:
    del urls
    return set()


@dataclass(frozen=True, slots=True)
class Inputs:
    """Archive files, what a viewer sees of them, and errors of files that are missing.

    `hidden_urls` returns those of some URLs that links may not name.
    """

    files: Sequence[InputFile]
    shown: Visibility = SEES_ALL
    errors: tuple[ReadError, ...] = ()
    hidden_urls: Callable[[Collection[str]], set[str]] = _none


def ledger_inputs(engine: Engine, seen: Engine, viewer: Viewer, collection: str) -> Inputs:
    """Return the files of one collection or all; `seen` is the engine restricted to the viewer."""
    found = [
        InputFile(stored_source(file), file.collection)
        for file in seen.files()
        if collection in ("", file.collection)
    ]
    shown = Visibility(viewer, engine.access_index().rules())
    return Inputs(found, shown, hidden_urls=seen.hidden_urls)


def given_inputs(paths: Sequence[str]) -> Inputs:
    """Return the archive files at some paths, as for an import."""
    found = list(expand(paths))
    files = [InputFile(one) for one in found if isinstance(one, ArchiveSource)]
    return Inputs(files, errors=tuple(one for one in found if isinstance(one, ReadError)))
