"""Playback: the way to it, and the real pywb playing captures of an archive."""

import base64
import gzip
import os
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request
import zlib
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import brotli
import pytest
from flask.testing import FlaskClient
from playwright.sync_api import Browser

from nwx.engine.access.rules import AccessRule, Action, Scope
from nwx.engine.base import Engine
from nwx.engine.embedded import EmbeddedEngine
from nwx.extract import extract
from nwx.keys import document_key, makes_document
from nwx.model import Batch, Dates, Document, SourceFile
from nwx.values.urlkeys import urlkey
from nwx.warc.reader import ArchiveReader, CaptureRecord
from nwx.warc.sources import ArchiveSource
from tests.web.serving import serving
from webapp import create_app
from webapp.replay import process
from webapp.replay.process import PathIndex, ReplayError, ReplayProcess, path_line
from webapp.server.sockets import address_of, listen

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))

pytestmark = pytest.mark.xdist_group("replay")

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
    """Return a gzip member with a record of an HTTP answer."""
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
    """Put the captures of an archive file into an engine."""
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


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Engine, Path]]:
    """An engine with one archive file of an original and two revisits, and the file's folder."""
    folder = tmp_path_factory.mktemp("replay")
    (folder / "a.warc.gz").write_bytes(b"".join(RECORDS))
    with EmbeddedEngine(folder / "archive") as engine:
        engine.create()
        import_file(engine, folder / "a.warc.gz")
        yield engine, folder


@pytest.fixture(scope="module")
def service(archive: tuple[Engine, Path]) -> Iterator[str]:
    """The address of a service that plays captures with the real pywb."""
    engine, _ = archive
    listening = listen("127.0.0.1", 0)
    search = address_of(listening)
    with listening, ReplayProcess(engine, listen("127.0.0.1", 0), search) as replay:
        passes = replay.shared.passes()
        app = create_app(engine, replay_port=replay.port, places=replay.paths, passes=passes)
        with serving(app, listening):
            yield search


def fetch(address: str) -> tuple[int, str]:
    """Return status and text of an address."""
    try:
        with OPENER.open(address, timeout=60) as answer:
            return answer.status, answer.read().decode("utf-8", "replace")
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode("utf-8", "replace")


@pytest.mark.parametrize(
    ("timestamp", "url"),
    [("20140126200624", ORIGINAL), ("20150126200624", ORIGINAL), ("20160126200624", ELSEWHERE)],
    ids=["original", "revisit", "revisit of another URL"],
)
def test_captures_play(service: str, timestamp: str, url: str) -> None:
    status, text = fetch(f"{service}/replay/{timestamp}id_/{url}")
    assert status == 200
    assert text.encode() == PAGE


def test_the_bar_is_in_the_language_of_the_browser(service: str) -> None:
    address = f"{service}/replay/20140126200624/{ORIGINAL}"
    german = urllib.request.Request(address, headers={"Accept-Language": "de"})
    with OPENER.open(german, timeout=60) as answer:
        text = answer.read().decode()
    assert '<html lang="de">' in text
    assert ">Alle Aufnahmen und Text</a>" in text
    assert ">All captures and text</a>" in fetch(address)[1]
    missing = urllib.request.Request(
        f"{service}/replay/2014mp_/http://none.example/", headers={"Accept-Language": "fr"}
    )
    with pytest.raises(urllib.error.HTTPError) as refused:
        OPENER.open(missing, timeout=60)
    with refused.value as answer:
        assert "Absent de cette archive" in answer.read().decode()


@pytest.mark.parametrize("stars", ["*", "**", "&*"])
def test_urls_that_end_in_stars_play(
    archive: tuple[Engine, Path], service: str, stars: str
) -> None:
    engine, folder = archive
    url = f"http://wiki.example/load.php?only=styles{stars}"
    path = folder / f"{stars.count('*')}-stars-{len(url)}.warc.gz"
    digest = f"sha1:{'ABCDEFG'[len(stars) + stars.count('*')] * 32}"
    body = f"<p>{stars}</p>".encode()
    path.write_bytes(
        warc("response", url, "2019-01-01T00:00:00Z", body, WARC_Payload_Digest=digest)
    )
    import_file(engine, path)
    for mode in ("id_", "mp_"):
        status, text = fetch(f"{service}/replay/2019{mode}/{url}")
        assert status == 200
        assert f"<p>{stars}</p>" in text


