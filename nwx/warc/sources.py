"""Archive files: from paths, folders, manifests, addresses, standard input and the ledger."""

import glob
import hashlib
import os
import re
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import BinaryIO

from nwx.bulk.whole_files import address_stream, is_address, standard_input
from nwx.data_classes import dataclass
from nwx.errors import SourceError, system_reason
from nwx.model import STANDARD_INPUT, Capture, ReadError, SourceFile
from nwx.warc.wacz import Places, RequiredFile, WaczMember, open_member, wacz_members
from nwx.warc.zip_entries import window

LONGEST_NAME_BYTES = 400
OPEN_SUFFIX = ".open"
"""The suffix that crawlers add to the name of a file while they write it."""

_ARCHIVE_NAME = re.compile(r"\.w?arc(?:\.(?:wat|wet))?(?:\.(?:gz|zst|zstd))?$|\.wacz$", re.I)
_GLOB = re.compile(r"[*?\[]")
_MEMBER = ".wacz#"
_PATIENCE_SECONDS = 2.0


@dataclass(frozen=True, slots=True)
class ArchiveSource:
    """An archive file, which this or another process can open.

    `name` identifies it, `path` is its absolute location, `size` its stored bytes if known.
    `member` is the name of a WARC inside the WACZ at `path`, `places` its location there; without
    `places` it is looked up by name on every open. `requires` are the files that the WACZ requires.
    A `growing` file is still being written: only its first `size` bytes are read.
    """

    name: str
    path: str
    size: int | None
    member: str = ""
    places: Places = ()
    requires: tuple[RequiredFile, ...] = field(default=(), compare=False)
    growing: bool = False

    def open(self) -> BinaryIO:
        """Open the file's stored bytes; the caller closes them.

        Raises SourceError if the file cannot be opened.
        """
        try:
            handle = open_path(self.path)
            if self.growing:
                return window(handle, 0, self.size or 0)
            return open_member(handle, self.member, self.places) if self.member else handle
        except OSError as error:
            raise SourceError.translated(
                "%(path)s cannot be opened: %(reason)s", path=self.path, reason=error
            ) from error


def stored_source(file: SourceFile) -> ArchiveSource:
    """Return the archive file of a ledger entry."""
    member = file.name.partition("#")[2] if _MEMBER in file.name else ""
    return ArchiveSource(file.name, file.path, file.size, member)


@dataclass(frozen=True, slots=True)
class FileError(ReadError):
    """An error about an existing file as a whole, with its path and size.

    `is_refused` means that nothing of the file is read.
    """

    path: str = ""
    size: int | None = None
    is_refused: bool = True


def expand(
    arguments: Iterable[str], manifests: Iterable[str] = (), *, stdin_name: str = "stdin"
) -> Iterator[ArchiveSource | ReadError]:
    """Yield the archive files that arguments name, each path once.

    An argument is a file, a folder (all archive files below it), a glob, an http(s) or s3 address,
    `@` and a manifest (such arguments, one a line), or `-` for standard input, which is named
    `stdin_name`. The WARCs of a WACZ are yielded one by one. Arguments keep their order; the files
    of one argument are sorted. A missing or unreadable file and a folder without archive files are
    yielded as errors; an existing file as a `FileError`.
    """
    seen: set[tuple[str, str]] = set()
    for argument in _with_manifests(arguments, manifests):
        if isinstance(argument, ReadError):
            yield argument
            continue
        for path in _paths(argument):
            if isinstance(path, ReadError):
                yield path
                continue
            for source in _sources(path, stdin_name):
                if isinstance(source, ReadError):
                    yield source
                elif (key := (_real(source.path), source.member)) not in seen:
                    seen.add(key)
                    yield source


