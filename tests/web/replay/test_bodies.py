"""Responses to forms and with content encodings, played by the real pywb."""

import base64
import gzip
import urllib.error
import urllib.request
import zlib
from pathlib import Path

import brotli
import pytest
import requests
from playwright.sync_api import Browser

from nwx.engine.base import Engine
from tests.web.replay.played_records import OPENER, ORIGINAL, fetch, import_file, warc

pytestmark = pytest.mark.xdist_group("replay")


@pytest.mark.parametrize("mode", ["", "mp_", "id_"])
@pytest.mark.parametrize("url", [ORIGINAL, "http://none.example/"], ids=["capture", "none"])
def test_shared_caches_may_not_keep_captures(service: str, mode: str, url: str) -> None:
    answer = requests.get(f"{service}/replay/20140126200624{mode}/{url}", timeout=60)
    assert answer.headers["Cache-Control"] == "private, no-cache"


def test_nobody_waits_for_a_body_that_was_cut_off_since_its_import(
    archive: tuple[Engine, Path], service: str
) -> None:
    engine, folder = archive
    whole = gzip.decompress(
        warc(
            *("response", "http://cut.example/", "2018-01-01T00:00:00Z", b"a" * 900),
            http=b"Content-Type: text/html\r\nContent-Length: 900",
            WARC_Payload_Digest="sha1:" + "C" * 32,
        )
    )
    cut = folder / "cut.warc"
    cut.write_bytes(whole)
    import_file(engine, cut)
    cut.write_bytes(whole[:-500])
    with pytest.raises(requests.exceptions.ChunkedEncodingError, match="IncompleteRead"):
        requests.get(f"{service}/replay/2018id_/http://cut.example/", timeout=20)


FORM = "http://form.example/send?x=1"


def posted(url: str, date: str, body: bytes, answer: bytes, digest: str) -> bytes:
    """Return gzip members with the POST of a form and its response."""
    block = (
        b"POST /send?x=1 HTTP/1.1\r\nHost: form.example\r\nContent-Length: %d\r\n"
        b"Content-Type: application/x-www-form-urlencoded\r\n\r\n" % len(body)
    ) + body
    head = {
        "WARC-Type": "request",
        "WARC-Target-URI": url,
        "WARC-Date": date,
        "WARC-Record-ID": f"<urn:x:request:{date}:{url}>",
        "WARC-Concurrent-To": f"<urn:x:{date}:{url}>",
        "Content-Type": "application/http; msgtype=request",
        "Content-Length": str(len(block)),
    }
    lines = "".join(f"{name}: {value}\r\n" for name, value in head.items())
    request = gzip.compress(f"WARC/1.1\r\n{lines}\r\n".encode() + block + b"\r\n\r\n", mtime=0)
    return request + warc("response", url, date, answer, WARC_Payload_Digest=digest)


@pytest.fixture(scope="module")
def forms(archive: tuple[Engine, Path]) -> None:
    """Captures of one URL: two POSTs with different bodies, and a GET in between."""
    engine, folder = archive
    (folder / "forms.warc.gz").write_bytes(
        posted(FORM, "2011-01-01T00:00:00Z", b"A=1&name=first", b"<p>one</p>", "sha1:" + "P" * 32)
        + warc(
            *("response", FORM, "2012-01-01T00:00:00Z", b"<p>got</p>"),
            WARC_Payload_Digest="sha1:" + "Q" * 32,
        )
        + posted(FORM, "2013-01-01T00:00:00Z", b"name=second", b"<p>two</p>", "sha1:" + "R" * 32)
        + posted(
            FORM.replace("?x=1", ""),
            "2014-01-01T00:00:00Z",
            b"z=2",
            b"<p>3</p>",
            "sha1:" + "S" * 32,
        )
    )
    import_file(engine, folder / "forms.warc.gz")


@pytest.mark.usefixtures("forms")
@pytest.mark.parametrize(
    ("timestamp", "url", "text"),
    [
        ("20110101000000", FORM, "one"),
        ("20120101000000", FORM, "got"),
        ("20130101000000", FORM, "two"),
        ("20110102", FORM, "got"),
        ("20140101000000", FORM.replace("?x=1", ""), "3"),
        ("2014", FORM.replace("?x=1", ""), "3"),
    ],
)
def test_answers_to_forms_play(service: str, timestamp: str, url: str, text: str) -> None:
    assert fetch(f"{service}/replay/{timestamp}id_/{url}") == (200, f"<p>{text}</p>")


@pytest.mark.usefixtures("forms")
def test_each_replay_link_of_a_form_leads_to_its_own_answer(service: str, browser: Browser) -> None:
    page = browser.new_page()
    page.goto(f"{service}/search?q=host:form.example&collapse=none&sort=oldest")
    links = page.locator("a.play").evaluate_all("all => all.map(one => one.href)")
    assert len(links) == 4
    for link, text in zip(links, ("one", "got", "two", "3"), strict=True):
        page.goto(link)
        assert page.frame_locator("#replay_iframe").locator("p").inner_text() == text
        page.locator("#nwx-time", has_text="201").wait_for()
        page.click("#nwx-document")
        assert page.url.startswith(f"{service}/documents/")
        assert page.locator(".text").inner_text().strip() == text
    page.close()


