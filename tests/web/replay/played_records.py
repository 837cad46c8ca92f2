"""Records for playback, and how tests fetch played captures."""

import gzip
import urllib.error
import urllib.request
from pathlib import Path

from nwx.engine.base import Engine
from nwx.extract import extract
from nwx.keys import document_key, makes_document
from nwx.model import Batch, Dates, Document, SourceFile
from nwx.warc.reader import ArchiveReader, CaptureRecord
from nwx.warc.sources import ArchiveSource

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


ORIGINAL = "http://www.a.example/page?x=1&y=2"


ELSEWHERE = "http://b.example/copy"


PAGE = b"<html><title>Old page</title><h1>Played from the archive</h1></html>"


DIGEST = "sha1:" + "A" * 32


REVISIT_PROFILE = "http://netpreserve.org/warc/1.1/revisit/identical-payload-digest"


def warc(
    kind: str,
    url: str,
    date: str,
    body: bytes,
    *,
    status: bytes = b"200 OK",
    http: bytes = b"Content-Type: text/html; charset=utf-8",
    **fields: str,
) -> bytes:
    """Return a gzip member with a record of an HTTP response."""
    block = b"HTTP/1.1 " + status + b"\r\n" + http + b"\r\n\r\n" + body
    head = {
        "WARC-Type": kind,
        "WARC-Target-URI": url,
        "WARC-Date": date,
        "WARC-Record-ID": f"<urn:x:{date}:{url}>",
        "WARC-Payload-Digest": DIGEST,
        "Content-Type": f"application/http; msgtype={kind}",
        "Content-Length": str(len(block)),
        **{name.replace("_", "-"): value for name, value in fields.items()},
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    return gzip.compress(f"WARC/1.1\r\n{lines}\r\n".encode() + block + b"\r\n\r\n", mtime=0)


RECORDS = (
    warc("response", ORIGINAL, "2014-01-26T20:06:24Z", PAGE),
    warc("revisit", ORIGINAL, "2015-01-26T20:06:24Z", b"", WARC_Profile=REVISIT_PROFILE),
    warc(
        "revisit",
        ELSEWHERE,
        "2016-01-26T20:06:24Z",
        b"",
        WARC_Profile=REVISIT_PROFILE,
        WARC_Refers_To_Target_URI=ORIGINAL,
        WARC_Refers_To_Date="2014-01-26T20:06:24Z",
    ),
)


def import_file(engine: Engine, path: Path, collection: str = "default") -> None:
    """Import the captures of an archive file into an engine."""
    captures, documents, dates = [], [], []
    for found in ArchiveReader(ArchiveSource(path.name, str(path), None), collection):
        assert isinstance(found, CaptureRecord), found
        capture = found.capture
        captures.append(capture)
        dates.append(
            Dates(document_key(capture.url, capture.digest), ((capture.timestamp, collection),))
        )
        if makes_document(capture):
            payload = found.payload()
            text = extract(
                payload.data, url=capture.url, content_type_norm=capture.content_type_norm
            )
            documents.append(Document(capture, text))
    file = SourceFile(collection, path.name, str(path), path.stat().st_size, "", finished=True)
    engine.write(Batch(tuple(documents), tuple(captures), tuple(dates), (file,)))
    engine.refresh()


def fetch(address: str, language: str = "en") -> tuple[int, str]:
    """Return status and text of a request with a preferred language."""
    asked = urllib.request.Request(address, headers={"Accept-Language": language})
    try:
        with OPENER.open(asked, timeout=60) as answer:
            return answer.status, answer.read().decode("utf-8", "replace")
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode("utf-8", "replace")
