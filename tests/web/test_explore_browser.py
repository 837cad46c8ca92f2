"""The explorer in a real browser."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from nwx.engine.embedded import EmbeddedEngine
from tests.web.chromium import drawn_chart
from tests.web.contrast import CONTRAST
from tests.web.holdings import HOSTILE_SITE, batch
from tests.web.serving import serving
from webapp import create_app

pytestmark = pytest.mark.xdist_group("browser")

PHONE = {"width": 360, "height": 740}
QUESTIONS = {
    "months": "/explore",
    "stacked": "/explore?by=month,status",
    "share": "/explore?by=site,type&feature=bytes&chart=share",
    "lines": "/explore?feature=duplication_ratio",
    "grouped": "/explore?by=site,status&feature=unique_urls",
    "heat": "/explore?by=month,type&chart=heat",
    "treemap": "/explore?by=site&feature=bytes&chart=treemap&top=50",
    "compared": "/explore?by=month&where=site%3Dsite1.example&vs=site%3Dsite2.fr",
    "bars": "/explore?by=size&where=type%3Dpdf,html&where=month%3D2011..2013",
}


@pytest.fixture(scope="module")
def explorer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an archive with data to explore."""
    folder: Path = tmp_path_factory.mktemp("explorer") / "archive"
    with EmbeddedEngine(folder) as engine:
        engine.create()
        engine.write(batch())
        engine.refresh()
        with serving(create_app(engine)) as address:
            yield address


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_chart_isdrawn_chart(page: Page, explorer: str, name: str) -> None:
    chart = drawn_chart(page, explorer + QUESTIONS[name])
    marks = chart.locator(".role-mark path")
    assert marks.count() >= 3
    box = chart.locator("svg").bounding_box()
    assert box
    assert 600 < box["width"] <= 1200
    assert box["height"] > 100


def test_a_bar_refines_and_the_way_leads_back(page: Page, explorer: str) -> None:
    chart = drawn_chart(page, f"{explorer}/explore?by=type&top=10")
    chart.locator(".mark-rect.role-mark path").first.click()
    page.wait_for_url("**where=type*")
    expect(page.locator("figcaption")).to_have_text("Captures by month")
    expect(page.locator(".chips")).to_contain_text("Type")
    page.get_by_role("link", name="Back").click()
    expect(page.locator("figcaption")).to_have_text("Captures by type")
    expect(page.locator(".chips")).to_have_count(0)


def test_a_cell_of_a_treemap_with_a_hostile_name_refines(page: Page, explorer: str) -> None:
    query = "by=site&feature=bytes&chart=treemap&where=month%3D2014-01&where=type%3Dhtml&top=10"
    chart = drawn_chart(page, f"{explorer}/explore?{query}")
    assert chart.locator(".mark-rect path").count() >= 2
    page.goto(f"{explorer}/explore?by=site&top=100")
    page.get_by_role("link", name=HOSTILE_SITE.split(",")[0]).first.click()
    expect(page.get_by_role("status")).to_contain_text("1 capture")
    assert page.evaluate("document.images.length") == 0


def test_what_is_pointed_at_is_told(page: Page, explorer: str) -> None:
    chart = drawn_chart(page, f"{explorer}/explore?by=month,status")
    chart.locator(".mark-rect.role-mark path[aria-label*='Status: ok']").last.hover()
    told = page.locator("#vg-tooltip-element.visible")
    expect(told).to_contain_text("Captures")
    expect(told).to_contain_text("Status")
    assert told.evaluate("e => getComputedStyle(e).position") == "fixed"
    for key in told.locator("td.key").all():
        assert key.evaluate("e => getComputedStyle(e).display") == "table-cell"
        assert key.evaluate("e => e.scrollWidth <= e.clientWidth && e.clientWidth > 40")
        assert key.evaluate("e => getComputedStyle(e).backgroundColor") == "rgba(0, 0, 0, 0)"
    assert page.evaluate(CONTRAST)["faults"] == []


def test_the_chart_follows_day_and_night(browser: Browser, explorer: str) -> None:
    page = browser.new_context(color_scheme="light").new_page()
    drawn_chart(page, f"{explorer}/explore")
    colour = "document.querySelector('#chart .role-axis-label text').getAttribute('fill')"
    light = page.evaluate(colour)
    page.emulate_media(color_scheme="dark")
    expect(page.locator("#chart[data-drawn=dark]")).to_be_visible()
    assert page.evaluate(colour) != light
    page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_words_of_charts_stand_out_too(browser: Browser, explorer: str, scheme: Any) -> None:
    page = browser.new_context(color_scheme=scheme).new_page()
    faults = {}
    for name, address in QUESTIONS.items():
        drawn_chart(page, explorer + address)
        faults[name] = page.evaluate(CONTRAST)["faults"]
        texts = page.evaluate(CHART_CONTRAST)
        assert texts["seen"] >= 3
        faults[f"{name}, chart"] = texts["faults"]
    page.context.close()
    assert {name: found for name, found in faults.items() if found} == {}


