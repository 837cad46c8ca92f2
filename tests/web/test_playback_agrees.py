"""Playback, TimeMaps, the calendar and search agree about an archive, on both engines."""

import json
import re
import socket
import urllib.parse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser

from nwx.engine.base import Engine
from nwx.model import Batch
from tests.conformance.engines import new_archive
from tests.web.replay.played_records import OPENER, REVISIT_PROFILE, fetch, import_file, warc
from tests.web.serving import serving
from webapp import create_app
from webapp.replay import process
from webapp.replay.process import ReplayProcess
from webapp.server.connections import address_of, listen

pytestmark = pytest.mark.xdist_group("replay")

URL, COPY = "http://a.example/page?x=1&y=2", "http://b.example/copy"
OLD, NEW = (b"<html><title>Quarry</title><h1>%s</h1></html>" % word for word in (b"old", b"new"))
OLD_DIGEST, NEW_DIGEST = "sha1:" + "A" * 32, "sha1:" + "C" * 32
RECORDS = (
    warc("response", URL, "2014-01-26T20:06:24Z", OLD),
    warc("revisit", URL, "2015-01-26T20:06:24Z", b"", WARC_Profile=REVISIT_PROFILE),
    warc("response", URL, "2016-01-26T20:06:24Z", NEW, WARC_Payload_Digest=NEW_DIGEST),
    # A revisit with the digest of its payload, but without the original's URL and date.
    warc("revisit", COPY, "2017-01-26T20:06:24Z", b"", WARC_Profile=REVISIT_PROFILE),
)
DATES = ["20140126200624", "20150126200624", "20160126200624"]


@pytest.fixture(scope="module", params=["embedded", "elastic"])
def archive(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Engine, Path]]:
    """An archive of one file, and the folder of the file."""
    folder = tmp_path_factory.mktemp("agrees")
    (folder / "a.warc.gz").write_bytes(b"".join(RECORDS))
    with new_archive(request.param, folder, request) as opener, opener() as engine:
        engine.create()
        import_file(engine, folder / "a.warc.gz")
        yield engine, folder


@pytest.fixture(scope="module")
def service(archive: tuple[Engine, Path]) -> Iterator[str]:
    """The address of a service that plays captures by the real pywb."""
    listening = listen("127.0.0.1", 0)
    search = address_of(listening)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "MISSED_SECONDS", 0.0)
        yield from _served(archive[0], listening, search)


def _served(engine: Engine, listening: socket.socket, search: str) -> Iterator[str]:
    with listening, ReplayProcess(engine, listen("127.0.0.1", 0), search) as playing:
        app = create_app(engine, replay_port=playing.port, places=playing.paths)
        with serving(app, listening):
            yield search


def test_search_timemaps_and_playback_have_the_same_dates(service: str) -> None:
    quoted = urllib.parse.quote(f'url:"{URL}"')
    found = json.loads(fetch(f"{service}/api/search?collapse=none&q={quoted}")[1])
    assert sorted(date for hit in found["hits"] for date in hit["dates"]) == DATES
    lines = fetch(f"{service}/timemap/cdxj/{URL}")[1].splitlines()
    assert [line.split(" ")[1] for line in lines] == DATES
    mementos = re.findall(
        r"<([^>]+)>; rel=\"[^\"]*memento\"", fetch(f"{service}/timemap/link/{URL}")[1]
    )
    assert [address.partition("/replay/")[2].split("/")[0] for address in mementos] == DATES
    for address, date, body in zip(mementos, DATES, (OLD, OLD, NEW), strict=True):
        assert fetch(address.replace(f"/{date}/", f"/{date}id_/")) == (200, body.decode())


def test_the_calendar_has_the_days_of_the_timemap(service: str, browser: Browser) -> None:
    page = browser.new_page()
    for date in DATES:
        page.goto(
            f"{service}/documents/of?{urllib.parse.urlencode({'url': URL, 'timestamp': date})}"
        )
        page.goto(f"{page.url}?year={date[:4]}")
        places = page.locator("a[href*='/replay/']")
        links = places.evaluate_all("all => all.map(one => one.getAttribute('href'))")
        shown = {link.partition("/replay/")[2].split("/")[0] for link in links}
        assert date in shown
        assert shown <= set(DATES)
    page.close()


def test_a_star_leads_to_the_calendar_from_either_side(service: str, browser: Browser) -> None:
    page = browser.new_page()
    with OPENER.open(f"{service}/replay/{DATES[0]}/{URL}", timeout=60) as answer:
        playing = answer.url.partition("/replay/")[0]
    assert playing != service
    for address in (f"{service}/replay/*/{URL}", f"{service}/replay/2016*/{URL}"):
        page.goto(address)
        assert page.url.startswith(f"{service}/documents/")
        assert page.locator("#captures a[href*='/replay/']").count()
    page.goto(f"{playing}/replay/*/{URL}")
    page.wait_for_url(f"{service}/documents/*")
    page.close()


def test_each_replayed_page_leads_back_to_search(service: str, browser: Browser) -> None:
    page = browser.new_page()
    for url, date, text in ((URL, DATES[1], "old"), (COPY, "20170126200624", "old")):
        page.goto(f"{service}/replay/{date}/{url}")
        assert page.frame_locator("#replay_iframe").locator("h1").inner_text() == text
        page.locator("#nwx-time", has_text=f"{date[:4]}-01-26 20:06").wait_for()
        assert page.locator(".nwx-name").get_attribute("href") == f"{service}/"
        page.click("#nwx-document")
        assert page.url.startswith(f"{service}/documents/")
        assert page.locator("h1").inner_text() == "Quarry"
    page.close()


def test_a_revisit_plays_any_original_of_its_payload(service: str) -> None:
    assert fetch(f"{service}/replay/20170126200624id_/{COPY}") == (200, OLD.decode())
    with OPENER.open(f"{service}/replay/20170126200624mp_/{COPY}", timeout=60) as answer:
        assert answer.headers["Memento-Datetime"] == "Thu, 26 Jan 2017 20:06:24 GMT"


def test_a_file_that_was_moved_plays_from_its_new_place(
    archive: tuple[Engine, Path], service: str
) -> None:
    engine, folder = archive
    later = folder / "later.warc.gz"
    later.write_bytes(
        warc(
            *("response", "http://c.example/", "2018-01-01T00:00:00Z", b"<p>moved</p>"),
            WARC_Payload_Digest="sha1:" + "D" * 32,
        )
    )
    import_file(engine, later)
    address = f"{service}/replay/2018id_/http://c.example/"
    assert fetch(address) == (200, "<p>moved</p>")
    (folder / "done").mkdir()
    moved = later.rename(folder / "done" / later.name)
    assert fetch(address)[0] == 503
    (file,) = (file for file in engine.files() if file.name == later.name)
    engine.write(Batch(files=(replace(file, path=str(moved)),)))
    engine.refresh()
    assert fetch(address) == (200, "<p>moved</p>")
