"""What every store of triples does: one in a folder, and one behind a server."""

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from nwx.steering.triples.triple_store import (
    QueryLimits,
    SparqlQuery,
    TripleQueryError,
    TripleStore,
)
from tests.unit.steering.triples.stores import graph, store_of

LIMITS = QueryLimits()


@pytest.fixture(params=["local", "remote"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[TripleStore]:
    with store_of(request.param, tmp_path) as made:
        yield made


def values(store: TripleStore, where: str = "?s <urn:p> ?o") -> list[str]:
    answer = store.answer(SparqlQuery(f"SELECT ?o {{ {where} }} ORDER BY ?o"), LIMITS)
    return [row["o"]["value"] for row in json.loads(answer.data)["results"]["bindings"]]


def test_storing_again_changes_nothing_and_other_content_replaces(store: TripleStore) -> None:
    first, second = graph("a.example", "1", "2"), graph("b.example", '"\\ \n 3')
    with store.writer() as writer:
        assert writer.held([first.name, second.name]) == set()
        assert writer.put([first, second]) > 0
        assert writer.held([first.name, second.name]) == {first.name, second.name}
    assert values(store) == ['"\\ \n 3', "1", "2"]
    with store.writer() as writer:
        writer.put([first, second])
    assert values(store) == ['"\\ \n 3', "1", "2"]
    with store.writer() as writer:
        writer.put([graph("a.example", "2", "4")])
    assert values(store) == ['"\\ \n 3', "2", "4"]
    assert values(store, f"GRAPH {first.name} {{ ?s <urn:p> ?o }}") == ["2", "4"]


def test_graphs_are_erased_and_others_stay(store: TripleStore) -> None:
    gone, kept = graph("a.example", "1", "2"), graph("b.example", "3")
    with store.writer() as writer:
        writer.put([gone, kept])
        assert writer.erase([gone.name, graph("never.example").name]) == 1
        assert writer.held([gone.name, kept.name]) == {kept.name}
        assert writer.erase([gone.name]) == writer.erase([]) == 0
        assert writer.put([graph("c.example", "4")]) > 0
    assert values(store) == ["3", "4"]
    assert values(store, f"GRAPH {gone.name} {{ ?s ?p ?o }}") == []
    output = io.BytesIO()
    store.export(output)
    assert b"a.example" not in output.getvalue()


def test_every_fact_has_its_source_and_date(store: TripleStore) -> None:
    with store.writer() as writer:
        writer.put([graph("a.example", "1")])
    dcterms = "http://purl.org/dc/terms/"
    where = f'GRAPH ?g {{ ?s <urn:p> "1" . ?g <{dcterms}source> ?o }}'
    assert values(store, where) == ["http://a.example/"]
    where = f'GRAPH ?g {{ ?s <urn:p> "1" . ?g <{dcterms}date> ?o }}'
    assert values(store, where) == ["2015-01-02T03:04:05Z"]


def test_kinds_of_answers(store: TripleStore) -> None:
    with store.writer() as writer:
        writer.put([graph("a.example", "1")])
    asked = store.answer(SparqlQuery('ASK { ?s ?p "1" }'), LIMITS)
    assert (asked.kind, json.loads(asked.data)["boolean"]) == ("boolean", True)
    text = 'CONSTRUCT { <urn:x> ?p ?o } { ?s ?p ?o FILTER(?o = "1") }'
    built = store.answer(SparqlQuery(text), LIMITS)
    assert (built.kind, built.data.strip()) == ("triples", b'<urn:x> <urn:p> "1" .')


def test_updates_and_other_servers_are_refused(store: TripleStore) -> None:
    with store.writer() as writer:
        writer.put([graph("a.example", "1")])
    for text in (
        "INSERT DATA { <urn:a> <urn:b> 1 }",
        "DROP ALL",
        "LOAD <http://127.0.0.1:9/>",
        "SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }",
        "nonsense",
        "",
    ):
        with pytest.raises(TripleQueryError):
            store.answer(SparqlQuery(text), LIMITS)
    assert values(store) == ["1"]


def test_answers_are_bounded_in_rows_and_bytes(store: TripleStore) -> None:
    with store.writer() as writer:
        writer.put([graph("a.example", *(f"{n}" * 100 for n in range(50)))])
    everything = SparqlQuery("SELECT * { ?s ?p ?o . ?a ?b ?c }")
    with pytest.raises(TripleQueryError, match="more than 100 rows"):
        store.answer(everything, QueryLimits(rows=100))
    with pytest.raises(TripleQueryError, match="more than 0 MiB"):
        store.answer(everything, QueryLimits(bytes=1_000))
    triples = SparqlQuery("CONSTRUCT { ?s ?p ?o } { ?s ?p ?o }")
    with pytest.raises(TripleQueryError, match="more than 5 rows"):
        store.answer(triples, QueryLimits(rows=5))


def test_an_export_has_all_triples_with_their_graphs(store: TripleStore) -> None:
    graphs = [graph("a.example", "1"), graph("service.example", "2")]
    with store.writer() as writer:
        writer.put(graphs)
    output = io.BytesIO()
    store.export(output)
    lines = output.getvalue().splitlines()
    assert len(lines) == sum(len(one.triples) for one in graphs)
    assert f'{graphs[1].name} <urn:p> "2" {graphs[1].name} .'.encode() in lines
