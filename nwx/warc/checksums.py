"""Checksums of archive files, and comparison with the values their packages declare."""

import hashlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from isal import isal_zlib

from nwx.bulk.whole_files import is_address
from nwx.data_classes import dataclass
from nwx.errors import FormatError, SourceError
from nwx.model import STANDARD_INPUT, ReadError
from nwx.values.digests import digest_of
from nwx.warc.sources import ArchiveSource

_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Contents:
    """Size and CRC-32 of a file ("" for standard input), and mismatches with declared values.

    `errors` occur for WARCs in a WACZ: kind `zip` if the CRC in the ZIP file does not match, kind
    `digest` if the digest in `datapackage.json` does not.
    """

    checksum: str
    errors: tuple[ReadError, ...] = ()


def contents_of(source: ArchiveSource, known: str = "") -> Contents:
    """Return the checksum of a file and its mismatches with declared values.

    The checksum has the form of one already `known`, so that the two can be compared. Raises
    SourceError if the file cannot be read.
    """
    if source.path == STANDARD_INPUT:
        return Contents("")
    digest = source.places[-1].digest if source.places else ""
    by_ends = "~" in known if known else is_address(source.path)
    with _read(source) as handle:
        if by_ends and source.size is not None:
            return Contents(f"{source.size}~{_crc_of_ends(handle, source.size):08x}")
        summed = _Summed(digest.partition(":")[0])
        summed.add(handle)
    return Contents(summed.checksum, tuple(_differences(source, summed)))


def checksum(source: ArchiveSource) -> str:
    """Return size and CRC-32 of a file, "" for standard input.

    Sufficient to recognize another file of the same name, and several times as fast as a
    cryptographic hash. For an address only the first and last MiB are read. Raises SourceError if
    the file cannot be read.
    """
    return contents_of(source).checksum


def checksum_of_start(source: ArchiveSource, size: int) -> str:
    """Return the `checksum` that a file on disk had at a size of `size` bytes.

    Raises SourceError if the file cannot be read.
    """
    summed = _Summed("")
    with _read(source) as handle:
        summed.add(handle, size)
    return summed.checksum


def checksum_of_grown(source: ArchiveSource, known: str) -> str | None:
    """Return the checksum of a file that had the checksum `known` when it was smaller.

    None if it no longer begins with the same bytes; not checked if the file is `growing`. Raises
    SourceError if the file cannot be read.
    """
    size, _, crc = known.partition("-")
    summed = _Summed("")
    with _read(source) as handle:
        if source.growing:
            summed.size, summed.crc = handle.seek(int(size)), int(crc, 16)
        else:
            summed.add(handle, int(size))
        if summed.checksum != known:
            return None
        summed.add(handle)
    return summed.checksum


@contextmanager
def _read(source: ArchiveSource) -> Iterator[BinaryIO]:
    try:
        with source.open() as handle:
            yield handle
    except OSError as error:
        raise SourceError.translated(
            "%(path)s cannot be read: %(reason)s", path=source.path, reason=error
        ) from error


class _Summed:
    """Size, CRC-32 and a digest of bytes; `is_whole` unless reading them met damage."""

    def __init__(self, algorithm: str) -> None:
        self.size = self.crc = 0
        self.is_whole = True
        self._algorithm = algorithm
        self._hasher = hashlib.new(algorithm, usedforsecurity=False) if algorithm else None

    def add(self, handle: BinaryIO, limit: int = sys.maxsize) -> None:
        """Add the bytes of a file, up to a limit."""
        try:
            while block := handle.read(min(_CHUNK_BYTES, limit - self.size)):
                self.crc = isal_zlib.crc32(block, self.crc)
                self.size += len(block)
                if self._hasher is not None:
                    self._hasher.update(block)
        except FormatError:
            self.is_whole = False  # the reader of the records reports the reason

    @property
    def checksum(self) -> str:
        return f"{self.size}-{self.crc:08x}"

    @property
    def digest(self) -> str:
        return digest_of(self._algorithm, self._hasher.digest()) if self._hasher else ""


def _differences(source: ArchiveSource, summed: _Summed) -> Iterator[ReadError]:
    if not source.places or not summed.is_whole:
        return
    told = source.places[-1]
    if told.crc not in (None, summed.crc):
        message = (
            f"the checksum in its zip file is {told.crc:08x}, that of its bytes {summed.crc:08x}"
        )
        yield ReadError(source.name, None, "zip", message)
    if told.digest and told.digest != summed.digest:
        message = f"datapackage.json says {told.digest}, the digest of its bytes is {summed.digest}"
        yield ReadError(source.name, None, "digest", message)


def _crc_of_ends(handle: BinaryIO, size: int) -> int:
    crc = isal_zlib.crc32(handle.read(_CHUNK_BYTES))
    if size > _CHUNK_BYTES:
        handle.seek(max(_CHUNK_BYTES, size - _CHUNK_BYTES))
        crc = isal_zlib.crc32(handle.read(_CHUNK_BYTES), crc)
    return crc
