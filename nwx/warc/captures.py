"""Captures built from records, and the verification of records by their digests."""

import re
from collections.abc import Sequence
from functools import lru_cache, partial
from urllib.parse import urljoin

from nwx.captures import RECORD_TYPES, is_captured
from nwx.errors import DigestError, FormatError, TimestampError, UrlError
from nwx.keys import document_id, document_key
from nwx.model import Capture
from nwx.values.digests import FURTHER_ALGORITHMS, digest_of, normal_digest
from nwx.values.http import (
    Fields,
    HttpHead,
    decode_body,
    is_coded,
    media_type,
    request_method,
    to_text,
)
from nwx.values.media_types import EMPTY_TYPES, SNIFFED_BYTES, ZIP_TYPES, normal_type
from nwx.values.timestamps import normal_timestamp
from nwx.values.urlkeys import METHODS_WITH_QUERY, urlkey, with_method_query
from nwx.values.urls import clean_url, url_parts
from nwx.warc.record import Record
from nwx.warc.stored_bytes import RecordFault

ENRICHING = frozenset(("request", "metadata"))

_LONGEST_VALUE = 256
_METADATA_BYTES = 1 << 13  # via and hops come first; thousands of outlinks may follow
_UNTOLD_REQUEST_BYTES = 8192
_LONGEST_KNOWN = 128  # bytes of dates and content types
_NO_REPEATS = ("", "", "")
_GET = re.compile(rb"GET[ \t]+\S")


def is_capture(record: Record) -> bool:
    """Return whether a record is a capture (`nwx.captures`)."""
    if record.kind not in RECORD_TYPES:
        return False
    fields = record.fields
    raw = fields.get(b"warc-target-uri")
    if raw.startswith(b"http") and record.kind != "resource":
        return True  # nearly all
    url = to_text(raw).lstrip(" <")
    return is_captured(record.kind, to_text(fields.get(b"content-type")), url)


class CaptureBuilder:
    """Builds the captures of one file; faults that leave a capture usable go to `faults`."""

    def __init__(self, collection: str, source_file: str, faults: list[RecordFault]) -> None:
        self._collection = collection
        self._source_file = source_file
        self.faults = faults

    def build(self, record: Record, beside: Sequence[Record]) -> Capture:
        """Return the capture of a record, enriched by its request and metadata records (`beside`).

        Raises UrlError or TimestampError if the record has no valid URL or date.
        """
        get, head = record.fields.get, record.http_head()
        url = clean_url(get(b"warc-target-uri"))
        date = get(b"warc-date")
        timestamp = _known_date(date) if len(date) <= _LONGEST_KNOWN else _date(date)
        method, key = _request_of(url, beside) if beside else ("GET", urlkey(url))
        hops, via = _path_to(beside) if beside else ("", "")
        digest = self._digest(record, head)
        content_type, family = _types(url, record, head)
        place = url_parts(url)
        # positional, as keyword arguments are three times as slow with this many fields
        return Capture(
            self._collection,
            self._source_file,
            record.offset,
            record.length or None,
            record.kind,
            url,
            key,
            place.host,
            place.domain,
            place.public_suffix,
            timestamp,
            digest,
            document_id(document_key(url, digest)) if digest else "",
            head.status,
            content_type,
            family,
            _content_length(record, head),
            _redirect(url, head),
            method,
            *(self._repeats(record) if record.kind == "revisit" else _NO_REPEATS),
            _value(get(b"warc-truncated")),
            hops,
            via,
        )

    def _digest(self, record: Record, head: HttpHead) -> str:
        """Return the payload digest of a record, computed if it declares no valid one."""
        declared = record.fields.get(b"warc-payload-digest")
        if declared:
            try:
                return normal_digest(to_text(declared))
            except DigestError as error:
                self._fault(record, "digest", str(error))
        if record.kind == "revisit":
            return ""
        computed = record.digest("sha1", head.size)
        return digest_of("sha1", computed) if computed else ""

    def _repeats(self, record: Record) -> tuple[str, str, str]:
        """Return a revisit's profile, and the URL and timestamp of the capture it refers to."""
        fields = record.fields
        url = fields.get(b"warc-refers-to-target-uri")
        return (
            _value(fields.get(b"warc-profile")),
            _optional_url(url) if url else "",
            self._refers_to_timestamp(record),
        )

    def _refers_to_timestamp(self, record: Record) -> str:
        declared = record.fields.get(b"warc-refers-to-date")
        if not declared:
            return ""
        try:
            return normal_timestamp(to_text(declared))
        except TimestampError as error:
            self._fault(record, "date", f"WARC-Refers-To-Date: {error}")
            return ""

    def _fault(self, record: Record, kind: str, message: str) -> None:
        self.faults.append(RecordFault(record.offset, kind, message))


