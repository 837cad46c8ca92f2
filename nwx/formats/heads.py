"""The heads of WARC and ARC records."""

import re
from typing import NamedTuple

from nwx.formats.http import Fields, SplitFields
from nwx.formats.record import TYPES, UNKNOWN_TYPE

WARC_MAGIC = b"WARC/"
MAX_HEAD_BYTES = 1 << 20

_WARC_LINE = re.compile(rb"WARC/\d\.\d+[ \t]*\r?\n")
_ARC_DATE = re.compile(rb"\d{8,20}")
_NUMBER = re.compile(rb"\d{1,18}")
_KINDS = {kind.encode(): kind for kind in TYPES}


class Head(NamedTuple):
    """The head of a record; `length` is None where the head has none that can be true."""

    kind: str
    fields: Fields
    length: int | None
    size: int


def warc_head(data: bytes, start: int, end: int) -> Head | None:
    """Return the head in `data[start:end]`, None if it is no WARC head."""
    line = _WARC_LINE.match(data, start, end)
    if line is None:
        return None
    if data.find(WARC_MAGIC, line.end(), end) >= 0 and _WARC_LINE.search(data, line.end(), end):
        return None  # the next record begins where this head breaks off
    fields = SplitFields(data[line.end() - 1 : end])
    kind = _KINDS.get(fields.get(b"warc-type").lower(), UNKNOWN_TYPE)
    return Head(kind, fields, _length(fields.get(b"content-length")), end - start)


def arc_head(line: bytes) -> Head | None:
    """Return the head of an ARC record (version 1 or 2), None if the line is none.

    Its fields are named as those of a WARC record.
    """
    text = line.rstrip(b"\r\n")
    parts = text.rsplit(b" ", 4)
    if len(parts) != 5 or not _ARC_DATE.fullmatch(parts[2]):
        parts = text.rsplit(b" ", 9)  # version 2 has five fields more before the length
        if len(parts) != 10 or not _ARC_DATE.fullmatch(parts[2]):
            return None
    url, address, date, content_type, length = *parts[:4], parts[-1]
    if b":" not in url:
        return None
    lines = (
        b"",
        b"WARC-Target-URI: " + url,
        b"WARC-IP-Address: " + address,
        b"WARC-Date: " + date[:14],
        b"Content-Type: " + content_type,
    )
    kind = "warcinfo" if url.startswith(b"filedesc:") else "response"
    return Head(kind, SplitFields(b"\n".join(lines)), _length(length), len(line))


def _length(text: bytes) -> int | None:
    return int(text) if _NUMBER.fullmatch(text) else None
