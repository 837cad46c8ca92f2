"""The records of an archive file, damage included, without an archive."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from os import PathLike, fspath

from nwx.answers.archived_capture import HeaderFields
from nwx.errors import SourceError
from nwx.model import ReadError
from nwx.values.http import NO_HEAD, decode_body, response_head, to_text
from nwx.warc.members import READ_FAILURES, open_members
from nwx.warc.record import Record
from nwx.warc.scanner import Scanner
from nwx.warc.sources import expand
from nwx.warc.stored_bytes import RecordFault

_KEPT_BYTES = 64 << 20
_DAMAGE = "damage"


@dataclass(frozen=True, slots=True)
class ArchiveRecord:
    """A record of a WARC or ARC file, or a fault in the file.

    `type` is the record type, or `damage`: then only `offset` and `problem`, the description of the
    fault, are set. `block` is cut after 64 MiB, as `is_cut` reports.
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
        return HeaderFields(self.block[: self._head_bytes])

    @property
    def payload(self) -> bytes:
        """The block after the HTTP head, without its codings."""
        size = self._head_bytes
        head = response_head(self.block) if size else NO_HEAD
        return bytes(decode_body(head, memoryview(self.block)[size:], _KEPT_BYTES).data)

    @property
    def _head_bytes(self) -> int:
        is_http = self.type in ("response", "revisit") and self.url.startswith("http")
        return response_head(self.block).size if is_http else 0


def archive_records(files: str | PathLike[str]) -> Iterator[ArchiveRecord]:
    """Stream the records of archive files: a file, folder, glob, address or WACZ.

    Raises nothing: an unreadable part is a record of type `damage` at its offset.
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
                    yield _record(source.name, record)
                yield from _faults(source.name, scanner.faults)
                if members.raw.failure:
                    raw = members.raw
                    yield ArchiveRecord(source.name, raw.offset, _DAMAGE, problem=raw.failure)
        except (SourceError, *READ_FAILURES) as error:
            yield ArchiveRecord(source.name, None, _DAMAGE, problem=f"cannot be read: {error}")


def _faults(name: str, faults: list[RecordFault]) -> Iterator[ArchiveRecord]:
    """Yield the faults that were found since the last time, and forget them."""
    for fault in faults:
        yield ArchiveRecord(name, fault.offset, _DAMAGE, problem=fault.message)
    faults.clear()


def _record(name: str, record: Record) -> ArchiveRecord:
    head = record.http_head()
    return ArchiveRecord(
        name,
        record.offset,
        record.kind,
        to_text(record.fields.get(b"warc-target-uri")),
        to_text(record.fields.get(b"warc-date")),
        record.length,
        head.status,
        to_text(head.fields.get(b"content-type") or record.fields.get(b"content-type")),
        is_cut=not record.kept_whole,
        block=bytes(record.block),
    )
