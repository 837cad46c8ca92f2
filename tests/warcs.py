"""WARC files that tests make."""

import base64
import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

PROFILE = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"


@dataclass(frozen=True, slots=True)
class Page:
    """A record to be: a response, or with `revisit` one that says it was the same again."""

    url: str
    timestamp: str
    body: bytes = b""
    content_type: str = "text/html; charset=utf-8"
    status: str = "200 OK"
    revisit: bool = False

    @property
    def date(self) -> str:
        """The date as a WARC writes it."""
        t = self.timestamp
        return f"{t[:4]}-{t[4:6]}-{t[6:8]}T{t[8:10]}:{t[10:12]}:{t[12:14]}Z"

    @property
    def digest(self) -> str:
        """The digest of the body."""
        return f"sha1:{base64.b32encode(hashlib.sha1(self.body).digest()).decode()}"


def html(title: str, text: str) -> bytes:
    """Return a small page."""
    return f"<html><head><title>{title}</title></head><body><p>{text}</p></body></html>".encode()


def write_warc(path: Path, pages: Iterable[Page], *, gzip: bool = True) -> Path:
    """Write a WARC of these pages and return its path."""
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=gzip)
        for page in pages:
            writer.write_record(_record(writer, page))
    return path


def many_pages(count: int, *, site: str = "www.example.org", start: int = 0) -> list[Page]:
    """Return pages, a third of which are seen again later: as revisits or as responses."""
    pages = []
    for number in range(start, start + count):
        page = Page(
            f"http://{site}/{number}",
            f"2015{number % 12 + 1:02}{number % 28 + 1:02}120000",
            html(f"Page {number}", f"The text of page {number} " + "words and words " * 40),
        )
        pages.append(page)
        if number % 3 == 0:
            again = f"2016{number % 12 + 1:02}{number % 28 + 1:02}120000"
            pages.append(Page(page.url, again, page.body, revisit=number % 2 == 0))
    return pages


def _record(writer: WARCWriter, page: Page) -> object:
    head = StatusAndHeaders(
        page.status,
        [("Content-Type", page.content_type), ("Content-Length", str(len(page.body)))],
        protocol="HTTP/1.1",
    )
    fields = {"WARC-Date": page.date, "WARC-Payload-Digest": page.digest}
    if page.revisit:
        fields["WARC-Profile"] = PROFILE
    return writer.create_warc_record(
        page.url,
        "revisit" if page.revisit else "response",
        payload=BytesIO(b"" if page.revisit else page.body),
        http_headers=head,
        warc_headers_dict=fields,
    )
