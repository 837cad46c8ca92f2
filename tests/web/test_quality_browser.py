"""The quality pages in a real browser: the slider, narrow screens, and without scripts."""

import pytest
from playwright.sync_api import Browser, Page, expect

from nwx.archive import Archive
from nwx.engine.base import Engine
from tests.web.checked_archive import HOME_SCORE
from tests.web.contrast import CONTRAST
from tests.web.serving import serving
from webapp import create_app

pytestmark = pytest.mark.xdist_group("browser")

NARROW = {"width": 320, "height": 700}
CHECKED = f"/quality/page?id={HOME_SCORE}"
LIST = "/quality?site=blog.example.com"
PICTURES_ARE_SHOWN = "[...document.images].every((one) => one.complete && one.naturalWidth > 0)"


def shown_part(page: Page) -> str:
    found: str = page.locator(".slider-above").evaluate("(one) => one.style.clipPath")
    return found


def test_the_slider_works_by_keyboard_and_pointer(page: Page, server: str) -> None:
    page.goto(server + CHECKED)
    slider = page.get_by_role("slider", name="Playback to the left")
    expect(slider).to_be_visible()
    assert shown_part(page) == "inset(0px 50% 0px 0px)"
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert shown_part(page) == "inset(0px 49% 0px 0px)"
    page.keyboard.press("Home")
    assert shown_part(page) == "inset(0px 100% 0px 0px)"
    expect(slider).to_have_attribute("aria-valuetext", "0% playback")
    pictures = page.locator(".slider-pictures")
    box = pictures.bounding_box()
    assert box is not None
    pictures.click(position={"x": box["width"] * 0.25, "y": box["height"] / 2})
    expect(slider).to_have_value("25")
    assert page.evaluate(PICTURES_ARE_SHOWN)


@pytest.mark.parametrize("address", [LIST, CHECKED])
def test_pages_fit_a_narrow_screen(open_page: Page, server: str, address: str) -> None:
    open_page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    open_page.goto(server + address)
    assert open_page.evaluate("document.documentElement.scrollWidth") <= NARROW["width"]


def test_the_form_of_a_review_fits_a_phone_in_each_language(
    browser: Browser, engine: Engine
) -> None:
    widths = {}
    with serving(create_app(engine, queue_token="a-token")) as server:
        for language in ("en", "de", "fr", "es"):
            context = browser.new_context(locale=language, viewport={"width": 360, "height": 740})
            page = context.new_page()
            page.goto(f"{server}/quality/review")
            expect(page.locator("#review-form")).to_be_visible()
            widths[language] = page.evaluate("document.documentElement.scrollWidth")
            page.locator("#token").fill("a-token")
            page.locator("[name=reviewer]").press("Enter")  # must not submit a verdict
            expect(page).to_have_url(f"{server}/quality/review")
            context.close()
    assert max(widths.values()) <= 360, widths
    assert list(Archive.over(engine).reviews()) == []


@pytest.mark.parametrize("address", [LIST, CHECKED])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out(open_page: Page, server: str, address: str, scheme: str) -> None:
    open_page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    open_page.goto(server + address)
    assert open_page.evaluate(CONTRAST)["faults"] == []


def test_pages_are_chosen_by_what_they_share(page: Page, server: str) -> None:
    page.goto(f"{server}/quality?site=example.com")
    page.get_by_role("link", name="Far in time").first.click()
    page.wait_for_url("**kind=far*")
    page.get_by_role("link", name="2016-06").click()
    page.wait_for_url("**month=2016-06*")
    expect(page.locator(".checked-page").first).to_contain_text("Far in time")
    page.locator(".checked-url").first.press("Enter")
    expect(page.locator("h1")).to_contain_text("blog.example.com/")


def test_without_scripts_pictures_stand_side_by_side(browser: Browser, server: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(server + CHECKED)
    expect(page.locator("#slider")).to_be_hidden()
    boxes = [page.locator(".shot").nth(number).bounding_box() for number in range(3)]
    assert len({round(box["y"]) for box in boxes if box}) == 1
    for name in ("crawl", "playback", "difference"):
        expect(page.locator(f".shots img[src*='of={name}']")).to_be_visible()
    context.close()
