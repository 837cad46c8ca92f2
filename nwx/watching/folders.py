"""Complete archive files in watched folders, and moving of loaded ones.

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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from nwx.engine.base import Engine
from nwx.errors import SourceConflictError, SourceError
from nwx.keys import id_of_capture
from nwx.model import Batch, Capture, IndexName, SourceFile
from nwx.warc.reader import ArchiveReader, CaptureRecord
from nwx.warc.sources import ArchiveSource, checksum, checksum_of_start, is_archive_name


class _State(NamedTuple):
    """What changes when a file does."""

    size: int
    modified_ns: int
    device: int
    inode: int


@dataclass(slots=True)
class _Sight:
    """A file as it was seen last, since when it is so, and how often."""

    state: _State
    since: float
    looks: int = 1
    closed: bool = False
    dealt_with: bool = False


class Folders:
    """The archive files below some folders.

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
        self._being_written: set[tuple[int, int]] = set()

    def look(self) -> list[Path]:
        """Return the files that are whole now, the oldest first."""
        now, clock = time.monotonic(), time.time()
        found: dict[str, _State] = {}
        being_written: set[tuple[int, int]] = set()
        for path, state in self._files():
            if is_archive_name(path):
                found[path] = state
            else:
                being_written.add((state.device, state.inode))
        before, self._sights = self._sights, {}
        for path, state in found.items():
            self._sights[path] = self._seen(before.get(path), state, now)
        self._being_written = being_written
        whole = [
            (sight.state.modified_ns, path)
            for path, sight in self._sights.items()
            if self._is_whole(sight, now, clock) and not is_locked(path)
        ]
        return [Path(path) for _, path in sorted(whole)]

    def dealt_with(self, path: Path) -> None:
        """Do not return a file again until it changes."""
        sight = self._sights.get(str(path))
        if sight is not None:
            sight.dealt_with = True

    def settling(self) -> bool:
        """Return whether the last poll found files that may be complete soon."""
        return any(sight.looks == 1 and not sight.dealt_with for sight in self._sights.values())

    def _seen(self, before: _Sight | None, state: _State, now: float) -> _Sight:
        if before is not None and before.state == state:
            before.looks += 1
            return before
        return _Sight(state, now, closed=(state.device, state.inode) in self._being_written)

    def _is_whole(self, sight: _Sight, now: float, clock: float) -> bool:
        if sight.dealt_with:
            return False
        if sight.closed:
            return True
        # Clocks of file servers differ: the age is believed only when nothing changed meanwhile.
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
                    f"{folder} is watched by another process already; end that one first"
                ) from error
            except OSError as error:
                # Some network file systems have no locks on folders.
                if error.errno not in (errno.ENOLCK, errno.EINVAL, errno.EOPNOTSUPP, errno.EBADF):
                    raise
        yield


def _is_of_archive(name: str) -> bool:
    return is_archive_name(name) or is_archive_name(name.rpartition(".")[0])


def _state(entry: "os.DirEntry[str]") -> _State | None:
    """Return the state of a regular file; None of anything else, or where it has gone."""
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
        # It cannot be opened, or there are no locks here: the import tells what is wrong.
        return False
    return False


def read_grown_again(
    engine: Engine, sources: Iterable[ArchiveSource], ledger: Mapping[str, SourceFile]
) -> None:
    """Mark files that have grown as unfinished in the ledger.

    Their entries in the archive are unchanged, since ids derive from locations, except the record
    that was cut off at the former end of the file, which is deleted.
    """
    for source in sources:
        entry = ledger.get(source.name)
        if entry is None or source.size is None or not _has_grown(source, entry):
            continue
        content = checksum_of_start(source, source.size)
        fresh = replace(entry, size=source.size, checksum=content)
        if entry.finished:
            _forget(engine, list(_cut(source, entry)))
            fresh = replace(fresh, done_to=0, finished=False, counts={})
        engine.write(Batch(files=(fresh,)))


def _has_grown(source: ArchiveSource, entry: SourceFile) -> bool:
    """Return whether a file is in the ledger under the same path and has grown at its end."""
    if source.member or source.path != entry.path or entry.size is None:
        return False
    if source.size is None or source.size <= entry.size:
        return False
    try:
        return checksum_of_start(source, entry.size) == entry.checksum
    except SourceError:
        return False  # the import says why


def _cut(source: ArchiveSource, entry: SourceFile) -> Iterator[Capture]:
    """Yield the captures whose records extend past the former end of the file."""
    end = entry.size or 0
    for item in ArchiveReader(source, entry.collection):
        if isinstance(item, CaptureRecord):
            capture = item.capture
            if capture.source_file_offset >= end:
                return
            if capture.source_file_offset + (capture.record_length or end) > end:
                yield capture


def _forget(engine: Engine, captures: list[Capture]) -> None:
    """Delete captures, and the documents that were made from them."""
    places = {id_of_capture(capture) for capture in captures}
    documents = engine.documents([capture.document_id for capture in captures])
    made = [id for id, document in documents.items() if id_of_capture(document.capture) in places]
    engine.delete(IndexName.DOCUMENTS, made)
    engine.delete(IndexName.CAPTURES, places)


_NO_LINKS = {errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


def make_folder(folder: Path) -> None:
    """Make a target folder, once at the start; later a missing one is an error.

    Raises SourceError if that fails.
    """
    with SourceError.instead_of(OSError, f"{folder} cannot be made"):
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
    """Copy a file under a name that nobody takes for an archive, then rename the copy."""
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
    """Let the names in a folder outlast a power cut."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        # Some network file systems have no such thing.
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
    finally:
        os.close(handle)
