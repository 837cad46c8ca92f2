"""The WARCs inside a WACZ, a ZIP file that may be hostile.

A WACZ may contain others (`multi-wacz-package`, as Browsertrix makes from several crawls). Nothing
is unpacked to a path named inside: inner names are names only.
"""

import hashlib
import json
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any, BinaryIO, cast

from nwx.data_classes import dataclass
from nwx.errors import DigestError, FormatError, SourceError
from nwx.model import ReadError
from nwx.values.digests import digest_of, normal_digest
from nwx.warc.zip_entries import (
    METHODS,
    STORED,
    ZipEntry,
    is_possible,
    is_within,
    open_entry,
    read_entries,
    recovered_entries,
)

_WARC = re.compile(r"\.w?arc(?:\.(?:gz|zst|zstd))?$", re.I)
_WACZ = re.compile(r"\.wacz$", re.I)
_WITHIN = re.compile(r"\.wacz#", re.I)
_FOLDER = "archive/"
_PACKAGE, _PACKAGE_DIGEST = "datapackage.json", "datapackage-digest.json"
_MOST_PACKAGE_BYTES = 1 << 26
_MOST_DEPTH = 4
_MOST_UNPACKED_BYTES = 1 << 30
_MOST_NAMED = 5
_MOST_REQUIRED, _MOST_NAME_CHARACTERS = 10_000, 400
_STEP = 1 << 20

RequiredFile = Mapping[str, str | int]
"""A file of `relation.requires`: filename, and hash, size and crawlId if known."""

Places = tuple[ZipEntry, ...]
"""The location of a WARC: the entry of each nested WACZ that contains it, then its own."""


@dataclass(frozen=True, slots=True)
class WaczMember:
    """A WARC inside a WACZ: inner name, unpacked size, location, and files the WACZ requires."""

    name: str
    size: int | None
    places: Places
    requires: tuple[RequiredFile, ...] = ()


def wacz_members(handle: BinaryIO, name: str) -> Iterator[WaczMember | ReadError]:
    """Yield the WARCs of a WACZ by name, and an error for each untrustworthy one.

    `name` is the WACZ's, for errors. If two entries have the same name, the last counts, as in all
    directory-based ZIP readers. WARCs of a nested WACZ are named `INNER.wacz#archive/NAME`.
    """
    yield from _members(handle, name, ())


def open_member(handle: BinaryIO, member: str, places: Places = ()) -> BinaryIO:
    """Open a WARC inside a WACZ; closing it closes the WACZ as well.

    Without `places` the directory of the WACZ is searched. Raises SourceError if the WACZ has no
    such WARC.
    """
    try:
        return _opened(handle, places or _places(handle, member))
    except FormatError as error:
        handle.close()
        raise SourceError.translated(
            "%(member)s cannot be read from its WACZ: %(reason)s", member=member, reason=error
        ) from error


def _members(handle: BinaryIO, name: str, outer: Places) -> Iterator[WaczMember | ReadError]:
    lost = ""
    try:
        entries = read_entries(handle)
    except FormatError as error:
        entries = recovered_entries(handle)
        lost = f"{error}; without its directory {len(entries)} entries were found"
    package, checked = _Package(handle, entries), list(_checked(entries))
    if not checked:
        lost = lost or "there is no WARC in its folder archive/, and no WACZ"
    if lost:
        yield ReadError(name, None, "wacz", lost)
    yield from (ReadError(name, None, *problem) for problem in package.problems)
    for entry, fault in checked:
        if fault:
            yield ReadError(f"{name}#{entry.name}", None, "wacz", fault)
        elif _WACZ.search(entry.name):
            yield from _inner(handle, name, outer, entry)
        else:
            whole = replace(entry, digest=package.digests.get(entry.name, ""))
            inner_name = "#".join((*(place.name for place in outer), entry.name))
            yield WaczMember(inner_name, entry.bytes, (*outer, whole), package.requires)


