"""The three steps of finding duplicates, each split into tasks for several processes.

`collect` reads lines and writes an entry of each to disk, partitioned by key; `settle` finds the
duplicates among the entries of one part; `write` reads the lines again and writes the duplicates.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

import numpy as np

from nwx.bulk.arrays import ENTRIES_AT_ONCE, Entries, EntrySpill, Segment, read_segments
from nwx.bulk.pool import Pool, TaskResult
from nwx.bulk.process_limits import keep_memory
from nwx.bulk.progress import ShowProgress
from nwx.bulk.resources import PROCESS_BYTES, Resources
from nwx.bulk.whole_files import writing
from nwx.cdx.blocks import blocks
from nwx.cdx.columns import Bytes, CdxColumns, Integers, Mask, load_columns
from nwx.cdx.inputs import (
    CdxInput,
    CdxSource,
    FilePiece,
    FileReading,
    ReadTask,
    expanded_bytes,
    read_in_tasks,
)
from nwx.cdx.rows import CdxRow, format_cdx
from nwx.dedup.capture_filter import (
    ID,
    RANK,
    CaptureFilter,
    Passed,
    keep_selected,
    key_entries,
    mark_duplicates,
)
from nwx.dedup.key_hashes import KeyHash
from nwx.errors import CdxError
from nwx.values.records import add_counts
from nwx.values.urls import url_parts

_FEW = 16
_WIDE = 320
_BLANK, _NEWLINE = 32, 10


def list_lines(columns: CdxColumns) -> bytes:
    """Return a line `date digest url` for each line, with the values as written there."""
    fields = [(columns.starts(letter), columns.lengths(letter)) for letter in ("b", "kc", "a")]
    if len(columns) < _FEW or sum(int(lengths.max()) for _, lengths in fields) > _WIDE:
        texts = (columns.texts("b"), columns.texts("kc"), columns.texts("a"))
        return b"".join([b"%b %b %b\n" % each for each in zip(*texts, strict=True)])
    parts = [
        _ended(columns.data, starts, lengths, end)
        for (starts, lengths), end in zip(fields, (_BLANK, _BLANK, _NEWLINE), strict=True)
    ]
    content = np.concatenate([part for part, _ in parts], axis=1)
    wanted = np.concatenate([mask for _, mask in parts], axis=1)
    return bytes(content[wanted])


def _ended(data: bytes, starts: Integers, lengths: Integers, end: int) -> tuple[Bytes, Mask]:
    """Return fields as rows of bytes, each followed by `end`, and a mask of the used bytes."""
    width = int(lengths.max()) + 1
    content = load_columns(data, starts, width)
    content[np.arange(len(lengths)), lengths] = end
    wanted = np.arange(width, dtype=np.uint16) <= lengths.astype(np.uint16)[:, None]
    return content, wanted


_BYTES_A_LINE = 120
_BYTES_TO_SETTLE = 160
_LEAST_ROOM_BYTES = 16 << 20
_MOST_BITS = 12


@dataclass(frozen=True, slots=True)
class DedupPlan:
    """The selection and parameters shared by all tasks of a run.

    `seed` is the seed of the key numbers, whose first `bits` bits are the part of an entry. Tasks
    write their files to `folder`.
    """

    selection: CaptureFilter
    seed: int
    bits: int
    folder: Path
    strict: bool = False
    summary: bool = False


def part_bits(inputs: Sequence[CdxInput], resources: Resources, workers: int) -> int:
    """Return the number of key bits by which to partition entries so that a part fits in memory."""
    room = max(resources.memory_bytes // workers - PROCESS_BYTES // 2, _LEAST_ROOM_BYTES)
    parts = -(-expanded_bytes(inputs) // _BYTES_A_LINE * _BYTES_TO_SETTLE // room)
    return min(_MOST_BITS, max(2 * workers, parts).bit_length())


def read_by_plan(
    plan: DedupPlan,
    inputs: Sequence[CdxInput],
    workers: int,
    read: Callable[[DedupPlan, list[ReadTask]], TaskResult],
) -> TaskResult:
    """Return the results of `read` for all tasks; it may be called again, as in `read_in_tasks`."""
    return read_in_tasks(
        plan.folder,
        inputs,
        workers,
        lambda folder, tasks: read(replace(plan, folder=folder), tasks),
    )


@dataclass(frozen=True, slots=True)
class TaskRunner:
    """Runs tasks in a pool of processes, and reports their progress."""

    pool: Pool
    progress: ShowProgress

    def results(
        self,
        step: str,
        function: Callable[..., TaskResult],
        plan: DedupPlan,
        tasks: Sequence[ReadTask],
        *others: object,
    ) -> Iterator[tuple[ReadTask, TaskResult]]:
        """Yield each task with the result of `function(plan, task, *others)`, in order."""
        work = [(plan, task, *others) for task in tasks]
        sizes = [task.size for task in tasks]
        return zip(tasks, self.shown(step, function, work, sizes), strict=True)

    def shown(
        self,
        step: str,
        function: Callable[..., TaskResult],
        work: Sequence[tuple[object, ...]],
        sizes: Sequence[int] | None = None,
    ) -> Iterator[TaskResult]:
        """Yield the result of a function for each set of arguments, and report progress."""
        return self.pool.map_shown(function, work, self.progress, step, sizes)


def held_source(lines: Iterable[CdxRow], folder: Path) -> CdxSource:
    """Return a source of captures already held, from an engine or elsewhere."""
    path = folder / "held.cdx"
    with writing(path), path.open("wb") as stream:
        for line in lines:
            stream.write(format_cdx(line).encode("utf-8", "surrogateescape") + b"\n")
    return CdxSource(str(path), held=True, name="the captures held")


TASK_SHIFT = 40
"""The number of low bits in an entry's id; the number of its task is above them."""

