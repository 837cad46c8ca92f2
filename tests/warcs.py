"""Synthetic WARC files."""

import base64
import gzip
import hashlib
import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

PROFILE = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"


@dataclass(frozen=True, slots=True)
class Page:
    """A record to write: a response, or with `revisit` a revisit of the same payload."""

    url: str
    timestamp: str
    body: bytes = b""
    content_type: str = "text/html; charset=utf-8"
    status: str = "200 OK"
    revisit: bool = False
    headers: tuple[str, ...] = ()
    ip_address: str = ""

    @property
    def date(self) -> str:
        """The date in WARC format."""
        t = self.timestamp
        return f"{t[:4]}-{t[4:6]}-{t[6:8]}T{t[8:10]}:{t[10:12]}:{t[12:14]}Z"

    @property
    def digest(self) -> str:
        """The digest of the body."""
        return f"sha1:{base64.b32encode(hashlib.sha1(self.body).digest()).decode()}"


def html(title: str, text: str) -> bytes:
    """Return a small page."""
    return f"<html><head><title>{title}</title></head><body><p>{text}</p></body></html>".encode()


def write_warc(path: Path, pages: Iterable[Page], *, compressed: bool = True) -> Path:
    """Write a WARC of these pages, one gzip member per record, and return its path."""
    with path.open("wb") as file:
        for page in pages:
            record = warc_record(page)
            file.write(gzip.compress(record, 6, mtime=0) if compressed else record)
    return path


def many_pages(count: int, *, site: str = "www.example.org", start: int = 0) -> list[Page]:
    """Return pages, a third of which are captured again later, as revisits or as responses."""
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


def warc_record(page: Page) -> bytes:
    """Return the record of a page."""
    body = b"" if page.revisit else page.body
    block = (
        f"HTTP/1.1 {page.status}\r\nContent-Type: {page.content_type}\r\n"
        f"Content-Length: {len(page.body)}\r\n"
        + "".join(f"{line}\r\n" for line in page.headers)
        + "\r\n"
    ).encode() + body
    head = (
        f"WARC/1.1\r\nWARC-Type: {'revisit' if page.revisit else 'response'}\r\n"
        f"WARC-Record-ID: <urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, page.url + page.date)}>\r\n"
        f"WARC-Target-URI: {page.url}\r\nWARC-Date: {page.date}\r\n"
        f"WARC-Payload-Digest: {page.digest}\r\n"
        + (f"WARC-IP-Address: {page.ip_address}\r\n" if page.ip_address else "")
        + (f"WARC-Profile: {PROFILE}\r\n" if page.revisit else "")
        + "Content-Type: application/http; msgtype=response\r\n"
        f"Content-Length: {len(block)}\r\n\r\n"
    )
    return head.encode() + block + b"\r\n\r\n"


def sha256(page: Page) -> str:
    """Return the SHA-256 of a page's body in the form used in records."""
    return f"sha256:{hashlib.sha256(page.body).hexdigest()}"


def write_sha256_warc(path: Path, pages: Iterable[Page]) -> Path:
    """Write a WARC with SHA-256 digests, and return its path."""
    every = list(pages)
    data = write_warc(path, every, compressed=False).read_bytes()
    for page in every:
        data = data.replace(page.digest.encode(), sha256(page).encode())
    path.write_bytes(data)
    return path
