"""Where archive files come from: paths, folders, manifests, addresses, standard input."""

import glob
import hashlib
import os
import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from isal import isal_zlib

from nwx.errors import SourceError
from nwx.model import STANDARD_INPUT, ReadError
from nwx.warc.wacz import WaczMember, open_member, wacz_members

LONGEST_NAME_BYTES = 400

_ARCHIVE_NAME = re.compile(r"\.w?arc(?:\.(?:wat|wet))?(?:\.(?:gz|zst|zstd))?$|\.wacz$", re.I)
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_GLOB = re.compile(r"[*?\[]")
_CHUNK_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class ArchiveSource:
    """One archive file that can be read, in this process or another.

    `name` is what it is known by, `path` where it lies (absolute, so that
    it can be found from anywhere), `size` its stored
    bytes where that is known. `member` is the name of a WARC inside the
    WACZ at `path`.
    """

    name: str
    path: str
    size: int | None
    member: str = ""

    def open(self) -> BinaryIO:
        """Return the stored bytes of the file; the caller closes.

        Raises SourceError where that cannot be had.
        """
        try:
            handle = _open(self.path)
            return open_member(handle, self.member) if self.member else handle
        except OSError as error:
            raise SourceError(f"{self.path} cannot be opened: {error}") from error


def expand(
    arguments: Iterable[str], manifests: Iterable[str] = (), *, stdin_name: str = "stdin"
) -> Iterator[ArchiveSource | ReadError]:
    """Yield the archive files that arguments name, each path once.

    An argument is a file, a folder (all archive files below it), a glob, an
    http(s) or s3 address, `@` and a manifest (such arguments, one a line),
    or `-` for standard input, which is then known by `stdin_name`. The
    WARCs of a WACZ come one by one. Arguments keep their order; what one
    names comes sorted. What cannot be found is an error that names it.
    """
    seen: set[tuple[str, str]] = set()
    for argument in _with_manifests(arguments, manifests):
        if isinstance(argument, ReadError):
            yield argument
            continue
        for path in _paths(argument):
            for source in _sources(path, stdin_name):
                if isinstance(source, ReadError):
                    yield source
                elif (key := (_real(source.path), source.member)) not in seen:
                    seen.add(key)
                    yield source


def source_name(text: str) -> str:
    """Return a name fit for ids and indices: long ones are cut and end in a hash of all."""
    encoded = text.encode("utf-8", "surrogateescape")
    if len(encoded) > LONGEST_NAME_BYTES:
        digest = hashlib.blake2b(encoded, digest_size=16).hexdigest()
        head = encoded[: LONGEST_NAME_BYTES - len(digest) - 1].decode("utf-8", "ignore")
        return f"{head}-{digest}"
    return encoded.decode("utf-8", "replace")


def is_archive_name(name: str) -> bool:
    """Tell whether a file of this name is looked at where a folder is named."""
    return _ARCHIVE_NAME.search(name) is not None


def checksum(source: ArchiveSource) -> str:
    """Return size and CRC-32 of a file, "" for standard input.

    Enough to tell another file of the same name, and several times as fast
    as a cryptographic hash. Of an address only the first and last MiB are
    fetched.
    Raises SourceError where the file cannot be read.
    """
    if source.path == STANDARD_INPUT:
        return ""
    try:
        with source.open() as handle:
            if _ADDRESS.match(source.path) and source.size is not None:
                return f"{source.size}~{_crc_of_ends(handle, source.size):08x}"
            return _crc_of_all(handle)
    except OSError as error:
        raise SourceError(f"{source.path} cannot be read: {error}") from error


def checksum_of_start(source: ArchiveSource, size: int) -> str:
    """Return what `checksum` gave when a file on disk had only so many bytes.

    Raises SourceError where the file cannot be read.
    """
    try:
        with source.open() as handle:
            return _crc_of_all(handle, size)
    except OSError as error:
        raise SourceError(f"{source.path} cannot be read: {error}") from error


