"""Accessible pages: the rules of axe-core in all modes, no overflow at 320 px, few tab stops."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Page

from tests.web.addresses import ERRORS, FIRST, PAGES
from tests.web.archive import HOME
from tests.web.axe import NARROW, WIDE, check_modes, colour_faults, load_axe

pytestmark = pytest.mark.xdist_group("browser")

ADDRESSES = {
    "trends": "/trends?q=quarry&q=museum&by=year",
    "words": "/words?q=quarry",
    **PAGES,
    **{name: address for name, (address, _) in ERRORS.items()},
    "links": "/links",
    "links to a page": f"/links?url={HOME}",
    "missing": "/missing",
    "hosts": "/hosts",
    "repairs": "/quality/repairs",
    "entities": "/entities",
    "sparql": "/sparql",
    "crawls": "/crawls",
    "crawl": "/crawls/stones",
    "crawl versions": "/crawls/stones/versions",
    "crawl editor": "/crawls/stones/edit",
    "monitored crawl": "/crawls/watched",
    "compare": "/crawls/compare",
    "searches": "/searches",
    "pictures": "/pictures",
    "map": "/pictures/map",
    "quotation": f"/quote?text=example&url={HOME}",
    "review": "/quality/review",
    "judging": "/judge?query=line&judge=ann",
    "changes": "/changes?site=example.org",
    "no changes": "/changes",
    "coloured calendar": f"/documents/{FIRST}?colour=text",
    "citation": f"/cite?url={HOME}",
    "sql": "/sql?query=SELECT+host,+captures+FROM+hosts",
}
MOST_STOPS = 10


@pytest.fixture(scope="module")
def page(browser: Browser) -> Iterator[Page]:
    context = browser.new_context(viewport=WIDE, color_scheme="light")
    load_axe(context)
    yield context.new_page()
    context.close()


@pytest.mark.parametrize("name", ADDRESSES)
def test_axe_finds_nothing_in_any_mode(page: Page, server: str, name: str) -> None:
    page.goto(server + ADDRESSES[name])
    check_modes(page)


@pytest.mark.parametrize(("name", "text"), [("help", "h1"), ("all", ".hit .hit-url")])
def test_a_text_that_does_not_stand_out_is_noticed(
    page: Page, server: str, name: str, text: str
) -> None:
    page.emulate_media(color_scheme="light")
    page.goto(server + ADDRESSES[name])
    page.locator(text).last.evaluate("e => e.style.color = '#999'")
    (fault,) = colour_faults(page)
    assert fault.startswith("color-contrast: 1 of")


def _tab_to(page: Page, selector: str, most: int) -> int:
    """Return the number of tab stops until an element has the focus; skip links are followed."""
    for stop in range(1, most + 1):
        page.keyboard.press("Tab")
        if page.locator(f"{selector}:focus").count():
            return stop
        if page.locator(".skip:focus").count() and "results" in str(
            page.locator(".skip:focus").get_attribute("href")
        ):
            page.keyboard.press("Enter")
    return most + 1


def test_the_first_result_is_a_few_stops_away(page: Page, server: str) -> None:
    page.set_viewport_size(WIDE)
    page.goto(f"{server}/search?q=quarry")
    assert _tab_to(page, ".hit-title a", MOST_STOPS) <= MOST_STOPS
    assert page.locator(".hit-title a").first.evaluate("e => e === document.activeElement")


def test_a_long_url_to_judge_fits_a_phone(page: Page, server: str) -> None:
    page.goto(server + ADDRESSES["judging"])
    page.set_viewport_size(NARROW)
    page.locator("main a[target=_blank]").evaluate("e => { e.textContent = 'x'.repeat(300) }")
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    page.set_viewport_size(WIDE)


def test_a_row_heading_stays_in_its_cell_on_a_phone(page: Page, server: str) -> None:
    page.goto(server + ADDRESSES["trends"])
    page.set_viewport_size(NARROW)
    heading = page.locator(".grid tbody th").first
    heading.evaluate("e => { e.className = 'nowrap'; e.textContent = '30 nov 2026, 20:15:32 UTC' }")
    assert heading.evaluate("e => e.scrollWidth <= e.clientWidth")
    page.set_viewport_size(WIDE)


def test_a_row_of_captures_is_a_card_on_a_phone(page: Page, server: str) -> None:
    page.set_viewport_size(NARROW)
    page.goto(server + ADDRESSES["explore captures"])
    cells = page.locator(".cards tbody tr").first.locator("td")
    boxes = [box for box in (cell.bounding_box() for cell in cells.all()) if box]
    assert [box["x"] for box in boxes] == [boxes[0]["x"]] * len(boxes)
    label = "e => getComputedStyle(e, '::before').content"
    assert cells.nth(1).evaluate(label) == '"URL: "'


@pytest.mark.parametrize("name", ["results", "document", "explore", "quality"])
def test_pages_can_be_written_from_right_to_left(page: Page, server: str, name: str) -> None:
    page.set_viewport_size(NARROW)
    page.goto(server + ADDRESSES[name])
    page.evaluate("document.documentElement.dir = 'rtl'")
    assert page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]
    brand = page.locator(".brand").bounding_box()
    assert brand is not None
    assert brand["x"] + brand["width"] > NARROW["width"] - 32
