"""Extraction of title, text, language and links from payloads: computation without I/O.

Each family of content types is a module with one line in `_FAMILIES`, or a plugin.
"""

import time
from collections.abc import Callable
from dataclasses import replace

from nwx.extract.html import extract_html
from nwx.extract.office import OFFICE_MAGICS
from nwx.extract.page import ExtractLimits, ExtractPayload
from nwx.extract.pdf import extract_pdf
from nwx.extract.plain import extract_plain, extract_stylesheet
from nwx.model import PARSERS, Extract
from nwx.plugins import checked_extract, extractor_plugin

__all__ = ["PARSERS", "ExtractLimits", "ExtractPayload", "extract", "extractable"]


def _extract_office(payload: ExtractPayload) -> Extract:
    # Imported late: it takes 5 ms to load, and is rarely needed.
    from nwx.extract.office.open_formats import extract_office

    return extract_office(payload)


_FAMILIES: dict[str, Callable[[ExtractPayload], Extract]] = {
    "html": extract_html,
    "text": extract_plain,
    "pdf": extract_pdf,
    "style": extract_stylesheet,
    "office": _extract_office,
}

_DEFAULT_LIMITS = ExtractLimits()


def extractable(content_type_norm: str, content_type: str = "") -> bool:
    """Return whether `extract` supports payloads of this type."""
    if content_type_norm in _FAMILIES:
        return True
    return extractor_plugin(content_type, content_type_norm) is not None


def extract(
    data: bytes,
    *,
    url: str,
    content_type_norm: str,
    content_type: str = "",
    charset: str = "",
    parser: str = "fast",
    limits: ExtractLimits = _DEFAULT_LIMITS,
) -> Extract:
    """Return the extract of a payload; empty for types that are not `extractable`.

    Office files are detected by their first bytes, as servers use many types for them.

    `data` must be without transfer and content encoding. `content_type` and `charset` are the HTTP
    header's. `parser` is one of `PARSERS`. Bad data never raises: cuts by limits and faults are
    listed in `problems`, each as `kind: message`.
    """
    family = _extract_office if data.startswith(OFFICE_MAGICS) else _FAMILIES.get(content_type_norm)
    plugin = None if family else extractor_plugin(content_type, content_type_norm)
    family = family or plugin
    if family is None or not data:
        return Extract()
    problems: tuple[str, ...] = ()
    if len(data) > limits.bytes:
        problems = (f"size: {len(data)} bytes, read {limits.bytes}",)
        data = data[: limits.bytes]
    deadline = time.thread_time() + limits.seconds
    found = family(ExtractPayload(data, url, content_type, charset, parser, limits, deadline))
    if plugin is not None:
        found = checked_extract(found)
    return replace(found, problems=problems + found.problems) if problems else found
