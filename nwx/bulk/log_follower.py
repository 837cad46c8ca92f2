"""Reads each line of a growing log exactly once, across rotation by renaming, copying or gzip.

A file is identified by its content, not by name or inode: by hashes of its first bytes and of the
bytes before the position reached. It is therefore found again after it was renamed, copied and
truncated (`copytruncate` of logrotate), or packed with gzip. Files of which only a few bytes were
read, the same in each, cannot be distinguished.
"""

import gzip
import hashlib
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from operator import attrgetter
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from nwx.errors import SourceError

HEAD_BYTES = 1_024
_FIRST_BYTES = 64 << 10
_PACKED_PIECE = 16 << 10
_GZIP = b"\x1f\x8b"
_DIGITS = re.compile(r"(\d+)")
_NOT_LOGS = (".lck", ".swp", ".tmp")

TimeOf = Callable[[bytes], str]
"""Returns the time of a line, as sortable digits; "" for anything else."""


class LogFile:
    """A file of a log, plain or gzip, readable at any offset; seeking back in gzip is slow."""

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
        """Return at most `most` bytes from an offset; damaged data end at the damage."""
        pieces: list[bytes] = []
        # The whole piece with the damage in a packed file is lost.
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
    """Open a file of a log, and close it at the end."""
    file = LogFile(path)
    try:
        yield file
    finally:
        file.close()


@dataclass(frozen=True, slots=True)
class ListedLog:
    """The state of a log file when listed; `first` is the time of its first line, "" if none."""

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
        """Yield possible files of the log, of all launches if it is in the latest launch's folder.

        Heritrix has a folder for each launch of a job; `latest` is a link to the last.
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
        """Return whether a name is the log's own, or a possible name after rotation."""
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
    """Return a sort key by which `.2` precedes `.10`."""
    pieces = _DIGITS.split(one.path.name)
    return [(int(piece) if piece.isdigit() else -1, piece) for piece in pieces]


_CHUNK_BYTES = 4 << 20
_TAIL_BYTES = 256
_LONGEST_LINE = 1 << 20


@dataclass(frozen=True, slots=True)
class FollowedPlace:
    """The position reached in a log: bytes read of a file, and hashes that identify it.

    `head` is a hash of the first bytes read, `tail` of the last `tail_bytes` read. `first` is the
    time of the first line of the file. `skipping` means that the position is within a line that is
    too long.
    """

    offset: int = 0
    head: str = ""
    tail: str = ""
    tail_bytes: int = 0
    first: str = ""
    skipping: bool = False


class LogPart(NamedTuple):
    """Whole lines of a log, the position of the first one, and the position after them.

    `problems` lists unreadable parts before or among them.
    """

    lines: bytes
    place: FollowedPlace
    file: str
    offset: int
    problems: tuple[str, ...] = ()