def _inner(
    handle: BinaryIO, name: str, outer: Places, entry: ZipEntry
) -> Iterator[WaczMember | ReadError]:
    """Yield the members and errors of a WACZ inside a WACZ."""
    inner_name = f"{name}#{entry.name}"
    if len(outer) + 1 >= _MOST_DEPTH:
        message = f"{_MOST_DEPTH} nested WACZ files; unpack them"
        yield ReadError(inner_name, None, "wacz", message)
        return
    try:
        with _seekable(open_entry(handle, entry, closes=False), entry) as inner:
            yield from _members(inner, inner_name, (*outer, entry))
    except FormatError as error:
        yield ReadError(inner_name, None, "wacz", str(error))


def _opened(handle: BinaryIO, places: Places) -> BinaryIO:
    for place in places[:-1]:
        handle = _seekable(open_entry(handle, place), place)
    return open_entry(handle, places[-1])


def _seekable(stream: BinaryIO, entry: ZipEntry) -> BinaryIO:
    """Return a WACZ inside a WACZ as a seekable file; a deflated one is unpacked.

    Raises FormatError if that needs too much space.
    """
    if entry.method == STORED:
        return stream
    if entry.bytes is None or entry.bytes > _MOST_UNPACKED_BYTES:
        stream.close()
        raise FormatError.translated(
            "it is compressed, and larger than %(most)s bytes; unpack it first",
            most=_MOST_UNPACKED_BYTES,
        )
    unpacked = tempfile.TemporaryFile(prefix="nwx-")  # noqa: SIM115 - the caller closes
    try:
        with stream:
            while block := stream.read(_STEP):
                unpacked.write(block)
    except BaseException:
        unpacked.close()
        raise
    return cast("BinaryIO", unpacked)


def _places(handle: BinaryIO, member: str) -> Places:
    """Return the location of a WARC by its name.

    Raises FormatError if the WARC is missing.
    """
    entries = {entry.name: entry for entry in _entries(handle)}
    if member in entries:
        if fault := _refusal(entries[member]):
            raise FormatError(fault)
        return (entries[member],)
    for cut in _WITHIN.finditer(member):
        outer = entries.get(member[: cut.end() - 1])
        if outer is not None and not _refusal(outer):
            with _seekable(open_entry(handle, outer, closes=False), outer) as inner:
                return (outer, *_places(inner, member[cut.end() :]))
    raise FormatError.translated("there is no such WARC in it")


def _entries(handle: BinaryIO) -> list[ZipEntry]:
    try:
        return read_entries(handle)
    except FormatError:
        if entries := recovered_entries(handle):
            return entries
        raise


def _checked(entries: Sequence[ZipEntry]) -> Iterator[tuple[ZipEntry, str]]:
    """Yield the entries with the name of a WARC or WACZ, each with its fault, "" if sound."""
    overlapping = _overlapping(entries)
    wanted = [entry for entry in entries if _is_wanted(entry.name)]
    last = {entry.name: entry for entry in wanted}
    for entry in sorted(wanted, key=lambda entry: entry.name):
        if last[entry.name] is not entry:
            yield entry, "a later entry has the same name; only that one is read"
        elif entry in overlapping:
            yield entry, "its bytes overlap those of another entry"
        else:
            yield entry, _refusal(entry)


def _is_wanted(name: str) -> bool:
    return bool((_FOLDER in name and _WARC.search(name)) or _WACZ.search(name))


def _overlapping(entries: Iterable[ZipEntry]) -> set[ZipEntry]:
    """Return the entries that share bytes with others, as in ZIP bombs."""
    shared: set[ZipEntry] = set()
    ordered = sorted(entries, key=lambda entry: entry.offset)
    for entry, after in pairwise(ordered):
        if entry.offset + entry.stored_bytes > after.offset:
            shared.update((entry, after))
    return shared


def _refusal(entry: ZipEntry) -> str:
    """Return the reason to refuse an entry, "" if it is read."""
    name = entry.name
    if ".." in name.split("/") or name.startswith("/") or "\\" in name:
        return "its name points outside the WACZ"
    if not (name.startswith(_FOLDER) or _WACZ.search(name)):
        return "it is outside the folder archive/"
    if entry.is_encrypted:
        return "it is encrypted"
    if entry.method not in METHODS:
        return f"its compression method {entry.method} is not supported"
    if not is_within(entry):
        return "its offset is outside the WACZ"
    if not is_possible(entry):
        return f"{entry.stored_bytes} bytes cannot unpack to {entry.bytes}"
    return ""


