"""CDX lines shared by tests."""

_FILE = "crawl.warc.gz"
_LINES = (
    ("http://a.example/", "20200101000000", "text/html", "200", "A"),
    ("http://a.example/", "20200101000000", "warc/request", "-", "B"),
    ("http://a.example/", "20200101000000", "warc/metadata", "-", "C"),
    ("http://a.example/", "20200102000000", "warc/revisit", "-", "A"),
    ("http://a.example/", "20200103000000", "warc/metadata", "-", "C"),
    ("warcinfo:/crawl.warc.gz/heritrix", "20200101000000", "warc-info", "-", "D"),
    ("filedesc://crawl.arc", "20200101000000", "arc/filedesc0.1.0", "-", "E"),
    ("metadata://gnu.org/software/wget/warc/wget.log", "20200101000000", "text/plain", "-", "F"),
    ("http://a.example/notes", "20200101000000", "application/warc-fields", "-", "G"),
    ("dns:a.example", "20200101000000", "text/dns", "-", "H"),
    ("urn:pageinfo:http://a.example/", "20200101000000", "application/json", "-", "I"),
    ("http://a.example/data", "20200101000000", "warc/resource", "-", "K"),
    ("http://a.example/file.warc", "20200101000000", "application/warc-fields", "200", "L"),
    ("http://a.example/arc", "20200101000000", "application/warc", "200", "M"),
    ("http://a.example/note", "20200101000000", "text/anvl", "-", "N"),
)
CAPTURED = (
    "http://a.example/",
    "http://a.example/",
    "dns:a.example",
    "urn:pageinfo:http://a.example/",
    "http://a.example/data",
    "http://a.example/file.warc",
    "http://a.example/arc",
)
"""The URLs of the lines of ALL_RECORDS that are captures."""

NOT_CAPTURES = len(_LINES) - len(CAPTURED)


def _line(number: int, url: str, timestamp: str, mime: str, status: str, digest: str) -> str:
    key = "example,a)/" if url == "http://a.example/" else f"example,a)/{number}"
    fields = (key, timestamp, url, mime, status, digest * 32, "-", "-", "500", str(number * 500))
    return " ".join((*fields, _FILE))


ALL_RECORDS = "".join(f"{_line(number, *line)}\n" for number, line in enumerate(_LINES))
"""A CDX file of 11 fields like the Internet Archive's, with records of all types."""

FIELDS_OF_ALL = [
    (mime, status, url, url in CAPTURED and mime not in ("warc/request", "warc/metadata"))
    for url, _, mime, status, _ in _LINES
]
"""MIME type, status and URL of each line of ALL_RECORDS, and whether it is a capture."""
