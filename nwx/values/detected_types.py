"""Detection of a payload's MIME type by its first bytes; file names and extensions of URLs."""

from mimetypes import MimeTypes
from posixpath import basename, splitext
from urllib.parse import urlsplit

import filetype

from nwx.values.media_types import HTML, OFFICE, TEXT, ZIP_TYPES, normal_type

_MAGIC_BYTES = 8_192
_UNKNOWN = "application/octet-stream"
_OLE_MAGIC = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_PDF, _LATE_MAGIC_BYTES = b"%PDF-", 1_024
_XML = b"<?xml"
_SVG = b"<svg"
_KNOWN = MimeTypes()
"""Python's own table, as the system's differs between machines."""


def detected_type(data: bytes, served: str) -> str:
    """Return the MIME type of a payload; `served` only distinguishes kinds of office files."""
    start = bytes(data[:_MAGIC_BYTES])
    found: str | None = filetype.guess_mime(start) if start else None
    if (found in ZIP_TYPES or start.startswith(_OLE_MAGIC)) and normal_type(served) == OFFICE:
        return served
    if found is not None:
        return found
    if _PDF in start[:_LATE_MAGIC_BYTES]:
        return "application/pdf"
    family = normal_type("", "", start)
    if family == HTML:
        return "text/html"
    if family == TEXT:
        text = start.lstrip(b"\xef\xbb\xbf \t\r\n")
        if not text.startswith((_XML, _SVG)):
            return "text/plain"
        return "image/svg+xml" if _SVG in text else "application/xml"
    return _UNKNOWN


def file_name(url: str) -> str:
    """Return the last segment of a URL's path, "" if it ends with a slash."""
    try:
        return basename(urlsplit(url).path)
    except ValueError:
        return ""


def file_extension(url: str, mime_type: str) -> str:
    """Return the extension of a payload: the URL's if it fits the type or the type has none.

    Otherwise the type's usual one; "unknown" if neither has one, as in the Archives Unleashed
    Toolkit.
    """
    known = [extension[1:] for extension in _KNOWN.guess_all_extensions(mime_type)]
    named = splitext(file_name(url))[1][1:].lower()
    if named in known or not known:
        return named or "unknown"
    return known[0]
