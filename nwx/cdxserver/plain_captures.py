"""A fast path from plain CDX lines to captures, many times as fast as the parser.

A plain line has eleven fields of printable ASCII, as nearly all do: a whole timestamp, an http
URL, a MIME type, a status, a bare SHA-1 digest. All others are read by `nwx.cdx.files` and
`capture_of`, which give the same captures for plain lines. The lines of a block are read
together, by column.
"""

import re
from collections.abc import Sequence
from functools import lru_cache
from itertools import repeat
from typing import NamedTuple

from nwx.captures import CaptureTuple, capture_of_values
from nwx.errors import TimestampError, UrlError
from nwx.model import Capture
from nwx.values.media_types import EMPTY_TYPES, ZIP_TYPES, normal_type
from nwx.values.timestamps import normal_timestamp
from nwx.values.urlkeys import urlkey
from nwx.values.urls import UrlParts, host_parts, url_parts

# Of the URLs that `nwx.values.urlkeys` calls plain those without port, query, escapes and
# empty segments, in lower case; one on each line.
_USUAL = re.compile(
    r"^https?://((?:[a-z0-9_-]++\.)*+[a-z][a-z0-9-]*+)"
    r"((?:/(?!\.)[a-z0-9_.~,!*'+:@=$&|-]++)*+)/?$|^.*$",
    re.MULTILINE,
)


class UrlColumns(NamedTuple):
    """Urlkeys ("" if missing), hosts, domains and public suffixes of URLs, by column."""

    urlkeys: Sequence[str]
    hosts: Sequence[str]
    domains: Sequence[str]
    public_suffixes: Sequence[str]


def url_columns(urls: Sequence[str]) -> UrlColumns:
    """Return what captures say of http URLs of printable ASCII without blanks, at least one."""
    found = _USUAL.findall("\n".join(urls).lower())
    places = [_place(host) for host, _ in found]
    keys = [f"{start}{path or '/'}" for (start, _), (_, path) in zip(places, found, strict=True)]
    parts = [parts for _, parts in places]
    for number, (host, _) in enumerate(found):
        if not host:
            keys[number], parts[number] = _urlkey(urls[number]), url_parts(urls[number])
    return UrlColumns(keys, *zip(*parts, strict=True))


@lru_cache(65_536)
def _place(host: str) -> tuple[str, UrlParts]:
    """Return how the urlkeys of a host begin, and where it belongs."""
    return urlkey(f"http://{host}/").removesuffix("/") if host else "", host_parts(host)


def _urlkey(url: str) -> str:
    try:
        return urlkey(url)
    except UrlError:
        return ""


_LONGEST_LINE = 4_096
_UNKNOWN = "unk"
_LINE = re.compile(
    r"^(?!\S*__wb_method=)[!-~]+ ([0-9]{8}(?:[01][0-9]|2[0-3])[0-5][0-9][0-5][0-9])"
    r" (https?://[!-~]+)"
    r" ((?!warc|application/warc|arc/)[a-z0-9][a-z0-9.+-]*/[a-z0-9.+-]+|unk) ([1-9][0-9]{2})"
    r" (?:sha1:)?([A-Z2-7]{32}) ([!-~]+) [!-~]+ ([0-9]{1,15}|-) ([0-9]{1,15}) ([!-~]+)\r*$|^.*$",
    re.MULTILINE,
)
_TOLD_BY_URL = EMPTY_TYPES | ZIP_TYPES
"""MIME types that leave the family of a payload to its URL."""


class _Columns(NamedTuple):
    """The fields of plain lines used for captures, one column each."""

    timestamps: Sequence[str]
    urls: Sequence[str]
    mimes: Sequence[str]
    statuses: Sequence[str]
    digests: Sequence[str]
    redirects: Sequence[str]
    lengths: Sequence[str]
    offsets: Sequence[str]
    files: Sequence[str]


def plain_capture(line: bytes, collection: str) -> Capture | None:
    """Return the capture of a plain line, None for any other line."""
    rows = plain_values(line, collection)
    return capture_of_values(rows[0]) if rows and rows[0] else None


def plain_values(block: bytes, collection: str) -> list[CaptureTuple | None]:
    """Return the capture values of plain lines, None for any other line.

    `block` has at least one whole line; the last may lack its newline.
    """
    lines = block.removesuffix(b"\n").decode("latin-1").split("\n")
    if max(map(len, lines)) > _LONGEST_LINE:
        lines = [line if len(line) <= _LONGEST_LINE else "" for line in lines]
    found = _LINE.findall("\n".join(lines))
    columns = _Columns(*zip(*found, strict=True))
    if _are_plain(columns):
        return _values(columns, collection)
    plain = [line for line in found if _are_plain(_Columns(*zip(line, strict=True)))]
    if not plain:
        return [None] * len(found)
    rows = dict(zip(plain, _values(_Columns(*zip(*plain, strict=True)), collection), strict=True))
    return list(map(rows.get, found))


def _are_plain(columns: _Columns) -> bool:
    """Return whether lines that were found are plain."""
    days = {time[:8] for time in columns.timestamps}
    return all(map(_is_day, days)) and "-" not in set(columns.files)


def _values(columns: _Columns, collection: str) -> list[CaptureTuple | None]:
    """Return the values of captures, None for URLs without a urlkey."""
    urls = url_columns(columns.urls)
    rows = zip(
        repeat(collection),
        columns.files,
        map(int, columns.offsets),
        [None if length == "-" else int(length) for length in columns.lengths],
        repeat("response"),
        columns.urls,
        *urls,
        columns.timestamps,
        [f"sha1:{digest}" for digest in columns.digests],
        map(int, columns.statuses),
        ["" if mime == _UNKNOWN else mime for mime in columns.mimes],
        _normal_types(columns.mimes, columns.urls),
        repeat(None),
        ["" if redirect == "-" else redirect for redirect in columns.redirects],
        strict=False,
    )
    if "" in urls.urlkeys:
        return [row if key else None for key, row in zip(urls.urlkeys, rows, strict=True)]
    return list(rows)


def _normal_types(mimes: Sequence[str], urls: Sequence[str]) -> Sequence[str]:
    table = {mime: normal_type(mime) for mime in set(mimes)}
    if table.keys() & _TOLD_BY_URL:
        return list(map(normal_type, mimes, urls))
    return [table[mime] for mime in mimes]


@lru_cache(10_000)
def _is_day(digits: str) -> bool:
    """Return whether there was such a day, as timestamps spell it."""
    whole = f"{digits}000000"
    try:
        return normal_timestamp(whole) == whole
    except TimestampError:
        return False