def coded(name: str, http: bytes, body: bytes) -> bytes:
    """Return a gzip member with a response that has headers about its encoding."""
    return warc(
        *("response", f"http://coded.example/{name}", "2015-01-01T00:00:00Z", body),
        http=b"Content-Type: image/png\r\n" + http,
        WARC_Payload_Digest="sha1:" + base64.b32encode(name.ljust(20)[:20].encode()).decode(),
    )


PLAIN = b"plain bytes " * 50


ZIPPED = gzip.compress(PLAIN, mtime=0)


GZIP_CODED = b"Content-Encoding: gzip"


CODED = {
    "a-true": (GZIP_CODED, ZIPPED),
    "b-untrue": (GZIP_CODED, PLAIN),
    "c-old-name": (b"Content-Encoding: x-gzip", ZIPPED),
    "d-upper": (b"Content-Encoding: GZIP", ZIPPED),
    "e-deflated": (b"Content-Encoding: deflate", zlib.compress(PLAIN)),
    "f-brotli": (b"Content-Encoding: br", brotli.compress(PLAIN)),
    "g-not-brotli": (b"Content-Encoding: br", PLAIN),
    "h-length-of-coded": (GZIP_CODED + b"\r\nContent-Length: %d" % len(ZIPPED), PLAIN),
    "i-too-long": (b"Content-Length: 99999", PLAIN),
    "j-too-short": (b"Content-Length: 5", PLAIN),
    "k-chunked": (b"Transfer-Encoding: Chunked", b"258\r\n%s\r\n0\r\n\r\n" % PLAIN),
    "l-not-chunked": (b"Transfer-Encoding: chunked", PLAIN),
    "m-both": (
        GZIP_CODED + b"\r\nTransfer-Encoding: chunked",
        b"%x\r\n%s\r\n0\r\n\r\n" % (len(ZIPPED), ZIPPED),
    ),
    "n-unknown": (b"Content-Encoding: utf-8", PLAIN),
}


@pytest.fixture(scope="module")
def codings(archive: tuple[Engine, Path]) -> None:
    """Captures whose headers declare their encoding, correctly or not."""
    engine, folder = archive
    records = (coded(name, http, body) for name, (http, body) in CODED.items())
    (folder / "coded.warc.gz").write_bytes(b"".join(records))
    import_file(engine, folder / "coded.warc.gz")


@pytest.mark.usefixtures("codings")
@pytest.mark.parametrize("name", CODED)
@pytest.mark.parametrize("mode", ["id_", "mp_", "im_"])
@pytest.mark.parametrize("accepted", ["gzip, deflate, br, zstd", "identity"])
def test_what_playback_tells_of_a_body_is_so(
    service: str, name: str, mode: str, accepted: str
) -> None:
    request = urllib.request.Request(
        f"{service}/replay/2015{mode}/http://coded.example/{name}",
        headers={"Accept-Encoding": accepted},
    )
    with OPENER.open(request, timeout=60) as answer:
        body = answer.read()
        assert answer.headers.get("Content-Encoding") in (None, "utf-8")
        assert answer.headers.get("Content-Length") in (None, str(len(body)))
    assert body == PLAIN


@pytest.mark.usefixtures("codings")
def test_parts_of_bodies_are_parts_of_what_is_sent(service: str) -> None:
    for name, status in (("i-too-long", 206), ("a-true", 200)):
        request = urllib.request.Request(
            f"{service}/replay/2015id_/http://coded.example/{name}",
            headers={"Range": "bytes=6-10"},
        )
        with OPENER.open(request, timeout=60) as answer:
            assert answer.status == status
            assert answer.read() == (PLAIN[6:11] if status == 206 else PLAIN)


@pytest.mark.usefixtures("codings")
@pytest.mark.parametrize(
    ("asked", "status", "expected"),
    [
        ("0-0", 206, PLAIN[:1]),
        ("595-99999999", 206, PLAIN[595:]),
        ("0-600", 206, PLAIN),
        ("9-3", 200, PLAIN),
        ("600-", 416, None),
    ],
)
def test_ranges_are_those_of_the_standard(
    service: str, asked: str, status: int, expected: bytes | None
) -> None:
    request = urllib.request.Request(
        f"{service}/replay/2015id_/http://coded.example/i-too-long",
        headers={"Range": f"bytes={asked}"},
    )
    try:
        answer = OPENER.open(request, timeout=60)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        assert answer.status == status
        assert expected in (None, answer.read())


def test_a_response_without_a_head_plays(archive: tuple[Engine, Path], service: str) -> None:
    engine, folder = archive
    head = (
        "WARC/1.1\r\nWARC-Type: response\r\nWARC-Target-URI: http://empty.example/\r\n"
        "WARC-Date: 2016-01-01T00:00:00Z\r\nWARC-Record-ID: <urn:x:empty>\r\n"
        "Content-Type: application/http; msgtype=response\r\nContent-Length: 0\r\n\r\n"
    )
    (folder / "empty.warc").write_bytes(head.encode() + b"\r\n\r\n")
    import_file(engine, folder / "empty.warc")
    assert fetch(f"{service}/replay/2016id_/http://empty.example/") == (200, "")
