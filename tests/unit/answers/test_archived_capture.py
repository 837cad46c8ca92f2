"""Records of files and of captures, and the data that revisits repeat."""

import re
from pathlib import Path

import pytest

import nwx
from tests.warcs import PROFILE, Page, html, warc_record, write_warc

SAMPLE = Path(__file__).parents[3] / "sample" / "archive"
HOME = "http://www.lantern.example/"
NOT_MODIFIED = b"http://netpreserve.org/warc/1.1/revisit/server-not-modified"


@pytest.mark.parametrize("damaged", ["one", "two"])
def test_a_revisit_repeats_the_original_that_can_be_read(tmp_path: Path, damaged: str) -> None:
    url, body = "http://a.example/", html("Home", "a lamp")
    for name, year in (("one", 2010), ("two", 2011)):
        write_warc(tmp_path / f"{name}.warc.gz", [Page(url, f"{year}0101000000", body)])
    write_warc(tmp_path / "three.warc.gz", [Page(url, "20120101000000", body, revisit=True)])
    with nwx.open(tmp_path / "archive") as archive:
        archive.import_(sorted(tmp_path.glob("*.warc.gz")), jobs=1)
        whole = (tmp_path / f"{damaged}.warc.gz").read_bytes()
        (tmp_path / f"{damaged}.warc.gz").write_bytes(whole[:-40])
        found = archive.capture(url, at="2012")
        assert found and found.capture.record_type == "revisit" and found.payload == body
        for name in ("one", "two"):
            (tmp_path / f"{name}.warc.gz").write_bytes(bytes(400))
    with (
        nwx.open(tmp_path / "archive") as archive,
        pytest.raises(nwx.NwxError, match=r"(one|two)\.warc\.gz at 0: "),
    ):
        assert (found := archive.capture(url, at="2012")) and found.payload


def test_a_record_with_its_url_in_angle_brackets_has_headers_and_payload(tmp_path: Path) -> None:
    page = Page("http://a.example/", "20200101000000", html("Home", "a lamp"))
    data = warc_record(page).replace(b"URI: http://a.example/", b"URI: <http://a.example/>")
    (tmp_path / "a.warc").write_bytes(data)
    (record,) = nwx.records(tmp_path / "a.warc")
    assert (record.url, record.status, record.payload) == (page.url, 200, page.body)
    assert record.headers["content-type"] == page.content_type


def test_a_request_has_headers_and_payload(tmp_path: Path) -> None:
    request = warc_record(Page("http://a.example/", "20200101000000", b"a=1"))
    request = request.replace(b"WARC-Type: response", b"WARC-Type: request")
    request = request.replace(b"HTTP/1.1 200 OK", b"POST / HTTP/1.1")
    (tmp_path / "a.warc").write_bytes(request)
    record = next(nwx.records(tmp_path / "a.warc"))
    assert (record.type, record.payload, record.headers["Content-Length"]) == (
        "request",
        b"a=1",
        "3",
    )


def test_a_url_captured_by_post_alone_has_a_capture(tmp_path: Path) -> None:
    url = "http://a.example/form"
    pages = [Page(url, f"20{year}0101000000", html("Said", year)) for year in ("10", "20")]
    with (tmp_path / "a.warc").open("wb") as stream:
        for page in pages:
            asked = warc_record(Page(url, page.timestamp, page.timestamp.encode()))
            asked = asked.replace(b"WARC-Type: response", b"WARC-Type: request")
            asked = asked.replace(b"HTTP/1.1 200 OK", b"POST /form HTTP/1.1")
            stream.write(asked + warc_record(page))
    with nwx.open(tmp_path / "archive") as archive:
        archive.import_(tmp_path / "a.warc", jobs=1)
        assert not list(archive.captures(url))
        newest = archive.capture(url)
        oldest = archive.capture("https://www.a.example/form", at="2012")
        assert newest and newest.payload == pages[1].body
        assert oldest and oldest.payload == pages[0].body
        assert archive.capture("http://a.example/fo") is None
        assert [one.first[:4] for one in archive.versions(url)] == ["2010", "2020"]
        assert [one.captures for one in archive.quote("20", url=url).periods] == [1]
        assert [one.timestamp[:4] for one in archive.dates(url)] == ["2010", "2020"]
        assert archive.diff(url, "2010", "2020").added == 1


def test_a_revisit_without_a_digest_has_the_payload_of_the_capture_that_it_refers_to(
    tmp_path: Path,
) -> None:
    url = "http://a.example/"
    pages = [
        Page(url, f"20200101{n // 60:02}{n % 60:02}00", html("Home", str(n))) for n in range(150)
    ]
    write_warc(tmp_path / "a.warc.gz", pages)
    same = warc_record(Page(url, "20210101000000", status="304 Not Modified", revisit=True))
    refers = f"WARC-Refers-To-Target-URI: {url}\r\nWARC-Refers-To-Date: {pages[140].date}".encode()
    same = re.sub(rb"WARC-Payload-Digest: [^\r]*", refers, same)
    (tmp_path / "b.warc").write_bytes(same.replace(PROFILE.encode(), NOT_MODIFIED))
    with nwx.open(tmp_path / "archive") as archive:
        archive.import_([tmp_path / "a.warc.gz", tmp_path / "b.warc"], jobs=1)
        found = archive.capture(url, at="2021")
        assert found and found.status == 304 and found.payload == pages[140].body


def test_a_revisit_of_no_bytes_needs_no_capture_of_another_url(tmp_path: Path) -> None:
    other = Page("http://b.example/icon", "20200101000000", content_type="image/x-icon")
    again = Page("http://a.example/", "20210101000000", revisit=True)
    bare = re.sub(rb"HTTP/1.1.*", b"\r\n\r\n", warc_record(again), flags=re.DOTALL)
    bare = re.sub(rb"Content-Length: \d+", b"Content-Length: 0", bare)
    write_warc(tmp_path / "b.warc.gz", [other])
    (tmp_path / "a.warc").write_bytes(bare)
    with nwx.open(tmp_path / "archive") as archive:
        archive.import_([tmp_path / "a.warc", tmp_path / "b.warc.gz"], jobs=1)
        found = archive.capture(again.url)
        assert found and (found.payload, list(found.headers)) == (b"", [])
        assert archive.closure(["a.warc"]) == []


def test_records_of_a_file_with_its_damage(tmp_path: Path) -> None:
    whole = list(nwx.records(SAMPLE / "LANTERN-2010-00000.warc.gz"))
    assert {one.type for one in whole} >= {"warcinfo", "response", "request"}
    home = next(one for one in whole if one.type == "response" and one.url == HOME)
    assert home.status == 200 and home.headers["content-type"] and b"harbour" in home.payload
    damaged = tmp_path / "damaged.warc.gz"
    damaged.write_bytes((SAMPLE / "LANTERN-2010-00000.warc.gz").read_bytes()[:5_000] + b"garbage")
    found = list(nwx.records(damaged))
    assert found[0].type == "warcinfo" and any(one.problem for one in found)
    (absent,) = nwx.records(tmp_path / "absent.warc.gz")
    assert absent.type == "damage" and absent.problem
