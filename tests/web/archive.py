"""A small archive for tests of the pages, as batches for any engine."""

from collections.abc import Iterator

from nwx.keys import document_id, document_key
from nwx.model import Batch, Capture, Dates, Document, Extract, Link, SourceFile
from nwx.values.urlkeys import urlkey
from nwx.values.urls import url_parts

FILE = "example-00000.warc.gz"
HOSTILE_TITLE = "<script>alert(1)</script>\"'><img src=x onerror=alert(2)>"
HOSTILE_URL = 'http://evil.example/?q="><script>alert(3)</script>'
HOSTILE_TEXT = "Quarry text </p><script>alert(4)</script> & <b>bold</b> {{ 7*7 }} quarry"


def capture(url: str, timestamp: str, text: str, offset: int, **values: object) -> Capture:
    """Return a capture of a page with a text."""
    digest = "sha1:" + document_id(text)[:32].upper()
    place = url_parts(url)
    base: dict[str, object] = {
        "collection": "default",
        "source_file": FILE,
        "source_file_offset": offset,
        "record_length": 500 + offset % 97,
        "record_type": "response",
        "url": url,
        "urlkey": urlkey(url),
        "host": place.host,
        "domain": place.domain,
        "public_suffix": place.public_suffix,
        "timestamp": timestamp,
        "digest": digest,
        "document_id": document_id(document_key(url, digest)),
        "status_code": 200,
        "content_type": "text/html",
        "content_type_norm": "html",
        "content_length": len(text),
    }
    return Capture(**{**base, **values})  # type: ignore[arg-type]


def document(capture: Capture, text: str, title: str, language: str = "en") -> Document:
    """Return the document of a capture."""
    links = (
        Link("http://www.example.org/about", "About us"),
        Link("javascript:alert(5)", "<b>run</b>"),
    )
    return Document(
        capture,
        Extract(title=title, content=text, content_language=language, links=links),
    )


def id_of(url: str, text: str) -> str:
    """Return the id of the document of a page with a text."""
    return capture(url, "20000101000000", text, 0).document_id


HOME = "http://www.example.org/"
HOME_TEXTS = (
    "Welcome to the quarry museum.\nOpen on Mondays.\nThe report of 2009 is out.",
    "Welcome to the quarry museum.\nOpen on Mondays and Tuesdays.\nThe report of 2012 is out.",
    "Welcome to the quarry museum.\nClosed for the winter.\nThe report of 2012 is out.",
)
HOME_TIMES = (
    ("20090304050607", "20090304180000", "20100101000000"),
    ("20120501101010", "20130501101010"),
    ("20191224235959",),
)


def pages() -> Iterator[tuple[Document, tuple[str, ...]]]:
    """Yield documents and the timestamps at which each was captured."""
    for number, (text, times) in enumerate(zip(HOME_TEXTS, HOME_TIMES, strict=True)):
        first = capture(HOME, times[0], text, 10_000 * number)
        yield document(first, text, "Quarry museum"), times
    others = (
        ("http://evil.example/a", HOSTILE_TEXT, HOSTILE_TITLE, "en", "20150101000000", {}),
        (HOSTILE_URL, "Hostile address quarry", "Address", "en", "20150201000000", {}),
        (
            "http://ar.example.org/",
            "متحف المحجر مفتوح كل يوم quarry",
            "متحف المحجر",
            "ar",
            "20160202020202",
            {},
        ),
        (
            "http://www.example.org/rapport.pdf",
            "Rapport annuel de la carrière quarry",
            "Rapport",
            "fr",
            "20140303030303",
            {"content_type": "application/pdf", "content_type_norm": "pdf"},
        ),
        (
            "http://www.example.org/missing",
            "Not found quarry",
            "404",
            "en",
            "20140303030304",
            {"status_code": 404},
        ),
        (
            "http://long.example.net/",
            "Long quarry line.\n" * 4_000,
            "Long",
            "en",
            "20170101000000",
            {},
        ),
    )
    for number, (url, text, title, language, time, values) in enumerate(others):
        found = capture(url, time, text, 100_000 + 1_000 * number, **values)
        yield document(found, text, title, language), (time,)
    for number in range(40):
        url = f"http://blog.example.com/{number}"
        text = f"Entry number {number} about stones and the quarry, and what was said of it."
        found = capture(
            url, f"{2005 + number % 12}0607080910", text, 200_000 + number, collection="blogs"
        )
        yield document(found, text, f"Entry {number}"), (found.timestamp,)


def batch() -> Batch:
    """Return the whole archive as one batch."""
    documents, captures, dates = [], [], []
    for found, times in pages():
        documents.append(found)
        own = found.capture
        key = document_key(own.url, own.digest)
        dates.append(Dates(key, tuple((time, own.collection) for time in times)))
        captures += [own]
        captures += [
            capture(
                own.url,
                time,
                found.extract.content,
                own.source_file_offset + 100 * step,
                record_type="revisit",
            )
            for step, time in enumerate(times[1:], 1)
        ]
    captures.append(capture("http://www.example.org/missing", "20150101000000", "beyond", 300_000))
    files = (SourceFile("default", FILE, f"/data/{FILE}", 1_000_000, "0" * 32, finished=True),)
    return Batch(tuple(documents), tuple(captures), tuple(dates), files)
