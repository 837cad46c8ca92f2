"""Complete archive files in watched folders, in batches to load, and moving of loaded ones.

Folders are polled, not watched by inotify: crawls are written to network file systems too,
which do not report changes by other machines, and detecting that a file no longer grows takes
time in any case. Polling ten thousand names takes less than a tenth of a second.
"""

import errno
import fcntl
import hashlib
import os
import shutil
import stat
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from nwx.errors import SourceConflictError, SourceError
from nwx.model import ReadError
from nwx.warc.checksums import checksum
from nwx.warc.sources import OPEN_SUFFIX, ArchiveSource, expand, is_archive_name

_GROWING_SECONDS, _WRITTEN_SECONDS = 0.25, 60.0
"""The interval of polls while files are written, and how long after a change they count as such."""

_BATCH_FILES = 32


class _State(NamedTuple):
    """Values that change when a file does."""

    size: int
    modified_ns: int
    device: int
    inode: int


@dataclass(slots=True)
class _Sight:
    """The last state of a file, since when it has it, and in how many looks."""

    state: _State
    since: float
    looks: int = 1
    closed: bool = False
    dealt_with: bool = False
    is_read: bool = False


@dataclass(frozen=True, slots=True)
class GrowingFile:
    """A file that may still be written: its name once it is closed, and its size.

    It `is_quiet` if it did not change between two looks.
    """

    path: Path
    size: int
    is_quiet: bool


class Folders:
    """Finds complete and growing archive files below some folders.

    A file is complete once it has not changed for `settle_seconds`, or at once if it was renamed
    from a name with one more suffix (`.open`), as crawlers do on closing a file. Names that begin
    with a dot and files locked by a writer are ignored. `without` are subfolders to skip.
    """

    def __init__(
        self,
        folders: Sequence[Path],
        settle_seconds: float,
        without: Sequence[Path] = (),
        on_error: Callable[[OSError], None] = lambda _: None,
    ) -> None:
        self._folders = folders
        self._settle_seconds = settle_seconds
        self._without = {os.path.realpath(folder) for folder in without}
        self._on_error = on_error
        self._sights: dict[str, _Sight] = {}
        self._open: dict[str, _Sight] = {}

    def look(self) -> list[Path]:
        """Return the complete files, oldest first."""
        now, clock = time.monotonic(), time.time()
        before, were_open = self._sights, self._open
        inodes = {sight.state[2:] for sight in were_open.values()}
        self._sights, self._open = {}, {}
        for path, state in self._files():
            known, sights = (
                (before, self._sights) if is_archive_name(path) else (were_open, self._open)
            )
            sights[path] = _seen(known.get(path), state, now, closed=state[2:] in inodes)
        whole = [
            (sight.state.modified_ns, path)
            for path, sight in self._sights.items()
            if self._is_whole(sight, now, clock) and not is_locked(path)
        ]
        return [Path(path) for _, path in sorted(whole)]

    def growing(self) -> list[GrowingFile]:
        """Return the incomplete files of the last look that may have more to read."""
        found = {
            path.removesuffix(OPEN_SUFFIX): sight
            for path, sight in (*self._open.items(), *self._sights.items())
        }
        return [
            GrowingFile(Path(path), sight.state.size, sight.looks > 1)
            for path, sight in found.items()
            if not (sight.dealt_with or sight.is_read) and is_archive_name(path)
        ]

    def pause(self, most: float) -> float:
        """Return the seconds until the next look, fewer while files are written."""
        newest = time.monotonic() - _WRITTEN_SECONDS
        sights = (*self._open.values(), *self._sights.values())
        is_written = any(sight.since > newest and not sight.dealt_with for sight in sights)
        return min(most, _GROWING_SECONDS) if is_written else most

    def dealt_with(self, path: Path) -> None:
        """Do not return a file again until it changes."""
        if sight := self._sights.get(str(path)):
            sight.dealt_with = True

    def is_read(self, path: Path) -> None:
        """Do not return a growing file again until it changes."""
        for sight in (self._sights.get(str(path)), self._open.get(f"{path}{OPEN_SUFFIX}")):
            if sight:
                sight.is_read = True

    def settling(self) -> bool:
        """Return whether the last poll found files that may be complete soon."""
        return any(sight.looks == 1 and not sight.dealt_with for sight in self._sights.values())

    def _is_whole(self, sight: _Sight, now: float, clock: float) -> bool:
        if sight.dealt_with:
            return False
        if sight.closed:
            return True
        # Clocks of file servers differ: the age is trusted only if nothing changed meanwhile.
        age = max(now - sight.since, clock - sight.state.modified_ns / 1e9)
        return sight.looks > 1 and age >= self._settle_seconds

    def _files(self) -> Iterator[tuple[str, _State]]:
        """Yield archive files, also under names with one more suffix."""
        waiting = [str(folder) for folder in self._folders]
        while waiting:
            for entry in self._entries(waiting.pop()):
                if entry.is_dir(follow_symlinks=False):
                    if os.path.realpath(entry.path) not in self._without:
                        waiting.append(entry.path)
                elif entry.name[0] != "." and _is_of_archive(entry.name):
                    state = _state(entry)
                    if state is not None:
                        yield entry.path, state

    def _entries(self, folder: str) -> list["os.DirEntry[str]"]:
        try:
            with os.scandir(folder) as entries:
                return list(entries)
        except OSError as error:
            self._on_error(error)
            return []


