"""Putting a file into another folder, never over another file and never half.

A file first gets its new name beside the old one, then the ledger is told,
and last the old name goes. Killed in between, it has two names, both of the
whole file, and the next start goes on where it stopped.
"""

import errno
import hashlib
import os
import shutil
from pathlib import Path

from nwx.errors import SourceConflictError, SourceError
from nwx.warc.sources import ArchiveSource, checksum

_NO_LINKS = {errno.EXDEV, errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


def make_folder(folder: Path) -> None:
    """Make a folder that files go to, once at the start: one that is gone later is an error.

    Raises SourceError where that cannot be.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise SourceError(f"{folder} cannot be made: {error.strerror}") from error


def move_file(file: Path, folder: Path) -> Path:
    """Give a file its name in another folder, on whatever disk; the old name stays.

    The same file may be there already. Raises SourceConflictError where
    another one of its name is, SourceError where it cannot be written.
    """
    target = folder / file.name
    try:
        if not target.exists():
            _link_or_copy(file, target)
        _synchronize(folder)
        same = _same(file, target)
    except OSError as error:
        raise SourceError(f"{target} cannot be written: {error.strerror or error}") from error
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
