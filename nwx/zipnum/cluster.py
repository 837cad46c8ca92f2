"""Reading of ZipNum clusters: their files, and the lines between two keys."""

import os
import re
import zipfile
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from threading import Lock
from urllib.parse import unquote, urljoin, urlsplit

from nwx.cdx.files import ZipNumBlock, parse_locations
from nwx.errors import FormatError, SourceError
from nwx.zipnum.blocks import BlockIndex, BlockText, RecentBlocks, block_lines
from nwx.zipnum.remote_bytes import (
    LocalFile,
    Paged,
    StoredBytes,
    StoredZipEntry,
    is_remote,
    open_address,
)

LOC = ".loc"
INDEX_ENDS = (".idx", ".summary")
_WACZ_INDEX = re.compile(r"indexes/[^/]+\.idx")
_MOST_LOCATIONS_BYTES = 1 << 26


class ClusterPlaces:
    """The data files of the cluster whose index is at `index`, a path or an address.

    Only files in its folder or in `allowed` (folders or starts of addresses) are opened, checked
    after resolving links.
    """

    def __init__(self, index: str, allowed: Sequence[str] = ()) -> None:
        self.index = index
        self._remote = is_remote(index)
        self._folder = index.rpartition("/")[0] if self._remote else str(Path(index).parent)
        self._allowed = (self._folder, *allowed)
        self.locations = self._load()

    def open(self, part: str) -> StoredBytes:
        """Open the file of a part, at the first of its locations that can be opened.

        Raises SourceError with the fault of the last one.
        """
        failure = SourceError(f"{self.index}: the location of the part {part!r} is unknown")
        for path in self.locations.get(part) or (part, f"{part}.gz"):
            try:
                return self._open(self._resolved(path, part))
            except SourceError as error:
                failure = error
        raise failure

    def _load(self) -> dict[str, tuple[str, ...]]:
        stem, _ = os.path.splitext(self.index)  # noqa: PTH122 - it may be an address
        try:
            stored = self._open(stem + LOC)
        except SourceError:
            return {}  # parts are then files next to the index, as in Common Crawl
        try:
            if stored.size > _MOST_LOCATIONS_BYTES:
                raise SourceError(
                    f"{stored.name} has {stored.size} bytes, too many for a .loc file"
                )
            return parse_locations(stored.read(0, stored.size))
        finally:
            stored.close()

    @staticmethod
    def _open(place: str) -> StoredBytes:
        return open_address(place) if is_remote(place) else LocalFile(Path(place))

    def _resolved(self, path: str, part: str) -> str:
        """Resolve the path of a part; raises SourceError if it is not allowed."""
        if "\0" in path:
            raise SourceError(f"{self.index}: the path of {part!r} has a zero byte")
        if is_remote(path) or self._remote:
            place = urljoin(f"{self._folder}/", path) if self._remote else path
            good = is_remote(place) and any(_is_below(place, start) for start in self._allowed)
        else:
            place = os.path.realpath(Path(self._folder) / path)
            good = any(_contains(folder, place) for folder in self._allowed)
        if not good:
            raise SourceError(
                f"{self.index}: the part {part!r} is at {path!r}, outside the cluster's folder;"
                " allow that place, or move the file next to the index"
            )
        return place


