"""Where the files of a cluster are, and which of them may be opened.

What stands in a `.loc` file or a `!meta` line is not to be trusted: it may
have come with an archive from anywhere.
"""

import os
import re
import zipfile
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

from nwx.cdx.zipnum_index import parse_locations
from nwx.errors import SourceError
from nwx.zipnum.remote_bytes import LocalFile, StoredBytes, StoredZipEntry, is_remote, open_address

LOC = ".loc"
INDEX_ENDS = (".idx", ".summary")
_WACZ_INDEX = re.compile(r"indexes/[^/]+\.idx")
_MOST_LOCATIONS_BYTES = 1 << 26


class ClusterPlaces:
    """The data files of the cluster whose index is at `index`, a path or an address.

    Only what lies in its folder, or in one of those `allowed` (folders or
    starts of addresses), is ever opened, links followed.
    """

    def __init__(self, index: str, allowed: Sequence[str] = ()) -> None:
        self.index = index
        self._remote = is_remote(index)
        self._folder = index.rpartition("/")[0] if self._remote else str(Path(index).parent)
        self._allowed = (self._folder, *allowed)
        self.locations = self._load()

    def open(self, part: str) -> StoredBytes:
        """Return the file of a part: the first of its places that can be opened.

        Raises SourceError with what was wrong with the last.
        """
        failure = SourceError(f"{self.index}: nothing tells where the part {part!r} is")
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
            return {}  # parts are then files beside the index, as Common Crawl has them
        try:
            if stored.size > _MOST_LOCATIONS_BYTES:
                raise SourceError(f"{stored.name} has {stored.size} bytes; that is no .loc file")
            return parse_locations(stored.read(0, stored.size))
        finally:
            stored.close()

    @staticmethod
    def _open(place: str) -> StoredBytes:
        return open_address(place) if is_remote(place) else LocalFile(Path(place))

    def _resolved(self, path: str, part: str) -> str:
        """Return where a path leads; raises SourceError where that is not allowed."""
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
                " allow that place, or move the file beside the index"
            )
        return place


class WaczPlaces:
    """The index of a WACZ and the file of its blocks, both in its folder indexes/."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.locations: dict[str, tuple[str, ...]] = {}

    def open_index(self) -> StoredBytes:
        """Return the index; raises SourceError where there is none."""
        try:
            with zipfile.ZipFile(self._path) as archive:
                found = [name for name in archive.namelist() if _WACZ_INDEX.fullmatch(name)]
        except (OSError, zipfile.BadZipFile, NotImplementedError) as error:
            raise SourceError(f"{self._path} cannot be opened: {error}") from error
        if len(found) != 1:
            raise SourceError(f"{self._path} has {len(found)} files indexes/*.idx; one is needed")
        return StoredZipEntry(self._path, found[0])

    def open(self, part: str) -> StoredBytes:
        """Return the file of the blocks; raises SourceError."""
        if not re.fullmatch(r"[\w.-]+", part):
            raise SourceError(f"{self._path}: the part {part!r} is no name of a file in indexes/")
        return StoredZipEntry(self._path, f"indexes/{part}")


def _contains(folder: str, path: str) -> bool:
    return not is_remote(folder) and Path(path).is_relative_to(os.path.realpath(folder))


def _is_below(address: str, start: str) -> bool:
    """Return whether an address begins with another, by host and whole steps of the path."""
    one, other = urlsplit(address), urlsplit(start)
    if (one.scheme, one.netloc) != (other.scheme, other.netloc) or not other.scheme:
        return False
    steps = unquote(one.path).split("/")
    folder = unquote(other.path).rstrip("/").split("/")
    return ".." not in steps and "\\" not in one.path and steps[: len(folder)] == folder
