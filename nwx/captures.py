"""What counts as a capture, told of an archived record and of a line of a capture index.

A capture is a response, resource, revisit or conversion record. Requests,
metadata and warcinfo records are none, whatever index lists them, nor are
the notes that crawlers leave about themselves: records of type
`application/warc-fields`, and those of the URL schemes below.
"""

RECORD_TYPES = frozenset(("response", "resource", "revisit", "conversion"))
"""The types of records that can be captures."""

FIELDS_TYPE = "application/warc-fields"
"""The MIME type of crawlers' notes."""

NOTE_SCHEMES = ("metadata:", "warcinfo:", "filedesc:")
"""How the URLs of notes begin: wget's, of warcinfo records in CDX, of the heads of ARC files."""

_NO_STATUS = ("", "-")
_WARCINFO_TYPE = "warc-info"
_TYPED = "warc/"
_ARC_HEAD = "arc/"


def is_captured(record_type: str, content_type: str, url: str) -> bool:
    """Return whether a record is a capture; `content_type` is that of its WARC header."""
    if record_type not in RECORD_TYPES or url.startswith(NOTE_SCHEMES):
        return False
    return record_type != "resource" or not content_type.startswith(FIELDS_TYPE)


def names_capture(mime: str, status: str, url: str) -> bool:
    """Return whether a line of a capture index with these fields stands for a capture.

    Indexes of all records, as the Internet Archive makes them, have MIME
    types like `warc/request`, `warc/metadata`, `warc-info` and
    `arc/filedesc` for what is none. Missing fields are "" or `-`.
    """
    if url.startswith(NOTE_SCHEMES):
        return False
    if mime.startswith(_TYPED):
        return mime.removeprefix(_TYPED) in RECORD_TYPES
    if mime.startswith(FIELDS_TYPE):
        return status not in _NO_STATUS
    return mime != _WARCINFO_TYPE and not mime.startswith(_ARC_HEAD)
