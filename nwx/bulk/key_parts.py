"""Rows of numbers spread over files by the first bits of their key, so that a part fits in memory.

Nothing is put in order here: keys are hashes, and all rows of a key lie in
one part. Lines in total order are the work of `nwx.bulk.sorted_runs`.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nwx.bulk.whole_files import writing
from nwx.errors import SourceError

Entries = NDArray[np.uint64]
"""Rows of numbers, shape (entries, words); the word `KEY` tells the part."""

KEY = 0
ENTRIES_AT_ONCE = 1 << 18
"""So many entries are held before they are written."""

WORD_BYTES = 8
_WORD_BITS = 64


class Segment(NamedTuple):
    """Entries of one part that lie together in a file, place and length in bytes."""

    path: str
    part: int
    offset: int
    length: int


class EntrySpill:
    """The entries of one task in a file of its own; parts are told by `bits` bits of the key."""

    def __init__(self, path: Path, bits: int) -> None:
        self._path = path
        self._bits = bits
        self._size = 0
        self._waiting: list[Entries] = []
        self._held = 0
        self._segments: list[Segment] = []

    def add(self, entries: Entries) -> None:
        """Take entries, all of as many words; raises SourceError where there is no room."""
        self._waiting.append(entries)
        self._held += len(entries)
        if self._held >= ENTRIES_AT_ONCE:
            self._write()

    def finish(self) -> list[Segment]:
        """Write what is still held, and return where all entries lie."""
        if self._held:
            self._write()
        return self._segments

    def _write(self) -> None:
        entries = np.concatenate(self._waiting)
        self._waiting, self._held = [], 0
        parts = (entries[:, KEY] >> np.uint64(_WORD_BITS - self._bits)).astype(np.uint16)
        entries = entries[np.argsort(parts, kind="stable")]
        counts = np.bincount(parts, minlength=1 << self._bits).tolist()
        with writing(self._path), self._path.open("ab") as stream:
            entries.tofile(stream)
        entry_bytes = entries.shape[1] * WORD_BYTES
        for part, count in enumerate(counts):
            if count:
                length = count * entry_bytes
                self._segments.append(Segment(str(self._path), part, self._size, length))
                self._size += length


def segments_by_part(segments: Iterable[Segment]) -> dict[int, list[Segment]]:
    """Return the segments of several tasks by part."""
    parts: dict[int, list[Segment]] = {}
    for segment in segments:
        parts.setdefault(segment.part, []).append(segment)
    return parts


def read_segments(segments: Sequence[Segment], words: int) -> Entries:
    """Return the entries of several segments, of so many words each."""
    content = bytearray(sum(segment.length for segment in segments))
    view, filled = memoryview(content), 0
    for segment in segments:
        with Path(segment.path).open("rb", buffering=0) as stream:
            stream.seek(segment.offset)
            filled += stream.readinto(view[filled : filled + segment.length]) or 0
    if filled != len(content):
        raise SourceError(f"{segments[0].path} was cut short while it was needed")
    return np.frombuffer(content, np.uint64).reshape(-1, words)
