"""Captures of an archive, played by the real pywb."""

import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser

from nwx.engine.access.rules import AccessRule, Action, Scope
from nwx.engine.base import Engine
from nwx.values.urlkeys import urlkey
from tests.web.replay.played_records import (
    ELSEWHERE,
    OPENER,
    ORIGINAL,
    PAGE,
    fetch,
    import_file,
    warc,
)
from webapp.replay.process import ReplayProcess
from webapp.server.connections import address_of, listen

pytestmark = pytest.mark.xdist_group("replay")


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


_BUSTED = (
    ("http://q.example/pixel.gif?r=0.25", "image/gif"),
    ("http://q.example/style.css", "text/css"),
    ("http://q.example/data.json?_=1400000000000", "application/json"),
    ("http://q.example/far?callback=jsonp_41&page=1", "text/javascript"),
    ("http://q.example/list.php?id=1", "text/html"),
)


@pytest.fixture(scope="module")
def busted(archive: tuple[Engine, Path]) -> None:
    """Captures of URLs with cache-busting query parameters."""
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
        _, german = fetch(f"{origin}/replay/20140126200624id_/{ORIGINAL}", "de")
    finally:
        index.remove([one.id for one in stored], "test")
    assert (by_page, by_player) == (status, status)
    assert ("may not be shown" in text) == (status == 451)
    assert ("darf aber nicht gezeigt werden" in german) == (status == 451)


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
    assert str(folder) not in text
    assert "{" not in text.partition("<main")[2]


def test_a_revisit_without_its_original_is_told(archive: tuple[Engine, Path], service: str) -> None:
    engine, folder = archive
    digest = "sha1:" + "L" * 32
    lone = warc(
        "revisit",
        "http://e.example/",
        "2018-01-01T00:00:00Z",
        b"",
        WARC_Payload_Digest=digest,
        WARC_Refers_To_Target_URI="http://e.example/<first>",
        WARC_Refers_To_Date="2012-01-01T00:00:00Z",
    )
    old = warc("revisit", "http://g.example/", "2018-01-01T00:00:00Z", b"", WARC_Payload_Digest="")
    (folder / "lone.warc.gz").write_bytes(lone + old)
    import_file(engine, folder / "lone.warc.gz")
    for mode in ("id_", "mp_"):
        status, text = fetch(f"{service}/replay/2018{mode}/http://e.example/")
        assert status == 404
        for part in ("http://e.example/&lt;first&gt;", "2012-01-01T00:00:00Z", digest):
            assert f"<dd>{part}</dd>" in text
    playing = _origin_of_playback(service)
    framed = urllib.request.Request(
        f"{playing}/replay/2018mp_/http://g.example/",
        headers={"Referer": f"{playing}/replay/2018/http://g.example/", "Accept-Language": "de"},
    )
    with pytest.raises(urllib.error.HTTPError) as refused, OPENER.open(framed, timeout=60):
        pass
    with refused.value as answer:
        assert (answer.code, answer.url) == (404, framed.full_url)
        assert "in keiner Datei dieses Archivs" in answer.read().decode()


@pytest.mark.parametrize(
    ("line", "status"),
    [
        (b"101 Switching Protocols", 404),
        (b"103 Early Hints", 404),
        (b"304 Not Modified", 404),
        (b"200 O\rK", 200),
        (b"403\rNo", 403),
        (b"999 Enough", 200),
        (b"0 Nothing", 200),
    ],
)
def test_statuses_that_no_answer_can_have(
    archive: tuple[Engine, Path], service: str, line: bytes, status: int
) -> None:
    engine, folder = archive
    number = line.split()[0].decode()
    url = f"http://status.example/{len(line)}-{number}"
    (folder / f"{number}.warc.gz").write_bytes(
        warc("response", url, "2018-01-01T00:00:00Z", b"<p>x</p>", status=line, http=b"X-A: b\rc")
    )
    import_file(engine, folder / f"{number}.warc.gz")
    found, text = fetch(f"{service}/replay/2018mp_/{url}")
    assert found == status
    assert (f"status {number}, which has no content" in text) == (status == 404)


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


@pytest.mark.parametrize("date", ["2021", "2021-02", "2021-02-03T04:05:06+01:00"])
def test_dates_without_all_parts_play(
    archive: tuple[Engine, Path], service: str, date: str
) -> None:
    engine, folder = archive
    url = f"http://dates.example/{date}"
    (folder / f"{date}.warc.gz").write_bytes(warc("response", url, date, b"<p>x</p>"))
    import_file(engine, folder / f"{date}.warc.gz")
    assert fetch(f"{service}/replay/2021id_/{url}") == (200, "<p>x</p>")


def test_an_outage_of_the_index_is_not_an_empty_archive(archive: tuple[Engine, Path]) -> None:
    engine, _ = archive
    with listen("127.0.0.1", 0) as closed:
        nobody = address_of(closed)
    with ReplayProcess(engine, listen("127.0.0.1", 0), nobody) as replay:
        status, text = fetch(f"{replay.address}/replay/2014id_/{ORIGINAL}")
    assert status == 500
    assert "Not in this archive" not in text
