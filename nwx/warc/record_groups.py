"""Groups of related records: a capture, its request, its metadata, its external payload."""

import os
import re
import stat
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from email.message import Message
from email.utils import collapse_rfc2231_value
from pathlib import Path, PurePosixPath
from typing import BinaryIO, NamedTuple
from urllib.parse import unquote, urlsplit

from nwx.errors import SourceError
from nwx.values.http import Fields, split_fields, to_text, unfolded_lines
from nwx.values.urls import decoded_url
from nwx.warc.captures import ENRICHING, is_capture
from nwx.warc.record import Record
from nwx.warc.scanner import KeptBlock
from nwx.warc.stored_bytes import RecordFault

OUTLINK_BYTES = 4 << 20
"""The number of bytes of a metadata record that are read for outlinks."""

MOST_OUTLINKS = 10_000
"""The maximum number of outlinks read from one metadata record."""

_FIELD = b"outlink:"
_LONGEST_LINE = 8_192
_MOST_NAMES = 4


class Outlink(NamedTuple):
    """A URL that a crawler found in a capture, the letter of its hop, and its context."""

    url: str
    hop: str
    context: str


class RecordedOutlinks(NamedTuple):
    """The outlinks of a metadata record, and the data to find their capture.

    `offset` is the offset of the metadata record. `names` are the ids of the records it is
    concurrent to or refers to; `url` and `date` are the record's own, mostly equal to the
    capture's. `cut` means that not all outlinks were read.
    """

    offset: int
    names: tuple[bytes, ...]
    url: bytes
    date: bytes
    outlinks: tuple[Outlink, ...]
    cut: bool


def has_outlinks(record: Record) -> bool:
    """Return whether a record is metadata with at least one outlink."""
    if record.kind != "metadata":
        return False
    block = bytes(record.block[:OUTLINK_BYTES])
    return block.startswith(_FIELD) or b"\n" + _FIELD in block


def recorded_outlinks(record: Record) -> RecordedOutlinks:
    """Return the outlinks of a metadata record, each once, in order."""
    found = dict.fromkeys(_outlinks(bytes(record.block[:OUTLINK_BYTES])))
    cut = len(found) > MOST_OUTLINKS or record.block_length > OUTLINK_BYTES
    fields = record.fields
    return RecordedOutlinks(
        record.offset,
        capture_names(fields),
        fields.get(b"warc-target-uri"),
        fields.get(b"warc-date"),
        tuple(found)[:MOST_OUTLINKS],
        cut,
    )


def capture_names(fields: Fields) -> tuple[bytes, ...]:
    """Return the ids of the records that a record is concurrent to or refers to."""
    values = (fields.get(b"warc-concurrent-to"), fields.get(b"warc-refers-to"))
    return tuple(value for value in values if value)[:_MOST_NAMES]


def distinct_outlinks(records: Sequence[Record]) -> tuple[list[Outlink], bool]:
    """Return the distinct outlinks of metadata records, and whether there are more."""
    found: dict[Outlink, None] = {}
    cut = False
    for record in records:
        read = recorded_outlinks(record)
        found.update(dict.fromkeys(read.outlinks))
        cut = cut or read.cut
    return list(found)[:MOST_OUTLINKS], cut or len(found) > MOST_OUTLINKS


def _outlinks(block: bytes) -> Iterator[Outlink]:
    for line in block.split(b"\n"):
        if not line.startswith(_FIELD) or len(line) > _LONGEST_LINE:
            continue
        url, _, rest = line[len(_FIELD) :].strip().partition(b" ")
        hop, _, context = to_text(rest).partition(" ")
        if url:
            yield Outlink(decoded_url(url), hop[:1], context.strip()[:100])


_MOST_PENDING = 8
_MOST_METADATA = 8
_MOST_APART = 16


@dataclass(slots=True)
class Group:
    """A run of records with at most one capture and the records that enrich it.

    `kinds` are the types of all records in the run, `offset` and `last_offset` the offsets of the
    first and last. `next_offset` is the start of the next run, None at the end of the file. `apart`
    are outlinks of metadata records in the run that belong to a capture outside it.
    """

    capture: Record | None = None
    beside: list[Record] = field(default_factory=list)
    apart: list[RecordedOutlinks] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    offset: int = 0
    last_offset: int = 0
    next_offset: int | None = None


def record_groups(records: Iterable[Record]) -> Iterator[Group]:
    """Yield the records of a file in runs that are independent of earlier records.

    Request and metadata records precede or follow their capture. They belong to it if one names the
    other as concurrent or refers to it, or if URL and date are equal.
    """
    group = Group()
    for record in records:
        capture = group.capture
        if capture is not None:
            if not _stays(group, record, capture):
                group.next_offset = record.offset
                yield group
                group = Group()
        elif len(group.apart) >= _MOST_APART:
            group.next_offset = record.offset
            yield replace(group, beside=[])
            group = Group(beside=group.beside)
        _add(group, record)
    if group.kinds:
        if group.capture is None:
            _leave(group, group.beside)
        yield group


def _stays(group: Group, record: Record, capture: Record) -> bool:
    """Return whether a record after a capture belongs to it."""
    kind = record.kind
    if kind not in ENRICHING:
        return False
    if group.beside:
        alike = sum(other.kind == kind for other in group.beside)
        if alike >= (_MOST_METADATA if kind == "metadata" else 1):
            return False
    return belongs_to(record, capture)