def digest_wanted(record: Record) -> bool:
    """Return whether the payload digest of a record must be computed."""
    if not is_capture(record) or record.kind == "revisit":
        return False
    try:
        normal_digest(to_text(record.fields.get(b"warc-payload-digest")))
    except DigestError:
        return True
    return False


def verify_block(record: Record) -> list[RecordFault]:
    """Check the digest of a record's block; return the faults.

    Empty for revisits, as their digests are of another record.
    """
    return _verified(record, b"warc-block-digest", "block", 0)


def verify_payload(record: Record) -> list[RecordFault]:
    """Check the digest of a record's payload; return the faults.

    A digest of the dechunked body is accepted as well as one of the stored body: both are in use.
    """
    return _verified(record, b"warc-payload-digest", "payload", record.http_head().size)


def ask_for_verifying(record: Record) -> None:
    """Request the digests needed to verify a record that is too long to be kept."""
    if declared := _declared(record, b"warc-block-digest"):
        record.ask(declared.partition(":")[0], 0)
    if declared := _declared(record, b"warc-payload-digest"):
        _ask_for_payload(record, declared.partition(":")[0])


def _ask_for_payload(record: Record, algorithm: str) -> None:
    record.ask(algorithm, record.http_head().size)
    if _is_chunked(record):
        record.ask_unchunked(algorithm)


def further_digests(record: Record, digest: str) -> tuple[str, ...]:
    """Return the SHA-1 and SHA-256 of a record's payload, except the record's own digest.

    The payload is the body without transfer coding. The result is empty if the record's digest is
    not that of its payload.
    """
    own, start = digest.partition(":")[0], record.http_head().size
    if not own or record.kind == "revisit" or record.fields.get(b"warc-segment-number"):
        return ()
    of_body = record.digest(own, start)
    digest_by = (
        record.unchunked_digest if _is_chunked(record) else partial(record.digest, start=start)
    )
    of_payload = digest_by(own)
    if digest not in [digest_of(own, raw) for raw in (of_body, of_payload) if raw]:
        return ()
    found = {name: digest_by(name) for name in FURTHER_ALGORITHMS if name != own}
    return tuple(digest_of(name, raw) for name, raw in found.items() if raw)


def _is_chunked(record: Record) -> bool:
    return b"chunked" in record.http_head().fields.get(b"transfer-encoding").lower()


def ask_for_further(record: Record) -> None:
    """Request the digests that `further_digests` needs of a record too long to be kept."""
    own = _declared(record, b"warc-payload-digest").partition(":")[0]
    for name in {own, *FURTHER_ALGORITHMS} - {""}:
        _ask_for_payload(record, name)


def _verified(record: Record, name: bytes, what: str, start: int) -> list[RecordFault]:
    if record.kind == "revisit" or record.fields.get(b"warc-segment-number"):
        return []
    declared = _declared(record, name)
    if not declared:
        return []
    algorithm = declared.partition(":")[0]
    raw = record.digest(algorithm, start)
    if raw is None or digest_of(algorithm, raw) == declared:
        return []
    if what == "payload" and _dechunked_digest(record, algorithm) == declared:
        return []
    computed = digest_of(algorithm, raw)
    message = f"the {what} digest of the record is {declared}, that of its bytes {computed}"
    return [RecordFault(record.offset, "digest", message)]


def _declared(record: Record, name: bytes) -> str:
    try:
        return normal_digest(to_text(record.fields.get(name)))
    except DigestError:
        return ""


def _dechunked_digest(record: Record, algorithm: str) -> str:
    computed = record.unchunked_digest(algorithm) if _is_chunked(record) else None
    return digest_of(algorithm, computed) if computed else ""


