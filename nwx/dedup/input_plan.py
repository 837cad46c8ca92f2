"""What there is to read and how it is shared out."""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir

from nwx.bulk.pool import Result, processors
from nwx.bulk.spill import writing
from nwx.cdx.files import STANDARD_INPUT, compression, open_cdx
from nwx.cdx.lines import CdxLine, format_cdx
from nwx.cdx.raw_blocks import CdxSource, FilePiece
from nwx.dedup.reports import LayoutChangedError
from nwx.dedup.tasks import DedupPlan, ReadTask

MEMORY_BYTES = 512 << 20
_TASK_BYTES = 64 << 20
_LEAST_TASK_BYTES = 8 << 20
_WORTH_PROCESSES_BYTES = 48 << 20
_PROCESS_BYTES = 96 << 20
_BYTES_A_LINE = 120
_EXPANSION = 8
_BYTES_TO_SETTLE = 160
_MAX_BITS = 12


@dataclass(frozen=True, slots=True)
class Resources:
    """What a run may use: memory in bytes in all, a folder for temporary files, processes.

    None for `folder` is the system's; for `workers` as many as there are
    processors.
    """

    memory_bytes: int = MEMORY_BYTES
    folder: Path | None = None
    workers: int | None = None


@dataclass(frozen=True, slots=True)
class Input:
    """A source that can be read twice, with its size in bytes as stored."""

    source: CdxSource
    size: int
    compressed: bool


@contextmanager
def temporary_folder(parent: Path | None) -> Iterator[Path]:
    """Make a folder that is deleted in the end; raises SourceError where that cannot be."""
    with writing(parent or Path(gettempdir())):
        folder = TemporaryDirectory(prefix="nwx-", dir=parent, ignore_cleanup_errors=True)
    with folder as name:
        yield Path(name)


def ready_inputs(sources: Iterable[CdxSource], folder: Path) -> list[Input]:
    """Return sources so that each can be read again; standard input is copied to `folder`.

    Raises SourceError for those that cannot be read.
    """
    return [_ready(source, folder) for source in sources]


def _ready(source: CdxSource, folder: Path) -> Input:
    path = Path(source.path)
    if source.path == STANDARD_INPUT or not path.is_file():
        source = replace(source, path=_copied(source, folder), name=source.shown)
    kind = compression(source.path)
    return Input(source, Path(source.path).stat().st_size, bool(kind))


def _copied(source: CdxSource, folder: Path) -> str:
    """Copy what can be read only once (standard input, a pipe) and return the path."""
    number = len(list(folder.glob("input-*")))
    path = folder / f"input-{number}"
    with open_cdx(source.path) as stream, writing(path), path.open("wb") as copy:
        while data := stream.read(1 << 20):
            copy.write(data)
    return str(path)


def held_lines(lines: Iterable[CdxLine], folder: Path) -> CdxSource:
    """Return a source of captures that are held already, told by an engine or anything else."""
    path = folder / "held.cdx"
    with writing(path), path.open("wb") as stream:
        for line in lines:
            stream.write(format_cdx(line).encode("utf-8", "surrogateescape") + b"\n")
    return CdxSource(str(path), held=True, name="the captures held")


def plan_tasks(inputs: list[Input], whole: frozenset[str], workers: int) -> list[ReadTask]:
    """Return tasks of about the same size; files named in `whole` are not cut.

    A task reads either held captures or others, never both.
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


def _pieces(each: Input, size: int | None) -> Iterator[tuple[FilePiece, int]]:
    if size is None or each.size <= size:
        yield FilePiece(each.source), each.size
        return
    for start in range(0, each.size, size):
        end = min(start + size, each.size)
        yield FilePiece(each.source, start, end), end - start


def workers_for(inputs: list[Input], resources: Resources) -> int:
    """Return how many processes are worth their start and fit in memory."""
    total = sum(each.size * (_EXPANSION if each.compressed else 1) for each in inputs)
    if total < _WORTH_PROCESSES_BYTES and resources.workers is None:
        return 1
    return max(1, min(resources.workers or processors(), resources.memory_bytes // _PROCESS_BYTES))


def part_bits(inputs: list[Input], resources: Resources, workers: int) -> int:
    """Return by how many bits of the key entries are spread, so that a part fits in memory."""
    total = sum(each.size * (_EXPANSION if each.compressed else 1) for each in inputs)
    room = max(resources.memory_bytes // workers - _PROCESS_BYTES // 2, 16 << 20)
    parts = -(-total // _BYTES_A_LINE * _BYTES_TO_SETTLE // room)
    return min(_MAX_BITS, max(2 * workers, parts).bit_length())


def tried(
    plan: DedupPlan,
    inputs: list[Input],
    workers: int,
    read: Callable[[DedupPlan, list[ReadTask]], Result],
) -> Result:
    """Return what `read` makes of all tasks.

    It is called again, in another folder, where a file turns out to have
    another layout further down, with that file in one piece.
    """
    whole: frozenset[str] = frozenset()
    while True:
        folder = plan.folder / f"round-{len(whole)}"
        with writing(folder):
            folder.mkdir(parents=True)
        try:
            return read(replace(plan, folder=folder), plan_tasks(inputs, whole, workers))
        except LayoutChangedError as error:
            whole |= {error.path}
