"""WARCs inside a WACZ, which is a zip file and may be a hostile one.

Nothing is ever unpacked to disk: names inside are names only.
"""

import io
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import IO, BinaryIO, cast

from nwx.errors import SourceError
from nwx.model import ReadError

_INNER = re.compile(r"\.w?arc(?:\.(?:gz|zst|zstd))?$", re.I)
_FOLDER = "archive/"
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
_MOST_RATIO = 1100  # deflate reaches 1032


@dataclass(frozen=True, slots=True)
class WaczMember:
    """A WARC inside a WACZ: its name there, and its size when unpacked."""

    name: str
    size: int


def wacz_members(handle: BinaryIO, name: str) -> Iterator[WaczMember | ReadError]:
    """Yield the WARCs of a WACZ by name, and an error for each that cannot be trusted.

    `name` is that of the WACZ, for errors.
    """
    try:
        with zipfile.ZipFile(handle) as archive:
            entries = sorted(_entries(archive), key=lambda entry: entry.filename)
            overlapping = _overlapping(archive.infolist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, EOFError) as error:
        yield ReadError(name, None, "wacz", f"it is no zip file that can be read: {error}")
        return
    if not entries:
        yield ReadError(name, None, "wacz", "there is no WARC in its folder archive/")
    seen: set[str] = set()
    for entry in entries:
        fault = _fault(entry, seen, overlapping)
        seen.add(entry.filename)
        if fault:
            yield ReadError(f"{name}#{entry.filename}", None, "wacz", fault)
        else:
            yield WaczMember(entry.filename, entry.file_size)


def open_member(handle: BinaryIO, member: str) -> BinaryIO:
    """Return a WARC inside a WACZ for reading; closing it closes the WACZ as well.

    Raises SourceError where the WACZ has no such WARC.
    """
    try:
        archive = zipfile.ZipFile(handle)
        inner = archive.open(member)
    except (zipfile.BadZipFile, KeyError, ValueError, NotImplementedError, RuntimeError) as error:
        handle.close()
        raise SourceError(f"{member} cannot be read from its WACZ: {error}") from error
    return cast("BinaryIO", _Member(inner, handle))


class _Member(io.RawIOBase):
    """An entry of a zip file that closes the zip file with itself."""

    def __init__(self, inner: IO[bytes], outer: BinaryIO) -> None:
        self._inner = inner
        self._outer = outer

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return self._inner.seekable()

    def read(self, size: int = -1) -> bytes:
        return self._inner.read(size)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._inner.seek(offset, whence)

    def tell(self) -> int:
        return self._inner.tell()

    def close(self) -> None:
        self._inner.close()
        self._outer.close()
        super().close()


def _entries(archive: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    return [
        entry
        for entry in archive.infolist()
        if _FOLDER in entry.filename and _INNER.search(entry.filename)
    ]


def _overlapping(entries: list[zipfile.ZipInfo]) -> set[str]:
    """Return the names of entries that share their bytes with others, as bombs have them."""
    shared: set[str] = set()
    ordered = sorted(entries, key=lambda entry: entry.header_offset)
    for entry, after in pairwise(ordered):
        if entry.header_offset + entry.compress_size > after.header_offset:
            shared.update((entry.filename, after.filename))
    return shared


def _fault(entry: zipfile.ZipInfo, seen: set[str], overlapping: set[str]) -> str:
    name = entry.filename
    if not name.startswith(_FOLDER) or ".." in name.split("/") or "\\" in name:
        return "its name leads out of the folder archive/"
    if name in seen:
        return "another entry has the same name; only the first is read"
    if name in overlapping:
        return "its bytes overlap those of another entry"
    if entry.flag_bits & 1:
        return "it is encrypted"
    if entry.compress_type not in _METHODS:
        return f"its compression method {entry.compress_type} is not read"
    if entry.file_size > _MOST_RATIO * entry.compress_size + 64:
        return f"{entry.compress_size} bytes cannot unpack to {entry.file_size}"
    return ""
