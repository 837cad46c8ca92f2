"""A ZipNum cluster for reading: the lines between two keys."""

from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Self

from nwx.cdx.zipnum_index import ZipNumBlock
from nwx.errors import FormatError, SourceError
from nwx.zipnum.block_index import BlockIndex
from nwx.zipnum.block_text import BlockText, RecentBlocks, block_lines
from nwx.zipnum.places import INDEX_ENDS, ClusterPlaces, WaczPlaces
from nwx.zipnum.remote_bytes import LocalFile, Paged, StoredBytes, is_remote, open_address

_MOST_BLOCKS_AT_ONCE = 16
_MOST_BYTES_AT_ONCE = 4 << 20
_RECENT_BYTES = 32 << 20


class Cluster:
    """An open cluster; several threads may read it at once.

    What is damaged raises FormatError with file and offset, what cannot be
    read SourceError, each when it is met.
    """

    def __init__(
        self, index: BlockIndex, places: ClusterPlaces | WaczPlaces, stored: StoredBytes
    ) -> None:
        self.index = index
        self.places = places
        self.name = index.name
        self._stored = stored
        self._parts: dict[str, StoredBytes] = {}
        self._lock = Lock()
        self._recent = RecentBlocks(_RECENT_BYTES)

    def lines(self, start: bytes = b"", end: bytes | None = None) -> Iterator[bytes]:
        """Yield the lines, without newlines, with start <= line < end, in order.

        Compared as bytes; None for `end` is the end of the index. Where one
        block has all of them, as of a URL, what is inflated of it is kept for
        the next look-ups: a page and its images are mostly in one.
        """
        blocks = self.blocks(start, end)
        first = list(islice(blocks, 2))
        if len(first) == 1:
            yield from self._recent.get(first[0], partial(self._text, first[0])).lines(start, end)
        else:
            yield from self.lines_of(chain(first, blocks), start, end)

    def blocks(self, start: bytes = b"", end: bytes | None = None) -> Iterator[ZipNumBlock]:
        """Yield the blocks that can hold such lines, in order."""
        return self.index.blocks(start, end)

    def lines_of(
        self, blocks: Iterator[ZipNumBlock], start: bytes = b"", end: bytes | None = None
    ) -> Iterator[bytes]:
        """Yield the lines between `start` and `end` of some blocks."""
        for block, data in self._fetched(blocks):
            for line in block_lines(data, start, end, self._place(block)):
                yield line
                start = b""  # all that follow are behind it

    def part(self, name: str) -> StoredBytes:
        """Return a data file, opened once."""
        with self._lock:
            if name not in self._parts:
                self._parts[name] = self.places.open(name)
            return self._parts[name]

    def read(self, block: ZipNumBlock) -> bytes:
        """Return the bytes of a block as stored."""
        data = self.part(block.part).read(block.offset, block.length)
        if len(data) < block.length:
            raise FormatError(
                f"{self._place(block)}: the file ends {block.length - len(data)} bytes before"
                " the block does; the cluster is half written, or its index is of other files",
                block.part,
                block.offset,
            )
        return data

    def data_beside(self, parts: Collection[str]) -> dict[str, int]:
        """Return the data files that are none of these parts, and their sizes in bytes.

        They are those that the .loc or the `!meta` line names, and where
        nothing is named at all, the files cdx-*.gz beside the index.
        """
        names = {*self.places.locations, self.index.part} - {""}
        if not names and not parts and isinstance(self._stored, LocalFile):
            names = {path.name for path in Path(self.name).parent.glob("cdx-*.gz")}
        found = {}
        for name in sorted(names.difference(parts)):
            with suppress(SourceError):  # what is not there holds nothing
                found[name] = self.part(name).size
        return found

    def is_outdated(self) -> bool:
        """Return whether another index has taken the place of this one since it was opened."""
        return self._stored.is_replaced()

    def close(self) -> None:
        """Let go of all files; closing twice is harmless."""
        for part in self._parts.values():
            part.close()
        self._parts.clear()
        self._stored.close()

    def _fetched(self, blocks: Iterator[ZipNumBlock]) -> Iterator[tuple[ZipNumBlock, bytes]]:
        """Yield blocks with their bytes: a read each here, ever more in one request from afar."""
        together = 1
        waiting = next(blocks, None)
        while waiting is not None:
            group = [waiting]
            waiting = next(blocks, None)
            while waiting and len(group) < together and _is_next(group, waiting):
                group.append(waiting)
                waiting = next(blocks, None)
            yield from self._read_together(group)
            if not isinstance(self.part(group[0].part), LocalFile):
                together = min(2 * together, _MOST_BLOCKS_AT_ONCE)

    def _read_together(self, group: list[ZipNumBlock]) -> Iterator[tuple[ZipNumBlock, bytes]]:
        first = group[0]
        data = self.read(replace(first, length=group[-1].offset + group[-1].length - first.offset))
        for block in group:
            begin = block.offset - first.offset
            yield block, data[begin : begin + block.length]

    def _text(self, block: ZipNumBlock) -> BlockText:
        return BlockText(self.read(block), self._place(block))

    def _place(self, block: ZipNumBlock) -> str:
        return f"{self.name}: block at {block.offset} of {block.part}"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def open_cluster(place: str | Path, allowed: Sequence[str] = ()) -> Cluster:
    """Return the cluster at a place: an `.idx` file, its folder, a WACZ, or an http(s) address.

    Its `.loc` can name files in its own folder and those `allowed`
    (folders, starts of addresses) only. Raises SourceError where it cannot
    be opened and FormatError where it is none.
    """
    name = str(place)
    if is_remote(name):
        index = name if name.endswith(INDEX_ENDS) else f"{name.rstrip('/')}/cluster.idx"
        stored: StoredBytes = Paged(open_address(index))
    elif name.lower().endswith(".wacz"):
        return open_wacz(Path(name))
    else:
        index = str(index_file(Path(name)))
        stored = LocalFile(Path(index))
    return _opened(stored, lambda: ClusterPlaces(index, allowed))


def end_after(prefix: bytes) -> bytes | None:
    """Return the first key behind all that begin with a prefix, None where nothing is."""
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else None


def open_wacz(path: Path) -> Cluster:
    """Return the cluster in the folder indexes/ of a WACZ; raises as `open_cluster` does."""
    places = WaczPlaces(path)
    return _opened(places.open_index(), lambda: places)


def index_file(path: Path) -> Path:
    """Return the index of a cluster that is named by its folder, or by the index itself.

    Raises SourceError where a folder has none, or several.
    """
    if not path.is_dir():
        return path
    usual = path / "cluster.idx"
    found = [usual] if usual.is_file() else sorted(path.glob("*.idx"))
    found = found or sorted(path.glob("*.summary"))
    if len(found) != 1:
        word = "no" if not found else f"{len(found)}"
        raise SourceError(f"{path} has {word} .idx files; name the one to read")
    return found[0]


def _opened(stored: StoredBytes, places: Callable[[], ClusterPlaces | WaczPlaces]) -> Cluster:
    try:
        return Cluster(BlockIndex(stored), places(), stored)
    except (FormatError, SourceError):
        stored.close()
        raise


def _is_next(group: list[ZipNumBlock], block: ZipNumBlock) -> bool:
    """Return whether a block lies right behind others, and may be read with them."""
    last = group[-1]
    size = block.offset + block.length - group[0].offset
    behind = block.part == last.part and block.offset == last.offset + last.length
    return behind and size <= _MOST_BYTES_AT_ONCE
