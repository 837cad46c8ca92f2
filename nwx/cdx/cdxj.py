"""CDXJ lines: `urlkey timestamp {json}`, bytes to CdxLine and back."""

import json
import re
from typing import Any

from nwx.cdx.lines import CdxLine, cdx_number, checked_timestamp
from nwx.errors import CdxError

_NAMES = {
    "url": "url",
    "mime": "content_type",
    "status": "status_code",
    "digest": "digest",
    "redirect": "redirect_to",
    "length": "record_length",
    "offset": "source_file_offset",
    "filename": "source_file",
}
# ipwb and other writers of the ORS dialect
_OTHER_NAMES = {"mime_type": "mime", "status_code": "status", "original_uri": "url"}


_SPELLED_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_SURROGATE = re.compile("[\ud800-\udfff]")


def is_cdxj(line: bytes) -> bool:
    """Return whether a line has the form of CDXJ: a JSON object after two fields."""
    start = line.find(b" {")
    return start > 0 and line.count(b" ", 0, start) == 1


def parse_cdxj(line: bytes) -> CdxLine:
    """Return what a line without its newline says; a missing URL is taken from the urlkey.

    Raises CdxError.
    """
    parts = line.decode("utf-8", "surrogateescape").split(" ", 2)
    if len(parts) != 3 or not parts[0]:
        raise CdxError("a urlkey, a timestamp and a JSON object are needed")
    urlkey, timestamp, text = parts
    known, extra = _sorted_out(parse_object(text))
    return CdxLine(
        urlkey=urlkey,
        timestamp=checked_timestamp(timestamp),
        url=known.get("url") or url_of_key(urlkey),
        content_type=known.get("mime", ""),
        status_code=known.get("status", ""),
        digest=known.get("digest", ""),
        redirect_to=known.get("redirect", ""),
        record_length=cdx_number(known.get("length", ""), "length"),
        source_file_offset=cdx_number(known.get("offset", ""), "offset"),
        source_file=known.get("filename", ""),
        extra=extra,
    )


def format_cdxj(line: CdxLine) -> str:
    """Return a line as text without a newline, its values as strings, those missing left out."""
    values = {name: getattr(line, attribute) for name, attribute in _NAMES.items()}
    shown = {name: str(value) for name, value in values.items() if value not in ("", None)}
    text = json.dumps({**shown, **line.extra}, ensure_ascii=False)
    return f"{line.urlkey} {line.timestamp} {text}"


def url_of_key(urlkey: str) -> str:
    """Return a URL that a SURT urlkey could stand for: `org,example)/a` gives `http://example.org/a`.

    The scheme and a `www.` are lost in a urlkey.
    """
    host, bracket, path = urlkey.partition(")")
    if not bracket or "/" in host:
        return urlkey if "://" in urlkey else f"http://{urlkey}"
    name, colon, port = host.partition(":")
    return f"http://{'.'.join(reversed(name.split(',')))}{colon}{port}{path}"


def parse_object(text: str) -> dict[str, Any]:
    """Return the JSON object of a CDXJ line; raises CdxError where there is none.

    Halves of surrogate pairs, which JSON can spell and nothing can write,
    are replaced.
    """
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise CdxError(f"the JSON cannot be read: {error}") from error
    if not isinstance(found, dict):
        raise CdxError("the JSON is no object")
    return _whole_signs(found) if _SPELLED_SURROGATE.search(text) else found


def _whole_signs(found: dict[str, Any]) -> dict[str, Any]:
    return json.loads(_SURROGATE.sub("\ufffd", json.dumps(found, ensure_ascii=False)))  # type: ignore[no-any-return]


def _sorted_out(found: dict[str, Any]) -> tuple[dict[str, str], dict[str, str]]:
    known: dict[str, str] = {}
    extra: dict[str, str] = {}
    for name, value in found.items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        name = _OTHER_NAMES.get(name, name)
        if name not in _NAMES:
            extra[name] = text
        elif text not in ("-", "null"):
            known[name] = text
    return known, extra