class WaczPlaces:
    """The index of a WACZ and the file of its blocks, both in its folder indexes/."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.locations: dict[str, tuple[str, ...]] = {}

    def open_index(self) -> StoredBytes:
        """Open the index; raises SourceError if it is missing."""
        with (
            SourceError.instead_of(
                (OSError, zipfile.BadZipFile, NotImplementedError), f"{self._path} cannot be opened"
            ),
            zipfile.ZipFile(self._path) as archive,
        ):
            found = [name for name in archive.namelist() if _WACZ_INDEX.fullmatch(name)]
        if len(found) != 1:
            raise SourceError(f"{self._path} has {len(found)} files indexes/*.idx; one is needed")
        return StoredZipEntry(self._path, found[0])

    def open(self, part: str) -> StoredBytes:
        """Open the file of the blocks; raises SourceError if that fails."""
        if not re.fullmatch(r"[\w.-]+", part):
            raise SourceError(f"{self._path}: the part {part!r} is not a file name in indexes/")
        return StoredZipEntry(self._path, f"indexes/{part}")


def _contains(folder: str, path: str) -> bool:
    return not is_remote(folder) and Path(path).is_relative_to(os.path.realpath(folder))


def _is_below(address: str, start: str) -> bool:
    """Return whether an address is below another, by host and whole path segments."""
    one, other = urlsplit(address), urlsplit(start)
    if (one.scheme, one.netloc) != (other.scheme, other.netloc) or not other.scheme:
        return False
    steps = unquote(one.path).split("/")
    folder = unquote(other.path).rstrip("/").split("/")
    return ".." not in steps and "\\" not in one.path and steps[: len(folder)] == folder


_MOST_BLOCKS_AT_ONCE = 16
_MOST_BYTES_AT_ONCE = 4 << 20
_RECENT_BYTES = 64 << 20


class Cluster(AbstractContextManager["Cluster"]):
    """An open cluster; thread-safe for reading.

    When they are reached, damaged data raise FormatError with file and offset, unreadable data
    SourceError.
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

        Lines are compared as bytes; an `end` of None is the end of the index. If one block has all
        lines, as for a URL, its inflated text is cached for the next lookups: a page and its images
        are mostly in one block.
        """
        blocks = self.blocks(start, end)
        first = list(islice(blocks, 2))
        if len(first) == 1:
            yield from self._recent.get(first[0], partial(self._text, first[0])).lines(start, end)
        else:
            yield from self.lines_of(chain(first, blocks), start, end)

    def blocks(self, start: bytes = b"", end: bytes | None = None) -> Iterator[ZipNumBlock]:
        """Yield the blocks that can have lines from `start` up to but excluding `end`, in order."""
        return self.index.blocks(start, end)

    def lines_of(
        self, blocks: Iterator[ZipNumBlock], start: bytes = b"", end: bytes | None = None
    ) -> Iterator[bytes]:
        """Yield the lines between `start` and `end` of some blocks."""
        for block, data in self._fetched(blocks):
            for line in block_lines(data, start, end, self._place(block)):
                yield line
                start = b""  # all following lines are after it

    def part(self, name: str) -> StoredBytes:
        """Return a data file, opened on first use."""
        with self._lock:
            if name not in self._parts:
                self._parts[name] = self.places.open(name)
            return self._parts[name]

    def read(self, block: ZipNumBlock) -> bytes:
        """Return the stored bytes of a block; raises FormatError if the file is too short."""
        data = self.part(block.part).read(block.offset, block.length)
        if len(data) < block.length:
            raise FormatError(
                f"{self._place(block)}: the file ends {block.length - len(data)} bytes before"
                " the block does; the cluster is incomplete, or its index belongs to other files",
                block.part,
                block.offset,
            )
        return data

    def data_beside(self, parts: Collection[str]) -> dict[str, int]:
        """Return the data files not in `parts`, with their sizes in bytes.

        Data files are named by the .loc or the `!meta` line; if neither names any, they are the
        files cdx-*.gz next to the index.
        """
        names = {*self.places.locations, self.index.part} - {""}
        if not names and not parts and isinstance(self._stored, LocalFile):
            names = {path.name for path in Path(self.name).parent.glob("cdx-*.gz")}
        found = {}
        for name in sorted(names.difference(parts)):
            with suppress(SourceError):  # missing files have no data
                found[name] = self.part(name).size
        return found

    def is_outdated(self) -> bool:
        """Return whether the index was replaced since it was opened."""
        return self._stored.is_replaced()

    def close(self) -> None:
        """Close all files; closing twice is harmless."""
        for part in self._parts.values():
            part.close()
        self._parts.clear()
        self._stored.close()

    def __del__(self) -> None:
        self.close()

    def _fetched(self, blocks: Iterator[ZipNumBlock]) -> Iterator[tuple[ZipNumBlock, bytes]]:
        """Yield blocks with their bytes: local ones one by one, remote ones in growing groups."""
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

    def __exit__(self, *_: object) -> None:
        self.close()


def open_cluster(place: str | Path, allowed: Sequence[str] = ()) -> Cluster:
    """Open the cluster at an `.idx` file, its folder, a WACZ, or an http(s) address.

    Its `.loc` may only name files in its own folder and in `allowed` (folders, starts of
    addresses). Raises SourceError if it cannot be opened and FormatError if it is not a cluster.
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
    """Return the first key after all keys with a prefix, None if there is none."""
    kept = prefix.rstrip(b"\xff")
    return kept[:-1] + bytes([kept[-1] + 1]) if kept else None


def open_wacz(path: Path) -> Cluster:
    """Open the cluster in the folder indexes/ of a WACZ; raises the errors of `open_cluster`."""
    places = WaczPlaces(path)
    return _opened(places.open_index(), lambda: places)


def index_file(path: Path) -> Path:
    """Return the index file of a cluster, given as folder or index.

    Raises SourceError if a folder has no index or several.
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
    """Return whether a block directly follows others and is small enough to read with them."""
    last = group[-1]
    size = block.offset + block.length - group[0].offset
    behind = block.part == last.part and block.offset == last.offset + last.length
    return behind and size <= _MOST_BYTES_AT_ONCE
