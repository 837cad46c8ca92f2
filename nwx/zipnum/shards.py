"""Writes the data files of a cluster: blocks of lines, each a gzip member."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import pairwise
from pathlib import Path

from isal import igzip_lib

from nwx.bulk.sorted_file import LineBatch
from nwx.bulk.whole_files import writing
from nwx.cdx.files import ZipNumBlock, block_key, format_index_line
from nwx.errors import SourceError, UsageError

_GENERATION = re.compile(r"cdx-\d+-(\d+)\.gz")

LEVEL = 2
"""The isal level: 1 % larger than level 3 at twice its speed; level 0 is 40 % larger (measured)."""


def data_name(number: int, generation: int = 0) -> str:
    """Return the name of a data file; each merge writes a new generation."""
    return f"cdx-{number:05d}{f'-{generation}' if generation else ''}.gz"


def next_generation(folder: Path) -> int:
    """Return the first generation of data files whose names are unused in a folder."""
    names = (_GENERATION.fullmatch(path.name) for path in folder.glob("cdx-*.gz"))
    return 1 + max((int(found[1]) for found in names if found), default=0)


def part_name(number: int) -> str:
    """Return the name of the index of one data file."""
    return f"part-{number:05d}"


class ShardWriter:
    """Writes one data file and its index; both appear when complete, the index last.

    Blocks have `lines_a_block` lines, the last of a row the remaining lines. With `even`, the last
    two of a row have about the same size, so that repeated merging does not fragment a cluster.
    """

    def __init__(
        self, folder: Path, data: str, index: str, lines_a_block: int, *, even: bool = False
    ) -> None:
        self.data = data
        self.lines = 0
        self.blocks = 0
        self._lines_a_block = lines_a_block
        self._even = even
        self._offset = 0
        self._waiting: LineBatch = []
        self._paths = (folder / data, folder / index)
        self._unfinished = tuple(path.with_name(f"{path.name}.unfinished") for path in self._paths)
        with writing(self._unfinished[0]):
            self._stream = self._unfinished[0].open("wb")
        with writing(self._unfinished[1]):
            self._index = self._unfinished[1].open("wb")

    def add(self, batch: LineBatch) -> None:
        """Write lines that sort after the previous ones."""
        size = self._lines_a_block
        waiting = [*self._waiting, *batch] if self._waiting else batch
        whole = len(waiting) - len(waiting) % size
        if self._even:
            whole = max(0, whole - size)
        for begin in range(0, whole, size):
            self._write(waiting[begin : begin + size])
        self._waiting = waiting[whole:]

    def copy(self, key: bytes, stored: bytes) -> None:
        """Write a stored block unchanged; its lines are not counted."""
        self.flush()
        self._put(key, stored)

    def flush(self) -> None:
        """Write the buffered lines, and end the row of blocks."""
        waiting, self._waiting = self._waiting, []
        if 2 * len(waiting) > 3 * self._lines_a_block:
            half = len(waiting) // 2
            self._write(waiting[:half])
            waiting = waiting[half:]
        if waiting:
            self._write(waiting)

    def _write(self, lines: LineBatch) -> None:
        text = b"\n".join([*lines, b""])
        stored = igzip_lib.compress(text, LEVEL, igzip_lib.COMP_GZIP)
        self.lines += len(lines)
        self._put(block_key(lines[0]), stored)

    def _put(self, key: bytes, stored: bytes) -> None:
        block = ZipNumBlock(key, self.data, self._offset, len(stored))
        with writing(self._paths[0]):
            self._stream.write(stored)
            self._index.write(format_index_line(block))
        self._offset += len(stored)
        self.blocks += 1

    def finish(self) -> None:
        """Complete both files, and rename them to their final names."""
        self.flush()
        with writing(self._paths[0]):
            self.close()
            for unfinished, path in zip(self._unfinished, self._paths, strict=True):
                unfinished.replace(path)

    def close(self) -> None:
        """Close both files; unfinished files keep their temporary names."""
        self._stream.close()
        self._index.close()


@contextmanager
def shard_writer(
    folder: Path, data: str, index: str, lines_a_block: int, *, even: bool = False
) -> Iterator[ShardWriter]:
    """Yield a writer whose files appear at the end, unless an error occurs."""
    writer = ShardWriter(folder, data, index, lines_a_block, even=even)
    try:
        yield writer
        writer.finish()
    finally:
        with suppress(OSError):  # after the error of a write, closing fails in the same way
            writer.close()


_MOST_BYTES = 1 << 26


def read_splits(path: Path) -> list[bytes]:
    """Return the split points in a file, one per line, as any cluster builder writes them.

    Raises SourceError if it cannot be read, UsageError if it is not in order.
    """
    with SourceError.instead_of(OSError, f"{path} cannot be read"), path.open("rb") as stream:
        content = stream.read(_MOST_BYTES + 1)
    if len(content) > _MOST_BYTES:
        raise SourceError(f"{path} is too large for a file of split points")
    points = [block_key(line.rstrip(b"\r")) for line in content.split(b"\n") if line.strip()]
    for number, (one, other) in enumerate(pairwise(points), 2):
        if one >= other:
            raise UsageError(f"{path}: split point {number} is not after the previous one")
    return points


def format_splits(points: Sequence[bytes]) -> bytes:
    """Return the content of a file of split points."""
    return b"".join(point + b"\n" for point in points)
