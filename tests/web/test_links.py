"""The pages and the API of links."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from nwx.engine.base import Engine
from nwx.engine.embedded import EmbeddedEngine
from nwx.keys import document_id, document_key
from nwx.links.build import InlinkBuildOptions, invert_links
from tests.web.html import Page
from tests.web.linked_archive import HOSTILE_HOST, linked_batches
from webapp import create_app


@pytest.fixture(scope="module")
def linked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    """An archive with inverted links."""
    folder: Path = tmp_path_factory.mktemp("linked") / "archive"
    with EmbeddedEngine(folder) as engine:
        for batch in linked_batches():
            engine.write(batch)
        engine.refresh()
        reopen = partial(EmbeddedEngine, folder, read_only=True)
        invert_links(engine, reopen, InlinkBuildOptions(workers=1))
        yield engine


@pytest.fixture
def client(linked: Engine) -> FlaskClient:
    return create_app(linked).test_client()


def hub_page(client: FlaskClient) -> str:
    (batch, *_) = linked_batches()
    (document,) = batch.documents
    id = document_id(document_key(document.capture.url, document.capture.digest))
    return f"/documents/{id}"


def test_a_document_tells_who_links_to_it(client: FlaskClient) -> None:
    text = client.get(hub_page(client)).text
    assert "Linked from <strong>5</strong> pages on <strong>5</strong> sites" in text
    assert "The hub" in text
    some = client.get(f"{hub_page(client)}?links_year=2011").text
    assert "Linked from <strong>2</strong> pages on <strong>2</strong> sites in 2011" in some


def test_a_document_tells_what_is_missing_of_it(client: FlaskClient) -> None:
    text = client.get(hub_page(client)).text
    assert "<strong>3 of 5</strong> resources are missing" in text
    resources = text[text.index('id="resources"') : text.index('id="inlinks"')]
    assert "hub.test/logo.png" in resources
    assert "hub.test/sky.png" in resources, "of the style sheet"
    assert "hub.test/gone.png" in resources
    assert "404" in resources
    assert "hub.test/here.png" not in resources


def test_outlinks_are_told_apart_by_what_was_captured(client: FlaskClient) -> None:
    text = client.get(hub_page(client)).text
    section = text[text.index('id="links"') :]
    heads = ["Captured <", "Captured only with errors <", "Never captured <", "Other <"]
    places = [section.index(f"<h3>{head}") for head in heads]
    assert places == sorted(places)
    assert places[0] < section.index("site3.test") < places[1]
    assert places[1] < section.index("gone.png") < places[2]
    assert places[2] < section.index("never.test/page") < places[3]
    assert "<script>alert" not in text
    assert 'href="javascript:' not in text


def test_a_url_that_was_never_captured_has_a_page(client: FlaskClient) -> None:
    answer = client.get("/links?url=http://never.test/page")
    assert answer.status_code == 200
    assert "never captured" in answer.text
    assert "Linked from <strong>6</strong> pages" in answer.text
    assert "&lt;script&gt;alert(7)" in answer.text
    assert "\u202e" not in answer.text
    none = client.get("/links?url=http://nowhere.test/").text
    assert "No captured page links here" in none
    assert client.get("/links?url=").status_code == 400
    assert client.get("/links?url=http://never.test/page&page=0").status_code == 400


def test_the_graph_of_hosts_has_a_table(client: FlaskClient) -> None:
    page = Page(client.get("/links").text)
    hosts = [one.text for one in page.all("a") if "host=" in one.attributes.get("href", "")]
    assert {"hub.test", "never.test", "site0.test", HOSTILE_HOST} <= set(hosts)
    around = client.get("/links?host=hub.test").text
    assert "Links to hub.test" in around
    assert "site4.test" in around
    # The graph merges both into one host.
    assert 'href="/search?host=hub.test&amp;host=www.hub.test"' in around
    assert 'href="/search?domain=hub.test"' in client.get("/links?host=hub.test&level=domains").text
    year = client.get("/links?host=hub.test&year=2011").text
    assert "site1.test" in year
    assert "site0.test" not in year
    assert "No links" in client.get("/links?host=hub.test&year=1999").text
    assert "No links" in client.get("/links?host=nowhere.test").text


@pytest.mark.parametrize(
    "query", ["level=planets", "top=7", "year=abc", "size=huge", f"host={'a' * 400}"]
)
def test_a_graph_that_makes_no_sense_is_refused(client: FlaskClient, query: str) -> None:
    assert client.get(f"/links?{query}").status_code == 400


def test_a_whole_address_leads_to_its_host(client: FlaskClient) -> None:
    text = client.get("/links?host=https://www.hub.test/some/page").text
    assert "Links of hub.test" in text


def test_the_graph_as_a_picture(client: FlaskClient) -> None:
    answer = client.get("/links/graph.svg?host=hub.test")
    assert answer.mimetype == "image/svg+xml"
    assert "site1.test" in answer.text
    assert client.get("/links/graph.gif").status_code == 404
    assert client.get("/links/graph.svg?scheme=pink").status_code == 400


def test_links_by_the_api(client: FlaskClient) -> None:
    found = client.get("/api/links?url=http://hub.test/&limit=2").get_json()
    assert (found["documents"], found["hosts"], found["domains"]) == (5, 5, 5)
    assert found["anchors"] == [{"text": "The hub", "count": 5}]
    assert len(found["from"]) == 2
    assert set(found["from"][0]) == {"url", "timestamp", "kind", "text"}
    assert found["captured"]
    year = client.get("/api/links?url=http://hub.test/&year=2011").get_json()
    assert year["documents"] == 2
    never = client.get("/api/links?url=http://never.test/page").get_json()
    assert (never["captured"], never["status"], never["documents"]) == (False, None, 6)
    assert client.get("/api/links").status_code == 400
    assert client.get("/api/links?url=http://hub.test/&colour=red").status_code == 400


def test_the_graph_by_the_api(client: FlaskClient) -> None:
    found = client.get("/api/links/graph?host=hub.test").get_json()
    by_host = {one["host"]: one for one in found["hosts"]}
    assert by_host["site3.test"]["links_to"] == 1
    assert by_host["site0.test"]["links_from"] == 0
    assert by_host["site3.test"]["links_from"] == 1
    assert by_host["never.test"]["documents"] == 0
    assert {"source": "site3.test", "target": "hub.test", "links": 1} in found["links"]


def test_missing_urls_by_page_api_and_file(client: FlaskClient) -> None:
    found = client.get("/api/missing").get_json()
    assert found[0] == {"url": "http://never.test/page", "kind": "a", "pages": 6, "status": None}
    assert {"url": "http://hub.test/sky.png", "kind": "css", "pages": 1, "status": None} in found
    assert {"url": "http://hub.test/gone.png", "kind": "img", "pages": 1, "status": 404} in found
    embedded = client.get("/api/missing?kind=embedded&host=hub.test&limit=9").get_json()
    assert len(embedded) == 3
    text = client.get("/missing?kind=embedded&site=hub.test").text
    assert "gone.png" in text
    assert "never.test" not in text
    assert "Nothing is missing" in client.get("/missing?collection=nothing").text
    beyond = client.get("/missing?kind=embedded&site=hub.test&page=9").text
    assert "There are no further pages" in beyond
    assert "Nothing is missing" not in beyond
    assert client.get("/missing?kind=colour").status_code == 400
    assert client.get("/missing?from=soon").status_code == 400
    assert client.get("/missing?from=2011&to=2010").status_code == 400
    csv = client.get("/missing/urls.csv?kind=pages").text.splitlines()
    assert csv[:2] == ["url,kind,pages,status", "http://never.test/page,a,6,"]
    assert client.get("/missing/urls.json").get_json() == found
    assert client.get("/missing/urls.txt?kind=img").text.startswith("http://hub.test/")
    assert client.get("/missing/urls.xml").status_code == 404


def test_an_archive_without_inverted_links_says_so(tmp_path: Path) -> None:
    with EmbeddedEngine(tmp_path / "archive") as engine:
        for batch in linked_batches():
            engine.write(batch)
        engine.refresh()
        client = create_app(engine).test_client()
        assert "nwx build links" in client.get("/links").text
        assert "nwx build links" in client.get("/missing").text
        assert "nwx invert-links" in client.get("/api/missing").get_json()["error"]["message"]
        assert client.get("/api/links?url=http://hub.test/").status_code == 404
        page = client.get(hub_page(client)).text
        assert 'id="inlinks"' not in page
        assert "resources are missing" in page


ADDRESSES = [
    "/links",
    "/links?host=hub.test&size=documents&top=20",
    "/links?level=domains&year=2011",
    "/links?host=nowhere.test",
    "/links?url=http://never.test/page",
    "/links?url=http://hub.test/&year=2011",
    "/missing",
    "/missing?kind=embedded&site=hub.test&from=2010&to=2011-06",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_pages_of_links_are_sound(client: FlaskClient, address: str) -> None:
    answer = client.get(address)
    assert answer.status_code == 200
    assert Page(answer.text).faults == []


def test_a_document_with_links_is_sound(client: FlaskClient) -> None:
    assert Page(client.get(hub_page(client)).text).faults == []


@pytest.mark.parametrize("order", ["pagerank", "harmonic"])
def test_sites_are_listed_by_centrality(client: FlaskClient, order: str) -> None:
    found = client.get(f"/explore/table.json?by=site&order={order}").get_json()
    sites = [row["site"] for row in found["rows"]]
    assert sites == [
        "hub.test",
        "site3.test",
        "site0.test",
        "site1.test",
        "site2.test",
        "site4.test",
    ]
    page = client.get(f"/explore?by=site&order={order}&top=10").text
    assert "Harmonic centrality" in page
    assert Page(page).faults == []
    assert client.get(f"/explore?by=month&order={order}").status_code == 200
    assert "Harmonic centrality" not in client.get("/explore?by=type").text
    assert client.get(f"/explore/captures?order={order}").status_code == 200


def test_a_result_says_why_it_is_here(client: FlaskClient) -> None:
    found = client.get("/search?q=the+hub").text
    assert "found by links: “The hub” from 5 hosts" in found
    assert "Why here?" in found
    assert "the higher of text 0.00 and anchors" in found
    (hit,) = client.get("/api/search?q=the+hub").json["hits"]  # type: ignore[index]
    assert hit["found_by_links"] == {"anchor": "The hub", "hosts": 5}
    assert client.get("/search?q=&sort=inlinks").status_code == 200