def _seen(before: _Sight | None, state: _State, now: float, *, closed: bool) -> _Sight:
    if before is not None and before.state == state:
        before.looks += 1
        return before
    return _Sight(state, now, closed=closed)


@contextmanager
def held(folders: Sequence[Path]) -> Iterator[None]:
    """Lock folders against other watches: two would move each other's files.

    Raises SourceError if another watch has one, or if one is not a folder.
    """
    with ExitStack() as stack:
        for folder in folders:
            with SourceError.instead_of(OSError, f"{folder} cannot be watched"):
                handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            stack.callback(os.close, handle)
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                raise SourceError(
                    f"{folder} is already watched by another process; stop that one first"
                ) from error
            except OSError as error:
                # Some network file systems have no locks on folders.
                if error.errno not in (errno.ENOLCK, errno.EINVAL, errno.EOPNOTSUPP, errno.EBADF):
                    raise
        yield


def _is_of_archive(name: str) -> bool:
    return is_archive_name(name) or is_archive_name(name.rpartition(".")[0])


def _state(entry: "os.DirEntry[str]") -> _State | None:
    """Return the state of a regular file; None for anything else, or if it is gone."""
    try:
        found = entry.stat()
    except OSError:
        return None
    if not stat.S_ISREG(found.st_mode):
        return None
    return _State(found.st_size, found.st_mtime_ns, found.st_dev, found.st_ino)


def is_locked(path: str) -> bool:
    """Return whether a writer holds a lock on a file, as pywb and warcprox do on open ones."""
    try:
        with Path(path).open("rb") as handle:
            for lock in (fcntl.lockf, fcntl.flock):
                try:
                    lock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except (BlockingIOError, PermissionError):
                    return True
    except OSError:
        # It cannot be opened, or the file system has no locks: the import reports errors.
        return False
    return False


@dataclass(frozen=True, slots=True)
class CompleteFile:
    """A file to load, with its sources for the import (several in a WACZ)."""

    path: Path
    sources: tuple[ArchiveSource, ...]
    errors: tuple[ReadError, ...]


def complete_file(path: Path) -> CompleteFile:
    """Return a file with its sources, or the errors of reading them."""
    found = list(expand([str(path)]))
    return CompleteFile(
        path,
        tuple(each for each in found if isinstance(each, ArchiveSource)),
        tuple(each for each in found if isinstance(each, ReadError)),
    )


def file_batches(files: Iterator[CompleteFile]) -> Iterator[list[CompleteFile]]:
    """Yield batches of files with distinct names; the others wait for the next look."""
    batch: list[CompleteFile] = []
    names: set[str] = set()
    for file in files:
        own = {source.name for source in file.sources}
        if names & own:
            continue
        names |= own
        batch.append(file)
        if len(batch) == _BATCH_FILES:
            yield batch
            batch, names = [], set()
    if batch:
        yield batch


_NO_LINKS = {errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


def make_folder(folder: Path) -> None:
    """Create a target folder, once at the start; later a missing one is an error.

    Raises SourceError if that fails.
    """
    with SourceError.instead_of(OSError, f"{folder} cannot be created"):
        folder.mkdir(parents=True, exist_ok=True)


def move_file(file: Path, folder: Path) -> Path:
    """Link or copy a file into a folder, on any disk, and return the new path.

    The old name stays. The same file may already exist there. Raises SourceConflictError if a
    different file has the name, SourceError if the new file cannot be written.
    """
    target = folder / file.name
    with SourceError.instead_of(OSError, f"{target} cannot be written"):
        if not target.exists():
            _link_or_copy(file, target)
        _synchronize(folder)
        same = _same(file, target)
    if not same:
        raise SourceConflictError(
            f"{target} is another file of the same name; rename one of them, and"
            f" {file} will be moved"
        )
    return target


def _link_or_copy(file: Path, target: Path) -> None:
    try:
        os.link(file, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        _copy(file, target)


def _copy(file: Path, target: Path) -> None:
    """Copy a file under a name that is not one of an archive file, then rename the copy."""
    mark = hashlib.blake2b(os.fsencode(file.absolute()), digest_size=4).hexdigest()
    unfinished = target.with_name(f".{target.name}.{mark}.moving")
    shutil.copyfile(file, unfinished)
    shutil.copystat(file, unfinished)
    with unfinished.open("rb") as copy:
        os.fsync(copy.fileno())
    try:
        os.link(unfinished, target)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        unfinished.rename(target)
    else:
        unfinished.unlink()


def _same(file: Path, target: Path) -> bool:
    if file.samefile(target):
        return True
    sizes = {path.stat().st_size for path in (file, target)}
    return len(sizes) == 1 and _checksum(file) == _checksum(target)


def _checksum(path: Path) -> str:
    return checksum(ArchiveSource(path.name, str(path), path.stat().st_size))


def _synchronize(folder: Path) -> None:
    """Sync a folder, so that its names survive a power failure."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        # Some network file systems do not support this.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(handle)
