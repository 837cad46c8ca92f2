"""MIME types: their families, detection by the first bytes, and extensions of file names."""

import re
from functools import cache, lru_cache
from posixpath import basename, splitext
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from mimetypes import MimeTypes

HTML, PDF, IMAGE, AUDIO, VIDEO = "html", "pdf", "image", "audio", "video"
FLASH, SCRIPT, STYLE, TEXT, OFFICE = "flash", "script", "style", "text", "office"
ARCHIVE, OTHER, UNKNOWN = "archive", "other", "unknown"

# Each family with its types (prefixes; `type/` is all of a type) and its file
# name extensions. The first match counts.
_FAMILIES: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...] = (
    (
        HTML,
        (
            "text/html",
            "application/xhtml+xml",
            "application/xhtml",
            "application/vnd.wap.xhtml+xml",
            "text/x-server-parsed-html",
            "text/vnd.wap.wml",
            "multipart/related",
        ),
        ("html", "htm", "xhtml", "shtml"),
    ),
    (PDF, ("application/pdf", "application/x-pdf", "text/pdf"), ("pdf",)),
    (
        FLASH,
        (
            "application/x-shockwave-flash",
            "application/vnd.adobe.flash.movie",
            "application/futuresplash",
            "video/x-flv",
            "video/flv",
        ),
        ("swf", "flv"),
    ),
    (
        SCRIPT,
        (
            "application/javascript",
            "application/x-javascript",
            "text/javascript",
            "application/ecmascript",
            "text/ecmascript",
            "text/x-javascript",
            "text/jscript",
            "application/json",
            "application/ld+json",
            "application/manifest+json",
            "text/json",
            "application/wasm",
        ),
        ("js", "mjs", "json"),
    ),
    (STYLE, ("text/css", "text/x-css", "text/less"), ("css", "less")),
    (
        OFFICE,
        (
            "application/msword",
            "application/vnd.ms-",
            "application/mspowerpoint",
            "application/powerpoint",
            "application/msexcel",
            "application/excel",
            "application/x-msexcel",
            "application/x-mspowerpoint",
            "application/msaccess",
            "application/vnd.openxmlformats-officedocument",
            "application/vnd.oasis.opendocument",
            "application/vnd.sun.xml",
            "application/rtf",
            "application/x-rtf",
            "text/rtf",
            "text/richtext",
            "application/epub",
            "application/vnd.wordperfect",
            "application/vnd.apple.",
        ),
        (
            *("doc", "docx", "docm", "dot", "dotx", "rtf", "odt", "ott", "epub"),
            *("xls", "xlsx", "xlsm", "ods", "ppt", "pptx", "pptm", "pps", "ppsx", "odp"),
        ),
    ),
    (
        ARCHIVE,
        (
            "application/zip",
            "application/x-zip",
            "application/gzip",
            "application/x-gzip",
            "application/x-tar",
            "application/x-gtar",
            "application/x-bzip",
            "application/x-7z",
            "application/x-rar",
            "application/vnd.rar",
            "application/x-xz",
            "application/zstd",
            "application/java-archive",
            "application/x-stuffit",
            "application/warc",
            "application/x-compress",
            "application/x-lzh",
        ),
        ("zip", "gz", "tgz", "tar", "bz2", "7z", "rar", "xz", "zst", "jar", "warc"),
    ),
    (IMAGE, ("image/",), ("jpg", "jpeg", "gif", "png", "svg", "webp", "ico", "bmp", "tif", "avif")),
    (
        AUDIO,
        ("audio/", "application/ogg", "application/x-pn-realaudio"),
        ("mp3", "ogg", "wav", "m4a", "flac", "ram"),
    ),
    (
        VIDEO,
        (
            "video/",
            "application/mp4",
            "application/x-mpegurl",
            "application/vnd.apple.mpegurl",
            "application/dash+xml",
        ),
        ("mp4", "webm", "avi", "mov", "mpg", "mpeg", "wmv", "m3u8"),
    ),
    (
        TEXT,
        (
            "text/",
            "application/xml",
            "application/rss+xml",
            "application/atom+xml",
            "application/rdf+xml",
            "application/x-tex",
            "application/x-bibtex",
            "application/x-ndjson",
            "application/yaml",
            "message/",
        ),
        ("txt", "md", "csv", "tsv", "xml", "rss", "atom", "log", "tex"),
    ),
    (OTHER, ("font/", "application/", "model/", "multipart/", "chemical/", "binary/"), ()),
)
# uninformative types, which servers send for unknown files
EMPTY_TYPES = frozenset(
    (
        "",
        "-",
        "unk",
        "unknown",
        "no-type",
        "unknown/unknown",
        "application/octet-stream",
        "application/unknown",
        "application/x-unknown",
        "application/force-download",
        "application/download",
        "application/x-download",
        "binary/octet-stream",
        "application/binary",
        "x-unknown/unknown",
        "content/unknown",
        "application/http",
        "application/x-unknown-content-type",
    )
)
ZIP_TYPES = frozenset(("application/zip", "application/x-zip", "application/x-zip-compressed"))
"""Types of ZIP files; servers send them for office files and books too."""