def _crc_of_all(handle: BinaryIO, limit: int = sys.maxsize) -> str:
    crc = size = 0
    while block := handle.read(min(_CHUNK_BYTES, limit - size)):
        crc = isal_zlib.crc32(block, crc)
        size += len(block)
    return f"{size}-{crc:08x}"


def _crc_of_ends(handle: BinaryIO, size: int) -> int:
    crc = isal_zlib.crc32(handle.read(_CHUNK_BYTES))
    if size > _CHUNK_BYTES:
        handle.seek(max(_CHUNK_BYTES, size - _CHUNK_BYTES))
        crc = isal_zlib.crc32(handle.read(_CHUNK_BYTES), crc)
    return crc


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
    """Yield the arguments in a manifest; a relative path may count from here or from it."""
    try:
        text = Path(path).read_text(encoding="utf-8", errors="surrogateescape")
    except OSError as error:
        yield ReadError(path, None, "missing", f"the manifest {path} cannot be read: {error}")
        return
    for line in text.splitlines():
        entry = line.strip()
        if not entry or entry.startswith("#"):
            continue
        beside = Path(path).parent / entry
        here = Path(entry)
        yield str(beside) if not here.exists() and beside.exists() else entry


def _paths(argument: str) -> Iterator[str]:
    """Yield the paths that an argument names; the argument itself where it names none."""
    if argument == STANDARD_INPUT or _ADDRESS.match(argument):
        yield argument
    elif Path(argument).is_dir():
        yield from _below(argument)
    elif _GLOB.search(argument) and not Path(argument).exists():
        found = sorted(glob.glob(argument, recursive=True))  # noqa: PTH207 - `Path` has no absolute globs
        for path in found or [argument]:
            yield from _below(path) if Path(path).is_dir() else [path]
    else:
        yield argument


def _below(folder: str) -> Iterator[str]:
    for parent, folders, names in os.walk(folder):
        folders.sort()
        yield from (str(Path(parent) / name) for name in sorted(names) if is_archive_name(name))


def _sources(path: str, stdin_name: str) -> Iterator[ArchiveSource | ReadError]:
    if path == STANDARD_INPUT:
        yield ArchiveSource(source_name(stdin_name), path, None)
        return
    name = source_name(path.rstrip("/").rpartition("/")[2])
    if not _ADDRESS.match(path):
        path = os.path.abspath(path)  # noqa: PTH100 - links are kept as they are
    try:
        if not path.lower().split("?")[0].endswith(".wacz"):
            yield ArchiveSource(name, path, _size(path))
            return
        with _open(path) as handle:
            for found in wacz_members(handle, name):
                yield found if isinstance(found, ReadError) else _inner(found, name, path)
    except (OSError, SourceError) as error:
        yield ReadError(name, None, "missing", f"{path} cannot be opened: {error}")


def _inner(member: WaczMember, name: str, path: str) -> ArchiveSource:
    return ArchiveSource(source_name(f"{name}#{member.name}"), path, member.size, member.name)


def _size(path: str) -> int | None:
    if _ADDRESS.match(path):
        with _open(path) as handle:
            size = getattr(handle, "size", None)
            return size if isinstance(size, int) else None
    return Path(path).stat().st_size


def _open(path: str) -> BinaryIO:
    if path == STANDARD_INPUT:
        return sys.stdin.buffer
    if _ADDRESS.match(path):
        return _open_address(path)
    return Path(path).open("rb")


def _open_address(address: str) -> BinaryIO:
    try:
        import fsspec
    except ImportError as error:
        raise SourceError(f"{address} needs fsspec; install nwx with the extra `remote`") from error
    try:
        handle: Any = fsspec.open(address, "rb").open()
    except (ImportError, ValueError, RuntimeError) as error:
        raise SourceError(f"{address} cannot be opened: {error}") from error
    return cast("BinaryIO", handle)


def _real(path: str) -> str:
    return path if path == STANDARD_INPUT or _ADDRESS.match(path) else os.path.realpath(path)
