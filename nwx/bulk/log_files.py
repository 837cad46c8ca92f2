"""The files of a log: the current one, and its renamed or copied predecessors."""

import gzip
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from operator import attrgetter
from pathlib import Path
from typing import BinaryIO, cast

HEAD_BYTES = 1_024
_FIRST_BYTES = 64 << 10
_PACKED_PIECE = 16 << 10
_GZIP = b"\x1f\x8b"
_DIGITS = re.compile(r"(\d+)")
_NOT_LOGS = (".lck", ".swp", ".tmp")

TimeOf = Callable[[bytes], str]
"""Gives the time of a line, as digits that sort; "" of what is no line."""


class LogFile:
    """A file of a log, gzip or not, that is read from any place; going back costs with gzip."""

    def __init__(self, path: Path) -> None:
        """Open a file; raises OSError."""
        self.path = path
        self._stream: BinaryIO = path.open("rb")
        self.is_packed = self._stream.read(2) == _GZIP
        if self.is_packed:
            self._stream.seek(0)
            self._stream = cast(BinaryIO, gzip.GzipFile(fileobj=self._stream, mode="rb"))
        self.damage = ""
        self._head: bytes | None = None

    def read_at(self, offset: int, most: int) -> bytes:
        """Return at most `most` bytes from an offset on; damaged data end at the damage."""
        pieces: list[bytes] = []
        # A piece in which a packed file is damaged is lost.
        at_once = _PACKED_PIECE if self.is_packed else most
        try:
            self._stream.seek(offset)
            while most > 0 and (piece := self._stream.read(min(most, at_once))):
                pieces.append(piece)
                most -= len(piece)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            self.damage = str(error)
        return b"".join(pieces)

    def head(self, size: int) -> bytes:
        """Return the first bytes, HEAD_BYTES at most."""
        if self._head is None or not self.is_packed:
            self._head = self.read_at(0, HEAD_BYTES)
        return self._head[:size]

    def close(self) -> None:
        """Close the file."""
        raw = self._stream.fileobj if isinstance(self._stream, gzip.GzipFile) else None
        self._stream.close()
        if raw is not None:
            cast(BinaryIO, raw).close()


@contextmanager
def opened_log(path: Path) -> Iterator[LogFile]:
    """Give a file of a log."""
    file = LogFile(path)
    try:
        yield file
    finally:
        file.close()


@dataclass(frozen=True, slots=True)
class ListedLog:
    """A file of a log as it was listed: `first` is the time of its first line, "" without one."""

    path: Path
    first: str
    head: bytes
    size: int
    changed_ns: int
    is_packed: bool

    def is_copy_of(self, other: "ListedLog") -> bool:
        """Return whether two files begin with the same lines."""
        common = min(len(self.head), len(other.head))
        return bool(self.first and other.first) and self.head[:common] == other.head[:common]

    @property
    def worth(self) -> tuple[bool, int]:
        """A sort key that is higher for the copy to read: unpacked before packed, then size."""
        return not self.is_packed, self.size


class LogFolder:
    """The files of a log, in the order in which they were written."""

    def __init__(self, path: Path, time_of: TimeOf) -> None:
        self.path = path
        self._time_of = time_of
        self._known: dict[tuple[str, int, int, int], ListedLog] = {}

    def files(self) -> list[ListedLog]:
        """Return the files by the time of their first line, the current one last.

        A file without a readable line is placed after the files changed before it.
        """
        listed = sorted(self._listed(), key=lambda one: (one.first, one.changed_ns, _natural(one)))
        ordered = [one for one in listed if one.first]
        untimed = sorted((one for one in listed if not one.first), key=attrgetter("changed_ns"))
        for one in untimed:
            place = max(
                (n for n, each in enumerate(ordered, 1) if each.changed_ns <= one.changed_ns),
                default=0,
            )
            ordered.insert(place, one)
        live = [one for one in ordered if one.path == self.path]
        return [one for one in ordered if one.path != self.path] + live

    def _listed(self) -> list[ListedLog]:
        found, known = [], {}
        for path in self._paths():
            try:
                stat = path.stat()
                key = (str(path), stat.st_ino, stat.st_size, stat.st_mtime_ns)
                if not stat.st_size or not path.is_file():
                    continue
                listed = self._known.get(key) or self._listed_at(path)
            except FileNotFoundError:
                continue  # it was renamed a moment ago
            known[key] = listed
            found.append(listed)
        self._known = known
        return found

    def _paths(self) -> Iterator[Path]:
        """Yield possible files of the log, from all launches if it is the latest launch's log.

        Heritrix has a folder for each launch of a job; `latest` links to the last.
        """
        folders = [self.path.parent]
        launch = self.path.parent.parent
        if launch.is_symlink():
            others = (each / self.path.parent.name for each in launch.parent.iterdir())
            here = self.path.parent.resolve()
            folders += [each for each in others if each.resolve() != here and each.is_dir()]
        for folder in folders:
            with suppress(FileNotFoundError):
                yield from (path for path in folder.iterdir() if self._may_be(path.name))

    def _may_be(self, name: str) -> bool:
        """Return whether a name is the log's own or one it may be rotated to."""
        own = self.path.name
        dated = name.startswith(self.path.stem) and own.removeprefix(self.path.stem) in name
        return (name.startswith(own) or dated) and not name.endswith(_NOT_LOGS)

    def _listed_at(self, path: Path) -> ListedLog:
        with opened_log(path) as file:
            start = file.read_at(0, _FIRST_BYTES)
            times = map(self._time_of, start[: start.rfind(b"\n") + 1].split(b"\n"))
            stat = path.stat()
            return ListedLog(
                path,
                next(filter(None, times), ""),
                start[:HEAD_BYTES],
                stat.st_size,
                stat.st_mtime_ns,
                file.is_packed,
            )


def _natural(one: ListedLog) -> list[tuple[int, str]]:
    """Return what sorts `.2` before `.10`."""
    pieces = _DIGITS.split(one.path.name)
    return [(int(piece) if piece.isdigit() else -1, piece) for piece in pieces]
