"""Atomic files and folders, write errors, locks, checksums, and streams of addresses."""

import errno
import fcntl
import io
import json
import os
import re
import shutil
import stat
import sys
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, cast

from nwx.errors import EngineBusyError, EngineError, EngineFullError, SourceError

if TYPE_CHECKING:
    import polars as pl


LEFT_SECONDS = 3_600
"""The age from which unlocked leftovers are removed, even if made on another host."""

_HOST = re.sub(r"[^A-Za-z0-9-]", "-", os.uname().nodename)[:40] or "host"
_MOST_NAME_BYTES = 160
_AT_FDCWD, _RENAME_EXCHANGE = -100, 2
_MADE_BY = r"(?:(?P<host>[A-Za-z0-9-]{1,40})\.)?(?P<pid>[0-9]{1,10})"
_UNFINISHED = re.compile(rf"\..+?\.{_MADE_BY}\.unfinished", re.S)
_TEMPORARY = re.compile(rf"nwx-{_MADE_BY}\.[a-z0-9_]{{8}}")


def unfinished_path(path: Path) -> Path:
    """Return the temporary path of a file until it is complete."""
    name = path.name
    if len(os.fsencode(name)) > _MOST_NAME_BYTES:
        name = blake2b(os.fsencode(name), digest_size=16).hexdigest()
    return path.with_name(f".{name}.{_HOST}.{os.getpid()}.unfinished")


def temporary_prefix() -> str:
    """Return the prefix of the names of this process's temporary folders."""
    return f"nwx-{_HOST}.{os.getpid()}."


def hold(descriptor: int) -> None:
    """Lock an open file against removal by other processes, if the file system supports it."""
    with suppress(OSError):
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)


@cache
def remove_leftovers(folder: Path) -> None:
    """Remove the leftovers of dead processes from a folder, once per process."""
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
        return  # another process holds it, or it may not be removed
    finally:
        os.close(descriptor)


def _is_left(descriptor: int, host: str | None, pid: int) -> bool:
    """Return whether an own file is a leftover; raises OSError if a process holds it."""
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
    """Return whether a process has ended but was not waited for; on Linux only, else False."""
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2][:1]
    except OSError:
        return False
    return state in (b"Z", b"X")


@contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Yield a stream to a temporary file, which is renamed to `path` at the end.

    On an error inside, `path` stays unchanged. Leftovers of killed processes in the folder are
    removed. If `path` is not a regular file (`/dev/stdout`, a named pipe), it is written directly.
    Raises SourceError if it cannot be written.
    """
    try:
        direct = path.exists() and not path.is_file()
    except OSError as error:
        raise _unwritable(path, error) from error
    unfinished = path if direct else unfinished_path(path)
    if not direct:
        remove_leftovers(path.parent)
    try:
        with unfinished.open("wb") as stream:
            if not direct:
                hold(stream.fileno())
            yield stream
        if not direct:
            unfinished.replace(path)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        if not direct:
            with suppress(OSError):
                unfinished.unlink()


@contextmanager
def whole_folder(path: Path, *, replaced: bool = False) -> Iterator[Path]:
    """Yield a new folder that is renamed to `path` at the end, and removed on an error.

    Leftovers of killed processes next to it are removed. With `replaced`, an existing folder is
    replaced atomically. Raises SourceError if `path` cannot be written, and without `replaced`, if
    it is not empty.
    """
    try:
        if not replaced and path.exists() and (not path.is_dir() or any(path.iterdir())):
            raise SourceError.translated("%(path)s already exists; name a new folder", path=path)
        remove_leftovers(path.parent)
        new = unfinished_path(path)
        shutil.rmtree(new, ignore_errors=True)
        new.mkdir(parents=True)
        descriptor = os.open(new, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        raise _unwritable(path, error) from error
    try:
        hold(descriptor)
        yield new
        if replaced and path.exists():
            _exchange(new, path)
        else:
            new.replace(path)
    except OSError as error:
        raise _unwritable(path, error) from error
    finally:
        os.close(descriptor)
        shutil.rmtree(new, ignore_errors=True)


def _exchange(one: Path, other: Path) -> None:
    """Exchange two folders atomically, so that neither name is ever missing."""
    # Imported late: few processes replace a folder.
    import ctypes

    libc, names = ctypes.CDLL(None, use_errno=True), (os.fsencode(one), os.fsencode(other))
    if sys.platform == "darwin":
        failed = libc.renamex_np(*names, _RENAME_EXCHANGE)
    else:
        failed = libc.renameat2(_AT_FDCWD, names[0], _AT_FDCWD, names[1], _RENAME_EXCHANGE)
    if failed:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()), str(other))


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Convert an OSError inside, such as a full disk, to a SourceError about `path`."""
    try:
        yield
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise _unwritable(path, error) from error
        raise SourceError.translated(
            "%(path)s cannot be written: %(reason)s; make room, or name another folder "
            "for temporary files",
            path=path,
            reason=error,
        ) from error


