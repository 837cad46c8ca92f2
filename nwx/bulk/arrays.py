"""Number arrays in files: named memory-mapped arrays, and rows partitioned by key.

Rows are partitioned by the first bits of their key, so that each part fits in memory; for sorted
lines see `nwx.bulk.sorted_runs`.
"""

import json
import mmap
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from nwx.bulk.whole_files import writing
from nwx.errors import BlobError, SourceError

Array = npt.NDArray[Any]

_MAGIC = b"nwx arrays 1\n"
_ALIGNED = 64


def is_new(keys: Array) -> npt.NDArray[np.bool_]:
    """Return a mask of the keys that differ from the previous one."""
    found = np.ones(len(keys), dtype=bool)
    found[1:] = keys[1:] != keys[:-1]
    return found


def write_arrays(path: Path, arrays: Mapping[str, Array]) -> None:
    """Write one-dimensional arrays to a new file, and sync it to disk."""
    layout: list[tuple[str, str, int, int]] = []
    offset = 0
    for name, array in arrays.items():
        layout.append((name, array.dtype.str, len(array), offset))
        offset += -(-array.nbytes // _ALIGNED) * _ALIGNED
    head = _MAGIC + json.dumps(layout).encode() + b"\n"
    head += b" " * (-(len(head)) % _ALIGNED)
    with path.open("wb") as file:
        file.write(f"{len(head):<{_ALIGNED - 1}}\n".encode() + head)
        for array in arrays.values():
            file.write(np.ascontiguousarray(array).data)
            file.write(bytes(-array.nbytes % _ALIGNED))
        file.flush()
        os.fsync(file.fileno())


def read_arrays(path: Path) -> dict[str, Array]:
    """Return the arrays of a file by name, mapped read-only.

    Raises BlobError on a missing or damaged file.
    """
    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        size = int(mapped[:_ALIGNED])
        head = mapped[_ALIGNED : _ALIGNED + size]
        if not head.startswith(_MAGIC):
            raise ValueError("its header is wrong")
        layout = json.loads(head[len(_MAGIC) :])
        return {
            name: np.frombuffer(mapped, np.dtype(kind), count, _ALIGNED + size + offset)
            for name, kind, count, offset in layout
        }
    except (OSError, ValueError, TypeError) as error:
        raise BlobError.translated(
            "%(path)s cannot be read (%(reason)s)", path=path, reason=error
        ) from error


def narrow(array: Array) -> Array:
    """Return an array of non-negative integers in the smallest type that can hold them."""
    highest = int(array.max()) if len(array) else 0
    for kind in (np.uint8, np.uint16, np.uint32):
        if highest <= np.iinfo(kind).max:
            return array.astype(kind, copy=False)
    return array.astype(np.int64, copy=False)


Entries = NDArray[np.uint64]
"""Rows of numbers, shape (entries, words); the word `KEY` determines the part."""

KEY = 0
ENTRIES_AT_ONCE = 1 << 18
"""The number of entries buffered before they are written."""

WORD_BYTES = 8
_WORD_BITS = 64


class Segment(NamedTuple):
    """Adjacent entries of one part in a file; position and length in bytes."""

    path: str
    part: int
    offset: int
    length: int


class EntrySpill:
    """The entries of one task in its own file, partitioned by `bits` bits of the key."""

    def __init__(self, path: Path, bits: int) -> None:
        self._path = path
        self._bits = bits
        self._size = 0
        self._waiting: list[Entries] = []
        self._held = 0
        self._segments: list[Segment] = []

    def add(self, entries: Entries) -> None:
        """Add entries, all with the same number of words; raises SourceError on a full disk."""
        self._waiting.append(entries)
        self._held += len(entries)
        if self._held >= ENTRIES_AT_ONCE:
            self._write()

    def finish(self) -> list[Segment]:
        """Write the buffered entries, and return the segments of all entries."""
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
    """Return the entries of several segments, `words` words each."""
    content = bytearray(sum(segment.length for segment in segments))
    view, filled = memoryview(content), 0
    for segment in segments:
        with Path(segment.path).open("rb", buffering=0) as stream:
            stream.seek(segment.offset)
            filled += stream.readinto(view[filled : filled + segment.length]) or 0
    if filled != len(content):
        raise SourceError(f"{segments[0].path} was truncated while in use")
    return np.frombuffer(content, np.uint64).reshape(-1, words)
