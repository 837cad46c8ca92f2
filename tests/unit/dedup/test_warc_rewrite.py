"""WARC files rewritten with revisit records."""

import gzip
import hashlib
import re
from collections.abc import Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO

import pytest
import zstandard
from warcio.statusandheaders import StatusAndHeaders
from warcio.warcwriter import WARCWriter

from nwx.dedup import warc_rewrite
from nwx.dedup.revisit_records import Original, digested_captures, revisit_record
from nwx.dedup.warc_rewrite import rewrite
from nwx.errors import SourceError
from nwx.model import Capture
from nwx.warc.reader import ArchiveReader, CaptureRecord
from nwx.warc.sources import ArchiveSource, expand
from tests.warcs import Page, warc_record

PAGE = b"".join(hashlib.sha256(bytes([n])).hexdigest().encode() for n in range(100))


def write_warc(path: Path, pages: list[tuple[str, str, bytes]], *, chunked: bool = False) -> None:
    with path.open("wb") as out:
        writer = WARCWriter(out, gzip=path.suffix == ".gz")
        for url, date, body in pages:
            fields = [("Content-Type", "text/html")]
            if chunked:
                body = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
                fields.append(("Transfer-Encoding", "chunked"))
            writer.write_record(
                writer.create_warc_record(
                    url,
                    "response",
                    payload=BytesIO(body),
                    length=len(body),
                    http_headers=StatusAndHeaders("200 OK", fields, "HTTP/1.1"),
                    warc_headers_dict={"WARC-Date": date},
                )
            )


def sources(*paths: Path) -> list[ArchiveSource]:
    return [found for found in expand(map(str, paths)) if isinstance(found, ArchiveSource)]


def captures(path: Path) -> list[Capture]:
    (source,) = sources(path)
    found = list(ArchiveReader(source, "c"))
    assert all(isinstance(one, CaptureRecord) for one in found), found
    return [one.capture for one in found if isinstance(one, CaptureRecord)]


def after_first_date(url: str, digest: str, timestamp: str) -> bool:
    return not timestamp.startswith("2020")


PAGES = [
    ("http://a.example/", "2020-01-01T00:00:00Z", PAGE),
    ("http://a.example/", "2021-01-01T00:00:00Z", PAGE),
    ("http://b.example/", "2021-01-02T00:00:00Z", PAGE),
    ("http://c.example/", "2020-05-01T00:00:00Z", b"another page"),
]


@pytest.mark.parametrize("name", ["crawl.warc.gz", "crawl.warc"])
def test_duplicates_give_way_to_revisits_of_their_originals(name: str, tmp_path: Path) -> None:
    old = tmp_path / name
    write_warc(old, PAGES)
    before = hashlib.sha256(old.read_bytes()).digest()
    (done,) = rewrite(sources(old), after_first_date, tmp_path / "new")
    assert hashlib.sha256(old.read_bytes()).digest() == before
    new = tmp_path / "new" / name
    assert (done.revisits, done.left, done.output) == (2, (), str(new))
    assert done.bytes_after == new.stat().st_size < done.bytes_before == old.stat().st_size
    was, now = captures(old), captures(new)
    assert [c.record_type for c in now] == ["response", "revisit", "revisit", "response"]
    assert [(c.url, c.timestamp, c.digest) for c in now] == [
        (c.url, c.timestamp, c.digest) for c in was
    ]
    assert {(c.refers_to_url, c.refers_to_timestamp) for c in now[1:3]} == {
        ("http://a.example/", "20200101000000")
    }