FORM = "http://form.example/send?x=1"


_BUSTED = (
    ("http://q.example/pixel.gif?r=0.25", "image/gif"),
    ("http://q.example/style.css", "text/css"),
    ("http://q.example/data.json?_=1400000000000", "application/json"),
    ("http://q.example/far?callback=jsonp_41&page=1", "text/javascript"),
    ("http://q.example/list.php?id=1", "text/html"),
)


@pytest.fixture(scope="module")
def busted(archive: tuple[Engine, Path]) -> None:
    """Captures whose URLs have something in their queries that differs each time."""
    engine, folder = archive
    (folder / "busted.warc.gz").write_bytes(
        b"".join(
            warc(
                *("response", url, "2014-01-26T20:06:24Z", url.encode()),
                http=b"Content-Type: " + kind.encode(),
                WARC_Payload_Digest=f"sha1:{'K' * 31}{chr(ord('A') + number)}",
            )
            for number, (url, kind) in enumerate(_BUSTED)
        )
    )
    import_file(engine, folder / "busted.warc.gz")


@pytest.mark.usefixtures("busted")
@pytest.mark.parametrize(
    ("asked", "played"),
    [
        ("http://q.example/pixel.gif?r=0.75", 0),
        ("http://q.example/style.css?v=2", 1),
        ("http://q.example/data.json?_=1400000000999", 2),
        ("http://q.example/data.json", 2),
        ("http://q.example/far?callback=jsonp_77&page=1", 3),
        ("http://q.example/far?callback=jsonp_77&page=2", None),
        ("http://q.example/list.php?id=2", None),
        ("http://q.example/pixel", None),
        ("http://q.example/style.css.map", None),
    ],
)
def test_what_was_asked_for_by_chance_plays(service: str, asked: str, played: int | None) -> None:
    status, text = fetch(f"{service}/replay/20140126200624id_/{asked}")
    assert (status, text if status == 200 else "") == (
        (404, "") if played is None else (200, _BUSTED[played][0])
    )


@pytest.mark.usefixtures("busted")
def test_no_page_plays_in_the_place_of_another(archive: tuple[Engine, Path], service: str) -> None:
    engine, folder = archive
    path = folder / "news.warc.gz"
    url = "http://news.example/news.html?article=3"
    digest = f"sha1:{'N' * 32}"
    path.write_bytes(
        warc("response", url, "2014-01-26T20:06:24Z", b"<p>three", WARC_Payload_Digest=digest)
    )
    import_file(engine, path)
    for asked, status in (("3&utm_source=x", 200), ("17", 404)):
        address = f"http://news.example/news.html?article={asked}"
        assert fetch(f"{service}/replay/20140126200624mp_/{address}")[0] == status


_MODULES = (
    ("page", "text/html", b"<p>waits</p><script type=module src=/app/main.js></script>"),
    ("app/main.js", "text/javascript", b"import {a} from './a.js'\nimport '/app/b.js'\na()"),
    ("app/a.js", "text/javascript", b"export const a=()=>{document.title='a'};"),
    ("app/b.js", "text/javascript", b"document.querySelector('p').textContent = 'played'"),
)


def test_modules_run(archive: tuple[Engine, Path], service: str, browser: Browser) -> None:
    engine, folder = archive
    path = folder / "modules.warc.gz"
    path.write_bytes(
        b"".join(
            warc(
                *("response", f"http://modules.example/{name}", "2020-01-01T00:00:00Z", body),
                http=b"Content-Type: " + kind.encode(),
                WARC_Payload_Digest=f"sha1:{'M' * 31}{'ABCD'[number]}",
            )
            for number, (name, kind, body) in enumerate(_MODULES)
        )
    )
    import_file(engine, path)
    page = browser.new_page()
    page.goto(f"{service}/replay/20200101000000/http://modules.example/page")
    frame = page.frame_locator("#replay_iframe")
    frame.locator("p", has_text="played").wait_for()
    assert frame.locator("html").evaluate("() => document.title") == "a"


