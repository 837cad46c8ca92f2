"""The pages in a real browser."""

from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.web.addresses import ERRORS, FIRST, HOSTILE, PAGES, THIRD

pytestmark = pytest.mark.xdist_group("browser")

ADDRESSES = {**PAGES, **{name: address for name, (address, _) in ERRORS.items()}}
PHONE = {"width": 360, "height": 740}


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    """A page that must log nothing to the console."""
    context = browser.new_context(viewport={"width": 1200, "height": 800})
    page = context.new_page()
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.on("pageerror", lambda error: said.append(str(error)))
    yield page
    context.close()
    assert [words for words in said if "status of 4" not in words] == []


def _open(browser: Browser, **options: Any) -> Page:
    return browser.new_context(**options).new_page()


def test_search_filter_and_chart(page: Page, server: str) -> None:
    page.goto(server)
    page.locator("#q").fill("quarry")
    page.get_by_role("button", name="Search").click()
    expect(page.get_by_role("status")).to_contain_text("47 results")
    page.get_by_role("complementary").get_by_role("link", name="French").click()
    expect(page.get_by_role("status")).to_contain_text("1 result")
    page.get_by_role("link", name="Remove Language French").click()
    expect(page.get_by_role("status")).to_contain_text("47 results")
    page.get_by_role("link", name="2019 : 1").click()
    expect(page.locator(".hit")).to_have_count(1)
    expect(page.locator(".bars a[aria-current]")).to_contain_text("2019")


def test_citations_are_copied(browser: Browser, server: str) -> None:
    page = _open(browser, permissions=["clipboard-read", "clipboard-write"])
    page.goto(f"{server}/documents/{FIRST}")
    for form in ("cite-pwid", "cite-bibtex"):
        page.locator(f'[data-copy="{form}"]').click()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied.strip() == page.locator(f"#{form}").inner_text().strip() != ""
    page.context.close()


def test_dates_from_the_form(page: Page, server: str) -> None:
    page.goto(f"{server}/search?q=quarry&sort=newest")
    page.get_by_label("From").fill("2017")
    page.get_by_label("To").fill("2018-06")
    page.get_by_role("button", name="Set").click()
    expect(page.locator(".hit")).to_have_count(1)
    assert "sort=newest" in page.url


def test_a_document_and_its_difference(page: Page, server: str) -> None:
    page.goto(f"{server}/search?q=museum")
    page.locator(".hit-title a").first.click()
    expect(page.locator("h1")).to_have_text("Quarry museum")
    page.get_by_role("button", name="Compare selected versions").click()
    assert page.url == f"{server}/documents/{FIRST}/diff/{THIRD}"
    expect(page.locator(".row-removed").first).to_contain_text("Open on Mondays")


def test_captures_of_a_year(page: Page, server: str) -> None:
    page.goto(f"{server}/documents/{FIRST}")
    page.get_by_role("region", name="By year").get_by_role("link", name="2009").click()
    expect(page.locator(".calendar-year")).to_have_text("2009")
    page.locator(".month td a").click()
    expect(page.locator(".day:target li a")).to_have_count(2)


def test_a_long_text_unfolds(page: Page, server: str) -> None:
    page.goto(f"{server}{PAGES['long'].replace('part=2', 'part=1')}")
    text = page.locator(".text")
    folded = text.bounding_box()
    page.get_by_text("Show the full text").click()
    unfolded = text.bounding_box()
    assert folded
    assert unfolded
    assert unfolded["height"] > 4 * folded["height"]


def test_keys_alone_lead_everywhere(page: Page, server: str) -> None:
    page.goto(f"{server}/help")
    page.keyboard.press("Tab")
    expect(page.locator(":focus")).to_have_text("Skip to the content")
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    page.keyboard.press("/")
    expect(page.locator("#q")).to_be_focused()
    page.keyboard.type("museum")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_contain_text("1 result")
    for _ in range(80):
        page.keyboard.press("Tab")
        if page.locator(".hit-title a:focus").count():
            break
    outline = page.locator(":focus").evaluate("e => getComputedStyle(e).outlineWidth")
    assert outline == "3px"
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Quarry museum")


def test_a_slash_in_the_box_is_a_slash(page: Page, server: str) -> None:
    page.goto(server)
    page.locator("#q").focus()
    page.keyboard.type("a/b")
    expect(page.locator("#q")).to_have_value("a/b")


_OVERHANGING = """
[...document.querySelectorAll(".top *, .box, .box *")]
  .filter(one => one.checkVisibility() && !one.matches(".skip, .skip *, .hidden"))
  .map(one => ({
    name: one.outerHTML.slice(0, 60),
    box: one.getBoundingClientRect(),
    around: one.parentElement.getBoundingClientRect(),
  }))
  .filter(({ box }) => box.width)
  .filter(({ box, around }) => box.left < around.left - 0.5 || box.right > around.right + 0.5)
  .map(({ name, box }) => `${name} ${box.left} ${box.right}`)
"""


@pytest.mark.parametrize("width", [320])
def test_the_search_box_and_the_links_at_the_top_fit_a_phone(
    browser: Browser, server: str, width: int
) -> None:
    page = _open(browser, viewport={**PHONE, "width": width})
    overhanging = {}
    for name, address in ADDRESSES.items():
        page.goto(server + address)
        overhanging[name] = page.evaluate(_OVERHANGING)
    page.context.close()
    assert {name: found for name, found in overhanging.items() if found} == {}