_LOCAL = np.uint64((1 << TASK_SHIFT) - 1)


@dataclass(slots=True)
class CollectedEntries:
    """The results of `collect`: a reading per piece, and a bit mask of known duplicates."""

    readings: list[FileReading] = field(default_factory=list)
    passed: Passed = field(default_factory=Passed)
    entries: int = 0
    beaten: bytes = b""
    segments: list[Segment] = field(default_factory=list)


def collect(plan: DedupPlan, task: ReadTask) -> CollectedEntries:
    """Read the lines of a task and write an entry for each to disk.

    If captures rank by date, only the best capture of a key among nearby lines is written, and
    those with its timestamp: all others are duplicates in any case. Input that is sorted, or has
    many captures of one key, therefore takes little space.
    """
    keep_memory()
    found = CollectedEntries()
    spill = EntrySpill(plan.folder / f"entries-{task.number}", plan.bits)
    keys = KeyHash(plan.selection.key, plan.seed)
    beaten: list[Mask] = []
    waiting: list[Entries] = []
    for piece in task.pieces:
        for columns in selected_columns(piece, plan, found):
            first = (task.number << TASK_SHIFT) + found.entries
            held = piece.source.held
            waiting.append(key_entries(columns, keys, plan.selection, first, held))
            found.entries += len(columns)
            if sum(map(len, waiting)) >= ENTRIES_AT_ONCE:
                beaten.append(_spill(waiting, spill, plan.selection, held=task.held))
        if plan.strict and found.readings[-1].problems:
            break
    if waiting:
        beaten.append(_spill(waiting, spill, plan.selection, held=task.held))
    found.segments = spill.finish()
    found.beaten = np.packbits(np.concatenate(beaten)).tobytes() if beaten else b""
    return found


class TaskReading(Protocol):
    """Results of reading a task: one reading per piece, and the selected captures."""

    readings: list[FileReading]
    passed: Passed


def selected_columns(piece: FilePiece, plan: DedupPlan, found: TaskReading) -> Iterator[CdxColumns]:
    """Yield the selected captures of a piece, and add its reading to `found`."""
    reading = FileReading(piece.source.shown)
    found.readings.append(reading)
    # filters do not apply to held captures
    selection = CaptureFilter(plan.selection.key) if piece.source.held else plan.selection
    for block in blocks(piece, reading):
        columns = CdxColumns(block, reading)
        keep_selected(columns, selection, found.passed)
        yield columns
        if plan.strict and reading.problems:
            return


def _spill(
    waiting: list[Entries], spill: EntrySpill, selection: CaptureFilter, *, held: bool
) -> Mask:
    entries = np.concatenate(waiting)
    waiting.clear()
    if held or selection.ranked_by_date:
        beaten = mark_duplicates(entries, selection.ranks, None if held else RANK).beaten
    else:
        beaten = np.zeros(len(entries), np.bool_)
    spill.add(entries[~beaten])
    return beaten


@dataclass(frozen=True, slots=True)
class Flags:
    """A file with one byte per entry, 1 for a duplicate.

    `bases` has the first offset of each task, -1 for a task of held captures, which are never
    reported.
    """

    path: Path
    bases: tuple[int, ...]
    size: int