def posted(url: str, date: str, body: bytes, answer: bytes, digest: str) -> bytes:
    """Return gzip members with a POST of a form and its answer."""
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
    """Captures of one URL: two POSTs with different bodies, and a GET between them."""
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
    """Return a gzip member with an answer that has headers about how it is coded."""
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
    """Captures whose headers tell how they are coded, truly or not."""
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


def test_playback_knows_hosts_with_an_underscore(service: str) -> None:
    with OPENER.open(f"{service}/replay/2014id_/{ORIGINAL}", timeout=60) as answer:
        playing = answer.url
    port = urlsplit(playing).port
    request = urllib.request.Request(
        playing.replace("id_/", "/"), headers={"Host": f"my_host:{port}"}
    )
    with OPENER.open(request, timeout=60) as answer:
        assert f'"http://my_host:{port}/replay/"' in answer.read().decode()
    request = urllib.request.Request(playing, headers={"Host": "no host"})
    with pytest.raises(urllib.error.HTTPError) as caught, OPENER.open(request, timeout=60):
        pass
    with caught.value as error:
        assert error.code == 400


def test_a_revisit_is_played_as_of_its_own_date(service: str) -> None:
    request = urllib.request.Request(f"{service}/replay/20150126200624mp_/{ORIGINAL}")
    with OPENER.open(request, timeout=60) as answer:
        assert answer.headers["Memento-Datetime"] == "Mon, 26 Jan 2015 20:06:24 GMT"


def test_a_page_plays_in_a_browser_and_leads_back(service: str, browser: Browser) -> None:
    page = browser.new_page()
    page.goto(f"{service}/replay/20150126200624/{ORIGINAL}")
    assert not page.url.startswith(service)
    heading = page.frame_locator("#replay_iframe").locator("h1")
    assert heading.inner_text() == "Played from the archive"
    page.locator("#nwx-time", has_text="2015-01-26 20:06").wait_for()
    page.click("#nwx-document")
    assert page.url.startswith(f"{service}/documents/")
    assert page.locator("h1").inner_text() == "Old page"
    page.close()


def test_a_page_plays_without_scripts(service: str, browser: Browser) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(f"{service}/replay/20150126200624/{ORIGINAL}")
    page.get_by_role("link", name="See the archived page itself").click()
    assert page.locator("h1").inner_text() == "Played from the archive"
    page.context.close()


def test_the_frame_has_the_title_of_the_archive(archive: tuple[Engine, Path]) -> None:
    title = "Müller & <Söhne>"
    search = "http://127.0.0.1:9"
    with ReplayProcess(archive[0], listen("127.0.0.1", 0), search, title=title) as replay:
        text = fetch(f"{replay.address}/replay/2014/{ORIGINAL}")[1]
    assert ">Müller &amp; &lt;Söhne&gt;</a>" in text


_ONE_URL = Scope(prefix=urlkey(ORIGINAL), is_exact=True)


def _origin_of_playback(service: str) -> str:
    with OPENER.open(f"{service}/replay/20140126200624id_/{ORIGINAL}", timeout=60) as answer:
        return str(answer.geturl()).partition("/replay/")[0]


@pytest.mark.parametrize(
    ("rule", "status"),
    [
        (AccessRule("", Action.EXCLUDE, _ONE_URL), 404),
        (AccessRule("", Action.BLOCK, _ONE_URL, reason="on request"), 451),
        (AccessRule("", Action.LOCAL, _ONE_URL, addresses=("192.0.2.0/24",)), 451),
        (AccessRule("", Action.LOCAL, _ONE_URL, addresses=("127.0.0.1",)), 200),
    ],
    ids=["excluded", "blocked", "shown elsewhere", "shown here"],
)
def test_playback_shows_what_its_viewer_may_see(
    archive: tuple[Engine, Path], service: str, rule: AccessRule, status: int
) -> None:
    origin, index = _origin_of_playback(service), archive[0].access_index()
    stored = index.put([rule], "test")
    try:
        by_page, _ = fetch(f"{service}/replay/20140126200624id_/{ORIGINAL}")
        by_player, text = fetch(f"{origin}/replay/20140126200624id_/{ORIGINAL}")
    finally:
        index.remove([one.id for one in stored], "test")
    assert (by_page, by_player) == (status, status)
    assert ("may not be shown" in text) == (status == 451)