def source_name(text: str) -> str:
    """Return a name fit for ids and indices: long names are cut and end in a hash of the whole."""
    encoded = text.encode("utf-8", "surrogateescape")
    if len(encoded) > LONGEST_NAME_BYTES:
        digest = hashlib.blake2b(encoded, digest_size=16).hexdigest()
        head = encoded[: LONGEST_NAME_BYTES - len(digest) - 1].decode("utf-8", "ignore")
        return f"{head}-{digest}"
    return encoded.decode("utf-8", "replace")


def is_archive_name(name: str) -> bool:
    """Return whether a file with this name counts as an archive file in a folder."""
    return _ARCHIVE_NAME.search(name) is not None


def _with_manifests(
    arguments: Iterable[str], manifests: Iterable[str]
) -> Iterator[str | ReadError]:
    for argument in arguments:
        if argument.startswith("@"):
            yield from _manifest(argument[1:])
        else:
            yield argument
    for manifest in manifests:
        yield from _manifest(manifest)


def _manifest(path: str) -> Iterator[str | ReadError]:
    """Yield a manifest's arguments; paths are relative to the working or the manifest's folder."""
    try:
        text = Path(path).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        reason = f"the manifest {path} cannot be read: {error.strerror}"
        yield ReadError(path, None, "missing", reason)
        return
    entries = [line.strip() for line in text.splitlines()]
    entries = [entry for entry in entries if entry and not entry.startswith("#")]
    if not entries:
        yield ReadError(path, None, "missing", f"the manifest {path} names no files")
    for entry in entries:
        beside = Path(path).parent / entry
        here = Path(entry)
        yield str(beside) if not here.exists() and beside.exists() else entry


def _paths(argument: str) -> Iterator[str | ReadError]:
    """Yield the paths that an argument names; the argument itself if none is found."""
    if argument == STANDARD_INPUT or is_address(argument):
        yield argument
    elif os.path.isdir(argument):  # noqa: PTH112 - `Path` raises if a parent is not accessible
        yield from _below([argument], argument)
    elif _GLOB.search(argument) and not os.path.lexists(argument):
        found = sorted(glob.glob(argument, recursive=True))  # noqa: PTH207 - `Path` has no absolute globs
        yield from _below(found, argument) if found else [argument]
    else:
        yield argument


def _below(paths: Iterable[str], argument: str) -> Iterator[str | ReadError]:
    """Yield files unchanged, and the archive files below folders; an error if none is found."""
    empty = True
    for path in paths:
        for found in _walked(path) if Path(path).is_dir() else [path]:
            empty = False
            yield found
    if empty:
        yield ReadError(argument, None, "missing", f"there are no archive files in {argument}")


def _walked(folder: str) -> Iterator[str | ReadError]:
    """Yield the archive files below a folder, and an error for each unreadable folder."""
    closed: list[OSError] = []
    for parent, folders, names in os.walk(folder, onerror=closed.append):
        folders.sort()
        yield from (str(Path(parent) / name) for name in sorted(names) if is_archive_name(name))
    for error in closed:
        message = f"the folder {error.filename} cannot be read: {error.strerror}"
        yield ReadError(str(error.filename), None, "open", message)


def _sources(path: str, stdin_name: str) -> Iterator[ArchiveSource | ReadError]:
    if path == STANDARD_INPUT:
        yield ArchiveSource(source_name(stdin_name), path, None)
        return
    name = source_name(path.rstrip("/").rpartition("/")[2])
    if not is_address(path):
        path = os.path.abspath(path)  # noqa: PTH100 - links are kept as they are
    is_wacz = path.lower().split("?")[0].endswith(".wacz")
    try:
        if not is_wacz and not is_address(path):
            status = os.stat(path)  # noqa: PTH116 - of many files, and fast
            _check_regular(path, status)
            yield ArchiveSource(name, path, status.st_size)
            return
        with open_path(path) as handle:
            size = _size(handle)
            found = list(wacz_members(handle, name)) if is_wacz else []
    except (FileNotFoundError, ValueError) as error:  # a path with a null byte
        yield ReadError(name, None, "missing", f"{path} cannot be opened: {system_reason(error)}")
    except SourceError as error:
        yield ReadError(name, None, "open", f"{path} cannot be opened: {error}")
    except OSError as error:
        yield FileError(
            name, None, "open", f"{path} cannot be opened: {system_reason(error)}", path
        )
    else:
        yield from (
            _of_wacz(found, name, path, size) if is_wacz else [ArchiveSource(name, path, size)]
        )