# Texts of a chart are on the background of its card, those of a treemap on the cells.
CHART_CONTRAST = """() => {
  const light = (colour) => {
    const canvas = new OffscreenCanvas(1, 1).getContext("2d");
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).reduce((sum, value, i) => {
      const part = value / 255;
      const weight = [0.2126, 0.7152, 0.0722][i];
      return sum + weight * (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    }, 0);
  };
  const cells = [...document.querySelectorAll("#chart .mark-rect.role-mark path")];
  const card = getComputedStyle(document.querySelector(".chart-card")).backgroundColor;
  const treemap = document.getElementById("chart").dataset.mode === "vega";
  const grounds = treemap ? cells.map((cell) => getComputedStyle(cell).fill) : [card];
  const faults = [];
  let seen = 0;
  for (const text of document.querySelectorAll("#chart text")) {
    if (!text.textContent.trim()) continue;
    seen += 1;
    for (const ground of grounds) {
      const pair = [light(getComputedStyle(text).fill), light(ground)].sort((a, b) => b - a);
      const ratio = (pair[0] + 0.05) / (pair[1] + 0.05);
      if (ratio < 4.5) faults.push(`${text.textContent} on ${ground}: ${ratio.toFixed(2)}`);
    }
  }
  return {seen, faults};
}"""


def test_no_question_is_wider_than_a_phone(browser: Browser, explorer: str) -> None:
    page = browser.new_context(viewport=PHONE).new_page()
    widths = {}
    for name, address in QUESTIONS.items():
        drawn_chart(page, explorer + address)
        chart = page.locator("#chart svg").bounding_box()
        assert chart
        assert chart["width"] <= PHONE["width"]
        widths[name] = page.evaluate("document.documentElement.scrollWidth")
    page.context.close()
    assert {name: width for name, width in widths.items() if width > PHONE["width"]} == {}


def test_all_is_there_without_scripts(browser: Browser, explorer: str) -> None:
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(f"{explorer}/explore?by=type")
    picture = page.locator(".chart-picture")
    expect(picture).to_be_visible()
    page.wait_for_load_state()
    box = picture.bounding_box()
    assert box
    assert box["height"] > 100
    page.get_by_text("Narrow…").click()
    form = page.locator("form", has=page.get_by_role("button", name="Narrow"))
    form.get_by_label("Criterion").select_option("month")
    form.get_by_label("Value").fill("2012..2013")
    form.get_by_role("button", name="Narrow").click()
    expect(page.locator(".chips")).to_contain_text("2012 – 2013")
    page.get_by_text("Compare…").click()
    form = page.locator("form", has=page.get_by_role("button", name="Compare"))
    form.get_by_label("Criterion").select_option("month")
    form.get_by_label("Value").fill("2014")
    form.get_by_role("button", name="Compare").click()
    expect(page.locator(".compared")).to_be_visible()
    page.get_by_role("link", name="Stop comparing").click()
    page.locator(".grid tbody th a").first.click()
    expect(page.locator(".chips li")).to_have_count(2)
    page.get_by_role("link", name="See the captures").click()
    expect(page.locator("h1")).to_have_text("Captures")
    page.context.close()


def test_without_its_library_the_chart_says_so(browser: Browser, explorer: str) -> None:
    page = browser.new_context().new_page()
    page.route("**/vega.js*", lambda route: route.fulfill(status=503))
    page.goto(f"{explorer}/explore?by=type")
    expect(page.locator("#chart")).to_contain_text("could not be loaded")
    expect(page.locator(".grid tbody tr")).to_have_count(6)
    page.context.close()


def test_keys_lead_to_the_forms_and_the_table(page: Page, explorer: str) -> None:
    drawn_chart(page, f"{explorer}/explore?by=type")
    page.get_by_text("Narrow…").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("button", name="Narrow")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.locator("#narrow-criterion")).to_be_focused()
    page.locator(".scroller").focus()
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/explore?**where=type**")
    expect(page.locator(".chips li")).to_have_count(1)
