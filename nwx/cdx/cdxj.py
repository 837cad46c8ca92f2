"""CDXJ lines: `urlkey timestamp {json}`, bytes to CdxLine and back."""

import json
import re
from typing import Any

from nwx.cdx.field_names import CDX_FIELDS, CDXJ_PLACES, CDXJ_PLACES_ORS, URL
from nwx.cdx.layouts import NO_VALUE
from nwx.cdx.lines import CdxLine, checked_line, line_values
from nwx.errors import CdxError

_PLACES = CDXJ_PLACES | CDXJ_PLACES_ORS
_NO_VALUES = (NO_VALUE,) * (len(CDX_FIELDS) - URL)
_MISSING = ("", NO_VALUE, "null")
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
    fields, extra = cdxj_fields(*parts)
    return checked_line(fields, extra=extra)


def cdxj_fields(urlkey: str, timestamp: str, text: str) -> tuple[list[str], dict[str, str]]:
    """Return the values of a line in the order of CDX_FIELDS, `-` for none, and what else it says.

    `text` is its JSON object. A missing URL is taken from the urlkey.
    Raises CdxError.
    """
    fields = [urlkey, timestamp, *_NO_VALUES]
    extra: dict[str, str] = {}
    for name, value in parse_object(text).items():
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        place = _PLACES.get(name)
        if place is None:
            extra[name] = shown
        elif shown not in _MISSING:
            fields[place] = shown
    if fields[URL] == NO_VALUE:
        fields[URL] = url_of_key(urlkey)
    return fields, extra


def format_cdxj(line: CdxLine) -> str:
    """Return a line as text without a newline, its values as strings, those missing left out."""
    values = zip(CDX_FIELDS[URL:], line_values(line)[URL:], strict=True)
    shown = {name: value for name, value in values if value}
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