def settle(plan: DedupPlan, flags: Flags, segments: Sequence[Segment]) -> tuple[int, int]:
    """Flag the duplicates among the entries of one part.

    Return the number of its keys, and of captures spared because their line would equal the line
    of the kept capture.
    """
    keep_memory()
    selection = plan.selection
    entries = read_segments(segments, selection.words)
    beaten, keys, spared = mark_duplicates(
        entries, selection.ranks, -1 if selection.named else RANK
    )
    ids = entries[beaten, ID]
    bases = np.array(flags.bases, np.int64)[(ids >> np.uint64(TASK_SHIFT)).astype(np.int64)]
    places = bases + (ids & _LOCAL).astype(np.int64)
    if flags.size:
        content = np.memmap(flags.path, np.uint8, "r+")
        content[places[bases >= 0]] = 1
    return keys, spared


@dataclass(slots=True)
class Savings:
    """Counts of duplicates and the bytes of their records, if known, by MIME type and by host."""

    bytes: int = 0
    mime_duplicates: Counter[str] = field(default_factory=Counter)
    mime_bytes: Counter[str] = field(default_factory=Counter)
    host_duplicates: Counter[str] = field(default_factory=Counter)
    host_bytes: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Savings") -> None:
        """Add the counts of another part."""
        add_counts(self, other)

    def count(self, mime: str, host: str, size: int, duplicates: int = 1) -> None:
        """Count duplicates of one type and host, of `size` bytes together."""
        self.bytes += size
        self.mime_duplicates[mime] += duplicates
        self.mime_bytes[mime] += size
        self.host_duplicates[host] += duplicates
        self.host_bytes[host] += size


@dataclass(slots=True)
class WrittenLines:
    """A file with the lines of a task, and their counts."""

    path: Path
    lines: int = 0
    passed: Passed = field(default_factory=Passed)
    readings: list[FileReading] = field(default_factory=list)
    savings: Savings = field(default_factory=Savings)


def write(plan: DedupPlan, task: ReadTask, flags: Flags | None) -> WrittenLines:
    """Write `date digest url` for the flagged entries of a task, or for all without flags."""
    keep_memory()
    written = WrittenLines(plan.folder / f"lines-{task.number}")
    flagged = None
    place = 0
    if flags is not None and flags.size:
        flagged = np.memmap(flags.path, np.bool_, "r")
        place = flags.bases[task.number]
    with writing(written.path), written.path.open("wb") as stream:
        for piece in task.pieces:
            reading = FileReading(piece.source.shown)
            written.readings.append(reading)
            for block in blocks(piece, reading):
                columns = CdxColumns(block, reading)
                keep_selected(columns, plan.selection, written.passed)
                if flagged is not None:
                    place += len(columns)
                    columns.keep(flagged[place - len(columns) : place])
                stream.write(list_lines(columns))
                written.lines += len(columns)
                if plan.summary:
                    add_savings(written.savings, columns)
    return written


def add_savings(savings: Savings, columns: CdxColumns) -> None:
    """Count each line as a duplicate."""
    for found in line_savings(columns):
        savings.count(*found)


def line_savings(columns: CdxColumns) -> Iterator[tuple[str, str, int]]:
    """Yield MIME type, host and bytes of each line."""
    types = columns.texts("m") if columns.has("m") else [b"-"] * len(columns)
    sizes = np.maximum(columns.sizes(), 0).tolist()
    for content_type, url, size in zip(types, columns.texts("a"), sizes, strict=True):
        host = url_parts(url.decode("utf-8", "replace")).host
        yield content_type.decode("utf-8", "replace"), host, size


@dataclass(slots=True)
class DedupReport:
    """Counts of the lines read and the duplicates found.

    `lines` counts readable captures, `not_captures` lines of requests, metadata and other records,
    `keys` the distinct keys among selected and held captures, `duplicates` the lines written,
    `spared` the captures not listed because their line would name the kept capture (same URL,
    digest and timestamp). `problems` lists the first broken lines, `problems_total` counts all.
    """

    lines: int = 0
    not_captures: int = 0
    without_digest: int = 0
    filtered: int = 0
    keys: int = 0
    duplicates: int = 0
    spared: int = 0
    problems_total: int = 0
    problems: list[CdxError] = field(default_factory=list)
    savings: Savings = field(default_factory=Savings)

    def add(self, passed: Passed) -> None:
        """Add the counts of a part."""
        add_counts(self, passed)