class LogFollower:
    """Reads the files of a log in order; `path` is the file that is being written."""

    def __init__(self, path: Path, time_of: TimeOf) -> None:
        self._folder = LogFolder(path, time_of)
        self._path, self._time_of = path, time_of
        self._open: LogFile | None = None
        self._reached = FollowedPlace()

    def read(self, place: FollowedPlace) -> LogPart | None:
        """Return the lines after a position, some megabytes at most; None without new lines.

        `FollowedPlace()` starts with the oldest file. An unfinished line is left for the next call.
        Raises SourceError if files cannot be read.
        """
        try:
            part = self._read(place)
            if part is None:
                self.close()
            else:
                self._reached = part.place
            return part
        except FileNotFoundError:
            return None  # it was just renamed; the next call finds it
        except OSError as error:
            raise SourceError(f"{self._path} cannot be read: {error.strerror}") from error
        finally:
            # An open handle would keep the space of a deleted file; packed files stay open.
            if self._open is not None and not self._open.is_packed:
                self.close()

    def close(self) -> None:
        """Close the file read last."""
        if self._open is not None:
            self._open.close()
            self._open = None

    def _read(self, place: FollowedPlace) -> LogPart | None:
        if not place.offset:
            return self._from_files(self._folder.files(), b"", ())
        # Twice, as a file may be renamed while the folder is listed.
        file = self._find(place) or self._find(place)
        if file is None:
            return self._after_loss(place)
        data = file.read_at(place.offset, _CHUNK_BYTES)
        if not file.is_packed and not _is_at(file, place):
            return None  # it was truncated meanwhile; the next call finds its copy
        part = _whole_lines(file, place, data)
        if part is not None or file.path == self._path:
            return part
        return self._move_on(file, place, data)

    def _find(self, place: FollowedPlace) -> LogFile | None:
        """Open the file of a position, None if it is gone."""
        if self._open is not None:
            # A packed file does not change, and seeking to the position again is slow.
            if self._open.is_packed and place == self._reached and self._open.path.exists():
                return self._open
            self.close()
        paths = [self._path, *(one.path for one in self._folder.files()[::-1])]
        for path in dict.fromkeys(paths):
            with suppress(FileNotFoundError):
                file = LogFile(path)
                if _is_at(file, place):
                    self._open = file
                    return file
                file.close()
        return None

    def _move_on(self, file: LogFile, place: FollowedPlace, rest: bytes) -> LogPart | None:
        """Continue with the next file after one read to its end, except for an unfinished line."""
        files = self._folder.files()
        current = next((one for one in files if one.path == file.path), None)
        if current is None:
            return None
        behind = files[files.index(current) + 1 :]
        problems = (f"{file.path.name} is damaged: {file.damage}",) if file.damage else ()
        rest = b"" if place.skipping else rest
        return self._from_files(
            [one for one in behind if not one.is_copy_of(current)], rest, problems
        )

    def _after_loss(self, place: FollowedPlace) -> LogPart | None:
        """Continue after a file that is missing now."""
        files = self._folder.files()
        later = [one for one in files if place.first and one.first > place.first]
        later = later or [one for one in files if one.path == self._path]
        problem = "the unread part of the log is gone"
        return self._from_files(later, b"", (problem,)) if later else None

    def _from_files(
        self, files: list[ListedLog], rest: bytes, problems: tuple[str, ...]
    ) -> LogPart | None:
        """Return the first lines of files in order; `rest` is an unfinished line before them."""
        while files:
            chosen = max(
                (one for one in files if one.is_copy_of(files[0])), default=None, key=_worth
            )
            listed = chosen or files[0]
            self.close()
            self._open = file = LogFile(listed.path)
            data = file.read_at(0, _CHUNK_BYTES)
            part = _whole_lines(file, FollowedPlace(first=listed.first), data)
            if part is not None:
                joined = self._joined(rest, part.lines)
                return part._replace(lines=joined, problems=(*problems, *part.problems))
            # The line continues in the next file, unless this one is still being written.
            rest += data
            if len(rest) > _LONGEST_LINE:
                rest, problems = b"", (*problems, "a line is too long")
            files = [one for one in files[1:] if one is not listed and not one.is_copy_of(listed)]
        return None

    def _joined(self, rest: bytes, lines: bytes) -> bytes:
        """Join an unfinished line with the following lines, unless these begin with a new line."""
        first = lines[: lines.find(b"\n")]
        return rest + b"\n" + lines if rest and self._time_of(first) else rest + lines


def _worth(one: ListedLog) -> tuple[bool, int]:
    return one.worth


def _whole_lines(file: LogFile, place: FollowedPlace, data: bytes) -> LogPart | None:
    """Return the whole lines in data read from a position, None if there are none."""
    whole = data[: data.rfind(b"\n") + 1]
    name, offset = file.path.name, place.offset
    if not whole and len(data) >= _LONGEST_LINE:
        problems = () if place.skipping else (f"a line is longer than {_LONGEST_LINE:,} bytes",)
        behind = _behind(file, place, data, skipping=True)
        return LogPart(b"", behind, name, offset, problems)
    if not whole:
        return None
    lines = whole
    if place.skipping:
        cut = whole.find(b"\n") + 1
        lines, offset = whole[cut:], offset + cut
    return LogPart(lines, _behind(file, place, whole, skipping=False), name, offset)


def _behind(file: LogFile, place: FollowedPlace, data: bytes, *, skipping: bool) -> FollowedPlace:
    """Return the position after the data read."""
    offset = place.offset + len(data)
    tail = data[-_TAIL_BYTES:]
    head = place.head
    if place.offset < HEAD_BYTES:
        head = _hash(file.head(min(offset, HEAD_BYTES)))
    return replace(
        place,
        offset=offset,
        head=head,
        tail=_hash(tail),
        tail_bytes=len(tail),
        skipping=skipping,
    )


def _is_at(file: LogFile, place: FollowedPlace) -> bool:
    """Return whether a file has the content read before a position."""
    head = file.head(min(place.offset, HEAD_BYTES))
    if len(head) < min(place.offset, HEAD_BYTES) or _hash(head) != place.head:
        return False
    tail = file.read_at(place.offset - place.tail_bytes, place.tail_bytes)
    return _hash(tail) == place.tail


def _hash(data: bytes) -> str:
    return hashlib.blake2b(data, digest_size=12).hexdigest()