def test_a_url_that_is_not_there_is_told(service: str) -> None:
    status, text = fetch(f"{service}/replay/2014mp_/http://nowhere.example/%3Cb%3E")
    assert status == 404
    assert "Not in this archive" in text
    assert "<b>" not in text.partition("<main")[2]


def test_files_that_come_later_play_too(archive: tuple[Engine, Path], service: str) -> None:
    engine, folder = archive
    later = folder / "other" / "a.warc.gz"
    later.parent.mkdir()
    later.write_bytes(
        warc("response", "http://c.example/", "2017-01-01T00:00:00Z", b"<p>of the same name</p>")
    )
    import_file(engine, later, collection="second")
    status, text = fetch(f"{service}/replay/2017id_/http://c.example/")
    assert (status, text) == (200, "<p>of the same name</p>")


def test_a_file_that_is_gone_is_told(archive: tuple[Engine, Path], service: str) -> None:
    engine, folder = archive
    gone = folder / "gone.warc.gz"
    gone.write_bytes(warc("response", "http://d.example/", "2018-01-01T00:00:00Z", b"<p>x</p>"))
    import_file(engine, gone)
    gone.unlink()
    status, text = fetch(f"{service}/replay/2018id_/http://d.example/")
    assert status == 503
    assert "gone.warc.gz" in text
    assert "No such file" in text
    assert "{" not in text.partition("<main")[2]


def test_a_revisit_without_its_original_is_told(archive: tuple[Engine, Path], service: str) -> None:
    engine, folder = archive
    lone = warc(
        "revisit",
        "http://e.example/",
        "2018-01-01T00:00:00Z",
        b"",
        WARC_Payload_Digest="sha1:" + "B" * 32,
    )
    (folder / "lone.warc.gz").write_bytes(lone)
    import_file(engine, folder / "lone.warc.gz")
    status, text = fetch(f"{service}/replay/2018id_/http://e.example/")
    assert status == 503
    assert "Original for revisit record could not be loaded" in text


def test_an_odd_status_line_plays(archive: tuple[Engine, Path], service: str) -> None:
    engine, folder = archive
    odd = warc(
        "response",
        "http://f.example/",
        "2018-01-01T00:00:00Z",
        b"<p>x</p>",
        status=b"HTTP/1.1 200 OK",
    )
    (folder / "odd.warc.gz").write_bytes(odd)
    import_file(engine, folder / "odd.warc.gz")
    assert fetch(f"{service}/replay/2018id_/http://f.example/") == (200, "<p>x</p>")


def test_an_outage_of_the_index_is_not_an_empty_archive(archive: tuple[Engine, Path]) -> None:
    engine, _ = archive
    with listen("127.0.0.1", 0) as closed:
        nobody = address_of(closed)
    with ReplayProcess(engine, listen("127.0.0.1", 0), nobody) as replay:
        status, text = fetch(f"{replay.address}/replay/2014id_/{ORIGINAL}")
    assert status == 500
    assert "Not in this archive" not in text


def test_the_process_ends_with_its_owner(archive: tuple[Engine, Path]) -> None:
    engine, _ = archive
    with ReplayProcess(engine, listen("127.0.0.1", 0), "http://127.0.0.1:9") as replay:
        address, folder = replay.address, replay.folder
        assert fetch(f"{address}/static/wb_frame.js")[0] == 200
    assert not folder.exists()
    with pytest.raises(OSError, match="refused"):
        OPENER.open(f"{address}/static/wb_frame.js", timeout=5)
    replay.close()


