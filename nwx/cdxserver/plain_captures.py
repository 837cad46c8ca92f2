"""A fast path from plain CDX lines to captures, many times as fast as the parser.

A plain line has eleven fields of printable ASCII, as nearly all lines do: a 14-digit timestamp, an
http URL, a MIME type or `warc/revisit`, a status, a bare SHA-1 digest. All other lines are read by
`nwx.cdx.files` and `capture_of`, which return the same captures for plain lines. The lines of a
block are read together, by column.
"""

import re
from collections.abc import Collection, Sequence
from functools import lru_cache
from itertools import compress

from nwx.captures import DOUBTFUL_TYPES, CaptureColumns, CaptureValues, with_defaults
from nwx.cdx.layouts import NO_VALUE
from nwx.cdx.rows import REVISIT
from nwx.errors import UrlError
from nwx.model import Capture
from nwx.values.media_types import EMPTY_TYPES, ZIP_TYPES, normal_type
from nwx.values.urlkeys import urlkey
from nwx.values.urls import UrlParts, host_parts, url_parts

_LONGEST_LINE = 4_096
_METHOD = "__wb_method="
_UNTYPED = frozenset((NO_VALUE, "unk", REVISIT))
_TOLD_BY_URL = EMPTY_TYPES | ZIP_TYPES | _UNTYPED
"""MIME types with which the URL determines the family of a payload."""

_DAY = (
    r"(?!0000)(?:[0-9]{4}(?:(?:0[13578]|1[02])(?:0[1-9]|[12][0-9]|3[01])"
    r"|(?:0[469]|11)(?:0[1-9]|[12][0-9]|30)|02(?:0[1-9]|1[0-9]|2[0-8]))"
    r"|(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)0229)"
)
# The URLs that are plain in `nwx.values.urlkeys` and have no port, query, escapes or
# empty segments, and a lower-case host.
_HOST_AND_PATH = (
    r"((?:[a-z0-9_-]++\.)*+[a-z][a-z0-9-]*+)"
    r"((?:/(?!\.)[A-Za-z0-9_.~,!*'+:@=$&|-]++)*+)/?(?= )"
)
_LINE = re.compile(
    rf"^[!-~]++ ({_DAY}(?:[01][0-9]|2[0-3])[0-5][0-9][0-5][0-9])"
    rf" (https?://(?:{_HOST_AND_PATH}|[!-~]++))"
    rf" ({REVISIT}|(?!warc|application/warc|{'|'.join(DOUBTFUL_TYPES)})"
    r"[a-z0-9][a-z0-9.+-]*+/[a-z0-9.+-]++|unk|-)"
    r" ([1-9][0-9]{2}|-) (?:sha1:)?([A-Z2-7]{32}) ([!-~]++) [!-~]++ ([0-9]{1,15}+|-)"
    r" ([0-9]{1,15}+) (?!-\r*$)([!-~]++)\r*$|^.*$",
    re.MULTILINE,
)


def plain_capture(line: bytes, collection: str) -> Capture | None:
    """Return the capture of a plain line, None for any other line."""
    values, _ = plain_values(line, collection)
    return values[0] if values else None


def plain_values(block: bytes, collection: str) -> tuple[CaptureValues, list[bool]]:
    """Return the captures of plain lines, and whether each line is plain.

    `block` has at least one whole line; the last may lack its newline.
    """
    text = block.removesuffix(b"\n").decode("latin-1")
    lines = text.split("\n")
    if _METHOD in text or max(map(len, lines)) > _LONGEST_LINE:
        odd = (len(line) > _LONGEST_LINE or _METHOD in line for line in lines)
        text = "\n".join("" if is_odd else line for line, is_odd in zip(lines, odd, strict=True))
    found = _LINE.findall(text)
    is_plain = [bool(line[0]) for line in found]
    plain = list(compress(found, is_plain))
    if not plain:
        return CaptureValues(), is_plain
    columns = _columns(plain, collection)
    if "" in columns["urlkey"]:
        keys = iter(columns["urlkey"])
        lines = text.split("\n")
        kept = (
            line if one and next(keys) else "" for line, one in zip(lines, is_plain, strict=True)
        )
        return plain_values("".join(f"{line}\n" for line in kept).encode("latin-1"), collection)
    return CaptureValues(columns=with_defaults(columns, len(plain))), is_plain


def _columns(lines: Sequence[tuple[str, ...]], collection: str) -> CaptureColumns:
    """Return the values of captures by column, with the urlkey "" for URLs without one."""
    fields = zip(*lines, strict=True)
    timestamps, urls, hosts, paths, mimes, statuses, digests, redirects, lengths, *where = fields
    offsets, files = where
    keys, *parts = _url_columns(urls, hosts, paths)
    types = {mime: "" if mime in _UNTYPED else mime for mime in set(mimes)}
    numbers = {status: None if status == NO_VALUE else int(status) for status in set(statuses)}
    return {
        "collection": [collection] * len(lines),
        "source_file": files,
        "source_file_offset": list(map(int, offsets)),
        "record_length": [None if one == NO_VALUE else int(one) for one in lengths],
        "record_type": _record_types(types, mimes),
        "url": urls,
        "urlkey": keys,
        "host": parts[0],
        "domain": parts[1],
        "public_suffix": parts[2],
        "timestamp": timestamps,
        "digest": [f"sha1:{digest}" for digest in digests],
        "status_code": list(map(numbers.__getitem__, statuses)),
        "content_type": list(map(types.__getitem__, mimes)),
        "content_type_norm": _normal_types(types, mimes, urls),
        "content_length": [None] * len(lines),
        "redirect_to": ["" if redirect == NO_VALUE else redirect for redirect in redirects],
    }


def _url_columns(
    urls: Sequence[str], hosts: Sequence[str], paths: Sequence[str]
) -> tuple[Sequence[str], ...]:
    """Return urlkeys ("" if missing), hosts, domains and public suffixes, by column.

    `hosts` has "" for URLs that are not in the usual form.
    """
    places = [_place(host) for host in hosts]
    keys = [f"{start}{path or '/'}" for (start, _), path in zip(places, paths, strict=True)]
    keys = "\n".join(keys).lower().split("\n")
    parts = [part for _, part in places]
    if "" in hosts:
        for number, (host, url) in enumerate(zip(hosts, urls, strict=True)):
            if not host:
                keys[number], parts[number] = _urlkey(url), url_parts(url)
    return keys, *zip(*parts, strict=True)


@lru_cache(65_536)
def _place(host: str) -> tuple[str, UrlParts]:
    """Return the start of a host's urlkeys, and its domain and public suffix."""
    return urlkey(f"http://{host}/").removesuffix("/") if host else "", host_parts(host)


def _urlkey(url: str) -> str:
    try:
        return urlkey(url)
    except UrlError:
        return ""


def _record_types(types: Collection[str], mimes: Sequence[str]) -> list[str]:
    if REVISIT not in types:
        return ["response"] * len(mimes)
    return ["revisit" if mime == REVISIT else "response" for mime in mimes]


def _normal_types(
    types: dict[str, str], mimes: Sequence[str], urls: Sequence[str]
) -> Sequence[str]:
    table = {mime: normal_type(shown) for mime, shown in types.items()}
    if table.keys() & _TOLD_BY_URL:
        return [
            normal_type(types[mime], url) if mime in _TOLD_BY_URL else table[mime]
            for mime, url in zip(mimes, urls, strict=True)
        ]
    return [table[mime] for mime in mimes]
