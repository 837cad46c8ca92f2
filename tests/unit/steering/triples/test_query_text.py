"""Queries that would ask other servers, in every spelling that a parser may take."""

import pyoxigraph
import pytest

from nwx.steering.triples.query_text import (
    LONGEST_QUERY,
    check_remote_query,
    harmless_query,
    names_graphs,
)
from nwx.steering.triples.triple_store import TripleQueryError

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
