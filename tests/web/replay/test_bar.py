"""The bar above a capture: histogram, changes, links, hiding, access rules."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, Page

from nwx.engine.base import Engine
from tests.web.axe import check_modes, load_axe
from tests.web.replay.played_records import OPENER, fetch, import_file, warc

pytestmark = pytest.mark.xdist_group("replay")

URL = "http://bar.example/"
TIMES = ("2009-05-01", "2010-03-02", "2010-03-05", "2010-03-06", "2012-01-01")


@pytest.fixture(scope="module", autouse=True)
def _captures(archive: tuple[Engine, Path]) -> None:
    """Five captures of a page whose text changes at the third, and one of a linked page."""
    engine, folder = archive
    path = folder / "bar.warc.gz"
    link = b"<a href='/other'>other</a>"
    records = [
        warc(
            *("response", URL, f"{time}T10:00:00Z", link + body),
            http=b"Content-Type: text/html",
            WARC_Payload_Digest=f"sha1:{digest * 32}",
        )
        for time, digest, body in zip(
            TIMES,
            "AABBB",
            (b"<p>Old lamp</p>",) * 2 + (b"<p>New lamp</p>",) * 3,
            strict=True,
        )
    ]
    other = warc(
        *("response", f"{URL}other", "2010-03-05T12:00:00Z", b"<p>Other page</p>"),
        http=b"Content-Type: text/html",
        WARC_Payload_Digest=f"sha1:{'C' * 32}",
    )
    path.write_bytes(b"".join((*records, other)))
    import_file(engine, path)


@pytest.fixture
def page(browser: Browser, service: str) -> Page:
    context = browser.new_context()
    load_axe(context)
    page = context.new_page()
    page.goto(f"{service}/replay/20100305100000/{URL}")
    page.locator("#nwx-time", has_text="2010-03-05").wait_for()
    return page


def test_the_bar_speaks_the_language_that_is_chosen(page: Page) -> None:
    page.click("#nwx-more summary")
    page.click("#nwx-languages a[lang=de]")
    page.get_by_text("Daten und Zitat").wait_for()
    assert URL in page.url
    assert page.locator("html").get_attribute("lang") == "de"


def test_the_histogram_zooms_to_a_capture(page: Page) -> None:
    page.click("#nwx-more summary")
    zoom = page.locator("#nwx-zoom")
    assert zoom.locator(".nwx-bars > *").count() == 4
    zoom.get_by_role("button", name="2010: Captures: 3").click()
    assert zoom.locator(".nwx-bars > *").count() == 12
    zoom.get_by_role("button", name="March 2010: Captures: 3").press("Enter")
    assert zoom.locator(".nwx-month a").count() == 3
    check_modes(page)
    zoom.locator(".nwx-month").get_by_role("link", name="March 2, 2010: Captures: 1").click()
    page.locator("#nwx-time", has_text="2010-03-02 10:00").wait_for()


def test_the_bar_tells_what_changed_and_cites(page: Page, service: str) -> None:
    page.click("#nwx-more summary")
    assert page.locator("#nwx-permanent").get_attribute("href") == (
        f"{service}/replay/20100305100000/{URL}"
    )
    page.locator("#nwx-changed a", has_text="Changed since March 2, 2010").click()
    assert page.locator("h1").inner_text() == "What changed"
    page.go_back()
    page.click("#nwx-more summary")
    page.click("#nwx-cite")
    assert "bar.example" in page.locator("#cite-pwid").inner_text()


def test_the_bar_follows_a_link_in_the_page(page: Page) -> None:
    page.frame_locator("#replay_iframe").locator("a").click()
    page.locator("#nwx-url", has_text="/other").wait_for()
    page.click("#nwx-more summary")
    page.locator("#nwx-zoom", has_text="Captures: 1").wait_for()


def test_a_hidden_bar_stays_hidden(page: Page) -> None:
    page.click("#nwx-hide")
    page.reload()
    assert page.locator("#nwx-bar").is_hidden()
    page.click("#nwx-show")
    assert page.locator("#nwx-bar").is_visible()


def test_no_other_site_reads_the_captures_of_the_bar(service: str) -> None:
    with OPENER.open(f"{service}/replay/2010/{URL}", timeout=60) as answer:
        parts = urlsplit(answer.url)
    address = f"{parts.scheme}://{parts.netloc}/nwx-captures?url={URL}"
    with OPENER.open(address, timeout=60) as answer:
        assert answer.headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert answer.read().decode().count("+") == 1
    assert fetch(f"{parts.scheme}://{parts.netloc}/nwx-captures?url=%22")[1] == 'nwxCaptures = "";'
