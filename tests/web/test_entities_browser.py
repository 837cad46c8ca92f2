"""The pages of entities and of SPARQL in a real browser."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect

from nwx.engine.embedded import EmbeddedEngine
from tests.web.serving import serving
from tests.web.triples_archive import write_triples
from webapp import create_app

pytestmark = pytest.mark.xdist_group("browser")

NARROW = {"width": 320, "height": 700}
QUERY = "SELECT * { ?s ?p ?o } LIMIT 20"


@pytest.fixture(scope="module")
def stored(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of an archive with triples."""
    folder: Path = tmp_path_factory.mktemp("entities") / "archive"
    with EmbeddedEngine(folder) as engine:
        engine.create()
        with serving(create_app(engine, triples=write_triples(folder))) as address:
            yield address


def test_an_entity_is_found_by_keyboard_and_leads_on(page: Page, stored: str) -> None:
    page.goto(f"{stored}/entities")
    page.locator("#entities-q").fill("ad")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=ad*")
    page.get_by_role("link", name="Ada").press("Enter")
    expect(page.locator("h1")).to_have_text("Ada")
    page.locator(".bars a", has_text="2012").press("Enter")
    expect(page.locator("#entity-captures")).to_have_text("Where it is mentioned in 2012")
    page.get_by_role("link", name="Bea").press("Enter")
    expect(page.locator("h1")).to_have_text("Bea")


def test_a_query_is_asked_without_scripts(browser: Browser, stored: str) -> None:
    context = browser.new_context(java_script_enabled=False, viewport=NARROW)
    page = context.new_page()
    page.goto(f"{stored}/sparql")
    page.locator("#sparql-query").fill(QUERY)
    page.locator("#sparql-query").press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("status")).to_have_text("20 rows.")
    expect(page.locator("#sparql-query")).to_have_value(QUERY)
    page.get_by_role("link", name="Titles").click()
    expect(page.get_by_role("status")).to_have_text("2 rows.")
    page.locator("#sparql-query").fill("SELECT")
    page.get_by_role("button", name="Ask").click()
    expect(page.get_by_role("alert")).to_contain_text("the query is wrong")
    context.close()


@pytest.mark.parametrize(
    "address",
    ["/entities", "/entities?iri=http://www.wikidata.org/entity/Q7259", f"/sparql?query={QUERY}"],
)
def test_pages_fit_a_small_screen(open_page: Page, stored: str, address: str) -> None:
    open_page.set_viewport_size(NARROW)
    open_page.goto(f"{stored}{address}")
    assert open_page.evaluate("document.documentElement.scrollWidth") <= 320
