"""A query in a separate process."""

import json
from pathlib import Path

import pytest
from pyoxigraph import Literal, NamedNode, Quad, Store

from nwx.steering.triples.query_process import StoreGoneError, run_query
from nwx.steering.triples.triple_store import QueryLimits, SparqlQuery, TripleQueryError

A, B = NamedNode("urn:a"), NamedNode("urn:b")
LIMITS = QueryLimits()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    store = Store(str(tmp_path / "store"))
    store.extend([Quad(A, A, Literal("in a", language="en"), A), Quad(B, B, Literal(5), B)])
    store.backup(str(tmp_path / "copy"))
    return tmp_path / "copy"


def subjects(folder: Path, query: SparqlQuery) -> set[str]:
    rows = json.loads(run_query(folder, query, LIMITS).data)["results"]["bindings"]
    return {row["s"]["value"] for row in rows}


def test_all_graphs_are_one_unless_some_are_named(folder: Path) -> None:
    text = "SELECT ?s { ?s ?p ?o }"
    assert subjects(folder, SparqlQuery(text)) == {"urn:a", "urn:b"}
    assert subjects(folder, SparqlQuery(text, default_graphs=("urn:a",))) == {"urn:a"}
    named = SparqlQuery("SELECT ?s { GRAPH ?g { ?s ?p ?o } }", named_graphs=("urn:b",))
    assert subjects(folder, named) == {"urn:b"}
    assert subjects(folder, SparqlQuery("SELECT ?s FROM <urn:b> { ?s ?p ?o }")) == {"urn:b"}


def test_terms_are_those_of_the_json_format(folder: Path) -> None:
    text = "SELECT ?o ?x { ?s ?p ?o } ORDER BY ?s"
    found = json.loads(run_query(folder, SparqlQuery(text), LIMITS).data)
    assert found["head"]["vars"] == ["o", "x"]
    assert found["results"]["bindings"] == [
        {"o": {"type": "literal", "value": "in a", "xml:lang": "en"}},
        {
            "o": {
                "type": "literal",
                "value": "5",
                "datatype": "http://www.w3.org/2001/XMLSchema#integer",
            }
        },
    ]


def test_wrong_queries_and_stores_are_told_apart(folder: Path) -> None:
    with pytest.raises(TripleQueryError, match="the query is wrong"):
        run_query(folder, SparqlQuery("SELECT"), LIMITS)
    with pytest.raises(TripleQueryError, match="the query is wrong"):
        run_query(folder, SparqlQuery("ASK {}", default_graphs=("no iri",)), LIMITS)
    with pytest.raises(StoreGoneError):
        run_query(folder / "gone", SparqlQuery("ASK {}"), LIMITS)


def test_modules_in_the_working_folder_are_not_loaded(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pyoxigraph.py").write_text("raise SystemExit(3)\n")
    monkeypatch.chdir(tmp_path)
    assert run_query(folder, SparqlQuery("ASK { ?s ?p ?o }"), LIMITS).kind == "boolean"
