"""Reads captures from archive files of any format and compression, damaged ones included."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from nwx.errors import FormatError, SourceError
from nwx.model import Capture, ReadError
from nwx.values.http import HttpHead, charset_of, decode_body
from nwx.warc.captures import (
    CaptureBuilder,
    ask_for_further,
    ask_for_verifying,
    digest_wanted,
    fault_of,
    further_digests,
    verify_block,
    verify_payload,
)
from nwx.warc.members import READ_FAILURES, Members, open_members
from nwx.warc.record import Record
from nwx.warc.record_groups import (
    ExternalBodies,
    Group,
    Outlink,
    RecordedOutlinks,
    distinct_outlinks,
    has_outlinks,
    is_external,
    record_groups,
)
from nwx.warc.scanner import Scanner
from nwx.warc.sources import ArchiveSource
from nwx.warc.stored_bytes import RecordFault

_TEXTUAL = frozenset(("html", "text", "pdf", "office"))


@dataclass(frozen=True, slots=True)
class ReadLimits:
    """The maximum bytes kept of a record: of its stored body, and of its decoded payload."""

    body_bytes: int = 16 << 20
    payload_bytes: int = 16 << 20


class StoredPayload(NamedTuple):
    """A payload without its codings.

    `charset` is the HTTP header's, "" if missing. `truncated` means that the payload exceeds the
    limits. `problem` describes a fault in the codings, "" if none.
    """

    data: bytes
    charset: str = ""
    truncated: bool = False
    problem: str = ""


class CaptureRecord:
    """A capture, with its body if `kept`, and additional digests of its payload (`further`).

    `resume_at` is an offset for starting a reader: with this capture, exactly the records before it
    are complete.
    """

    __slots__ = (
        "_body",
        "_head",
        "_limit",
        "_metadata",
        "_whole",
        "capture",
        "further",
        "ip_address",
        "kept",
        "record_id",
        "resume_at",
    )

    def __init__(
        self,
        capture: Capture,
        resume_at: int,
        record: Record,
        limit: int,
        *,
        kept: bool,
        beside: Sequence[Record] = (),
        further: tuple[str, ...] = (),
    ) -> None:
        self.capture = capture
        self.further = further
        self.resume_at = resume_at
        self.kept = kept
        self.record_id: bytes = record.fields.get(b"warc-record-id")
        self.ip_address: bytes = record.fields.get(b"warc-ip-address")
        self._metadata = [
            other for other in beside if other.kind == "metadata" and has_outlinks(other)
        ]
        self._head: HttpHead = record.http_head()
        self._body: bytes | memoryview = record.block[self._head.size :] if kept else b""
        self._whole = not kept or record.kept_whole
        self._limit = limit

    def payload(self) -> StoredPayload:
        """Return the decoded payload; empty if the body was not kept."""
        decoded = decode_body(self._head, self._body, self._limit)
        charset = charset_of(self._head.text(b"content-type"))
        cut = decoded.cut or not self._whole
        return StoredPayload(decoded.data, charset, cut, decoded.problem)

    @property
    def head(self) -> HttpHead:
        """The HTTP head of the response, NO_HEAD if it has none."""
        return self._head

    @property
    def metadata_bytes(self) -> int:
        """The size in bytes of the adjacent metadata records with outlinks."""
        return sum(len(record.block) for record in self._metadata)

    def outlinks(self) -> tuple[list[Outlink], bool]:
        """Return the outlinks of adjacent metadata records, and whether some were not read."""
        return distinct_outlinks(self._metadata)


def default_keep(capture: Capture) -> bool:
    """Return whether a capture is not a revisit and has text: HTML, text, PDF, office files."""
    return capture.record_type != "revisit" and capture.content_type_norm in _TEXTUAL


class ArchiveReader:
    """Iterates over the captures of one archive file in order, with an error for each fault.

    `start` resumes at a `resume_at`, with the same errors and captures as an uninterrupted reading
    from there. `records` counts the records read, by type, up to the `resume_at` of the last
    capture (all at the end of the file); `position` is the number of stored bytes consumed.
    `external` reads payloads in other files; without it, the captures have the records' own bytes.
    With `further`, captures have the `further_digests` of their payloads. An error before a capture
    is about the records before its `resume_at`. Reading never raises: a file that cannot be opened
    is yielded as an error too.
    """

    def __init__(
        self,
        source: ArchiveSource,
        collection: str,
        *,
        start: int = 0,
        verify: bool = False,
        keep: Callable[[Capture], bool] = default_keep,
        limits: ReadLimits = ReadLimits(),
        external: ExternalBodies | None = None,
        further: bool = False,
    ) -> None:
        self._external, self._further = external, further
        self.records: Counter[str] = Counter()
        self._source = source
        self._collection = collection
        self._start = start
        self._verify = verify
        self._keep = keep
        self._limits = limits
        self._members: Members | None = None

    @property
    def position(self) -> int:
        """The bytes of the stored file consumed so far."""
        return self._members.raw.offset if self._members else 0

    def __iter__(self) -> Iterator[CaptureRecord | ReadError]:
        for item in self.with_outlinks():
            if not isinstance(item, RecordedOutlinks):
                yield item

    def with_outlinks(self) -> Iterator[CaptureRecord | ReadError | RecordedOutlinks]:
        """Yield captures, errors, and outlinks of metadata records not adjacent to their capture.

        The outlinks precede the next capture.
        """
        try:
            with self._source.open() as handle:
                self._members = open_members(handle, self._start)
                yield from self._read(self._members)
        except (SourceError, *READ_FAILURES) as error:
            kind = "zip" if isinstance(error, FormatError) else "read"
            yield self._error(RecordFault(self.position, kind, f"cannot be read: {error}"))

    def _read(self, members: Members) -> Iterator[CaptureRecord | ReadError | RecordedOutlinks]:
        scanner = Scanner(members, self._limits.body_bytes, self._before_rest)
        builder = CaptureBuilder(self._collection, self._source.name, scanner.faults)
        last = -1
        is_plain = not (self._start or self._verify or self._external)
        for group in record_groups(scanner if is_plain else self._wanted(scanner)):
            for kind in group.kinds:
                self.records[kind] += 1
            last = group.offset
            resume_at = group.next_offset
            if resume_at is None:
                resume_at = max(members.raw.offset, group.last_offset + 1)
            yield from group.apart
            found = self._capture(group, builder, resume_at)
            if scanner.faults:
                yield from self._errors(scanner, resume_at)
            if found is not None:
                yield found
        yield from self._closing(scanner, members, empty=last < 0)

    def _wanted(self, scanner: Scanner) -> Iterator[Record]:
        for record in scanner:
            if record.offset >= self._start:
                if self._verify:
                    scanner.faults.extend(verify_block(record))
                filled = self._filled(record, scanner.faults)
                if self._verify and filled:
                    scanner.faults.extend(verify_payload(record))
                yield record

    def _filled(self, record: Record, faults: list[RecordFault]) -> bool:
        """Read a record's payload if it is in another file; return whether the record has it."""
        if self._external is None or not is_external(record):
            return True
        fault = self._external.fill(record, self._limits.body_bytes, self._before_rest)
        if fault is not None:
            faults.append(fault)
        return fault is None

    def _capture(
        self, group: Group, builder: CaptureBuilder, resume_at: int
    ) -> CaptureRecord | None:
        record = group.capture
        if record is None:
            return None
        try:
            capture = builder.build(record, group.beside)
        except FormatError as error:
            builder.faults.append(fault_of(record, error))
            return None
        kept = self._keep(capture)
        limit = self._limits.payload_bytes
        further = further_digests(record, capture.digest) if self._further else ()
        return CaptureRecord(
            capture, resume_at, record, limit, kept=kept, beside=group.beside, further=further
        )

    def _before_rest(self, record: Record) -> None:
        """Request the digests needed of a record too long to be kept."""
        if digest_wanted(record):
            record.ask("sha1", record.http_head().size)
        if self._verify:
            ask_for_verifying(record)
        if self._further:
            ask_for_further(record)

    def _errors(self, scanner: Scanner, before: int) -> Iterator[ReadError]:
        """Yield and remove the faults before an offset."""
        due = [fault for fault in scanner.faults if fault.offset < before]
        scanner.faults[:] = [fault for fault in scanner.faults if fault.offset >= before]
        yield from (self._error(fault) for fault in due if fault.offset >= self._start)

    def _closing(self, scanner: Scanner, members: Members, *, empty: bool) -> Iterator[ReadError]:
        if empty and not self._start and not members.raw.failure:
            yield self._error(self._nothing_found(scanner, members))
            return
        yield from (self._error(fault) for fault in scanner.faults if fault.offset >= self._start)
        if members.raw.failure:
            yield self._error(
                RecordFault(members.raw.offset, members.raw.failure_kind, members.raw.failure)
            )

    def _nothing_found(self, scanner: Scanner, members: Members) -> RecordFault:
        if not members.raw.data and not members.raw.base:
            return RecordFault(0, "format", "the file is empty")
        first = f" ({scanner.faults[0].message})" if scanner.faults else ""
        return RecordFault(0, "format", f"no WARC or ARC record was found in the file{first}")

    def _error(self, fault: RecordFault) -> ReadError:
        return ReadError(self._source.name, fault.offset, fault.kind, fault.message)