@pytest.mark.parametrize("met", [True, False])
def test_payloads_get_further_digests_only_where_they_can_matter(
    met: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = list[bool]()

    def digested(source: ArchiveSource, *, further: bool) -> Iterator[tuple[Capture, Any]]:
        read.append(further)
        return digested_captures(source, further=further)

    monkeypatch.setattr(warc_rewrite, "digested_captures", digested)
    write_warc(tmp_path / "crawl.warc", PAGES)
    found = sources(tmp_path / "crawl.warc")
    (done,) = rewrite(found, after_first_date, tmp_path / "new", never_met=lambda: not met)
    assert (done.revisits, read) == (2, [False] if met else [False, True])


def test_what_is_no_duplicate_stays_byte_for_byte(tmp_path: Path) -> None:
    old = tmp_path / "crawl.warc.gz"
    write_warc(old, PAGES)
    list(rewrite(sources(old), after_first_date, tmp_path / "new"))
    new = tmp_path / "new" / "crawl.warc.gz"
    for was, now in zip(captures(old), captures(new), strict=True):
        if now.record_type == "response":
            assert stored(old, was) == stored(new, now)


def stored(path: Path, capture: Capture) -> bytes:
    assert capture.record_length
    start = capture.source_file_offset
    return path.read_bytes()[start : start + capture.record_length]


def test_an_original_may_lie_in_another_file_and_be_chunked(tmp_path: Path) -> None:
    first, second = tmp_path / "1.warc.gz", tmp_path / "2.warc.gz"
    write_warc(first, PAGES[:1])
    write_warc(second, PAGES[1:2], chunked=True)
    digest = captures(first)[0].digest
    by_payload = [c.digest for c in captures(second)]
    done = list(rewrite(sources(first, second), after_first_date, tmp_path / "new"))
    if by_payload == [digest]:
        assert [d.revisits for d in done] == [0, 1]
    else:  # the digest includes the chunks, as some writers do: no original
        assert [d.revisits for d in done] == [0, 0]
        assert "no original" in done[1].left[0].message


def test_a_duplicate_without_an_original_stays(tmp_path: Path) -> None:
    old = tmp_path / "crawl.warc.gz"
    write_warc(old, PAGES[1:2])
    (done,) = rewrite(sources(old), after_first_date, tmp_path / "new")
    assert done.revisits == 0
    assert [(e.kind, e.offset) for e in done.left] == [("revisit", 0)]
    assert Path(done.output).read_bytes() == old.read_bytes()


def test_a_lying_digest_replaces_nothing(tmp_path: Path) -> None:
    old = tmp_path / "crawl.warc"
    write_warc(old, [PAGES[0], ("http://a.example/", "2021-01-01T00:00:00Z", PAGE[:-5] + b"XXXXX")])
    digests = [c.digest.encode() for c in captures(old)]
    old.write_bytes(old.read_bytes().replace(digests[1], digests[0]))
    (done,) = rewrite(sources(old), after_first_date, tmp_path / "new")
    assert done.revisits == 0
    assert "not that of its original" in done.left[0].message


def test_records_that_share_a_gzip_member_stay(tmp_path: Path) -> None:
    plain, one_member = tmp_path / "plain.warc", tmp_path / "one.warc.gz"
    write_warc(plain, PAGES)
    one_member.write_bytes(gzip.compress(plain.read_bytes(), mtime=0))
    (done,) = rewrite(sources(one_member), after_first_date, tmp_path / "new")
    assert done.revisits == 0
    assert {e.message for e in done.left} == {
        "the record is not a separate gzip member; recompress the file first"
    }


def test_an_old_version_of_warc_is_read_and_the_new_records_are_of_1_1(tmp_path: Path) -> None:
    old = tmp_path / "crawl.warc"
    write_warc(old, PAGES)
    assert old.read_bytes().startswith(b"WARC/1.0")
    (done,) = rewrite(sources(old), after_first_date, tmp_path / "new")
    lines = Path(done.output).read_bytes().splitlines()
    assert [line for line in lines if line.startswith(b"WARC/")] == [
        b"WARC/1.0",
        b"WARC/1.1",
        b"WARC/1.1",
        b"WARC/1.0",
    ]
    assert lines.count(b"WARC-Refers-To-Date: 2020-01-01T00:00:00Z") == 2


def write_arc(path: Path, pages: list[tuple[str, str, bytes]]) -> None:
    about = b"1 0 test\nURL IP-address Archive-date Content-type Archive-length\n"
    records = [("filedesc://test.arc", "20200101000000", "text/plain", about)]
    for url, date, body in pages:
        block = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n" + body
        records.append((url, "".join(filter(str.isdigit, date)), "text/html", block))
    path.write_bytes(
        b"".join(
            f"{url} 192.0.2.1 {date} {kind} {len(block)}\n".encode() + block + b"\n"
            for url, date, kind, block in records
        )
    )


def test_an_original_may_lie_in_an_arc_which_stays_as_it_is(tmp_path: Path) -> None:
    arc, warc = tmp_path / "crawl.arc", tmp_path / "crawl.warc.gz"
    write_arc(arc, PAGES[:2])
    write_warc(warc, PAGES[1:])
    first, second = rewrite(sources(arc, warc), after_first_date, tmp_path / "new")
    assert Path(first.output).read_bytes() == arc.read_bytes()
    assert [error.message for error in first.left] == [
        "only WARC records can become revisits, this is an arc record"
    ]
    assert (second.revisits, second.left) == (2, ())
    assert captures(Path(second.output))[0].refers_to_timestamp == "20200101000000"


def test_records_in_zstd_stay_and_are_told(tmp_path: Path) -> None:
    parts = []
    for page in PAGES:
        write_warc(tmp_path / "page.warc", [page])
        parts.append(zstandard.compress((tmp_path / "page.warc").read_bytes()))
    old = tmp_path / "crawl.warc.zst"
    old.write_bytes(b"".join(parts))
    (done,) = rewrite(sources(old), after_first_date, tmp_path / "new")
    assert {error.message for error in done.left} == {
        "the record is compressed with zstd; decompress the file first"
    }
    assert Path(done.output).read_bytes() == old.read_bytes()


def test_listed_revisits_are_met_and_stay(tmp_path: Path) -> None:
    old = tmp_path / "crawl.warc.gz"
    write_warc(old, PAGES)
    list(rewrite(sources(old), after_first_date, tmp_path / "new"))
    again = tmp_path / "new" / "crawl.warc.gz"
    (done,) = rewrite(sources(again), after_first_date, tmp_path / "newer")
    assert (done.revisits, done.before, done.left) == (0, 2, ())
    assert Path(done.output).read_bytes() == again.read_bytes()


@pytest.mark.parametrize("wrong", ["nothing", "another capture", "another payload"])
def test_a_file_that_would_not_replay_the_same_is_not_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, wrong: str
) -> None:
    old = tmp_path / "crawl.warc.gz"
    write_warc(old, PAGES)

    def lying(handle: BinaryIO, digest: str, original: Original) -> bytes:
        if wrong == "nothing":
            return b""
        if wrong == "another payload":
            return revisit_record(handle, digest, replace(original, timestamp="20200501000000"))
        return revisit_record(BytesIO(old.read_bytes()), digest, original)

    monkeypatch.setattr("nwx.dedup.warc_rewrite.revisit_record", lying)
    with pytest.raises(SourceError, match="is not written, as it would not be what"):
        list(rewrite(sources(old), after_first_date, tmp_path / "new"))
    assert list((tmp_path / "new").iterdir()) == []


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    old = tmp_path / "crawl.warc.gz"
    write_warc(old, PAGES)
    with pytest.raises(SourceError, match="already exists"):
        list(rewrite(sources(old), after_first_date, tmp_path))
    assert len(captures(old)) == len(PAGES)


def test_a_duplicate_with_an_impossible_length_is_left(tmp_path: Path) -> None:
    records = [
        warc_record(Page("http://a.example/", f"20{year}0101000000", PAGE)) for year in (20, 21)
    ]
    told = re.search(rb"\r\nContent-Length: \d+\r\n", records[1])
    assert told is not None
    records[1] = records[1].replace(told[0], b"\r\nContent-Length: 99999999999999999999\r\n", 1)
    path = tmp_path / "crawl.warc.gz"
    path.write_bytes(b"".join(map(gzip.compress, records)))
    (report,) = rewrite(sources(path), after_first_date, tmp_path / "new")
    assert (report.revisits, len(report.left)) == (0, 1)
    assert (tmp_path / "new" / path.name).read_bytes() == path.read_bytes()