def _request_of(url: str, beside: Sequence[Record]) -> tuple[str, str]:
    """Return the request method of a URL, and its urlkey, which includes the body of a POST."""
    for record in beside:
        if record.kind != "request":
            continue
        if _GET.match(record.block):
            return "GET", urlkey(url)
        method = request_method(record.block)
        if method in METHODS_WITH_QUERY:
            head = record.http_head()
            body = request_body(record, head)
            content_type = head.text(b"content-type")
            return method, urlkey(with_method_query(url, method, content_type, body))
        if method:
            return method, urlkey(url)
    return "GET", urlkey(url)


def request_body(record: Record, head: HttpHead) -> bytes:
    """Return the decoded body of a request, as much of it as cdxj-indexer reads."""
    declared = head.fields.get(b"content-length")
    size = int(declared) if declared.isdigit() and len(declared) < 19 else _UNTOLD_REQUEST_BYTES
    return decode_body(head, record.body(), size).data


def _path_to(beside: Sequence[Record]) -> tuple[str, str]:
    """Return Heritrix's hops from the seed, and the referring URL (`via`)."""
    for record in beside:
        if record.kind == "metadata":
            found = Fields(b"\n" + bytes(record.block[:_METADATA_BYTES]))
            hops = found.get(b"hopsfromseed") or found.get(b"pathfromseed")
            via = found.get(b"via")
            if hops or via:
                return _value(hops), _optional_url(via)
    return "", ""


def _served_type(record: Record, head: HttpHead) -> str:
    if head.size:
        served = head.fields.get(b"content-type")
        return to_text(served or _arc_type(record))
    if record.kind == "revisit":
        return ""
    declared = to_text(record.fields.get(b"content-type"))
    return "" if declared.lower().startswith("application/http") else declared


def _arc_type(record: Record) -> bytes:
    return record.fields.get(b"content-type") if record.format == "arc" else b""


def _types(url: str, record: Record, head: HttpHead) -> tuple[str, str]:
    """Return the MIME type of a capture as served, and its content type family."""
    if head.size and (served := head.fields.get(b"content-type")):
        known = len(served) <= _LONGEST_KNOWN
        content_type, family = _known_types(served) if known else _told_types(served)
    else:
        content_type = media_type(_served_type(record, head))[:_LONGEST_VALUE]
        family = _told_family(content_type)
    return content_type, family or normal_type(content_type, url, _first_bytes(record, head))


def _told_types(served: bytes) -> tuple[str, str]:
    content_type = media_type(to_text(served))[:_LONGEST_VALUE]
    return content_type, _told_family(content_type)


def _told_family(content_type: str) -> str:
    """Return the family of a MIME type, "" if it depends on the payload."""
    if content_type in EMPTY_TYPES or content_type in ZIP_TYPES:
        return ""
    return normal_type(content_type)


def _date(date: bytes) -> str:
    return normal_timestamp(to_text(date))


_known_types = lru_cache(maxsize=1024)(_told_types)
_known_date = lru_cache(maxsize=1024)(_date)


def _first_bytes(record: Record, head: HttpHead) -> bytes:
    if is_coded(head):
        return b""
    return bytes(record.block[head.size : head.size + SNIFFED_BYTES])


def _content_length(record: Record, head: HttpHead) -> int | None:
    """Return the stored payload size in bytes; for a revisit the Content-Length as sent."""
    if record.kind != "revisit":
        return record.block_length - head.size
    sent = head.fields.get(b"content-length")
    return int(sent) if sent.isdigit() and len(sent) < 19 else None


def _redirect(url: str, head: HttpHead) -> str:
    if head.status is None or not 300 <= head.status < 400:
        return ""
    location = head.fields.get(b"location")
    target = _optional_url(location)
    try:
        return urljoin(url, target) if location and target else ""
    except ValueError:
        return ""


def _optional_url(raw: bytes) -> str:
    """Return an optional URL of a capture, "" if it is invalid."""
    try:
        return clean_url(raw)
    except UrlError:
        return ""


def _value(raw: bytes) -> str:
    return to_text(raw).strip()[:_LONGEST_VALUE] if raw else ""


def fault_of(record: Record, error: FormatError) -> RecordFault:
    """Return the fault of a record that cannot become a capture."""
    kind = "url" if isinstance(error, UrlError) else "date"
    return RecordFault(record.offset, kind, str(error))
