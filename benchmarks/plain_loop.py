"""A straightforward import loop with warcio and BeautifulSoup, into the same index."""

from collections.abc import Iterator, Sequence
from multiprocessing import get_context
from pathlib import Path

from bs4 import BeautifulSoup
from warcio.archiveiterator import ArchiveIterator

from nwx.engine.base import open_engine
from nwx.keys import document_id, document_key
from nwx.model import Batch, Capture, Dates, Document, Extract, Link
from nwx.settings import Settings
from nwx.values.digests import normal_digest
from nwx.values.urlkeys import urlkey
from nwx.values.urls import url_parts

LOOP_BATCH = 500


def run_loop(archive: str, warcs: Sequence[str]) -> int:
    """Import files in one process; return the number of captures."""
    return _write(archive, map(_parse_file, warcs))


def run_loops(archive: str, warcs: Sequence[str], jobs: int) -> int:
    """Import files, parsed by `jobs` processes; return the number of captures."""
    with get_context("spawn").Pool(jobs) as pool:
        return _write(archive, pool.imap_unordered(_parse_file, warcs))


def _write(archive: str, files: Iterator[list[Document]]) -> int:
    count = 0
    with open_engine(Settings(archive)) as engine:
        engine.create()
        for documents in files:
            for start in range(0, len(documents), LOOP_BATCH):
                engine.write(_batch(documents[start : start + LOOP_BATCH]))
            count += len(documents)
        engine.refresh()
    return count


def _parse_file(warc: str) -> list[Document]:
    documents = []
    with Path(warc).open("rb") as file:
        for record in ArchiveIterator(file):
            if record.rec_type == "response":
                offset = file.tell()
                documents.append(_parsed(record, Path(warc).name, len(documents), offset))
    return documents


def _parsed(record: object, name: str, number: int, offset: int) -> Document:
    headers, http = record.rec_headers, record.http_headers  # type: ignore[attr-defined]
    url = headers.get_header("WARC-Target-URI")
    served = http.get_header("Content-Type") or ""
    body = record.content_stream().read()  # type: ignore[attr-defined]
    digest = normal_digest(headers.get_header("WARC-Payload-Digest"))
    place, date = url_parts(url), headers.get_header("WARC-Date")
    capture = Capture(
        collection="default",
        source_file=name,
        source_file_offset=number,
        record_length=offset,
        record_type="response",
        url=url,
        urlkey=urlkey(url),
        host=place.host,
        domain=place.domain,
        public_suffix=place.public_suffix,
        timestamp="".join(filter(str.isdigit, date))[:14],
        digest=digest,
        document_id=document_id(document_key(url, digest)),
        status_code=int(http.get_statuscode()),
        content_type=served.partition(";")[0],
        content_type_norm="html" if "html" in served else "image",
        content_length=len(body),
    )
    return Document(capture, _soup(body) if "html" in served else Extract())


def _soup(body: bytes) -> Extract:
    soup = BeautifulSoup(body, "lxml")
    links = tuple(Link(str(a["href"]), a.get_text()) for a in soup.find_all("a", href=True))
    headings = tuple(h.get_text() for h in soup.find_all(["h1", "h2", "h3", "h4", "h5", "h6"]))
    title = soup.title.get_text() if soup.title else ""
    for hidden in soup(["script", "style"]):
        hidden.decompose()
    return Extract(title, soup.get_text("\n", strip=True), headings, links=links)


def _batch(documents: Sequence[Document]) -> Batch:
    dates = tuple(
        Dates(document_key(c.url, c.digest), ((c.timestamp, c.collection),))
        for c in (document.capture for document in documents)
    )
    return Batch(tuple(documents), tuple(d.capture for d in documents), dates)
