"""Writes a WACZ (version 1.1.1): a zip file that lists what it holds, with checksums."""

import hashlib
import json
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import IO, BinaryIO

WACZ_VERSION = "1.1.1"


@dataclass(frozen=True, slots=True)
class Resource:
    """A file of the WACZ."""

    path: str
    hash: str
    bytes: int


class ZipFileEntry:
    """A file that is being written into the WACZ."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._hash = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes) -> int:
        """Write bytes and return where they begin."""
        begin = self.size
        self._stream.write(data)
        self._hash.update(data)
        self.size += len(data)
        return begin

    def digest(self) -> str:
        """Return the checksum of what was written."""
        return f"sha256:{self._hash.hexdigest()}"


class WaczWriter:
    """Writes files into a WACZ one after the other; `finish` adds the list of them.

    `stream` must be able to seek.
    """

    def __init__(self, stream: BinaryIO, made: datetime) -> None:
        self._zip = zipfile.ZipFile(stream, "w", allowZip64=True)
        self._made = made
        self.resources: list[Resource] = []

    @contextmanager
    def entry(self, path: str, *, deflated: bool = False) -> Iterator[ZipFileEntry]:
        """Give a new file to write; those that are compressed already are stored as they are."""
        info = zipfile.ZipInfo(path, self._made.timetuple()[:6])
        info.compress_type = zipfile.ZIP_DEFLATED if deflated else zipfile.ZIP_STORED
        with self._zip.open(info, "w", force_zip64=True) as stream:
            entry = ZipFileEntry(stream)
            yield entry
        self.resources.append(Resource(path, entry.digest(), entry.size))

    def finish(self, about: dict[str, str]) -> None:
        """Write the list of all files, and its checksum; `about` goes into it."""
        package = {
            "profile": "data-package",
            "resources": [
                {
                    "name": each.path.rpartition("/")[2],
                    "path": each.path,
                    "hash": each.hash,
                    "bytes": each.bytes,
                }
                for each in self.resources
            ],
            "wacz_version": WACZ_VERSION,
            "created": f"{self._made:%Y-%m-%dT%H:%M:%SZ}",
            **{name: value for name, value in about.items() if value},
        }
        with self.entry("datapackage.json", deflated=True) as entry:
            entry.write(json.dumps(package, indent=2, ensure_ascii=False).encode())
        digest = {"path": "datapackage.json", "hash": entry.digest()}
        with self.entry("datapackage-digest.json", deflated=True) as last:
            last.write(json.dumps(digest, indent=2).encode())
        self.close()

    def close(self) -> None:
        """Close the zip file; closing twice is harmless."""
        self._zip.close()
