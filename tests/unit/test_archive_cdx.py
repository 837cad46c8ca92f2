"""CDX lines of records, equal to those of pywb's two indexers."""

import gzip
import io
from pathlib import Path

import pytest

from nwx.archive_cdx import IndexLineForm, IndexOptions, index_beside, index_line, index_together
from nwx.bulk import sorted_runs
from nwx.errors import UrlError
from nwx.warc.members import open_members
from nwx.warc.record import Record
from nwx.warc.scanner import Scanner
from nwx.warc.sources import ArchiveSource, expand
from tests.warcs import Page, html, many_pages, write_warc

PAGE = Page("http://www.example.org/a b", "20200102030405", html("Home", "text"))


def record_of(tmp_path: Path) -> Record:
    path = write_warc(tmp_path / "a.warc.gz", [PAGE])
    with path.open("rb") as handle:
        for record in Scanner(open_members(handle), 1 << 16, lambda record: None):
            if record.kind == "response":
                record.http_head()
                return record
    raise AssertionError


def test_the_forms_of_a_line(tmp_path: Path) -> None:
    record = record_of(tmp_path)
    nine, eleven, cdxj, wget = (index_line(record, "a.warc.gz", form) for form in IndexLineForm)
    assert nine.split(" ")[0] == cdxj.split(" ")[0] == "org,example)/a%20b"
    assert (nine.count(" "), eleven.count(" ")) == (8, 10)
    assert eleven.split(" ")[1] == "20200102030405"
    assert eleven.split(" ")[-3] == str(record.length)
    assert '"mime": "text/html", "status": "200"' in cdxj
    assert nine.endswith(f" {record.offset} a.warc.gz")
    url, date, again, mime, status, digest, redirect, flags, offset, file, record_id = wget.split()
    assert (url, date, mime, status) == (again, "20200102030405", "text/html", "200")
    assert f"sha1:{digest}" == PAGE.digest
    assert (redirect, flags, offset, file) == ("-", "-", str(record.offset), "a.warc.gz")
    assert record_id.startswith("<urn:uuid:")


def test_wget_is_told_of_responses_with_an_id_and_a_sha1_digest(tmp_path: Path) -> None:
    revisit = Page(PAGE.url, "20210102030405", PAGE.body, revisit=True)
    path = write_warc(tmp_path / "a.warc", [PAGE, revisit], compressed=False)
    assert len(_together(IndexOptions(IndexLineForm.WGET), path)) == 2
    content = path.read_bytes()
    for name in (b"WARC-Record-ID:", b"WARC-Payload-Digest: sha1:"):
        (tmp_path / "b.warc").write_bytes(content.replace(name, b"X-" + name[2:]))
        lines = _together(IndexOptions(IndexLineForm.WGET), tmp_path / "b.warc")
        assert lines[0] == b" CDX a b a m s k r M V g u"


@pytest.mark.parametrize("kind", ["request", "warcinfo", "unknown"])
def test_records_that_are_no_captures_are_in_no_index(tmp_path: Path, kind: str) -> None:
    record = record_of(tmp_path)
    record.kind = kind
    assert index_line(record, "a.warc.gz", IndexLineForm.CDX11) == ""


def test_a_record_without_a_url_cannot_be_indexed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = record_of(tmp_path)
    monkeypatch.setattr(type(record.fields), "get", lambda *_: b"")
    with pytest.raises(UrlError):
        index_line(record, "a.warc.gz", IndexLineForm.CDX11)


def _record(kind: str, block: bytes, *more: bytes) -> bytes:
    head = (
        b"WARC/1.0",
        b"WARC-Type: " + kind.encode(),
        b"WARC-Date: 2020-01-02T03:04:05Z",
        b"WARC-Target-URI: http://example.org/form",
        b"Content-Type: application/http; msgtype=" + kind.encode(),
        b"Content-Length: %d" % len(block),
        *more,
    )
    return gzip.compress(b"\r\n".join(head) + b"\r\n\r\n" + block + b"\r\n\r\n", mtime=0)


