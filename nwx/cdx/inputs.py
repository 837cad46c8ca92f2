"""CDX sources, their division into tasks, and the broken lines found in them."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from nwx.bulk.pool import TaskResult
from nwx.bulk.whole_files import writing
from nwx.cdx.files import compression, open_cdx
from nwx.cdx.layouts import Layout
from nwx.errors import CdxError
from nwx.model import STANDARD_INPUT

_TASK_BYTES = 64 << 20
_LEAST_TASK_BYTES = 8 << 20
_EXPANSION = 8
_COPY_BYTES = 1 << 20

_Record = TypeVar("_Record")


@dataclass(frozen=True, slots=True)
class CdxSource:
    """A file of captures; the captures of a `held` file are known, never duplicates.

    `layout` is used for lines if no header says otherwise, `name` in messages.
    """

    path: str
    layout: Layout | None = None
    held: bool = False
    name: str = ""

    @property
    def shown(self) -> str:
        """The name for messages."""
        return self.name or self.path


@dataclass(frozen=True, slots=True)
class FilePiece:
    """The lines of a source that begin in the bytes from `start` up to `end` (None: the rest)."""

    source: CdxSource
    start: int = 0
    end: int | None = None


@dataclass(frozen=True, slots=True)
class CdxInput:
    """A source that can be read twice, with its size in bytes as stored."""

    source: CdxSource
    size: int
    compressed: bool

    @property
    def expanded_bytes(self) -> int:
        """The size of its lines in bytes, estimated if they are compressed."""
        return self.size * (_EXPANSION if self.compressed else 1)


@dataclass(frozen=True, slots=True)
class ReadTask:
    """Pieces of input to be read together, `size` bytes as stored."""

    number: int
    pieces: tuple[FilePiece, ...]
    size: int

    @property
    def held(self) -> bool:
        """Whether its captures are held, so that none is a duplicate."""
        return self.pieces[0].source.held


class LayoutChangedError(Exception):
    """The layout of a file changes within it, so that it cannot be read in pieces."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


def ready_inputs(sources: Iterable[CdxSource], folder: Path) -> list[CdxInput]:
    """Return sources that can be read repeatedly; stdin is copied to `folder`.

    Raises SourceError for unreadable sources.
    """
    return [_ready(source, folder) for source in sources]


def _ready(source: CdxSource, folder: Path) -> CdxInput:
    path = Path(source.path)
    if source.path == STANDARD_INPUT or not path.is_file():
        source = replace(source, path=_copied(source, folder), name=source.shown)
    kind = compression(source.path)
    return CdxInput(source, Path(source.path).stat().st_size, bool(kind))


def _copied(source: CdxSource, folder: Path) -> str:
    """Copy a source that can be read only once (stdin, a pipe); return the copy's path."""
    number = len(list(folder.glob("input-*")))
    path = folder / f"input-{number}"
    with open_cdx(source.path) as stream, writing(path), path.open("wb") as copy:
        while data := stream.read(_COPY_BYTES):
            copy.write(data)
    return str(path)


def expanded_bytes(inputs: Iterable[CdxInput]) -> int:
    """Return the size of the lines of all inputs in bytes, estimated if they are compressed."""
    return sum(each.expanded_bytes for each in inputs)


