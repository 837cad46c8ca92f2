"""Exclusion lists of any length, looked up capture by capture.

Each line becomes a 128-bit hash of its URL, digest and date. The hashes are sorted on disk, in
parts that fit in memory for sorting, and are looked up in the files by any number of processes: the
memory used is the system's file cache. One more byte per line records whether a capture matched it;
all processes share it.
"""

import mmap
import secrets
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from itertools import accumulate
from pathlib import Path
from typing import Self

import numpy as np

from nwx.bulk.arrays import KEY, EntrySpill, Segment, read_segments, segments_by_part
from nwx.bulk.pool import Pool
from nwx.bulk.process_limits import keep_memory
from nwx.bulk.progress import ShowProgress, no_progress
from nwx.bulk.resources import MEMORY_BYTES, Resources, temporary_folder, workers_for
from nwx.bulk.whole_files import writing
from nwx.cdx.blocks import blocks
from nwx.cdx.columns import CdxColumns
from nwx.cdx.inputs import (
    CdxInput,
    CdxSource,
    FilePiece,
    FileReading,
    Problems,
    ReadTask,
    expanded_bytes,
    ready_inputs,
)
from nwx.cdx.layouts import NO_VALUE
from nwx.cdx.rows import CdxRow
from nwx.dedup.capture_filter import KEY_REST, CaptureFilter
from nwx.dedup.key_hashes import KeyHash
from nwx.dedup.policies import Key
from nwx.dedup.tasks import DedupPlan, DedupReport, TaskRunner, part_bits, read_by_plan
from nwx.errors import CdxError
from nwx.model import ReadError
from nwx.values.timestamps import normal_timestamp

_WORDS = 2
_WORD_BITS = 64
_MET_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class ListFiles:
    """The files with the sorted hashes, which other processes may read, and their parameters."""

    seed: int
    bits: int
    paths: tuple[Path | None, ...]
    counts: tuple[int, ...]
    met: Path


class ListLookup:
    """Lookup of captures in the files of an exclusion list, valid until the list is closed."""

    def __init__(self, files: ListFiles) -> None:
        self._keys = KeyHash(Key.URL_DIGEST, files.seed)
        self._shift = _WORD_BITS - files.bits
        self._starts = list(accumulate(files.counts, initial=0))
        with ExitStack() as stack:
            self._parts = [stack.enter_context(_Part(path)) for path in files.paths]
            with files.met.open("r+b") as stream:
                self._met = stack.enter_context(mmap.mmap(stream.fileno(), 0))
            self._stack = stack.pop_all()

    def covers(self, url: str, digest: str, timestamp: str) -> bool:
        """Return whether a capture is on the list, and record the match.

        The spelling of digests and the precision of dates in the list do not matter; "" is a
        missing digest.
        """
        key, rest = self._keys.of_capture(
            url.encode("utf-8", "surrogateescape"),
            digest.encode("utf-8", "surrogateescape") or b"-",
            int(normal_timestamp(timestamp)),
        )
        place = self._place(key, rest)
        if place < 0:
            return False
        self._met[place] = 1
        return True

    def _place(self, key: int, rest: int) -> int:
        """Return the position of a hash in the whole list, or -1."""
        part = key >> self._shift
        place = self._parts[part].place(key, rest)
        return place if place < 0 else self._starts[part] + place

    @property
    def met(self) -> int:
        """The number of distinct entries that matched a capture, in any process."""
        blocks = range(0, len(self._met), _MET_BYTES)
        return sum(self._met[start : start + _MET_BYTES].count(1) for start in blocks)

    def were_met(self, columns: CdxColumns) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
        """Return a mask of the lines of the list that matched a capture."""
        keys, rests = self._keys.with_timestamps(columns)
        pairs = zip(keys.tolist(), rests.tolist(), strict=True)
        return np.fromiter((self._met[self._place(*pair)] for pair in pairs), np.bool_, len(keys))

    def close(self) -> None:
        """Close the files; closing twice is harmless."""
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ExclusionList(ListLookup):
    """Captures to leave out, by URL, digest and date.

    `lines` counts the lines read, `entries` the distinct ones; `problems` lists the first broken
    lines, `problems_total` counts all. `files` are in a temporary folder until the list is closed.
    """

    def __init__(self, made: "_Made", stack: ExitStack) -> None:
        self.lines = made.lines
        self.entries = sum(made.files.counts)
        self.problems: Sequence[CdxError] = made.problems
        self.problems_total = made.problems_total
        self.files = made.files
        self._inputs = made.inputs
        super().__init__(made.files)
        stack.callback(self._stack.close)
        self._stack = stack.pop_all()

    @classmethod
    def load(
        cls,
        paths: Sequence[str],
        tmp: Path | None = None,
        progress: ShowProgress = no_progress,
        memory_bytes: int = MEMORY_BYTES,
    ) -> Self:
        """Read lists with fields in either order, plain, gzip or zstd.

        `tmp` is the folder for temporary files, which take 25 bytes per line. Raises SourceError if
        a list cannot be read or a file cannot be written.
        """
        with ExitStack() as stack:
            folder = stack.enter_context(temporary_folder(tmp))
            return cls(_make(paths, folder, Resources(memory_bytes, tmp), progress), stack)

    def read_errors(self) -> list[ReadError]:
        """Return the first broken lines as errors of an import."""
        return [
            ReadError(one.file or "", None, "exclude", f"line {one.line}: {one}")
            for one in self.problems
        ]

    def unmet(self) -> Iterator[CdxRow]:
        """Yield the lines that matched no capture, as written, in the order of the lists."""
        for each in self._inputs:
            reading = FileReading(each.source.shown)
            for block in blocks(FilePiece(each.source), reading):
                columns = CdxColumns(block, reading)
                columns.keep(~self.were_met(columns))
                texts = (columns.texts("b"), columns.texts("kc"), columns.texts("a"))
                for fields in zip(*texts, strict=True):
                    date, digest, url = (text.decode("utf-8", "surrogateescape") for text in fields)
                    yield CdxRow(NO_VALUE, date, url, digest=digest)


