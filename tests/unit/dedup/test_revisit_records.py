"""Stored records converted to revisit records."""

import gzip
import os
from io import BytesIO
from pathlib import Path

import pytest
from warcio.archiveiterator import ArchiveIterator
from warcio.recordloader import ArcWarcRecord
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from nwx.dedup.revisit_records import (
    JOURNAL,
    Original,
    Rewritten,
    location_of,
    prove,
    replayed_captures,
    revisit_record,
    rewrite_journal,
)
from nwx.dedup.warc_rewrite import rewrite
from nwx.errors import FormatError, SourceError
from nwx.warc.sources import ArchiveSource, expand
from tests.warcs import Page, html, write_warc

ORIGINAL = Original("http://example.org/first", "20200102030405", "<urn:uuid:1>")
DIGEST = "sha1:HJG5ZWG3MQQKHIN43BXJY3FUWP7WTU43"


def stored(kind: str = "response", *, compressed: bool = True) -> bytes:
    out, payload = BytesIO(), b"<p>hello</p>" * 100
    writer = WARCWriter(out, gzip=compressed, warc_version="WARC/1.0")
    head = StatusAndHeaders("200 OK", [("Content-Type", "text/html"), ("X-A", "b")], "HTTP/1.1")
    writer.write_record(
        writer.create_warc_record(
            "http://example.org/second",
            kind,
            payload=BytesIO(payload),
            length=len(payload),
            http_headers=head if kind == "response" else None,
            warc_headers_dict={
                "WARC-Date": "2021-02-03T04:05:06Z",
                "WARC-Record-ID": "<urn:uuid:2>",
                "WARC-IP-Address": "192.0.2.7",
                "WARC-Truncated": "length",
            },
        )
    )
    return out.getvalue()


def read(data: bytes) -> ArcWarcRecord:
    records = list(ArchiveIterator(BytesIO(data)))
    assert len(records) == 1
    return records[0]


@pytest.mark.parametrize("compressed", [True, False])
def test_a_response_becomes_a_revisit_stored_the_same_way(compressed: bool) -> None:
    made = revisit_record(BytesIO(stored(compressed=compressed)), DIGEST, ORIGINAL)
    assert made.startswith(b"\x1f\x8b") is compressed
    plain = gzip.decompress(made) if compressed else made
    assert plain.startswith(b"WARC/1.1\r\n")
    record = read(made)
    fields = {name.lower(): value for name, value in record.rec_headers.headers}
    assert fields["warc-type"] == "revisit"
    assert fields["warc-target-uri"] == "http://example.org/second"
    assert fields["warc-date"] == "2021-02-03T04:05:06Z"
    assert fields["warc-record-id"] == "<urn:uuid:2>"
    assert fields["warc-ip-address"] == "192.0.2.7"
    assert fields["warc-refers-to"] == "<urn:uuid:1>"
    assert fields["warc-refers-to-target-uri"] == "http://example.org/first"
    assert fields["warc-refers-to-date"] == "2020-01-02T03:04:05Z"
    assert fields["warc-payload-digest"] == DIGEST
    assert fields["warc-profile"].endswith("/warc/1.1/revisit/identical-payload-digest")
    assert "warc-truncated" not in fields
    assert record.http_headers.get_header("X-A") == "b"
    assert record.content_stream().read() == b""


@pytest.mark.parametrize("compressed", [True, False])
def test_the_head_of_a_response_is_kept_byte_for_byte(compressed: bool) -> None:
    head = (
        b"HTTP/1.1 302 Gefunden \xfc\r\nlocation:http://example.org/caf\xc3\xa9?a=b c\r\n"
        b'Content-Disposition: attachment; filename="\xfc.html"\r\nX-Folded: a\r\n b\r\n\r\n'
    )
    fields = (
        b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://example.org/second\r\n"
        b"WARC-Date: 2021-02-03T04:05:06Z\r\nContent-Type: application/http; msgtype=response\r\n"
    )
    record = b"%sContent-Length: %d\r\n\r\n%sbody\r\n\r\n" % (fields, len(head) + 4, head)
    data = gzip.compress(record) if compressed else record
    made = revisit_record(BytesIO(data + data), DIGEST, ORIGINAL)
    plain = gzip.decompress(made) if compressed else made
    assert plain.partition(b"\r\n\r\n")[2] == head + b"\r\n\r\n"
    assert b"Content-Length: %d\r\n" % len(head) in plain


def test_a_resource_becomes_a_revisit_without_a_head() -> None:
    record = read(revisit_record(BytesIO(stored("resource")), DIGEST, ORIGINAL))
    assert record.rec_type == "revisit"
    assert record.http_headers is None


@pytest.mark.parametrize(
    "data", [stored("metadata"), b"no record", b"", gzip.compress(b"x", mtime=0)]
)
def test_nothing_else_does(data: bytes) -> None:
    with pytest.raises(FormatError):
        revisit_record(BytesIO(data), DIGEST, ORIGINAL)


FIRST = Page("http://a.example/", "20200101000000", html("Home", "text"))
SECOND = Page("http://a.example/", "20210101000000", html("Home", "text"))
OTHER = Page("http://a.example/", "20210101000000", html("Home", "other"))


def source(path: Path, *pages: Page) -> ArchiveSource:
    written = write_warc(path, list(pages))
    return ArchiveSource(written.name, str(written), written.stat().st_size)


def test_a_copy_is_proved(tmp_path: Path) -> None:
    old = source(tmp_path / "a.warc.gz", FIRST, SECOND)
    (tmp_path / "b.warc.gz").write_bytes((tmp_path / "a.warc.gz").read_bytes())
    prove(old, tmp_path / "b.warc.gz", lambda *_: None)


