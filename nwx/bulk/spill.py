"""Entries on their way through the disk: written by task, read by key.

An entry is one capture: the number of its key (two words), its id, and
its rank among the captures of this key (one or two words, lowest first;
what they leave equal the id decides). Where the rank does not tell it, a
last word says what a line of a list would say of it.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nwx.errors import SourceError

Entries = NDArray[np.uint64]

KEY, KEY_REST, ID, RANK, TIE = range(5)
WORD_BYTES = 8
_WORD_BITS = 64
_NO_RANK = np.uint64(0xFFFFFFFFFFFFFFFF)


class Segment(NamedTuple):
    """Entries of one part that lie together in a file."""

    path: str
    part: int
    offset: int
    length: int


class Spill:
    """The entries of one task in a file of its own; parts are told by `bits` bits of the key."""

    def __init__(self, path: Path, bits: int) -> None:
        self._path = path
        self._bits = bits
        self._size = 0
        self.segments: list[Segment] = []

    def add(self, entries: Entries) -> None:
        """Write entries; raises SourceError where there is no room."""
        parts = (entries[:, KEY] >> np.uint64(_WORD_BITS - self._bits)).astype(np.uint16)
        entries = entries[np.argsort(parts, kind="stable")]
        counts = np.bincount(parts, minlength=1 << self._bits).tolist()
        with writing(self._path), self._path.open("ab") as stream:
            entries.tofile(stream)
        entry_bytes = entries.shape[1] * WORD_BYTES
        for part, count in enumerate(counts):
            if count:
                length = count * entry_bytes
                self.segments.append(Segment(str(self._path), part, self._size, length))
                self._size += length


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Turn what fails inside into a SourceError about writing `path`."""
    try:
        yield
    except OSError as error:
        raise SourceError(
            f"{path} cannot be written: {error.strerror or error}; "
            "make room, or name another folder for temporary files"
        ) from error


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


class Contest(NamedTuple):
    """Which entries are duplicates, of how many keys, and how many were spared."""

    beaten: NDArray[np.bool_]
    keys: int
    spared: int


def contest(entries: Entries, ranks: int, spared_by: int | None) -> Contest:
    """Find the entries that are not the best of their key.

    The best is the lowest in the first `ranks` words of its rank, and then
    by id. Those that have the same as the best in the column `spared_by`
    are no duplicates.
    """
    rows, starts = _shared(entries)
    beaten = np.zeros(len(entries), np.bool_)
    if not len(rows):
        return Contest(beaten, len(entries), 0)
    among = entries[rows]
    lost = ~_best(among, starts, ranks)
    keys = len(entries) - int(np.count_nonzero(lost))
    spared = 0
    if spared_by is not None:
        counts = np.diff(starts, append=len(rows))
        same = among[:, spared_by] == np.repeat(among[~lost, spared_by], counts)
        spared = int(np.count_nonzero(lost & same))
        lost &= ~same
    beaten[rows] = lost
    return Contest(beaten, keys, spared)


def _shared(entries: Entries) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the rows of keys that have several, key by key, and where each key begins."""
    order = np.argsort(entries[:, KEY])
    keys = entries[order, KEY]
    same = keys[1:] == keys[:-1]
    several = np.zeros(len(entries), np.bool_)
    several[1:] |= same
    several[:-1] |= same
    rows = order[several]
    later = np.zeros(len(entries), np.bool_)
    later[1:] = same
    rest = entries[rows, KEY_REST]
    later = later[several]
    if (rest[1:] != rest[:-1])[later[1:]].any():
        # different keys with the same first half: seen once in billions of years
        rows = rows[np.lexsort((rest, entries[rows, KEY]))]
        pairs = entries[rows, :ID]
        later[1:] = (pairs[1:] == pairs[:-1]).all(axis=1)
    return rows, np.flatnonzero(~later)


def _best(entries: Entries, starts: NDArray[np.int64], ranks: int) -> NDArray[np.bool_]:
    """Return which entries are the lowest of their group, by rank and then by id."""
    counts = np.diff(starts, append=len(entries))
    best = np.ones(len(entries), np.bool_)
    for column in (*range(RANK, RANK + ranks), ID):
        values = np.where(best, entries[:, column], _NO_RANK)
        best = values == np.repeat(np.minimum.reduceat(values, starts), counts)
    return best