class _Part(AbstractContextManager["_Part"]):
    """A file of sorted hashes: all first halves, then all second halves."""

    def __init__(self, path: Path | None) -> None:
        self._map: mmap.mmap | None = None
        self._words = memoryview(b"").cast("Q")
        if path is not None:
            with path.open("rb") as stream:
                self._map = mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ)
            self._words = memoryview(self._map).cast("Q")
        self._count = len(self._words) // _WORDS

    def place(self, key: int, rest: int) -> int:
        """Return the position of a hash in the file, or -1."""
        place = bisect_left(self._words, key, 0, self._count)
        while place < self._count and self._words[place] == key:
            if self._words[self._count + place] == rest:
                return place
            place += 1
        return -1

    def __exit__(self, *_: object) -> None:
        self._words.release()
        if self._map is not None:
            self._map.close()


@dataclass(frozen=True, slots=True)
class _Made:
    files: ListFiles
    inputs: list[CdxInput]
    lines: int
    problems: list[CdxError]
    problems_total: int


def _make(
    paths: Sequence[str], folder: Path, resources: Resources, progress: ShowProgress
) -> _Made:
    inputs = ready_inputs([CdxSource(path, held=True) for path in paths], folder)
    workers = workers_for(expanded_bytes(inputs), resources)
    bits = part_bits(inputs, resources, workers)
    plan = DedupPlan(CaptureFilter(), secrets.randbits(64), bits, folder)
    with Pool(workers) as pool:
        runner = TaskRunner(pool, progress)
        report, segments = read_by_plan(
            plan, inputs, workers, lambda plan, tasks: _spill_all(plan, tasks, runner)
        )
        work = [(folder / f"part-{part}", segments[part]) for part in sorted(segments)]
        counts = [0] * (1 << bits)
        files: list[Path | None] = [None] * (1 << bits)
        sorted_counts = pool.map_shown(_sort_part, work, progress, "sorting")
        for part, (path, _), count in zip(sorted(segments), work, sorted_counts, strict=True):
            files[part], counts[part] = path, count
    met = folder / "met"
    with writing(met), met.open("wb") as stream:
        # written, not left sparse, so that a full disk fails now and not later
        for start in range(0, max(1, sum(counts)), _MET_BYTES):
            stream.write(bytes(min(_MET_BYTES, max(1, sum(counts)) - start)))
    return _Made(
        files=ListFiles(plan.seed, bits, tuple(files), tuple(counts), met),
        inputs=inputs,
        lines=report.lines,
        problems=report.problems,
        problems_total=report.problems_total,
    )


@dataclass(slots=True)
class _Spilled:
    lines: int = 0
    readings: list[FileReading] = field(default_factory=list)
    segments: list[Segment] = field(default_factory=list)


def _spill_all(
    plan: DedupPlan, tasks: list[ReadTask], runner: TaskRunner
) -> tuple[DedupReport, dict[int, list[Segment]]]:
    report = DedupReport()
    problems = Problems(report)
    segments: list[Segment] = []
    for task, spilled in runner.results("reading", _spill, plan, tasks):
        problems.add(task.pieces, spilled.readings)
        report.lines += spilled.lines
        segments += spilled.segments
    return report, segments_by_part(segments)


def _spill(plan: DedupPlan, task: ReadTask) -> _Spilled:
    """Read the lines of a task and write their hashes to disk, by part."""
    keep_memory()
    spill = EntrySpill(plan.folder / f"entries-{task.number}", plan.bits)
    keys = KeyHash(Key.URL_DIGEST, plan.seed)
    spilled = _Spilled()
    for piece in task.pieces:
        reading = FileReading(piece.source.shown)
        spilled.readings.append(reading)
        for block in blocks(piece, reading):
            columns = CdxColumns(block, reading)
            spill.add(np.stack(keys.with_timestamps(columns), axis=1))
            spilled.lines += len(columns)
    spilled.segments = spill.finish()
    return spilled


def _sort_part(path: Path, segments: Sequence[Segment]) -> int:
    """Write the hashes of a part, sorted and without repeats; return their count."""
    keep_memory()
    entries = read_segments(segments, _WORDS)
    order = np.argsort(entries[:, KEY])
    entries = entries[order]
    same = entries[1:, KEY] == entries[:-1, KEY]
    again = np.zeros(len(entries), np.bool_)
    if same.any():
        entries = entries[np.lexsort((entries[:, KEY_REST], entries[:, KEY]))]
        again[1:] = (entries[1:] == entries[:-1]).all(axis=1)
        entries = entries[~again]
    with writing(path), path.open("wb") as stream:
        entries[:, KEY].tofile(stream)
        entries[:, KEY_REST].tofile(stream)
    return len(entries)