def test_a_process_that_does_not_start_is_told(
    archive: tuple[Engine, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, _ = archive
    monkeypatch.setattr(sys, "executable", "/bin/false")
    replay = ReplayProcess(engine, listen("127.0.0.1", 0), "http://127.0.0.1:9")
    with pytest.raises(ReplayError, match="playback ended at its start"), replay:
        pass
    assert not replay.folder.exists()


def test_the_path_index_reads_the_ledger_again_for_new_files_only(
    archive: tuple[Engine, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, _ = archive
    index = PathIndex(engine, tmp_path / "paths.txt")
    known = [
        (one.collection, one.source_file) for one in engine.captures("example,a)/page?x=1&y=2")
    ]
    asked = []
    read = engine.files
    monkeypatch.setattr(engine, "files", lambda: asked.append(1) or read())
    index.cover(known)
    assert asked == []
    index.cover([("default", "new.warc.gz")])
    index.cover([("default", "new.warc.gz")])
    assert asked == [1]


def test_lines_of_the_path_index() -> None:
    def line(name: str, path: str) -> bytes:
        return path_line(SourceFile("one\ttwo", name, path, 1, ""))

    assert line("a b.warc.gz", "/data/a b.warc.gz") == (
        b"one%09two/a%20b.warc.gz\tnwx:///data/a%20b.warc.gz\n"
    )
    assert line("a.wacz#archive/x.warc.gz", "/data/a.wacz") == (
        b"one%09two/a.wacz%23archive%2Fx.warc.gz\tnwx:///data/a.wacz?member=archive%2Fx.warc.gz\n"
    )
    assert line("a.warc.gz", "https://files.example/a.warc.gz").endswith(
        b"\thttps://files.example/a.warc.gz\n"
    )


@pytest.mark.parametrize(
    ("target", "location"),
    [
        ("20140126200624/http://a.example/", "20140126200624/http://a.example/"),
        ("2014id_/http://a.example/?x=1&y=%20%2F", "2014id_/http://a.example/?x=1&y=%20%2F"),
        ("mp_/http://a.example//b", "mp_/http://a.example//b"),
    ],
)
def test_the_way_to_playback(client: FlaskClient, target: str, location: str) -> None:
    answer = client.get(f"/replay/{target}")
    assert answer.status_code == 302
    assert answer.location == f"http://127.0.0.1:9999/replay/{location}"


@pytest.mark.parametrize(
    ("target", "asked"),
    [
        ("*/http://a.example/?x=1&y=%20", "url=http://a.example/?x%3D1%26y%3D%2520"),
        ("2014*/http://a.example/", "url=http://a.example/&timestamp=2014"),
    ],
)
def test_the_way_to_the_calendar(client: FlaskClient, target: str, asked: str) -> None:
    answer = client.get(f"/replay/{target}")
    assert answer.status_code == 302
    assert answer.location == f"/documents/of?{asked}#captures"


def test_playback_is_at_another_name_of_the_host_where_it_has_two(
    client: FlaskClient,
) -> None:
    for host, origin in (
        ("archive.example:80", "archive.example"),
        ("[::1]:8080", "localhost"),
        ("127.0.0.1:8080", "localhost"),
        ("localhost:8080", "127.0.0.1"),
    ):
        answer = client.get("/replay/2014/http://a.example/", headers={"Host": host})
        assert answer.location.startswith(f"http://{origin}:9999/replay/2014/")


def test_playback_has_the_host_name_that_is_given(archive: tuple[Engine, Path]) -> None:
    client = create_app(archive[0], replay_port=81, replay_host="play.example").test_client()
    answer = client.get("/replay/2014/http://a.example/")
    assert answer.location == "http://play.example:81/replay/2014/http://a.example/"


def test_playback_behind_a_proxy_has_its_own_address(archive: tuple[Engine, Path]) -> None:
    client = create_app(archive[0], replay_url="https://play.example/x/").test_client()
    answer = client.get("/replay/2014/http://a.example/")
    assert answer.location == "https://play.example/x/replay/2014/http://a.example/"


@pytest.mark.parametrize("target", ["http://a.example/", "soon/http://a.example/", "2014/", "2014"])
def test_addresses_that_name_no_capture(client: FlaskClient, target: str) -> None:
    assert client.get(f"/replay/{target}").status_code == 400


def test_without_playback_pages_say_so(archive: tuple[Engine, Path]) -> None:
    client = create_app(archive[0]).test_client()
    for address in ("/replay", "/replay/2014/http://a.example/"):
        answer = client.get(address)
        assert answer.status_code == 404
        assert "Playback is off" in answer.text
    assert "/replay/" not in client.get("/search?q=").text


def _wait_for(process: ReplayProcess, *, running: bool) -> None:
    for _ in range(600):
        if process.state().running is running:
            return
        time.sleep(0.1)
    pytest.fail(f"playback stays {process.state()}")


def test_playback_that_is_killed_is_started_again(archive: tuple[Engine, Path]) -> None:
    engine, _ = archive
    listening = listen("127.0.0.1", 0)
    with ReplayProcess(engine, listening, "http://127.0.0.1:9") as replay:
        client = create_app(engine, replay_port=replay.port, playback=replay.state).test_client()
        assert client.get("/health").get_json()["replay"] is True
        first = replay.pid
        os.kill(first, signal.SIGKILL)
        _wait_for(replay, running=False)
        told = client.get("/health").get_json()
        assert (told["status"], told["replay"]) == ("ok", False)
        assert told["replay_message"].startswith("playback ended by itself (signal 9)")
        # Who asks in between waits for the next process.
        assert fetch(f"{replay.address}/static/wb_frame.js")[0] == 200
        _wait_for(replay, running=True)
        assert replay.pid != first
        told = client.get("/health").get_json()
        assert (told["replay"], told["replay_restarts"]) == (True, 1)
        assert "replay_message" not in told
    assert not replay.folder.exists()


def test_playback_that_cannot_be_started_again_is_told_until_it_can(
    archive: tuple[Engine, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, _ = archive
    monkeypatch.setattr(process, "MOST_PAUSE_SECONDS", 1.0)
    with ReplayProcess(engine, listen("127.0.0.1", 0), "http://127.0.0.1:9") as replay:
        with monkeypatch.context() as patch:
            patch.setattr(sys, "executable", "/bin/false")
            first = replay.pid
            os.kill(first, signal.SIGKILL)
            for _ in range(600):
                if "exit code 1" in replay.state().message:
                    break
                time.sleep(0.05)
            assert not replay.state().running
            assert "exit code 1" in replay.state().message
        _wait_for(replay, running=True)
        assert fetch(f"{replay.address}/static/wb_frame.js")[0] == 200


SERVE = """
import sys
from pathlib import Path
from urllib.parse import urlsplit
from nwx.settings import Settings
from webapp.server.service import ServiceSettings, serve_pages
archive = Settings(sys.argv[1])
serve_pages(archive, ServiceSettings(port=0), lambda at: print(at.search, at.replay, flush=True))
"""


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_however_the_service_ends_playback_ends(
    archive: tuple[Engine, Path], tmp_path: Path, ending: signal.Signals
) -> None:
    command = [sys.executable, "-c", SERVE, str(archive[1] / "archive")]
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        try:
            assert process.stdout
            search, replay = process.stdout.readline().split()
            assert fetch(f"{search}/replay/20150126200624id_/{ORIGINAL}")[0] == 200
            process.send_signal(ending)
            process.wait(30)
        finally:
            process.kill()
    _wait_until_nobody_answers(replay)
    _wait_until_nobody_answers(search)
    assert list(tmp_path.iterdir()) == []


def _wait_until_nobody_answers(address: str) -> None:
    for _ in range(100):
        try:
            OPENER.open(f"{address}/health", timeout=5).close()
        except urllib.error.HTTPError:
            pass
        except OSError:
            return
        time.sleep(0.1)
    pytest.fail(f"{address} still answers")
