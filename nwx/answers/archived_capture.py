"""One capture with its record: headers, payload and text, read from the archive's files."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from os import PathLike, fspath
from typing import TYPE_CHECKING
from urllib.parse import quote

from nwx.answers.tables import html_table
from nwx.errors import FormatError, SourceError, UrlError
from nwx.model import Capture, ReadError
from nwx.quality.stored_blocks import block_of_capture
from nwx.values.arguments import check_arguments
from nwx.values.digests import is_payload
from nwx.values.http import (
    NO_HEAD,
    HttpHead,
    charset_of,
    decode_body,
    request_head,
    response_head,
    to_text,
)
from nwx.values.timestamps import seconds_between
from nwx.values.urls import clean_url
from nwx.warc.members import READ_FAILURES, open_members
from nwx.warc.record import Record
from nwx.warc.scanner import Scanner
from nwx.warc.sources import FilePlaces, expand
from nwx.warc.stored_bytes import RecordFault

if TYPE_CHECKING:
    from nwx.answers.citations import Citation
    from nwx.engine.base import Engine


MOST_RECORD_BYTES = 256 << 20
"""The longest record that is read, in bytes."""

_MOST_ORIGINALS = 100
_VISIT_SECONDS = 3_600
_SAFE = "/:?&=;,@!$'()*+~%#[]"


class HeaderFields(Mapping[str, str]):
    """Header fields by case-insensitive name; a repeated name has its first value."""

    def __init__(self, head: bytes) -> None:
        self._pairs = tuple(_pairs(head))

    def __getitem__(self, name: str) -> str:
        for each, value in self._pairs:
            if each.lower() == name.lower():
                return value
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys(name for name, _ in self._pairs))

    def __len__(self) -> int:
        return len(dict(self._pairs))

    def all(self, name: str) -> tuple[str, ...]:
        """Return all values of a field, in order."""
        return tuple(value for each, value in self._pairs if each.lower() == name.lower())

    def __repr__(self) -> str:
        return repr(list(self._pairs))


def _pairs(head: bytes) -> Iterator[tuple[str, str]]:
    name, value = "", ""
    for line in head.decode("utf-8", "replace").splitlines()[1:]:
        if line[:1] in (" ", "\t"):
            value += f" {line.strip()}"
            continue
        if name:
            yield name, value
        name, colon, value = line.partition(":")
        name, value = (name.strip() if colon else ""), value.strip()
    if name:
        yield name, value


@dataclass(frozen=True, slots=True)
class StoredRecord:
    """A stored record: its WARC header fields, the HTTP header fields of its block, the block."""

    fields: HeaderFields
    head: HeaderFields
    head_bytes: int
    block: bytes = field(repr=False)

    @property
    def body(self) -> bytes:
        """The block after the HTTP head, as stored."""
        return self.block[self.head_bytes :]


@dataclass(frozen=True, slots=True)
class ArchivedCapture:
    """A capture and the contents of its record, which is read on demand.

    A revisit has the payload of its original. `headers`, `payload`, `text` and `record` raise
    SourceError if the file cannot be read, and FormatError if the record is damaged or another
    record is at its offset.
    """

    capture: Capture
    replay_url: str
    _engine: "Engine" = field(repr=False, compare=False)
    _places: FilePlaces = field(repr=False, compare=False)

    @property
    def url(self) -> str:
        """The URL that was captured."""
        return self.capture.url

    @property
    def timestamp(self) -> str:
        """The time of capture: 14 digits, UTC."""
        return self.capture.timestamp

    @property
    def status(self) -> int | None:
        """The HTTP status."""
        return self.capture.status_code

    @property
    def record(self) -> StoredRecord:
        """The record as stored; for a revisit, the revisit record itself."""
        return _record(self._places, self.capture)

    @property
    def headers(self) -> HeaderFields:
        """The HTTP headers; a revisit without headers has those of its original."""
        own = self.record.head
        return own if own or self.capture.record_type != "revisit" else self._original().head

    @property
    def payload(self) -> bytes:
        """The payload, with transfer and content codings decoded."""
        found = self._original() if self.capture.record_type == "revisit" else self.record
        head = response_head(found.block) if found.head_bytes else NO_HEAD
        decoded = decode_body(head, memoryview(found.block)[found.head_bytes :], MOST_RECORD_BYTES)
        if decoded.cut:
            raise FormatError.translated(
                "the payload has more than %(limit)s bytes", limit=MOST_RECORD_BYTES
            )
        return bytes(decoded.data)

    @property
    def text(self) -> str:
        """The text extracted from the payload, "" if it has none."""
        from nwx.extract import extract

        capture, content_type = self.capture, self.headers.get("content-type", "")
        return extract(
            self.payload,
            url=capture.url,
            content_type_norm=capture.content_type_norm,
            content_type=capture.content_type,
            charset=charset_of(content_type),
        ).content

    def cite(self, archive: str = "") -> "Citation | None":
        """Return the citation of this capture; `archive` defaults to the host of the replay URL."""
        from nwx.answers.citations import cite

        own = self.capture
        document = self._engine.documents([own.document_id]).get(own.document_id)
        title = document.extract.title if document else ""
        played = self.replay_url if "://" in self.replay_url[:8] else ""
        return cite(own.url, own.timestamp, title, archive, played, played)

    def _original(self) -> StoredRecord:
        """Return the record of this revisit's original, the first that can be read."""
        own, damaged = self.capture, None
        for capture in islice(self._engine.originals_of(own), _MOST_ORIGINALS):
            if capture.record_type != "revisit" and self._places.is_there(capture):
                try:
                    return _record(self._places, capture)
                except (FormatError, SourceError) as error:
                    damaged = error
        if damaged is not None:
            raise damaged
        if not is_payload(own.digest):
            return self.record
        raise SourceError.translated(
            "the original of the revisit %(url)s is not in the archive", url=own.url
        )

    def _repr_html_(self) -> str:
        capture = self.capture
        rows = [
            ("URL", capture.url),
            ("captured", capture.timestamp),
            ("status", capture.status_code),
            ("type", capture.content_type),
            ("digest", capture.digest),
            ("record", f"{capture.source_file} at {capture.source_file_offset}"),
        ]
        return html_table(("capture", ""), rows)