_ZIP = b"PK\x03\x04"
# The name of the first entry, or the content of `mimetype`, which must be the first if it exists.
_OFFICE_ZIP = re.compile(
    rb"PK\x03\x04.{26}(?:\[Content_Types\]\.xml|_rels/\.rels|docProps/|word/|xl/|ppt/"
    rb"|mimetypeapplication/(?:epub\+zip|vnd\.oasis\.opendocument\.|vnd\.sun\.xml\.))",
    re.S,
)
_PDF_MAGIC, _OLE_MAGIC = b"%PDF-", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_MAGIC: tuple[tuple[bytes, str], ...] = (
    (_PDF_MAGIC, PDF),
    (b"\x89PNG\r\n\x1a\n", IMAGE),
    (b"\xff\xd8\xff", IMAGE),
    (b"GIF8", IMAGE),
    (b"\x00\x00\x01\x00", IMAGE),
    (b"BM", IMAGE),
    (b"\x1f\x8b", ARCHIVE),
    (b"BZh", ARCHIVE),
    (b"7z\xbc\xaf\x27\x1c", ARCHIVE),
    (b"Rar!", ARCHIVE),
    (b"\xfd7zXZ\x00", ARCHIVE),
    (_OLE_MAGIC, OFFICE),
    (b"{\\rtf", OFFICE),
    (b"ID3", AUDIO),
    (b"OggS", AUDIO),
    (b"fLaC", AUDIO),
    (b"\x1a\x45\xdf\xa3", VIDEO),
    (b"FLV\x01", FLASH),
    (b"FWS", FLASH),
    (b"CWS", FLASH),
    (b"wOFF", OTHER),
    (b"wOF2", OTHER),
)
_HTML_SUFFIX = "+html"  # text/fragment+html, sent to htmx and similar libraries
_HTML_START = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|title|body|meta|script)\b",
    re.I | re.S,
)
_XML_START = re.compile(rb"(?:\xef\xbb\xbf)?\s*<\?xml\b")
_NOT_TEXT = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f]")
SNIFFED_BYTES = 512


def normal_type(content_type: str, url: str = "", first_bytes: bytes = b"") -> str:
    """Return the family of a payload: html, pdf, image, …, other or unknown.

    `content_type` is the served type, in lower case without parameters. If it is uninformative, or
    ZIP (perhaps an office file), the first bytes decide, then the extension of the URL.
    """
    if content_type in ZIP_TYPES or (content_type in EMPTY_TYPES and first_bytes[:4] == _ZIP):
        is_office = _OFFICE_ZIP.match(first_bytes) or _by_extension(url) == OFFICE
        return OFFICE if is_office else ARCHIVE
    if content_type not in EMPTY_TYPES:
        return _family(content_type)
    return (
        _sniffed(first_bytes[:SNIFFED_BYTES])
        or _by_extension(url)
        or _textual(first_bytes[:SNIFFED_BYTES])
    )


@lru_cache(maxsize=8192)
def _family(content_type: str) -> str:
    if content_type.endswith(_HTML_SUFFIX):
        return HTML
    for family, types, _ in _FAMILIES:
        if content_type.startswith(types):
            return family
    return OTHER if "/" in content_type else UNKNOWN


def _sniffed(start: bytes) -> str:
    for magic, family in _MAGIC:
        if start.startswith(magic):
            return family
    if start[:4] == b"RIFF":
        return IMAGE if start[8:12] == b"WEBP" else AUDIO if start[8:12] == b"WAVE" else VIDEO
    if start[4:8] == b"ftyp":
        return VIDEO
    if _HTML_START.match(start):
        return HTML
    return TEXT if _XML_START.match(start) else ""


def _by_extension(url: str) -> str:
    try:
        path = urlsplit(url).path
    except ValueError:
        return ""
    extension = splitext(path)[1][1:].lower()
    for family, _, extensions in _FAMILIES:
        if extension in extensions:
            return family
    return ""


def _textual(start: bytes) -> str:
    return TEXT if start and not _NOT_TEXT.search(start) else UNKNOWN


_MAGIC_BYTES, _LATE_MAGIC_BYTES = 8_192, 1_024
_UNKNOWN_TYPE = "application/octet-stream"
_XML, _SVG = b"<?xml", b"<svg"


def detected_type(data: bytes, served: str) -> str:
    """Return the MIME type of a payload; `served` only distinguishes kinds of office files."""
    import filetype  # takes longer to load than a short command

    start = bytes(data[:_MAGIC_BYTES])
    found: str | None = filetype.guess_mime(start) if start else None
    if (found in ZIP_TYPES or start.startswith(_OLE_MAGIC)) and normal_type(served) == OFFICE:
        return served
    if found is not None:
        return found
    if _PDF_MAGIC in start[:_LATE_MAGIC_BYTES]:
        return "application/pdf"
    family = normal_type("", "", start)
    if family == HTML:
        return "text/html"
    if family == TEXT:
        text = start.lstrip(b"\xef\xbb\xbf \t\r\n")
        if not text.startswith((_XML, _SVG)):
            return "text/plain"
        return "image/svg+xml" if _SVG in text else "application/xml"
    return _UNKNOWN_TYPE


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
    known = [extension[1:] for extension in _known_types().guess_all_extensions(mime_type)]
    named = splitext(file_name(url))[1][1:].lower()
    if named in known or not known:
        return named or "unknown"
    return known[0]


@cache
def _known_types() -> "MimeTypes":
    """Return Python's own table, as the system's differs between machines."""
    from mimetypes import MimeTypes

    return MimeTypes()


POOR_PAGES = SOFT_404, LINKS_ALONE, FOR_ROBOTS = (
    "page: soft 404",
    "page: links alone",
    "page: robots.txt",
)
"""Values in `problems` of an extract: an error page, a page of links only, a robots.txt."""