class _Package:
    """The contents of a WACZ's `datapackage.json`; `digests` has the entries' digests by name.

    `requires` are the files with the originals of its revisits.
    """

    def __init__(self, handle: BinaryIO, entries: Sequence[ZipEntry]) -> None:
        self.digests: dict[str, str] = {}
        self.requires: tuple[RequiredFile, ...] = ()
        self._handle = handle
        self._entries = {entry.name: entry for entry in entries}
        self.problems = list(self._read())

    def _read(self) -> Iterator[tuple[str, str]]:
        """Read the package; yield the kind and message of each fault."""
        try:
            raw = self._bytes(_PACKAGE)
            told = _parsed(self._bytes(_PACKAGE_DIGEST)).get("hash")
            package = _parsed(raw)
            resources = package.get("resources")
        except FormatError as error:
            yield "wacz", f"its {_PACKAGE} cannot be read: {error}"
            return
        wanted = _digest(told)
        if wanted and _digest_of(wanted, raw) != wanted:
            yield "digest", f"its {_PACKAGE} does not match the digest in {_PACKAGE_DIGEST}"
        missing = []
        for resource in resources if isinstance(resources, list) else ():
            if not isinstance(resource, dict):
                continue
            path = resource.get("path") or resource.get("url") or resource.get("name")
            if not isinstance(path, str):
                continue
            self.digests[path] = _digest(resource.get("hash"))
            if _is_wanted(path) and path not in self._entries:
                missing.append(path)
        if missing:
            names = ", ".join(missing[:_MOST_NAMED]) + (", …" if missing[_MOST_NAMED:] else "")
            yield "wacz", f"{len(missing)} files that its {_PACKAGE} names are not in it: {names}"

        relation = package.get("relation")
        listed = relation.get("requires", []) if isinstance(relation, dict) else []
        found = [_required(one) for one in listed] if isinstance(listed, list) else [None]
        self.requires = tuple(filter(None, found))[:_MOST_REQUIRED]
        if None in found or len(found) > _MOST_REQUIRED:
            yield "wacz", f"relation.requires in its {_PACKAGE} is not a list of files, or too long"

    def _bytes(self, name: str) -> bytes:
        """Return a small entry, b"" if missing.

        Raises FormatError if it is damaged.
        """
        entry = self._entries.get(name)
        if entry is None:
            return b""
        if fault := _refusal(replace(entry, name=_FOLDER)):
            raise FormatError(fault)
        pieces, left = [], _MOST_PACKAGE_BYTES
        with open_entry(self._handle, entry, closes=False) as stream:
            while block := stream.read(min(_STEP, left)):
                pieces.append(block)
                left -= len(block)
        return b"".join(pieces)


def _required(told: object) -> RequiredFile | None:
    """Return a file of `relation.requires`, None if it is invalid."""
    name = told.get("filename") if isinstance(told, dict) else None
    if not isinstance(told, dict) or not isinstance(name, str):
        return None
    if not 0 < len(name) <= _MOST_NAME_CHARACTERS:
        return None
    texts = {key: one for key in ("hash", "crawlId") if isinstance(one := told.get(key), str)}
    size = told.get("size")
    known = {"size": size} if type(size) is int and 0 <= size < 1 << 63 else {}
    return {
        "filename": _clean(name),
        **{key: _clean(text[:_MOST_NAME_CHARACTERS]) for key, text in texts.items()},
        **known,
    }


def _clean(text: str) -> str:
    return text.encode("utf-8", "replace").decode()


def _parsed(raw: bytes) -> dict[str, Any]:
    try:
        found = json.loads(raw) if raw else {}
    except (ValueError, RecursionError) as error:
        raise FormatError.translated("it is not JSON: %(reason)s", reason=error) from error
    return found if isinstance(found, dict) else {}


def _digest(told: object) -> str:
    """Return the normal form of a declared digest, "" if it is invalid."""
    try:
        return normal_digest(told) if isinstance(told, str) else ""
    except DigestError:
        return ""


def _digest_of(wanted: str, data: bytes) -> str:
    algorithm = wanted.partition(":")[0]
    return digest_of(algorithm, hashlib.new(algorithm, data, usedforsecurity=False).digest())
