"""CDX and CDXJ lines of records, as pywb's cdx-indexer and cdxj-indexer write them.

The two disagree: on a status for answers of the DNS (cdx-indexer: 200), on
the status of revisits (cdx-indexer: none), on `sha1:` before a digest, and
on crawlers' notes of type text/anvl (cdxj-indexer lists them). Each form is
that of its own tool.
"""

import json
import re
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache

from nwx.cdx.rows import REVISIT, CdxRow, format_cdxj, safe_field
from nwx.values.digests import digest_of
from nwx.values.http import request_method, to_text
from nwx.values.method_query import METHODS_WITH_QUERY, body_query, with_method_query
from nwx.values.timestamps import normal_timestamp
from nwx.values.urlkeys import urlkey
from nwx.values.urls import clean_url
from nwx.warc.record import Record

_FIELDS_TYPE = b"application/warc-fields"
_NOTES_TYPE = b"text/anvl"
_NO_CAPTURES = frozenset(("request", "warcinfo", "unknown"))
_NOTED = frozenset(("resource", "metadata"))
_JSON_KINDS = frozenset(("response", "revisit", "resource", "metadata"))
_NOTHING: dict[str, str] = {}
_LONGEST_KNOWN = 64  # bytes of a date
_AFTER_TYPE = re.compile(r"[;\s]")


class IndexLineForm(StrEnum):
    """The forms of an index."""

    CDX9 = "cdx9"
    CDX11 = "cdx11"
    CDXJ = "cdxj"


def index_line(
    record: Record, file: str, form: IndexLineForm, beside: Sequence[Record] = ()
) -> str:
    """Return the line of a record without a newline, "" for one that is in no index.

    `beside` are the records that may tell how the URL was asked for: with
    them a POST is told from others by its urlkey, as with `--post-append`.
    Raises UrlError or TimestampError on a record that cannot be indexed.
    """
    if record.kind in _NO_CAPTURES or _is_note(record, form):
        return ""
    url = clean_url(record.fields.get(b"warc-target-uri"))
    date = record.fields.get(b"warc-date")
    timestamp = _known_date(date) if len(date) <= _LONGEST_KNOWN else _date(date)
    key, extra = _asked(url, beside) if beside else (urlkey(url), _NOTHING)
    mime, status, digest = _mime(record, form), _status(record, form), _digest(record, form)
    if form is IndexLineForm.CDXJ:
        return format_cdxj(
            CdxRow(
                urlkey=key,
                timestamp=timestamp,
                url=url,
                mime=mime,
                status=status,
                digest=digest,
                length=str(record.length),
                offset=str(record.offset),
                filename=file,
                extra=json.dumps(extra) if extra else "",
            )
        )
    # `format_cdx` for this one case, a good deal faster
    size = f" - {record.length}" if form is IndexLineForm.CDX11 else ""
    start = f"{key} {timestamp} {url} {mime} {status or '-'} {safe_field(digest)}"
    return f"{start} -{size} {record.offset} {safe_field(file)}"


def _is_note(record: Record, form: IndexLineForm) -> bool:
    """Return whether a record is a crawler's note and no capture."""
    content_type = record.fields.get(b"content-type")
    if form is IndexLineForm.CDXJ:
        noted = record.kind in _NOTED and content_type == _FIELDS_TYPE
        return noted or record.kind not in _JSON_KINDS
    return content_type == _FIELDS_TYPE or (
        record.kind == "metadata" and content_type.startswith(_NOTES_TYPE)
    )


def _mime(record: Record, form: IndexLineForm) -> str:
    if record.kind == "revisit":
        return REVISIT
    head = record.http_head()
    if form is IndexLineForm.CDXJ:
        told = record.kind != "response"
        value = record.fields.get(b"content-type") if told else head.fields.get(b"content-type")
        return _media_type(value.strip())
    told = record.format == "arc" or not head.size
    value = record.fields.get(b"content-type") if told else head.fields.get(b"content-type")
    return _media_type(value) or "unk"


@lru_cache(maxsize=1024)
def _media_type(content_type: bytes) -> str:
    """Return a Content-Type up to its parameters."""
    return _AFTER_TYPE.split(to_text(content_type), maxsplit=1)[0]


def _date(date: bytes) -> str:
    return normal_timestamp(to_text(date))


_known_date = lru_cache(maxsize=1024)(_date)


def _status(record: Record, form: IndexLineForm) -> str:
    head = record.http_head()
    if form is IndexLineForm.CDXJ:
        return "" if head.status is None else str(head.status)
    if record.kind != "response":
        return ""
    return str(head.status) if head.status is not None else "" if head.size else "200"


def _digest(record: Record, form: IndexLineForm) -> str:
    """Return the payload digest as the record spells it, or computed where it tells none."""
    digest = to_text(record.fields.get(b"warc-payload-digest"))
    if not digest and record.kind != "revisit":
        computed = record.digest("sha1", record.http_head().size)
        digest = digest_of("sha1", computed) if computed else ""
    return digest if form is IndexLineForm.CDXJ else digest.removeprefix("sha1:")


def _asked(url: str, beside: Sequence[Record]) -> tuple[str, dict[str, str]]:
    """Return the urlkey of a URL by the way it was asked for, and what CDXJ says of that."""
    for record in beside:
        method = request_method(record.block) if record.kind == "request" else ""
        if method in METHODS_WITH_QUERY:
            head = record.http_head()
            content_type, body = head.text(b"content-type"), bytes(record.body())
            key = urlkey(with_method_query(url, method, content_type, body))
            return key, {"requestBody": body_query(content_type, body), "method": method}
    return urlkey(url), {}
