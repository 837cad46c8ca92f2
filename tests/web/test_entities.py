"""The pages of entities."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from nwx.engine.embedded import EmbeddedEngine
from tests.web.html import Page
from tests.web.triples_archive import write_triples
from webapp import create_app

ADA = "http://www.wikidata.org/entity/Q7259"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    folder: Path = tmp_path_factory.mktemp("entities") / "archive"
    with EmbeddedEngine(folder) as engine:
        engine.create()
        yield create_app(engine, triples=write_triples(folder), replay_port=9_999).test_client()


def test_entities_are_listed_a_page_at_a_time(client: FlaskClient) -> None:
    first = client.get("/entities").text
    assert first.index("Ada") < first.index("Bea")
    assert 'rel="next"' in first
    second = client.get("/entities?page=2").text
    assert "Place 9" in second
    assert 'rel="prev"' in second
    assert 'rel="next"' not in second


def test_a_page_beyond_the_last_entity_leads_to_the_first(client: FlaskClient) -> None:
    shown = client.get("/entities?page=90&kind=person").text
    assert "There are no further pages" in shown
    assert 'href="/entities?kind=person"' in shown
    assert "No entities" not in shown


def test_entities_are_chosen_by_name_and_kind(client: FlaskClient) -> None:
    found = client.get("/entities?q=place+1&kind=place").text
    assert "Place 11" in found
    assert "Place 20" not in found
    assert "No entities" in client.get("/entities?q=nobody").text
    for wrong in ("kind=x", "page=0", "page=x", f"q={'x' * 300}"):
        assert client.get(f"/entities?{wrong}").status_code == 400


def test_an_entity_has_places_years_and_companions(client: FlaskClient) -> None:
    text = client.get("/entities", query_string={"iri": ADA}).text
    assert "Mentioned in <strong>2</strong> captures" in text
    assert f'href="{ADA}"' in text
    assert "hub.test/two?a=b&amp;c=d" in text
    assert "/documents/of?" in text or "url=http" in text
    companions = text[text.index("Mentioned with") :]
    assert "Bea" in companions
    assert "Place" not in companions
    some = client.get("/entities", query_string={"iri": ADA, "year": "2012"}).text
    assert "in 2012" in some
    assert "hub.test/two" in some
    assert 'url=http://hub.test/"' not in some


def test_names_are_escaped_and_lead_nowhere_else(client: FlaskClient) -> None:
    listed = client.get("/entities?q=script").text
    assert "&lt;script&gt;alert" in listed
    assert "<script>alert" not in listed
    assert "javascript:" not in listed
    page = Page(listed)
    assert page.faults == []
    [link] = [one.attributes["href"] for one in page.all("a") if "iri=" in one.attributes["href"]]
    shown = client.get(link).text
    assert Page(shown).faults == []
    assert "<script>alert" not in shown
    assert 'href="javascript:' not in shown


def test_an_unknown_entity_is_not_found(client: FlaskClient) -> None:
    for iri in ("urn:nwx:entity:person:nobody", "> } DROP ALL #", "x"):
        answer = client.get("/entities", query_string={"iri": iri})
        assert answer.status_code == 404
        assert "> }" not in answer.text
    assert client.get("/entities", query_string={"iri": "x" * 9_000}).status_code == 400
