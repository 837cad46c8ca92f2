"""Behaviour common to all triple stores: one in a folder, and one on a server."""

import io
import json
from collections.abc import Iterator
from pathlib import Path

import pyoxigraph
import pytest

from nwx.errors import UsageError
from nwx.steering.triples.triple_store import (
    LONGEST_QUERY,
    QueryAnswer,
    QueryLimits,
    SparqlQuery,
    TripleQueryError,
    TripleStore,
    check_remote_query,
    forms_of,
    harmless_query,
    media_types,
    names_graphs,
    serialized,
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


ASKING = (
    "SELECT * { SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }",
    "SELECT * { sErViCe SILENT <http://127.0.0.1:9/> { ?s ?p ?o } }",
    "SELECT * { SERVICESILENT<http://127.0.0.1:9/>{ ?s ?p ?o } }",
    "PREFIX : <http://127.0.0.1:9/> SELECT * { ?s ?p ?o.SERVICE:x { ?s ?p ?o } }",
    "SELECT * { ?s ?p ?o.SERVICE?o{ ?s ?p ?o } }",
    "SELECT * { ?a ?p ?b FILTER(?a<?b)SERVICE#>\n<http://127.0.0.1:9/> { ?s ?p ?o } }",
    "SELECT * { ?a ?p '#' . SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } }",
    "SELECT * { ?a ?p '\\'' . SERVICE <http://127.0.0.1:9/> { ?s ?p '' } }",
    'SELECT * { ?a ?p """\\""" SERVICE""" . SERVICE <http://127.0.0.1:9/> { ?s ?p "" } }',
    "SELECT * { # ' \n SERVICE <http://127.0.0.1:9/> { ?s ?p ?o } # '\n }",
    "SELECT * { ?a ?p <http://a/#'> . SERVICE <http://127.0.0.1:9/> { ?s ?p '' } }",
)


@pytest.mark.parametrize("text", ASKING)
def test_no_other_server_is_asked(text: str) -> None:
    store = pyoxigraph.Store()
    with pytest.raises((TripleQueryError, SyntaxError)):
        list(store.query(harmless_query(text)))
    with pytest.raises(TripleQueryError):
        check_remote_query(text)


def test_the_word_may_stand_in_texts_iris_and_comments() -> None:
    store = pyoxigraph.Store()
    subject = pyoxigraph.NamedNode("https://schema.org/Service")
    store.add(pyoxigraph.Quad(subject, subject, pyoxigraph.Literal("my sErvice\nservice")))
    text = '''SELECT * { # SERVICE
      <https://schema.org/Service> ?p """my sErvice\nservice""" }'''
    found = harmless_query(text)
    assert "service" not in found.lower()
    assert len(list(store.query(found))) == 1


def test_escapes_do_not_hide_it_from_other_servers() -> None:
    with pytest.raises(TripleQueryError):
        check_remote_query("SELECT * { \\u0053ERVICE <http://a/> { } }")
    with pytest.raises(TripleQueryError):
        check_remote_query("SELECT * { SERV\\U00000049CE <http://a/> { } }")
    check_remote_query("SELECT * { ?s ?p '\\u00e4' }")


def test_long_and_empty_queries_are_refused() -> None:
    for text in ("", " \n", "x" * (LONGEST_QUERY + 1)):
        with pytest.raises(TripleQueryError):
            harmless_query(text)
    for part in ('"', "'''", "<", '"""\\'):
        harmless_query((part * LONGEST_QUERY)[:LONGEST_QUERY])


def test_the_graphs_of_a_query_are_told_from_words_like_it() -> None:
    for text in ("FROM <urn:a>", "from named <urn:a>", "FROM p:a", "FROM<urn:a>"):
        assert names_graphs(f"SELECT * {text} {{ ?s ?p ?o }}")
    for text in ("?from ?p ?o", "?s ?p 'FROM <urn:a>'", "?s :from <urn:a>", "# FROM <urn:a>\n"):
        assert not names_graphs(f"SELECT * {{ {text} }}")


ROWS = QueryAnswer(
    "solutions",
    b'{"head":{"vars":["a"]},"results":{"bindings":['
    b'{"a":{"type":"literal","value":"x, <y>","xml:lang":"en"}}, {}]}}',
)
YES = QueryAnswer("boolean", b'{"head":{},"boolean":true}')
TRIPLES = QueryAnswer("triples", b'<urn:a> <urn:b> "c" .\n')


@pytest.mark.parametrize(
    ("answer", "form", "part"),
    [
        (ROWS, "json", b'"value":"x, <y>"'),
        (ROWS, "xml", b"x, &lt;y&gt;"),
        (ROWS, "csv", b'a\r\n"x, <y>"'),
        (ROWS, "tsv", b'?a\n"x, <y>"@en'),
        (YES, "xml", b"<boolean>true"),
        (YES, "json", b"true"),
        (TRIPLES, "ttl", b'<urn:a> <urn:b> "c"'),
        (TRIPLES, "nt", b'<urn:a> <urn:b> "c"'),
        (TRIPLES, "rdf", b"rdf:RDF"),
        (TRIPLES, "json", b'"urn:a"'),
    ],
)
def test_answers_come_in_all_forms(answer: QueryAnswer, form: str, part: bytes) -> None:
    found = serialized(answer, form)
    assert part in found.data
    assert found.media_type.partition(";")[0] in media_types(answer.kind)


def test_not_every_answer_has_every_form() -> None:
    assert forms_of("solutions") == ("json", "xml", "csv", "tsv")
    assert forms_of("boolean") == ("json", "xml")
    assert forms_of("triples") == ("ttl", "nt", "rdf", "json")
    assert media_types("solutions")["application/json"] == "json"


def test_what_a_form_cannot_express_is_told() -> None:
    nested = QueryAnswer("triples", b"<urn:a> <urn:b> <<( <urn:a> <urn:b> <urn:c> )>> .\n")
    with pytest.raises(UsageError, match="cannot be written as json"):
        serialized(nested, "json")