@pytest.mark.parametrize("pages", [(FIRST,), (FIRST, OTHER), (SECOND, FIRST)])
def test_other_captures_are_no_proof(tmp_path: Path, pages: tuple[Page, ...]) -> None:
    old = source(tmp_path / "a.warc.gz", FIRST, SECOND)
    new = source(tmp_path / "b.warc.gz", *pages)
    with pytest.raises(FormatError, match="the capture at"):
        prove(old, Path(new.path), lambda *_: None)


def test_captures_are_located_in_their_file(tmp_path: Path) -> None:
    old = source(tmp_path / "a.warc.gz", FIRST, SECOND)
    first, second = replayed_captures(old)
    place = location_of(old.path, second)
    assert (place.path, place.url, place.timestamp) == (old.path, SECOND.url, "20210101000000")
    assert place.offset > first.source_file_offset


URL = "http://www.example.org/"
PAGES = [Page(URL, f"20{year}0101000000", html("A", "text " * 100)) for year in range(10, 14)]


@pytest.fixture
def sources(tmp_path: Path) -> list[ArchiveSource]:
    paths = [write_warc(tmp_path / f"{n}.warc.gz", [page]) for n, page in enumerate(PAGES)]
    return [one for one in expand(map(str, paths)) if isinstance(one, ArchiveSource)]


def covers(url: str, digest: str, timestamp: str) -> bool:
    del url, digest
    return timestamp != PAGES[0].timestamp


def rewritten(sources: list[ArchiveSource], folder: Path) -> list[Rewritten]:
    return list(rewrite(sources, covers, folder, lists=["list"]))


def test_a_run_that_was_killed_goes_on(tmp_path: Path, sources: list[ArchiveSource]) -> None:
    calm = {Path(one.output).name: one.bytes_after for one in rewritten(sources, tmp_path / "calm")}
    folder = tmp_path / "new"
    killed = rewrite(sources, covers, folder, lists=["list"])
    next(killed), next(killed)
    killed.close()  # type: ignore[attr-defined]
    (folder / "2.warc.gz").write_bytes(b"put in its place, but not noted any more")
    with (folder / JOURNAL).open("ab") as journal:
        journal.write(b'{"source_file": "2.war')
    before = {path.name: path.stat().st_ino for path in folder.glob("[01].warc.gz")}
    done = rewritten(sources, folder)
    assert {Path(one.output).name: one.bytes_after for one in done} == calm
    assert {path.name: path.stat().st_ino for path in folder.glob("[01].warc.gz")} == before
    assert {path.name: path.stat().st_size for path in folder.glob("*.gz")} == calm


def test_another_run_is_refused_in_the_folder(tmp_path: Path, sources: list[ArchiveSource]) -> None:
    folder = tmp_path / "new"
    killed = rewrite(sources, covers, folder, lists=["list"])
    next(killed)
    with pytest.raises(SourceError, match="another process"):
        rewritten(sources, folder)
    killed.close()  # type: ignore[attr-defined]
    with pytest.raises(SourceError, match="other files or lists"):
        list(rewrite(sources, covers, folder, lists=["other"]))
    assert len(rewritten(sources, folder)) == len(sources)
    with pytest.raises(SourceError, match="already exists"):
        list(rewrite(sources, covers, folder, lists=["other"]))


def test_a_finished_run_is_recognised(tmp_path: Path, sources: list[ArchiveSource]) -> None:
    folder = tmp_path / "new"
    done = rewritten(sources, folder)
    before = {path.name: path.stat().st_ino for path in folder.glob("*.gz")}
    assert rewritten(sources, folder) == done
    assert {path.name: path.stat().st_ino for path in folder.glob("*.gz")} == before
    (folder / "1.warc.gz").unlink()
    assert rewritten(sources, folder) == done


def test_a_killed_run_is_not_taken_for_finished(
    tmp_path: Path, sources: list[ArchiveSource]
) -> None:
    folder = tmp_path / "new"
    list(rewrite(sources[:1], covers, folder, lists=["list"]))
    killed = rewrite(sources[1:], covers, folder, lists=["list"])
    next(killed)
    killed.close()  # type: ignore[attr-defined]
    with pytest.raises(SourceError, match="other files or lists"):
        rewritten(sources[2:], folder)


def test_file_names_need_be_no_utf8(tmp_path: Path) -> None:
    name = os.fsdecode(b"crawl-\xff.warc.gz")
    write_warc(tmp_path / name, PAGES[:2])
    sources = [one for one in expand([str(tmp_path)]) if isinstance(one, ArchiveSource)]
    (report,) = rewritten(sources, tmp_path / "new")
    assert (report.revisits, report.left) == (1, ())
    assert rewritten(sources, tmp_path / "new") == [report]


def test_what_is_there_already_is_not_written_over(
    tmp_path: Path, sources: list[ArchiveSource]
) -> None:
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / "1.warc.gz").write_bytes(b"precious")
    for _ in range(2):
        with pytest.raises(SourceError, match="already exists"):
            rewritten(sources, tmp_path / "new")
    assert (tmp_path / "new" / "1.warc.gz").read_bytes() == b"precious"


def test_a_file_that_was_changed_is_made_anew(tmp_path: Path) -> None:
    report = Rewritten("a", str(tmp_path / "a"), 0, 0, 9, 4)
    with rewrite_journal(tmp_path, []) as journal:
        journal.note(report)
    (tmp_path / "a").write_bytes(b"1234")
    (tmp_path / JOURNAL).write_bytes(b"[]\n")
    with rewrite_journal(tmp_path, []) as journal:
        assert journal.report_of(tmp_path / "a") is None
