"""Random access to the bytes of local files, entries of ZIP files, and addresses."""

import os
import zipfile
import zlib
from abc import ABC, abstractmethod
from contextlib import ExitStack
from pathlib import Path
from threading import Lock
from typing import IO, Any
from urllib.parse import urlsplit

from cachetools import LRUCache, cachedmethod

from nwx.bulk.whole_files import address_stream, remote_failures
from nwx.errors import SourceError

_TIMEOUT_SECONDS = 60
_PAGE_BYTES = 1 << 15
_PAGES = 256
_PIECE_BYTES = 1 << 16
_PARTIAL = 206
_HTTP = ("http", "https")
_NOT_OPENED = (OSError, KeyError, RuntimeError, zipfile.BadZipFile)
_NOT_READ = (OSError, EOFError, ValueError, zipfile.BadZipFile, zlib.error)


class StoredBytes(ABC):
    """Bytes that can be read from any offset, by several threads at once."""

    size: int

    def __init__(self, name: str) -> None:
        self.name = name

    @abstractmethod
    def read(self, offset: int, length: int) -> bytes:
        """Return bytes, fewer only at the end; raises SourceError if they cannot be read."""

    def is_replaced(self) -> bool:
        """Return whether another file has taken its name, if that can be checked cheaply."""
        return False

    @abstractmethod
    def close(self) -> None:
        """Close the file; closing twice is harmless."""


class LocalFile(StoredBytes):
    """A local file, read by offset.

    It is not mapped into memory: that would kill this process if another rewrites the file in
    place (`cat part-* > all.idx`).
    """

    def __init__(self, path: Path) -> None:
        super().__init__(str(path))
        with SourceError.instead_of(OSError, f"{path} cannot be opened"):
            self._file: IO[bytes] = path.open("rb", buffering=0)
        self._path, self._state = path, os.fstat(self._file.fileno())
        self.size = self._state.st_size

    def read(self, offset: int, length: int) -> bytes:
        """Return bytes, read without moving the position of the file."""
        with SourceError.instead_of((OSError, ValueError), f"{self.name} cannot be read"):
            return os.pread(self._file.fileno(), length, offset)

    def is_replaced(self) -> bool:
        """Return whether its name now belongs to another file or none."""
        try:
            found = self._path.stat()
        except OSError:
            return True
        return not os.path.samestat(found, self._state)

    def close(self) -> None:
        self._file.close()


class StoredZipEntry(StoredBytes):
    """An entry of a ZIP file, stored or deflated."""

    def __init__(self, path: Path, entry: str) -> None:
        super().__init__(f"{path}#{entry}")
        self._lock = Lock()
        with (
            SourceError.instead_of(_NOT_OPENED, f"{self.name} cannot be opened"),
            ExitStack() as bad,
        ):
            self._zip = bad.enter_context(zipfile.ZipFile(path))
            self._inner = self._zip.open(entry)
            self.size = self._zip.getinfo(entry).file_size
            bad.pop_all()

    def read(self, offset: int, length: int) -> bytes:
        """Return bytes; a deflated entry is inflated up to the offset."""
        with self._lock, SourceError.instead_of(_NOT_READ, f"{self.name} cannot be read"):
            self._inner.seek(offset)
            return self._inner.read(length)

    def close(self) -> None:
        self._inner.close()
        self._zip.close()


class Address(StoredBytes):
    """A file at an http(s) address, read by range requests."""

    def __init__(self, address: str) -> None:
        # Imported late: workers that read local files start much faster without it.
        import requests

        super().__init__(address)
        self._session: Any = requests.Session()
        self._failures = requests.RequestException
        try:
            total = self._ask(0, 1)[1].rpartition("/")[2]
            if not total.isdigit():
                raise SourceError(f"{address} does not report its size")
        except SourceError:
            self._session.close()
            raise
        self.size = int(total)

    def read(self, offset: int, length: int) -> bytes:
        """Return bytes, with one request."""
        length = min(length, self.size - offset)
        if length <= 0:
            return b""
        content, _ = self._ask(offset, length)
        return content

    def _ask(self, offset: int, length: int) -> tuple[bytes, str]:
        """Request a range; return its bytes, and the Content-Range of the response.

        A response with the whole file instead of a range is refused, whatever its size.
        """
        headers = {
            "Range": f"bytes={offset}-{offset + length - 1}",
            "Accept-Encoding": "identity",
        }
        with (
            SourceError.instead_of(self._failures, f"{self.name} cannot be read"),
            self._session.get(
                self.name,
                headers=headers,
                timeout=_TIMEOUT_SECONDS,
                stream=True,
                allow_redirects=False,  # they could lead anywhere
            ) as answer,
        ):
            if answer.is_redirect:
                place = answer.headers["Location"]
                raise SourceError(f"{self.name} has moved to {place}; name that address")
            if answer.status_code != _PARTIAL:
                word = "does not support ranges" if answer.ok else "cannot be read"
                raise SourceError(f"{self.name} {word}: HTTP {answer.status_code}")
            content = bytearray()
            for piece in answer.iter_content(_PIECE_BYTES):
                content += piece
                if len(content) > length:
                    raise SourceError(f"{self.name} sent more than the {length} bytes requested")
            return bytes(content), answer.headers.get("Content-Range", "")

    def close(self) -> None:
        self._session.close()


class FsspecFile(StoredBytes):
    """A file at any other address that fsspec supports, such as s3."""

    def __init__(self, address: str) -> None:
        super().__init__(address)
        self._lock = Lock()
        with SourceError.instead_of(OSError, f"{address} cannot be opened"):
            self._file = address_stream(address)
        self.size = self._file.seek(0, os.SEEK_END)

    def read(self, offset: int, length: int) -> bytes:
        failures = remote_failures(OSError, ValueError, RuntimeError)
        with self._lock, SourceError.instead_of(failures, f"{self.name} cannot be read"):
            self._file.seek(offset)
            return self._file.read(length)

    def close(self) -> None:
        self._file.close()


class Paged(StoredBytes):
    """A cache of the most recently used pages of a remote file."""

    def __init__(self, stored: StoredBytes) -> None:
        super().__init__(stored.name)
        self.size = stored.size
        self._stored = stored
        self._pages: LRUCache[int, bytes] = LRUCache(_PAGES)
        self._lock = Lock()

    def read(self, offset: int, length: int) -> bytes:
        """Return bytes, from cached pages if possible."""
        end = min(offset + length, self.size)
        if offset >= end:
            return b""
        first = offset // _PAGE_BYTES
        pages = b"".join(self._page(page) for page in range(first, -(-end // _PAGE_BYTES)))
        start = offset - first * _PAGE_BYTES
        return pages[start : start + end - offset]

    @cachedmethod(lambda self: self._pages, lock=lambda self: self._lock)
    def _page(self, number: int) -> bytes:
        return self._stored.read(number * _PAGE_BYTES, _PAGE_BYTES)

    def close(self) -> None:
        self._stored.close()


def is_remote(place: str) -> bool:
    """Return whether a place is an address, not a path."""
    return "://" in place


def open_address(address: str) -> StoredBytes:
    """Open a file at an address.

    Raises SourceError if it cannot be opened.
    """
    return Address(address) if urlsplit(address).scheme in _HTTP else FsspecFile(address)
