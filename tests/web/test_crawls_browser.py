"""The pages of crawls in a real browser."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.indices.crawl_index import DocumentScore, LinkScore
from nwx.engine.indices.quality_index import Fault
from nwx.model import Batch
from nwx.values.render_names import FaultKind
from tests.conformance.archive import capture
from tests.web.checked_archive import score_of
from tests.web.contrast import CONTRAST
from tests.web.serving import serving
from webapp import create_app

pytestmark = pytest.mark.xdist_group("browser")

SIZES = {"narrow": {"width": 320, "height": 700}, "wide": {"width": 1100, "height": 800}}
ADDRESSES = {
    "list": "/crawls",
    "crawl": "/crawls/votes",
    "editor": "/crawls/votes/edit",
    "new": "/crawls/new",
    "versions": "/crawls/votes/versions",
    "compared": "/crawls/compare?a=web&b=other&spec=votes",
}
TEXT = f"name = 'votes'\nkeywords = ['{'vote' * 30}']\nseeds = ['http://a.test/{'x' * 300}']\n"
PARTS = {"document": 0.2, "near": 0.3, "role": 0.1, "preferred": 0.1, "novelty": 0.05}


@pytest.fixture(scope="module")
def crawls(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an archive with a crawl of two versions, and scored links."""
    folder: Path = tmp_path_factory.mktemp("crawls") / "archive"
    links = [
        LinkScore(f"http://a.test/{'long-' * 40}{n}", n / 60, "content", PARTS, "keyword " * 30)
        for n in range(59)
    ]
    with EmbeddedEngine(folder) as engine:
        index = engine.crawl_index()
        index.save_specification("votes", "v1", TEXT)
        index.save_specification("votes", "v1", f"{TEXT}# two\n")
        page = ("votes", "v1", "1", "http://page.test/", "20260102030405", 0.5)
        blacklisted = LinkScore("http://ads.test/", None, "advertisement", {}, "blacklist host")
        index.put_scores([DocumentScore(*page, links=(*links, blacklisted))])
        held = [capture(f"http://{'long-' * 9}host.test/{n}", "2010") for n in range(9)]
        other = [replace(each, collection="other") for each in held[3:]]
        engine.write(Batch(captures=(*held, *other)))
        lost = (Fault(FaultKind.REDIRECT_LOOP), Fault(FaultKind.LEAK))
        scores = [score_of(one, 1.0) for one in held]
        scores += [score_of(one, 0.1, faults=lost, faults_total=2) for one in other]
        engine.quality_index().put(scores)
        with serving(create_app(engine, queue_token="a-token")) as address:
            yield address


@pytest.mark.parametrize("name", ADDRESSES)
@pytest.mark.parametrize("size", SIZES)
def test_pages_fit_the_screen(open_page: Page, crawls: str, name: str, size: str) -> None:
    open_page.set_viewport_size(SIZES[size])  # type: ignore[arg-type]
    open_page.goto(crawls + ADDRESSES[name])
    assert open_page.evaluate("document.documentElement.scrollWidth") <= SIZES[size]["width"]


@pytest.mark.parametrize("name", ADDRESSES)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_stand_out(open_page: Page, crawls: str, name: str, scheme: str) -> None:
    open_page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
    open_page.goto(crawls + ADDRESSES[name])
    assert open_page.evaluate(CONTRAST)["faults"] == []


def test_a_specification_is_written_without_scripts(browser: Browser, crawls: str) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{crawls}/crawls")
    page.get_by_role("link", name="New crawl specification").click()
    text = page.get_by_label("Specification, as TOML or JSON")
    text.fill("name = 'floods'\nkeyword = []\n")
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_role("alert")).to_contain_text("did you mean 'keywords'?")
    text.fill("name = 'floods'\n\nkeywords = ['<b>flood</b>', 'ü']\n")
    page.get_by_role("button", name="Check").click()
    expect(page.get_by_role("status")).to_contain_text("Not saved yet")
    page.get_by_label("Token of this service").fill("wrong")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_role("alert")).to_contain_text("the token is wrong")
    page.go_back()
    page.get_by_label("Token of this service").fill("a-token")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("h1")).to_have_text("floods")
    expect(page.get_by_role("status")).to_have_text("Saved as number 1.")
    expect(page.get_by_text("<b>flood</b>")).to_be_visible()
    context.close()


def test_a_version_is_restored_by_keyboard(page: Page, crawls: str) -> None:
    page.goto(f"{crawls}/crawls/votes/versions")
    page.get_by_label("Token of this service").fill("a-token")
    page.get_by_role("button", name="Restore number 1").press("Enter")
    page.wait_for_url("**/crawls/votes?saved=*")
    expect(page.get_by_role("status")).to_contain_text("Saved as number")


def test_links_are_paged_and_chosen_by_host(page: Page, crawls: str) -> None:
    page.goto(f"{crawls}/crawls/votes")
    expect(page.locator(".scored li")).to_have_count(50)
    expect(page.locator(".scored-value").first).to_have_text("0.967")
    page.get_by_role("link", name="Next").click()
    expect(page.locator(".scored li")).to_have_count(10)
    expect(page.locator(".scored li").last).to_contain_text("blacklisted")
    page.get_by_label("Host").fill("ads.test")
    page.keyboard.press("Enter")
    page.wait_for_url("**host=ads.test*")
    expect(page.locator(".scored li")).to_have_count(1)


def test_a_form_of_another_origin_saves_nothing(browser: Browser, crawls: str) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto("about:blank")
    page.set_content(
        f"<form method=post action='{crawls}/crawls/new'><input name=token value=a-token>"
        "<textarea name=text>name = 'forged'</textarea><button>Send</button></form>"
    )
    page.get_by_role("button").click()
    expect(page.get_by_role("alert")).to_contain_text("from the pages of this archive")
    assert page.request.get(f"{crawls}/crawls/forged").status == 404
    context.close()


def test_texts_of_charts_are_not_cut_off(page: Page, crawls: str) -> None:
    """The browser's font is wider than the one that the charts were measured with."""
    page.goto(f"{crawls}/crawls/compare/faults.svg?a=web&b=other")
    texts = page.locator("svg text")
    assert "Redirect loop" in texts.all_text_contents()
    begins = texts.evaluate_all("(all) => all.map((one) => one.getBoundingClientRect().left)")
    assert min(begins) >= page.locator("svg").evaluate("(svg) => svg.getBoundingClientRect().left")


def test_collections_are_compared_by_keyboard_and_without_scripts(
    browser: Browser, crawls: str
) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{crawls}/crawls")
    page.get_by_role("link", name="Compare crawls").press("Enter")
    page.get_by_label("Collection").select_option("web")
    page.get_by_label("with").select_option("other")
    page.get_by_role("button", name="Compare").press("Enter")
    page.wait_for_url("**a=web&b=other*")
    table = page.get_by_role("region", name="Coverage and overlap")
    expect(table.get_by_role("row", name="URLs 6 3 0")).to_be_visible()
    chart = page.get_by_alt_text("Coverage and overlap: the table below has the numbers")
    chart.scroll_into_view_if_needed()
    page.wait_for_load_state("networkidle")
    assert chart.evaluate("(image) => image.naturalWidth") > 0
    context.close()
