"""What dead processes leave: unfinished files and temporary folders, known by their names.

A name has the host and the process that made it, and as long as that lives
it holds a lock on the file or folder, which processes in other containers
and on other hosts that share the disk see too. What nobody holds goes, when
its process is known to be dead or after an hour. Everything else stays.
"""

import fcntl
import os
import re
import shutil
import socket
import stat
import time
from contextlib import suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path

LEFT_SECONDS = 3_600
"""After so long what nobody holds goes, whoever made it."""

_HOST = re.sub(r"[^A-Za-z0-9-]", "-", socket.gethostname())[:40] or "host"
_MOST_NAME_BYTES = 160
_MADE_BY = r"(?:(?P<host>[A-Za-z0-9-]{1,40})\.)?(?P<pid>[0-9]{1,10})"
_UNFINISHED = re.compile(rf"\..+?\.{_MADE_BY}\.unfinished", re.S)
_TEMPORARY = re.compile(rf"nwx-{_MADE_BY}\.[a-z0-9_]{{8}}")


def unfinished_path(path: Path) -> Path:
    """Return where a file is written until it is whole."""
    name = path.name
    if len(os.fsencode(name)) > _MOST_NAME_BYTES:
        name = blake2b(os.fsencode(name), digest_size=16).hexdigest()
    return path.with_name(f".{name}.{_HOST}.{os.getpid()}.unfinished")


def temporary_prefix() -> str:
    """Return how the names of temporary folders of this process begin."""
    return f"nwx-{_HOST}.{os.getpid()}."


def hold(descriptor: int) -> None:
    """Tell other processes, as far as the file system can, that an open file is in use."""
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


@cache
def remove_leftovers(folder: Path) -> None:
    """Remove what dead processes left in a folder; a process looks once."""
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            found = _UNFINISHED.fullmatch(entry.name) or _TEMPORARY.fullmatch(entry.name)
            if found:
                _remove_if_left(Path(entry.path), found["host"], int(found["pid"]))


def _remove_if_left(path: Path, host: str | None, pid: int) -> None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return
    try:
        if not _is_left(descriptor, host, pid):
            return
        if stat.S_ISDIR(os.fstat(descriptor).st_mode):
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    except OSError:
        return  # somebody holds it, or it is not ours to remove
    finally:
        os.close(descriptor)


def _is_left(descriptor: int, host: str | None, pid: int) -> bool:
    """Return whether nobody holds an open file of ours any more; raises OSError where one does."""
    found = os.fstat(descriptor)
    if found.st_uid != os.getuid():
        return False
    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    if time.time() - found.st_mtime > LEFT_SECONDS:
        return True
    return host == _HOST and not _is_alive(pid)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return not _is_zombie(pid)


def _is_zombie(pid: int) -> bool:
    """Return whether a process has ended and only nobody has asked how, as far as Linux tells."""
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2][:1]
    except OSError:
        return False
    return state in (b"Z", b"X")