_TOO_LONG = "all => all.filter(one => one.scrollWidth > one.clientWidth).map(one => one.innerText)"


@pytest.mark.parametrize("language", ["en", "de", "fr", "es"])
def test_the_names_of_details_fit_a_phone(browser: Browser, server: str, language: str) -> None:
    page = _open(browser, viewport=PHONE, locale=language)
    page.goto(f"{server}/search?q=quarry")
    page.locator(".hit-title a").first.click()
    assert page.locator(".details dt").evaluate_all(_TOO_LONG) == []
    mark = page.locator(".cards td[data-label]").first
    shown = mark.evaluate("one => getComputedStyle(one, '::before').content")
    assert ("\u202f: " in shown) == (language == "fr")
    page.context.close()


def test_filters_unfold_on_a_phone_without_scripts(browser: Browser, server: str) -> None:
    page = _open(browser, viewport=PHONE, java_script_enabled=False)
    page.goto(f"{server}/search?q=quarry")
    side = page.get_by_role("complementary")
    expect(side).to_be_hidden()
    page.locator(".filters-button").click()
    expect(side).to_be_visible()
    side.get_by_role("link", name="pdf").click()
    expect(page.locator(".hit")).to_have_count(1)
    page.context.close()


def test_without_scripts_there_are_no_buttons_that_need_them(browser: Browser, server: str) -> None:
    page = _open(browser, java_script_enabled=False)
    page.goto(f"{server}/search?q=quarry")
    expect(page.locator("#save-search")).to_be_hidden()
    page.locator(".hit-title a").first.click()
    expect(page.locator(".citation")).to_be_visible()
    expect(page.locator("button.copy").first).to_be_hidden()
    page.context.close()


def test_all_works_without_scripts(browser: Browser, server: str) -> None:
    page = _open(browser, java_script_enabled=False)
    page.goto(server)
    page.locator("#q").fill("museum")
    page.get_by_role("button", name="Search").click()
    page.get_by_role("link", name="All versions").click()
    expect(page.locator(".hit")).to_have_count(3)
    page.get_by_role("link", name="2012").first.click()
    expect(page.locator(".hit")).to_have_count(1)
    page.locator(".hit-title a").click()
    page.get_by_role("button", name="Compare selected versions").click()
    expect(page.locator("h1")).to_have_text("What changed")
    page.context.close()


@pytest.mark.parametrize(("system", "chosen"), [("light", "Dark"), ("dark", "Light")])
def test_colours_follow_the_system_or_the_choice(
    browser: Browser, server: str, system: Any, chosen: str
) -> None:
    page = _open(browser, color_scheme=system)
    page.goto(f"{server}/settings")
    assert _is_dark(page) == (system == "dark")
    page.get_by_label(chosen).check()
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("status")).to_have_text("Settings saved in this browser.")
    assert _is_dark(page) == (chosen == "Dark")
    page.goto(f"{server}/search?q=quarry")
    assert _is_dark(page) == (chosen == "Dark")
    page.context.close()


def _is_dark(page: Page) -> bool:
    ground = page.locator("body").evaluate("e => getComputedStyle(e).backgroundColor")
    return int(ground.removeprefix("rgb(").split(",")[0]) < 128


def test_hostile_pages_run_nothing(page: Page, server: str) -> None:
    page.on("dialog", lambda dialog: pytest.fail(f"a script ran: {dialog.message}"))
    for address in (
        "/search?q=quarry&per_page=100",
        f"/documents/{HOSTILE}",
        ERRORS["hostile syntax"][0],
    ):
        page.goto(server + address)
    assert page.evaluate("document.images.length") == 0


def test_right_to_left_texts_begin_at_the_right(page: Page, server: str) -> None:
    page.goto(f"{server}/search?q=quarry&language=ar")
    for place in (".hit-title", ".snippet"):
        assert page.locator(place).evaluate("e => getComputedStyle(e).direction") == "rtl"
    assert page.locator(".hit-url").evaluate("e => getComputedStyle(e).direction") == "ltr"


def test_paper_has_no_controls(page: Page, server: str) -> None:
    page.goto(f"{server}/search?q=quarry")
    page.emulate_media(media="print")
    expect(page.locator("#q")).to_be_hidden()
    expect(page.locator(".hit").first).to_be_visible()


@pytest.mark.parametrize("size", [{"width": 1200, "height": 800}, PHONE])
def test_the_menus_lead_to_every_group_without_scripts(
    browser: Browser, server: str, size: Any
) -> None:
    page = _open(browser, viewport=size, java_script_enabled=False)
    page.goto(f"{server}/search?q=quarry")
    page.locator(".menu summary", has_text="Search").click()
    expect(page.get_by_role("link", name="Documents").first).to_have_attribute(
        "aria-current", "page"
    )
    page.get_by_role("link", name="Trends").click()
    expect(page.locator("#query-1")).to_have_value("quarry")
    page.locator(".menu summary", has_text="Crawls").click()
    page.get_by_role("link", name="Repairs").click()
    expect(page).to_have_url(f"{server}/quality/repairs")
    page.context.close()


def test_a_menu_closes_by_escape_and_by_a_click_elsewhere(page: Page, server: str) -> None:
    page.goto(server)
    menu = page.locator(".menu").first
    menu.locator("summary").click()
    page.keyboard.press("Escape")
    expect(menu).not_to_have_attribute("open", "")
    menu.locator("summary").click()
    page.locator("h1").click()
    expect(menu).not_to_have_attribute("open", "")
