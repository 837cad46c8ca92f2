"""The pages of links in a real browser."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from nwx.engine.embedded import EmbeddedEngine
from nwx.links.build import InlinkBuildOptions, invert_links
from tests.web.chromium import drawn_chart
from tests.web.contrast import CONTRAST
from tests.web.linked_archive import linked_batches
from tests.web.serving import serving
from webapp import create_app

pytestmark = pytest.mark.xdist_group("browser")

NARROW = {"width": 320, "height": 700}
ADDRESSES = {
    "hosts": "/links",
    "host": "/links?host=hub.test&size=documents",
    "url": "/links?url=http://hub.test/",
    "missing": "/missing",
}


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an archive with inverted links."""
    folder: Path = tmp_path_factory.mktemp("linked") / "archive"
    with EmbeddedEngine(folder) as engine:
        for batch in linked_batches():
            engine.write(batch)
        engine.refresh()
        reopen = partial(EmbeddedEngine, folder, read_only=True)
        invert_links(engine, reopen, InlinkBuildOptions(workers=1))
        with serving(create_app(engine)) as address:
            yield address


def test_a_point_is_put_in_the_middle(page: Page, linked: str) -> None:
    chart = drawn_chart(page, f"{linked}/links")
    points = chart.locator(".mark-symbol.role-mark path")
    assert points.count() >= 7
    points.first.click()
    page.wait_for_url("**/links?host=*")
    expect(page.locator("h1")).to_contain_text("Links of")


def test_the_slider_works_by_keyboard(page: Page, linked: str) -> None:
    drawn_chart(page, f"{linked}/links?host=hub.test&year=2010")
    page.locator("#links-year").focus()
    with page.expect_navigation():
        page.keyboard.press("ArrowRight")
    assert "year=2011" in page.url
    expect(page.locator("figcaption")).to_have_text("Links of hub.test in 2011")
    page.get_by_role("link", name="All years").click()
    expect(page.locator("figcaption")).to_have_text("Links of hub.test")


def test_a_host_is_chosen_by_keyboard(page: Page, linked: str) -> None:
    page.goto(f"{linked}/links")
    page.locator("#links-host").fill("site1.test")
    page.keyboard.press("Enter")
    page.wait_for_url("**host=site1.test*")
    row = page.get_by_role("row").filter(has_text="hub.test")
    row.get_by_role("link", name="hub.test", exact=True).press("Enter")
    page.wait_for_url("**host=hub.test*")


@pytest.mark.parametrize("name", ADDRESSES)
def test_pages_fit_a_narrow_screen(open_page: Page, linked: str, name: str) -> None:
    open_page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    open_page.goto(linked + ADDRESSES[name])
    assert open_page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]


@pytest.mark.parametrize("name", ADDRESSES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out(open_page: Page, linked: str, name: str, scheme: str) -> None:
    open_page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    open_page.goto(linked + ADDRESSES[name])
    assert open_page.evaluate(CONTRAST)["faults"] == []


def test_without_scripts_there_are_a_picture_and_the_table(browser: Browser, linked: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{linked}/links?host=hub.test")
    picture = page.locator("img.chart-picture")
    expect(picture).to_be_visible()
    assert page.request.get(linked + str(picture.get_attribute("src"))).status == 200
    page.get_by_role("link", name="site1.test", exact=True).click()
    expect(page.locator("h1")).to_have_text("Links of site1.test")
    context.close()
