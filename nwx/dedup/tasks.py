"""The three steps of finding duplicates, each cut into tasks that processes can share.

`collect` reads lines and leaves an entry of each on disk, ordered by key;
`settle` finds among the entries of one part those that are beaten;
`write` reads the lines again and writes those that are.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from nwx.bulk.key_parts import ENTRIES_AT_ONCE, Entries, EntrySpill, Segment, read_segments
from nwx.bulk.pool import keep_memory
from nwx.bulk.whole_files import writing
from nwx.cdx.blocks import blocks
from nwx.cdx.columns import CdxColumns, Mask
from nwx.cdx.inputs import FilePiece, ReadTask
from nwx.cdx.problems import FileReading
from nwx.dedup.capture_filter import CaptureFilter, Passed, keep_selected, key_entries
from nwx.dedup.contest import ID, RANK, contest
from nwx.dedup.key_hashes import KeyHash
from nwx.dedup.list_lines import list_lines
from nwx.dedup.plans import DedupPlan
from nwx.values.urls import url_parts

TASK_SHIFT = 40
"""The id of an entry has the number of its task above so many bits."""

_LOCAL = np.uint64((1 << TASK_SHIFT) - 1)


@dataclass(slots=True)
class CollectedEntries:
    """What `collect` found: a Reading for each piece, and which entries are beaten already."""

    readings: list[FileReading] = field(default_factory=list)
    passed: Passed = field(default_factory=Passed)
    entries: int = 0
    beaten: bytes = b""
    segments: list[Segment] = field(default_factory=list)


def collect(plan: DedupPlan, task: ReadTask) -> CollectedEntries:
    """Read the lines of a task and spill an entry for each.

    Where dates decide, only the best of a key among neighbours is spilled,
    with those of its second: all others are duplicates whatever else there
    is. So an input that is sorted, or full of one key, spills little.
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
    """What is noted of a task: a reading for each piece, and what passed."""

    readings: list[FileReading]
    passed: Passed


def selected_columns(piece: FilePiece, plan: DedupPlan, found: TaskReading) -> Iterator[CdxColumns]:
    """Stream the captures of a piece that are looked at, and note what was read."""
    reading = FileReading(piece.source.shown)
    found.readings.append(reading)
    # what is held is held whatever it is
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
        beaten = contest(entries, selection.ranks, None if held else RANK).beaten
    else:
        beaten = np.zeros(len(entries), np.bool_)
    spill.add(entries[~beaten])
    return beaten


@dataclass(frozen=True, slots=True)
class Flags:
    """A file with a byte for each entry, 1 for a duplicate; `bases` says where a task's begin.

    A base of -1 is that of a task whose captures are held: none is told.
    """

    path: Path
    bases: tuple[int, ...]
    size: int


def settle(plan: DedupPlan, flags: Flags, segments: Sequence[Segment]) -> tuple[int, int]:
    """Flag the duplicates among the entries of one part.

    Returns how many keys it has, and how many captures were spared
    because their line would be that of the one kept.
    """
    keep_memory()
    selection = plan.selection
    entries = read_segments(segments, selection.words)
    beaten, keys, spared = contest(entries, selection.ranks, -1 if selection.named else RANK)
    ids = entries[beaten, ID]
    bases = np.array(flags.bases, np.int64)[(ids >> np.uint64(TASK_SHIFT)).astype(np.int64)]
    places = bases + (ids & _LOCAL).astype(np.int64)
    if flags.size:
        content = np.memmap(flags.path, np.uint8, "r+")
        content[places[bases >= 0]] = 1
    return keys, spared


@dataclass(slots=True)
class Savings:
    """Duplicates and the bytes of their records where known, by MIME type and by host."""

    bytes: int = 0
    mime_duplicates: Counter[str] = field(default_factory=Counter)
    mime_bytes: Counter[str] = field(default_factory=Counter)
    host_duplicates: Counter[str] = field(default_factory=Counter)
    host_bytes: Counter[str] = field(default_factory=Counter)

    def add(self, other: "Savings") -> None:
        """Add what another part would save."""
        self.bytes += other.bytes
        self.mime_duplicates += other.mime_duplicates
        self.mime_bytes += other.mime_bytes
        self.host_duplicates += other.host_duplicates
        self.host_bytes += other.host_bytes


@dataclass(slots=True)
class WrittenLines:
    """A file with the lines of a task, and how many they are."""

    path: Path
    lines: int = 0
    passed: Passed = field(default_factory=Passed)
    readings: list[FileReading] = field(default_factory=list)
    savings: Savings = field(default_factory=Savings)


def write(plan: DedupPlan, task: ReadTask, flags: Flags | None) -> WrittenLines:
    """Write `date digest url` for the entries of a task that are flagged, or for all of them."""
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
    types = columns.texts("m") if columns.has("m") else [b"-"] * len(columns)
    sizes = np.maximum(columns.sizes(), 0).tolist()
    savings.bytes += sum(sizes)
    for content_type, url, size in zip(types, columns.texts("a"), sizes, strict=True):
        mime = content_type.decode("utf-8", "replace")
        host = url_parts(url.decode("utf-8", "replace")).host
        savings.mime_duplicates[mime] += 1
        savings.mime_bytes[mime] += size
        savings.host_duplicates[host] += 1
        savings.host_bytes[host] += size