def plan_tasks(
    inputs: Sequence[CdxInput], workers: int, whole: frozenset[str] = frozenset()
) -> list[ReadTask]:
    """Return tasks of about the same size; files with paths in `whole` are not divided.

    A task reads either held captures or other captures, never both.
    """
    total = sum(each.size for each in inputs)
    size = max(_LEAST_TASK_BYTES, min(_TASK_BYTES, total // (4 * workers)))
    tasks: list[ReadTask] = []
    pieces: list[FilePiece] = []
    filled = 0
    for each in inputs:
        cut = not each.compressed and each.source.path not in whole
        for piece, length in _pieces(each, size if cut else None):
            other = bool(pieces) and pieces[0].source.held != piece.source.held
            if pieces and (other or filled + length > size):
                tasks.append(ReadTask(len(tasks), tuple(pieces), filled))
                pieces, filled = [], 0
            pieces.append(piece)
            filled += length
    return [*tasks, ReadTask(len(tasks), tuple(pieces), filled)] if pieces else tasks


def _pieces(each: CdxInput, size: int | None) -> Iterator[tuple[FilePiece, int]]:
    if size is None or each.size <= size:
        yield FilePiece(each.source), each.size
        return
    for start in range(0, each.size, size):
        end = min(start + size, each.size)
        yield FilePiece(each.source, start, end), end - start


def read_in_tasks(
    folder: Path,
    inputs: Sequence[CdxInput],
    workers: int,
    read: Callable[[Path, list[ReadTask]], TaskResult],
) -> TaskResult:
    """Return the results of `read` for all tasks; its files go to a new folder in `folder`.

    If `read` raises LayoutChangedError, because the layout of a file changes within it, it is
    called again with another folder and with that file in one piece.
    """
    whole: frozenset[str] = frozenset()
    while True:
        attempt = folder / f"attempt-{len(whole)}"
        with writing(attempt):
            attempt.mkdir(parents=True)
        try:
            return read(attempt, plan_tasks(inputs, workers, whole))
        except LayoutChangedError as error:
            whole |= {error.path}


PROBLEMS_LISTED = 1000
"""The maximum number of problems in a report; all are counted."""

_LISTED_OF_A_PIECE = 100


@dataclass(slots=True)
class FileReading:
    """The problems found in the lines of a piece; `line` counts its lines.

    `damage` is the reason why it could not be read to its end, if the part before was used anyway.
    """

    file: str
    line: int = 0
    problems: list[CdxError] = field(default_factory=list)
    problems_total: int = 0
    layout_changed: bool = False
    damage: str = ""

    def add(self, error: CdxError) -> None:
        """Count a broken line, and keep it if it is one of the first."""
        self.problems_total += 1
        if len(self.problems) < _LISTED_OF_A_PIECE:
            self.problems.append(error)


class ProblemReport(Protocol):
    """A report that lists the first broken lines and counts all."""

    problems: list[CdxError]
    problems_total: int


class Problems:
    """Adds the broken lines of all tasks to a report, with their numbers in the whole file."""

    def __init__(self, report: ProblemReport, *, strict: bool = False) -> None:
        self._report = report
        self._strict = strict
        self._before = 0

    def add(self, pieces: Sequence[FilePiece], readings: Iterable[FileReading]) -> None:
        """Add the readings of the pieces of the next task.

        Raises the first problem if `strict`, and LayoutChangedError if the rest of a file may have
        been misread.
        """
        for piece, reading in zip(pieces, readings, strict=False):
            if reading.layout_changed and (piece.start or piece.end):
                raise LayoutChangedError(piece.source.path)
            before = self._before if piece.start else 0
            self._before = before + reading.line
            room = PROBLEMS_LISTED - len(self._report.problems)
            for problem in sorted(reading.problems, key=lambda each: each.line or 0)[:room]:
                line = before + (problem.line or 0)
                self._report.problems.append(CdxError(str(problem), problem.file, line))
            self._report.problems_total += reading.problems_total
            if self._strict and self._report.problems:
                first = self._report.problems[0]
                raise CdxError(f"{first.file}:{first.line}: {first}", first.file, first.line)


def record_json(record: object) -> Any:
    """Return a record as JSON values; a broken line has file, line and message."""
    return msgspec.to_builtins(record, enc_hook=_plain)


def record_from_json(kind: type[_Record], found: Any) -> _Record:
    """Return a record from the JSON values of `record_json`."""
    return msgspec.convert(found, kind, dec_hook=_made)


def _plain(value: Any) -> Any:
    """Return a broken line, or counts, as JSON values."""
    if isinstance(value, CdxError):
        return {"file": value.file, "line": value.line, "message": str(value)}
    return dict(value)


def _made(kind: Any, plain: Any) -> Any:
    if kind is CdxError:
        return CdxError(plain["message"], plain["file"], plain["line"])
    return Counter(plain)