def of_same_visit(near: Sequence[Capture], url: str) -> Capture:
    """Return the nearest capture, or one at most an hour from it that has exactly this URL."""
    nearest = near[0].timestamp
    for capture in near:
        seconds = seconds_between(capture.timestamp, nearest)
        if capture.url == url and seconds <= _VISIT_SECONDS:
            return capture
    return near[0]


@lru_cache(maxsize=4)
def _record(places: FilePlaces, capture: Capture) -> StoredRecord:
    """Return the record of a capture; cached, as each is requested several times."""
    try:
        stored = block_of_capture(places, capture, MOST_RECORD_BYTES)
    except FormatError as error:
        place = f"{capture.source_file} at {capture.source_file_offset}"
        raise FormatError(f"{place}: {error}", error.file, error.offset) from error
    http = NO_HEAD if stored.head.kind == "resource" else response_head(stored.block)
    return StoredRecord(
        HeaderFields(stored.lines), HeaderFields(stored.block[: http.size]), http.size, stored.block
    )


def replay_address(service: str, timestamp: str, url: str) -> str:
    """Return the replay URL of a capture on a service; without a service, only its path."""
    return f"{service.rstrip('/')}/replay/{timestamp}/{quote(url, safe=_SAFE)}"


_KEPT_BYTES = 64 << 20
_DAMAGE = "damage"
_READ_HEAD = {"response": response_head, "revisit": response_head, "request": request_head}


@dataclass(frozen=True, slots=True)
class ArchiveRecord:
    """A record of a WARC or ARC file, or a fault in the file.

    `type` is the record type, or `damage`: then only `offset` and `problem`, the description of the
    fault, are set. `is_cut` reports that `block` was cut after 64 MiB.
    """

    file: str
    offset: int | None
    type: str
    url: str = ""
    date: str = ""
    length_bytes: int = 0
    status: int | None = None
    content_type: str = ""
    problem: str = ""
    is_cut: bool = False
    block: bytes = field(default=b"", repr=False)

    @property
    def headers(self) -> HeaderFields:
        """The HTTP headers at the start of the block."""
        return HeaderFields(self.block[: self._head.size])

    @property
    def payload(self) -> bytes:
        """The block after the HTTP head, with its codings decoded."""
        head = self._head
        return bytes(decode_body(head, memoryview(self.block)[head.size :], _KEPT_BYTES).data)

    @property
    def _head(self) -> HttpHead:
        read = _READ_HEAD.get(self.type)
        return read(self.block) if read and self.url[:4].lower() == "http" else NO_HEAD


@check_arguments
def archive_records(files: str | PathLike[str]) -> Iterator[ArchiveRecord]:
    """Stream the records of archive files: a file, folder, glob, address or WACZ.

    Never raises: an unreadable part is a record of type `damage` at its offset.
    """
    for source in expand([fspath(files)]):
        if isinstance(source, ReadError):
            yield ArchiveRecord(source.file, source.offset, _DAMAGE, problem=source.message)
            continue
        try:
            with source.open() as handle:
                members = open_members(handle, 0)
                scanner = Scanner(members, _KEPT_BYTES, lambda _: None)
                for record in scanner:
                    yield from _faults(source.name, scanner.faults)
                    yield _archive_record(source.name, record)
                yield from _faults(source.name, scanner.faults)
                if members.raw.failure:
                    raw = members.raw
                    yield ArchiveRecord(source.name, raw.offset, _DAMAGE, problem=raw.failure)
        except (SourceError, *READ_FAILURES) as error:
            yield ArchiveRecord(source.name, None, _DAMAGE, problem=f"cannot be read: {error}")


def _faults(name: str, faults: list[RecordFault]) -> Iterator[ArchiveRecord]:
    """Yield the faults found since the last call, and clear them."""
    for fault in faults:
        yield ArchiveRecord(name, fault.offset, _DAMAGE, problem=fault.message)
    faults.clear()


def _archive_record(name: str, record: Record) -> ArchiveRecord:
    head = record.http_head()
    return ArchiveRecord(
        name,
        record.offset,
        record.kind,
        _url(record.fields.get(b"warc-target-uri")),
        to_text(record.fields.get(b"warc-date")),
        record.length,
        head.status,
        to_text(head.fields.get(b"content-type") or record.fields.get(b"content-type")),
        is_cut=not record.kept_whole,
        block=bytes(record.block),
    )


def _url(raw: bytes) -> str:
    """Return the URL as normalized for captures, or as written if it is invalid."""
    try:
        return clean_url(raw)
    except UrlError:
        return to_text(raw)
