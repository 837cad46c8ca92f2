"""The page of a running crawl in a real browser: it updates itself."""

from collections.abc import Iterator
from typing import NamedTuple

import pytest
from playwright.sync_api import Browser, Page, expect

from nwx.engine.base import Engine
from nwx.engine.embedded import EmbeddedEngine
from nwx.quality.monitor.state import write_state
from tests.web.contrast import CONTRAST
from tests.web.monitored import fetch_more, seen_crawl
from tests.web.serving import serving
from webapp import create_app

pytestmark = pytest.mark.xdist_group("browser")

_SOON = 30_000


class Monitored(NamedTuple):
    """An archive with a monitored crawl, and the address of its pages."""

    engine: Engine
    address: str


@pytest.fixture(scope="module")
def monitored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Monitored]:
    with EmbeddedEngine(tmp_path_factory.mktemp("monitored") / "archive") as engine:
        engine.create()
        write_state(engine.quality_index(), seen_crawl("flood"))
        with serving(create_app(engine)) as address:
            yield Monitored(engine, address)


def test_the_page_renews_itself(page: Page, monitored: Monitored) -> None:
    page.set_viewport_size({"width": 320, "height": 700})
    page.goto(f"{monitored.address}/crawls/flood")
    pages = page.locator(".monitor-totals div").filter(has_text="Pages").locator("dd")
    before = int(pages.inner_text())
    page.get_by_text("1 earlier alert").click()
    table = page.get_by_role("region", name="Counts a minute")
    table.evaluate("(box) => { box.scrollLeft = 40; box.focus(); }")
    fetch_more(monitored.engine, "flood", 7)
    expect(pages).to_have_text(str(before + 7), timeout=_SOON)
    expect(page.get_by_text("fell to a tenth")).to_be_visible()
    expect(table).to_be_focused()
    assert table.evaluate("(box) => box.scrollLeft") == 40
    expect(page.get_by_role("rowheader", name="new.test").first).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= 320


def test_the_page_says_when_it_cannot_renew_itself(page: Page, monitored: Monitored) -> None:
    page.goto(f"{monitored.address}/crawls/flood")
    lost = page.get_by_text("No connection to the archive")
    expect(lost).to_be_hidden()
    page.route("**/crawls/flood/monitor", lambda route: route.fulfill(status=200, body="<p>no"))
    expect(lost).to_be_visible(timeout=_SOON)
    page.unroute("**/crawls/flood/monitor")
    expect(lost).to_be_hidden(timeout=2 * _SOON)


def test_a_hidden_page_asks_for_nothing(page: Page, monitored: Monitored) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.clock.install()
    page.goto(f"{monitored.address}/crawls/flood")
    page.evaluate("""() => {
        Object.defineProperty(document, "hidden", { get: () => window.away, configurable: true });
        window.away = true;
        document.dispatchEvent(new Event("visibilitychange"));
    }""")
    asked.clear()
    page.clock.run_for(60_000)
    assert [one for one in asked if one.endswith("/monitor")] == []
    with page.expect_response("**/crawls/flood/monitor"):
        page.evaluate(
            "() => { window.away = false; document.dispatchEvent(new Event('visibilitychange')); }"
        )


def test_the_page_works_without_scripts(browser: Browser, monitored: Monitored) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{monitored.address}/crawls")
    page.get_by_role("link", name="flood").click()
    expect(page.get_by_role("heading", name="Alerts")).to_be_visible()
    page.get_by_role("link", name="last hour").press("Enter")
    page.wait_for_url("**span=hour*")
    chart = page.get_by_alt_text("Size by type: a table below has the numbers")
    chart.scroll_into_view_if_needed()
    page.wait_for_load_state("networkidle")
    assert chart.evaluate("(image) => image.naturalWidth") > 0
    context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out(browser: Browser, monitored: Monitored, scheme: str) -> None:
    context = browser.new_context(color_scheme=scheme)  # type: ignore[arg-type]
    page = context.new_page()
    page.goto(f"{monitored.address}/crawls/flood")
    assert page.evaluate(CONTRAST)["faults"] == []
    context.close()