WITH_LENGTH = b"Content-Length: 3\r\n\r\na=B"
CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n2\r\na=\r\n1\r\nB\r\n0\r\n\r\n"
ZIPPED = b"Content-Encoding: gzip\r\n\r\n" + gzip.compress(b"a=B", mtime=0)


def _posted(tmp_path: Path, rest: bytes = WITH_LENGTH) -> Path:
    response = b"HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\n\r\nyes"
    request = b"POST /form HTTP/1.1\r\nContent-Type: application/x-www-form-urlencoded\r\n" + rest
    path = tmp_path / "post.warc.gz"
    path.write_bytes(
        _record("response", response, b"WARC-Record-ID: <urn:uuid:1>")
        + _record("request", request, b"WARC-Concurrent-To: <urn:uuid:1>")
    )
    return path


def _sources(*paths: Path) -> list[ArchiveSource]:
    return [each for each in expand(map(str, paths)) if isinstance(each, ArchiveSource)]


def _together(options: IndexOptions, *paths: Path, jobs: int = 1) -> list[bytes]:
    output = io.BytesIO()
    report = index_together(_sources(*paths), output, options, jobs=jobs)
    assert not report.errors
    return output.getvalue().splitlines()


@pytest.mark.parametrize("rest", [WITH_LENGTH, CHUNKED, ZIPPED], ids=["plain", "chunked", "gzip"])
def test_posts_are_told_apart_when_asked_for(tmp_path: Path, rest: bytes) -> None:
    path = _posted(tmp_path, rest)
    plain = _together(IndexOptions(IndexLineForm.CDXJ), path)
    assert plain[0].startswith(b"org,example)/form 20200102030405 {")
    assert b"method" not in plain[0]
    (line,) = _together(IndexOptions(IndexLineForm.CDXJ, post_append=True), path)
    assert line.startswith(b"org,example)/form?__wb_method=post&a=b 20200102030405 {")
    assert line.endswith(b'"requestBody": "a=B", "method": "POST"}')


@pytest.mark.parametrize("in_order", [True, False])
def test_many_files_many_processes_same_lines(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, in_order: bool
) -> None:
    monkeypatch.setattr(sorted_runs, "MOST_RUNS", 2)
    paths = [
        write_warc(tmp_path / f"{number}.warc.gz", many_pages(5, start=number * 3))
        for number in range(5)
    ]
    options = IndexOptions(in_order=in_order)
    alone = _together(options, *paths)
    assert _together(options, *paths, jobs=2) == alone
    each = [line for path in paths for line in _together(options, path)[1:]]
    assert alone[1:] == (sorted(each) if in_order else each)
    assert len(alone) == 1 + sum(len(many_pages(5, start=number * 3)) for number in range(5))


def test_an_index_beside_each_file(tmp_path: Path) -> None:
    paths = [write_warc(tmp_path / f"{name}.warc.gz", many_pages(3)) for name in "ab"]
    report = index_beside(_sources(*paths), IndexOptions(IndexLineForm.CDX9))
    assert report.lines == 2 * len(many_pages(3))
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "a.warc.gz",
        "a.warc.gz.cdx",
        "b.warc.gz",
        "b.warc.gz.cdx",
    ]
    lines = (tmp_path / "a.warc.gz.cdx").read_bytes().splitlines()
    assert lines == _together(IndexOptions(IndexLineForm.CDX9), paths[0])
    assert lines[0] == b" CDX N b a m s k r V g"


def test_damage_is_told_and_the_rest_is_written(tmp_path: Path) -> None:
    path = write_warc(tmp_path / "cut.warc.gz", many_pages(6))
    path.write_bytes(path.read_bytes()[:-40])
    missing = list(expand([str(tmp_path / "none.warc.gz")]))
    output = io.BytesIO()
    report = index_together([*_sources(path), *missing], output, IndexOptions())
    assert report.lines >= len(many_pages(6)) - 1
    assert {error.file for error in report.errors} == {"cut.warc.gz", "none.warc.gz"}
