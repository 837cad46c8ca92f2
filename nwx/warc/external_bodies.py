"""Payloads in files outside the archive: records of type `message/external-body`.

RFC 2046 (5.2.3) defines the type and `access-type=local-file; name=…`, RFC 2017 adds
`access-type=URL; URL=…`. The block of such a record has the header of the payload, above all
its type; the bytes after the blank line are not payload. Nothing is fetched from a network, and
a file is read only if it is a regular file within a folder that the user named.
"""

import os
import re
import stat
from collections.abc import Callable, Sequence
from email.message import Message
from email.utils import collapse_rfc2231_value
from pathlib import Path, PurePosixPath
from typing import BinaryIO
from urllib.parse import unquote, urlsplit

from nwx.errors import SourceError
from nwx.values.http import Fields, split_fields, to_text, unfolded_lines
from nwx.warc.record import Record
from nwx.warc.scanner import KeptBlock
from nwx.warc.stored_bytes import RecordFault

EXTERNAL = "external"
"""The kind of the errors of payloads elsewhere."""

_TYPE = re.compile(rb"message/external-body\s*(?:;|$)", re.I)
_KINDS = frozenset(("response", "resource", "conversion"))
_SURROGATE = re.compile("[\ud800-\udfff]")
_LONGEST_VALUE = 8_192
_HEAD_BYTES = 1 << 16
_MOST_BYTES = 16 << 30
_CHUNK_BYTES = 1 << 20
_LOCAL_TYPES = ("local-file", "afs")
_PLAIN_CODINGS = ("", "binary", "8bit", "7bit")


def is_external(record: Record) -> bool:
    """Return whether a record has its payload in another file."""
    return record.kind in _KINDS and bool(_TYPE.match(record.fields.get(b"content-type")))


class ExternalBodies:
    """Replacement of record blocks by the payloads of the external files they name.

    Files are read from `folders` and their subfolders only.
    """

    def __init__(self, folders: Sequence[str]) -> None:
        self._folders = [Path(os.path.realpath(folder)) for folder in folders]

    def fill(
        self, record: Record, keep_bytes: int, before_rest: Callable[[Record], None]
    ) -> RecordFault | None:
        """Replace a record's block by its external payload; return a fault if that fails.

        At most `keep_bytes` of the payload are kept; `before_rest` is called for a longer one, to
        request digests.
        """
        try:
            header = _header(record)
            with self._opened(_place(record)) as handle:
                _replace(record, header, handle, keep_bytes, before_rest)
        except SourceError as error:
            return RecordFault(record.offset, EXTERNAL, f"the payload is not read: {error}")
        except OSError as error:
            message = f"the payload cannot be read: {error.strerror or error}"
            return RecordFault(record.offset, EXTERNAL, message)
        return None

    def _opened(self, name: str) -> BinaryIO:
        if not self._folders:
            raise SourceError(
                f"it lies in {_shown(name)}; name its folder with --external to allow this"
            )
        if ".." in PurePosixPath(name).parts:
            raise SourceError(f"{_shown(name)} has a part '..', which is not allowed")
        for folder in self._folders:
            place = Path(os.path.realpath(folder / name))
            if place.is_relative_to(folder) and place != folder and place.exists():
                return _open_below(folder, place.relative_to(folder))
        raise SourceError(f"{_shown(name)} is no file in the folders named with --external")


def _open_below(folder: Path, path: Path) -> BinaryIO:
    """Open a regular file, of whose path no part may have become a symbolic link meanwhile."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
    for part in path.parts:
        parent = handle
        try:
            handle = os.open(part, flags, dir_fd=parent)
        finally:
            os.close(parent)
    status = os.fstat(handle)
    if stat.S_ISREG(status.st_mode) and status.st_size <= _MOST_BYTES:
        return os.fdopen(handle, "rb")
    os.close(handle)
    if stat.S_ISREG(status.st_mode):
        raise SourceError(f"{_shown(str(path))} has more than {_MOST_BYTES} bytes")
    raise SourceError(f"{_shown(str(path))} is no regular file")


def _place(record: Record) -> str:
    """Return the file that a record names."""
    message = Message()
    message["Content-Type"] = to_text(record.fields.get(b"content-type"))[:_LONGEST_VALUE]
    access = _parameter(message, "access-type").lower()
    name = _parameter(message, "name")
    if access == "url":
        name = "".join(_parameter(message, "url").split())
    elif access.startswith("x-") and not name:
        name = _parameter(message, "path") or _parameter(message, "url")
    elif access not in _LOCAL_TYPES and not access.startswith("x-"):
        raise SourceError(f"the access type {_shown(access)} is none of a local file")
    return _path(name)


def _parameter(message: Message, name: str) -> str:
    try:
        value = message.get_param(name, "")
        return collapse_rfc2231_value(value).strip() if value else ""
    except ValueError as error:  # of numbers and character sets that there are not
        raise SourceError(f"its parameter {name!r} cannot be read") from error


def _path(name: str) -> str:
    """Return the path of a name that may be a `file:` URL."""
    if not name:
        raise SourceError("its record names no file")
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", name):
        try:
            parts = urlsplit(name)
        except ValueError as error:
            raise SourceError(f"{_shown(name)} is no address of a file") from error
        if parts.scheme.lower() != "file" or parts.netloc.lower() not in ("", "localhost"):
            raise SourceError(f"{_shown(name)} is not on this machine; nothing is fetched")
        name = unquote(parts.path)
    if "\0" in name or len(name) > _LONGEST_VALUE or _SURROGATE.search(name):
        raise SourceError("its name is none that a file can have")
    return name


def _header(record: Record) -> Fields:
    """Return the header of the payload, which is in the block."""
    head = bytes(record.block[:_HEAD_BYTES]).replace(b"\r\n", b"\n").partition(b"\n\n")[0]
    header = split_fields(unfolded_lines(head))
    coding = to_text(header.get(b"content-transfer-encoding")).strip().lower()
    if coding not in _PLAIN_CODINGS:
        raise SourceError(f"its transfer encoding {_shown(coding)} is not supported")
    return header


def _replace(
    record: Record,
    header: Fields,
    handle: BinaryIO,
    keep_bytes: int,
    before_rest: Callable[[Record], None],
) -> None:
    """Make a record of the bytes of a file, and of the header of these."""
    media_type = header.get(b"content-type") or b"application/octet-stream"
    filled = Record(
        record.kind, record.format, FieldsWithType(record.fields, media_type), record.offset
    )
    kept = KeptBlock(filled, keep_bytes, before_rest)
    while piece := handle.read(_CHUNK_BYTES):
        kept.add(piece)
    kept.close()
    record.fields, record.hashers, record.http = filled.fields, filled.hashers, None
    record.block, record.block_length = filled.block, filled.block_length


class FieldsWithType(Fields):
    """The fields of a record but for its Content-Type, which is that of the payload."""

    __slots__ = ("_fields", "_type")

    def __init__(self, fields: Fields, media_type: bytes) -> None:
        self._fields, self._type = fields, media_type

    def get(self, name: bytes) -> bytes:
        """Return the first value of a field, b"" if missing."""
        return self._type if name == b"content-type" else self._fields.get(name)


def _shown(name: str) -> str:
    clean = "".join(sign if sign.isprintable() else "?" for sign in name)
    return repr(clean if len(clean) <= 200 else f"{clean[:200]}…")