def _add(group: Group, record: Record) -> None:
    kinds, beside = group.kinds, group.beside
    if not kinds:
        group.offset = record.offset
    group.last_offset = record.offset
    kinds.append(record.kind)
    if record.kind in ENRICHING:
        if group.capture is None and len(beside) >= _MOST_PENDING:
            _leave(group, beside[: -_MOST_PENDING + 1])
            group.beside = beside = beside[-_MOST_PENDING + 1 :]
        beside.append(record)
    elif is_capture(record):
        group.capture = record
        own = [other for other in beside if belongs_to(other, record)]
        if len(own) < len(beside):
            _leave(group, [other for other in beside if other not in own])
            group.beside = own


def _leave(group: Group, records: list[Record]) -> None:
    """Keep the outlinks of records that do not belong to the capture of a run."""
    group.apart.extend(recorded_outlinks(record) for record in records if has_outlinks(record))


def belongs_to(record: Record, capture: Record) -> bool:
    """Return whether a request or metadata record is about a capture, by its ids, URL and date."""
    get, other = record.fields.get, capture.fields.get
    own_id, concurrent = other(b"warc-record-id"), get(b"warc-concurrent-to")
    if own_id and (own_id == concurrent or own_id in capture_names(record.fields)):
        return True
    other_concurrent = other(b"warc-concurrent-to")
    if other_concurrent and other_concurrent in (get(b"warc-record-id"), concurrent):
        return True
    return get(b"warc-target-uri") == other(b"warc-target-uri") and get(b"warc-date") == other(
        b"warc-date"
    )


EXTERNAL = "external"
"""The kind of errors about payloads in other files."""

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
    """Replaces record blocks by the payloads in the external files they name.

    Files are read from `folders` and their subfolders only.
    """

    def __init__(self, folders: Sequence[str]) -> None:
        self._folders = [Path(os.path.realpath(folder)) for folder in folders]

    def fill(
        self, record: Record, keep_bytes: int, before_rest: Callable[[Record], None]
    ) -> RecordFault | None:
        """Replace a record's block by its external payload; return a fault if that fails.

        At most `keep_bytes` of the payload are kept; `before_rest` is called for a longer payload,
        to request digests.
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
                f"it lies in {_shown(name)}; name its folder as external to allow this"
            )
        if ".." in PurePosixPath(name).parts:
            raise SourceError(f"{_shown(name)} has a part '..', which is not allowed")
        for folder in self._folders:
            place = Path(os.path.realpath(folder / name))
            if place.is_relative_to(folder) and place != folder and place.exists():
                return _open_below(folder, place.relative_to(folder))
        raise SourceError(f"{_shown(name)} is not a file in the folders named as external")


def _open_below(folder: Path, path: Path) -> BinaryIO:
    """Open a regular file; fails if any part of its path has become a symbolic link."""
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
    raise SourceError(f"{_shown(str(path))} is not a regular file")


def _place(record: Record) -> str:
    message = Message()
    message["Content-Type"] = to_text(record.fields.get(b"content-type"))[:_LONGEST_VALUE]
    access = _parameter(message, "access-type").lower()
    name = _parameter(message, "name")
    if access == "url":
        name = "".join(_parameter(message, "url").split())
    elif access.startswith("x-") and not name:
        name = _parameter(message, "path") or _parameter(message, "url")
    elif access not in _LOCAL_TYPES and not access.startswith("x-"):
        raise SourceError(f"the access type {_shown(access)} is not that of a local file")
    return _path(name)


def _parameter(message: Message, name: str) -> str:
    try:
        value = message.get_param(name, "")
        return collapse_rfc2231_value(value).strip() if value else ""
    except ValueError as error:  # invalid numbers or unknown character sets
        raise SourceError(f"its parameter {name!r} cannot be read") from error


def _path(name: str) -> str:
    """Return the path in a name that may be a `file:` URL."""
    if not name:
        raise SourceError("its record has no file name")
    if re.match(r"[A-Za-z][A-Za-z0-9+.-]+:", name):
        try:
            parts = urlsplit(name)
        except ValueError as error:
            raise SourceError(f"{_shown(name)} is not the address of a file") from error
        if parts.scheme.lower() != "file" or parts.netloc.lower() not in ("", "localhost"):
            raise SourceError(f"{_shown(name)} is not on this machine; nothing is fetched")
        name = unquote(parts.path)
    if "\0" in name or len(name) > _LONGEST_VALUE or _SURROGATE.search(name):
        raise SourceError("its name is not a valid file name")
    return name


def _header(record: Record) -> Fields:
    """Return the header of the payload, which is stored in the record's block."""
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
    """Replace a record's block by the bytes of a file, and its Content-Type by the header's."""
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
    """The fields of a record, with the Content-Type of the payload instead of its own."""

    __slots__ = ("_fields", "_type")

    def __init__(self, fields: Fields, media_type: bytes) -> None:
        self._fields, self._type = fields, media_type

    def get(self, name: bytes) -> bytes:
        return self._type if name == b"content-type" else self._fields.get(name)


def _shown(name: str) -> str:
    clean = "".join(sign if sign.isprintable() else "?" for sign in name)
    return repr(clean if len(clean) <= 200 else f"{clean[:200]}…")
