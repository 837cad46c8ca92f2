"""The blocks of an index, found by binary search over its lines as they are stored."""

from collections.abc import Iterator
from functools import partial

from nwx.bulk.sorted_file import PlacedLine, SortedFile
from nwx.cdx.zipnum_index import ZipNumBlock, parse_index_line, parse_meta
from nwx.errors import FormatError
from nwx.zipnum.remote_bytes import StoredBytes


class BlockIndex:
    """The lines of an `.idx` file, in either form.

    `part` is the file that a `!meta` line names, "" in the classic form.
    Raises FormatError where the first line is of neither.
    """

    def __init__(self, stored: StoredBytes) -> None:
        self.name = stored.name
        self._file = SortedFile(stored.name, stored.read, stored.size)
        first = self._file.line_at(0)
        self.part = (parse_meta(first.line) if first else "") or ""
        if first and self.part:
            self._file.begin = first.offset + len(first.line) + 1

    def blocks(self, start: bytes = b"", end: bytes | None = None) -> Iterator[ZipNumBlock]:
        """Yield the blocks that can hold lines from `start` up to but without `end`, in order."""
        # A block whose key is that of `start` may begin behind it, by what follows the key.
        offset = self._file.last_before(partial(_begins_before, start)) if start else None
        for at, line in self.lines(offset):
            block = self.parse(line, at)
            if end is not None and block.key >= end:
                return
            yield block

    def lines(self, offset: int | None = None) -> Iterator[PlacedLine]:
        """Yield each line with its offset, from one that begins at `offset`; empty ones not."""
        return self._file.lines(offset)

    def parse(self, line: bytes, offset: int) -> ZipNumBlock:
        """Return the block of a line; raises FormatError with the place."""
        try:
            return parse_index_line(line, self.part)
        except FormatError as error:
            raise FormatError(f"{self.name} at {offset}: {error}", self.name, offset) from error


def _begins_before(start: bytes, line: bytes) -> bool:
    """Return whether the block of an index line surely begins before `start`."""
    tab = line.find(b"\t")
    key = line[: tab if tab >= 0 else line.find(b" {")] + b" "
    return key < start[: len(key)]
