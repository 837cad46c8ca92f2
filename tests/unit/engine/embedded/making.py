"""Small documents for the tests of the embedded engine."""

from nwx.keys import document_id, document_key
from nwx.model import Batch, Capture, Dates, Document, Extract, SourceFile


def page(
    number: int,
    content: str = "",
    timestamp: str = "20100101000000",
    headings: tuple[str, ...] = (),
    **extract: str,
) -> Document:
    """Return the document with this number, with a unique URL and digest."""
    url, digest = f"http://example.org/{number}", f"sha1:{number:032d}"
    capture = Capture(
        collection="web",
        source_file="a.warc",
        source_file_offset=number * 1000,
        record_length=1000,
        record_type="response",
        url=url,
        urlkey=f"org,example)/{number}",
        host="example.org",
        domain="example.org",
        public_suffix="org",
        timestamp=timestamp,
        digest=digest,
        document_id=document_id(document_key(url, digest)),
        status_code=200,
        content_type="text/html",
        content_type_norm="html",
        content_length=len(content),
    )
    return Document(
        capture, Extract(content=content or f"page {number}", headings=headings, **extract)
    )


def batch(*documents: Document, done_to: int = 0) -> Batch:
    """Return the batch that an import writes for documents, with the ledger up to a position."""
    files = (SourceFile("web", "a.warc", "a.warc", None, "", done_to),) if done_to else ()
    return Batch(
        documents=documents,
        captures=tuple(one.capture for one in documents),
        dates=tuple(
            Dates(
                document_key(one.capture.url, one.capture.digest),
                ((one.capture.timestamp, one.capture.collection),),
            )
            for one in documents
        ),
        files=files,
    )