def standard_input() -> BinaryIO:
    """Return the bytes of standard input; raises SourceError if it is closed or was read."""
    if sys.stdin is None:
        raise SourceError("standard input is closed; pipe data into it")
    if sys.stdin.buffer.closed:
        raise SourceError("standard input (-) can be read only once")
    return sys.stdin.buffer


def parquet_bytes(frame: "pl.DataFrame") -> memoryview:
    """Return a table as Parquet; if polars wrote the file, a full disk would not be an OSError."""
    written = io.BytesIO()
    frame.write_parquet(written)
    return written.getbuffer()


def done_once(report: Path, work: Callable[[], Any]) -> Any:
    """Return the JSON result of `work`, or the stored result of an earlier call.

    `report` is written when the work is done: interrupted work restarts from the beginning,
    finished work never runs again.
    """
    if report.exists():
        return json.loads(report.read_bytes())
    result = work()
    with whole_file(report) as stream:
        stream.write(json.dumps(result).encode())
    return result


def _unwritable(path: Path, error: OSError) -> SourceError:
    return SourceError.translated("%(path)s cannot be written: %(reason)s", path=path, reason=error)


@contextmanager
def locked_folder(folder: Path, work: str) -> Iterator[Path]:
    """Yield a working folder, created if missing, locked against other processes.

    The system releases the lock when the process dies. Raises EngineBusyError if another process
    holds it (`work` describes its work, as in `builds facets`), EngineError if it cannot be
    written, EngineFullError if the disk becomes full inside.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as error:
        raise EngineError(f"{folder} cannot be written ({error.strerror})") from error
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise EngineBusyError(
                f"another process {work} in {folder}; wait for it to end"
            ) from error
        yield folder
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EDQUOT):
            raise
        raise EngineFullError.translated(
            "no space is left at %(place)s; what was stored before is kept; free space "
            "and run the same command again",
            place=folder,
        ) from error
    finally:
        os.close(handle)


_SEAL = "crc32"
_STRETCH = 1 << 20


def file_checksum(path: Path, end: int | None = None) -> int:
    """Return the CRC-32 of a file, up to the position `end` if given."""
    checksum = 0
    with path.open("rb") as file:
        left = path.stat().st_size if end is None else end
        while left > 0 and (block := file.read(min(left, _STRETCH))):
            checksum = zlib.crc32(block, checksum)
            left -= len(block)
    return checksum


def sealed_json(entry: Mapping[str, Any], indent: int | None = None) -> str:
    """Return an object as JSON that contains its own checksum."""
    text = json.dumps(entry)
    return json.dumps({**entry, _SEAL: zlib.crc32(text.encode())}, indent=indent)


def unsealed_json(text: str) -> dict[str, Any]:
    """Return the object in a JSON text of `sealed_json`; files of older versions have no checksum.

    Raises ValueError if it was changed since, or is not a JSON object.
    """
    entry = json.loads(text)
    if not isinstance(entry, dict):
        raise ValueError("it is not a JSON object")
    seal = entry.pop(_SEAL, None)
    if seal is not None and seal != zlib.crc32(json.dumps(entry).encode()):
        raise ValueError("its checksum differs")
    return entry


_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def is_address(path: str) -> bool:
    """Return whether a text is an address (http, s3), not a path."""
    return _ADDRESS.match(path) is not None


def address_stream(address: str) -> BinaryIO:
    """Open the byte stream of an address; the caller closes it.

    Raises SourceError or OSError if it cannot be read.
    """
    try:
        import fsspec
    except ImportError as error:
        raise SourceError(f"{address} needs fsspec; install nwx with the extra `remote`") from error
    try:
        handle: Any = fsspec.open(address, "rb").open()
    except remote_failures(ImportError, ValueError, RuntimeError) as error:
        raise SourceError(f"{address} cannot be opened: {error}") from error
    return cast("BinaryIO", handle)


def remote_failures(*known: type[Exception]) -> tuple[type[Exception], ...]:
    """Return exceptions of fsspec, and that of the client of S3 if fsspec has loaded it."""
    client = sys.modules.get("botocore.exceptions")
    return (*known, client.BotoCoreError) if client else known
