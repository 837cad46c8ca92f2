"""SPARQL queries over HTTP."""

import csv
import io
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from nwx.engine.embedded import EmbeddedEngine
from tests.web.triples_archive import HOSTILE, write_triples
from webapp import create_app

JSON = "application/sparql-results+json"
TITLES = "SELECT ?title { ?s <http://ogp.me/ns#title> ?title } ORDER BY ?title"
BOMB = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?o ?p }"
BROWSER = {"Accept": "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    folder: Path = tmp_path_factory.mktemp("triples") / "archive"
    with EmbeddedEngine(folder) as engine:
        engine.create()
        settings = replace(write_triples(folder), search_seconds=3.0)
        yield create_app(engine, triples=settings).test_client()


def test_queries_come_by_get_and_by_both_kinds_of_post(client: FlaskClient) -> None:
    answers = [
        client.get("/sparql", query_string={"query": TITLES}),
        client.post("/sparql", data={"query": TITLES}),
        client.post("/sparql", data=TITLES, content_type="application/sparql-query"),
    ]
    for answer in answers:
        assert (answer.status_code, answer.mimetype) == (200, JSON)
        bindings = answer.json["results"]["bindings"]
        assert [row["title"]["value"] for row in bindings] == [HOSTILE, "x" * 1_500]


@pytest.mark.parametrize(
    ("accept", "media_type"),
    [
        ("", JSON),
        ("*/*", JSON),
        ("application/json", JSON),
        ("application/sparql-results+xml", "application/sparql-results+xml"),
        ("text/csv;q=0.9, application/xml;q=0.5", "text/csv"),
        ("text/tab-separated-values", "text/tab-separated-values"),
    ],
)
def test_answers_come_as_they_are_accepted(
    client: FlaskClient, accept: str, media_type: str
) -> None:
    headers = {"Accept": accept} if accept else {}
    answer = client.get("/sparql", query_string={"query": TITLES}, headers=headers)
    assert (answer.status_code, answer.mimetype) == (200, media_type)
    assert "Accept" in answer.headers["Vary"]


def test_csv_has_the_values(client: FlaskClient) -> None:
    answer = client.get("/sparql", query_string={"query": TITLES, "format": "csv"})
    assert list(csv.reader(io.StringIO(answer.text))) == [["title"], [HOSTILE], ["x" * 1_500]]


def test_graphs_come_as_triples(client: FlaskClient) -> None:
    text = "CONSTRUCT { ?s <urn:t> ?o } { ?s <http://ogp.me/ns#title> ?o }"
    answer = client.get("/sparql", query_string={"query": text})
    assert answer.mimetype == "text/turtle"
    for form, media_type in (("nt", "application/n-triples"), ("rdf", "application/rdf+xml")):
        answer = client.get("/sparql", query_string={"query": text, "format": form})
        assert answer.mimetype == media_type
    refused = client.get("/sparql", query_string={"query": text}, headers={"Accept": "text/csv"})
    assert refused.status_code == 406


def test_the_graphs_of_a_query_can_be_chosen(client: FlaskClient) -> None:
    text = "ASK { ?s <http://ogp.me/ns#title> ?o }"
    for graph, truth in (
        ("urn:nwx:capture:20130101000000:http://evil.test/", True),
        ("urn:none", False),
    ):
        query = {"query": text, "default-graph-uri": graph}
        assert client.get("/sparql", query_string=query).json["boolean"] is truth
        assert client.post("/sparql", data=query).json["boolean"] is truth


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        ({"data": {"update": "DROP ALL"}}, 403),
        ({"data": "DROP ALL", "content_type": "application/sparql-update"}, 403),
        ({"data": {"query": "DROP ALL"}}, 400),
        ({"data": {"query": "SELECT"}}, 400),
        ({"data": {"query": "SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }"}}, 400),
        ({"data": {"query": TITLES, "format": "docx"}}, 400),
        ({"data": {"query": TITLES, "default-graph-uri": "no iri"}}, 400),
        ({"data": {"query": [TITLES, TITLES]}}, 400),
        ({"data": "x", "content_type": "text/plain"}, 415),
        ({"data": {"query": "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }"}}, 400),
    ],
)
def test_what_is_wrong_is_refused_in_plain_words(
    client: FlaskClient, request_: dict[str, object], status: int
) -> None:
    answer = client.post("/sparql", **request_)  # type: ignore[arg-type]
    assert (answer.status_code, answer.mimetype) == (status, "text/plain")
    assert answer.text.strip()
    assert client.get("/sparql", query_string={"update": "DROP ALL"}).status_code == 403
    assert client.put("/sparql").status_code == 405


def test_a_bomb_is_stopped_and_does_not_stop_others(client: FlaskClient) -> None:
    begun = time.monotonic()
    answer = client.get("/sparql", query_string={"query": BOMB})
    assert answer.status_code == 400
    assert "took longer than 3 s" in answer.text
    assert time.monotonic() - begun < 30
    assert client.get("/sparql", query_string={"query": "ASK {}"}).json["boolean"] is True


def test_people_get_a_form_and_a_table(client: FlaskClient) -> None:
    page = client.get("/sparql", headers=BROWSER)
    assert (page.status_code, page.mimetype) == (200, "text/html")
    assert "<textarea" in page.text
    answered = client.post("/sparql", data={"query": TITLES}, headers=BROWSER).text
    assert "&lt;script&gt;alert" in answered
    assert "<script>alert" not in answered
    wrong = client.post("/sparql", data={"query": "</textarea><b>"}, headers=BROWSER)
    assert wrong.status_code == 400
    assert "</textarea><b>" not in wrong.text
    assert "the query is wrong" in wrong.text
    subjects = "SELECT ?s { ?s <http://ogp.me/ns#title> ?t }"
    shown = client.post("/sparql", data={"query": subjects}, headers=BROWSER).text
    assert 'href="javascript:' not in shown


def test_an_archive_without_triples_says_how_to_make_them(tmp_path: Path) -> None:
    with EmbeddedEngine(tmp_path / "archive") as engine:
        engine.create()
        client = create_app(engine).test_client()
        assert "nwx triples build" in client.get("/sparql", headers=BROWSER).text
        answer = client.get("/sparql", query_string={"query": TITLES})
        assert (answer.status_code, answer.mimetype) == (404, "text/plain")
        assert "nwx triples build" in client.get("/entities").text
        assert client.get("/entities?iri=urn:x").status_code == 404


def test_triples_are_lines_whatever_separates_lines_in_texts(client: FlaskClient) -> None:
    query = 'CONSTRUCT { <urn:a> <urn:b> "x\u2028y\x85z" } {}'
    answer = client.get("/sparql", query_string={"query": query}, headers=BROWSER)
    assert "1 triple" in answer.text