def _of_wacz(
    found: Iterable[WaczMember | ReadError], name: str, path: str, size: int | None
) -> Iterator[ArchiveSource | ReadError]:
    """Yield the WARCs of a WACZ, and its faults as errors about existing files."""
    is_read = any(isinstance(one, WaczMember) for one in found)
    for one in found:
        if isinstance(one, WaczMember):
            yield _inner(one, name, path)
        else:
            is_refused = one.file != name or not is_read
            yield FileError(one.file, None, one.kind, one.message, path, size, is_refused)


def _inner(member: WaczMember, name: str, path: str) -> ArchiveSource:
    inner_name = source_name(f"{name}#{member.name}")
    return ArchiveSource(inner_name, path, member.size, member.name, member.places, member.requires)


def _size(handle: BinaryIO) -> int | None:
    size = getattr(handle, "size", None)  # of fsspec's files
    if isinstance(size, int):
        return size
    try:
        return os.fstat(handle.fileno()).st_size
    except OSError:
        return None


def open_path(path: str) -> BinaryIO:
    """Open a path, an address or standard input; the caller closes it.

    Raises SourceError or OSError if that fails. Irregular files (devices, named pipes) may be
    endless, and are refused. A file that is still being written is found by its final name.
    """
    if path == STANDARD_INPUT:
        return standard_input()
    if is_address(path):
        return address_stream(path)
    try:
        descriptor = _opened(path)
    except FileNotFoundError:
        with suppress(FileNotFoundError):
            return os.fdopen(_opened(path + OPEN_SUFFIX), "rb")
        descriptor = _opened(path)  # if it was finished and renamed meanwhile
    try:
        _check_regular(path, os.fstat(descriptor))
    except SourceError:
        os.close(descriptor)
        raise
    return os.fdopen(descriptor, "rb")


def _opened(path: str) -> int:
    # do not wait for the writer of a named pipe
    return os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)


def is_present(path: str) -> bool:
    """Return whether a file exists, under its name or as one that is still being written."""
    return is_address(path) or any(map(os.path.exists, (path, path + OPEN_SUFFIX)))


def _check_regular(path: str, status: os.stat_result) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise SourceError.translated("it is not a regular file; pass a stream as -")


def _real(path: str) -> str:
    return path if path == STANDARD_INPUT or is_address(path) else os.path.realpath(path)


class FilePlaces:
    """Locations of imported files, reread from the ledger only when needed; thread-safe.

    That is when it lacks a file, or a file is not at its location, as files are moved and imported
    all the time. `ledger` returns the imported files.
    """

    def __init__(self, ledger: Callable[[], Iterable[SourceFile]]) -> None:
        self._ledger = ledger
        self._lock = threading.Lock()
        self._paths: dict[tuple[str, str], str] = {}
        self._next_read = 0.0

    def path(self, collection: str, name: str) -> str | None:
        """Return the path or address of a file, None if the ledger lacks it."""
        found = self._paths.get((collection, name))
        if found is None or not is_present(found):
            self._refresh()
            found = self._paths.get((collection, name))
        return found

    def is_there(self, capture: Capture) -> bool:
        """Return whether the file of a capture is readable; for addresses, whether it is known."""
        path = self.path(capture.collection, capture.source_file)
        return path is not None and is_present(path)

    def _refresh(self) -> None:
        """Reread the ledger, unless that was done within _PATIENCE_SECONDS."""
        with self._lock:
            if time.monotonic() >= self._next_read:
                self._paths = {(one.collection, one.name): one.path for one in self._ledger()}
                self._next_read = time.monotonic() + _PATIENCE_SECONDS
