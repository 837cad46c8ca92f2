"""nwx triples from the command line and from programs."""

from pathlib import Path

import pytest

from tests.cli.conftest import Nwx
from tests.unit.steering.triples.stores import sparql_server
from tests.warcs import Page, html, write_warc

MARKUP = b"""<meta property="og:title" content="Title &lt;1&gt;">
<script type="application/ld+json">{"@context": "http://schema.org", "@type": "Person",
"name": "Ada"}</script>"""
TITLES = "SELECT ?title { ?page <http://ogp.me/ns#title> ?title }"
PEOPLE = "SELECT ?name { ?s <http://www.w3.org/2000/01/rdf-schema#label> ?name }"


@pytest.fixture
def imported(nwx: Nwx, tmp_path: Path) -> Nwx:
    pages = [
        Page(f"http://a.example/{n}", "20150101000000", html("T", f"page {n}") + MARKUP)
        for n in range(3)
    ]
    nwx("import", write_warc(tmp_path / "a.warc.gz", pages))
    return nwx


def test_build_query_and_export(imported: Nwx, tmp_path: Path) -> None:
    nwx = imported
    assert "nwx triples build" in nwx("triples", "query", TITLES, code=1).err
    assert nwx("triples", "build").out.startswith("3 pages read, 0 known, ")
    assert nwx("triples", "build", "--json").json["known"] == 3
    assert nwx("triples", "query", TITLES).out == "title\n" + "Title <1>\n" * 3
    assert nwx("triples", "query", PEOPLE, "--format", "csv").out.split() == ["name", *["Ada"] * 3]
    (tmp_path / "query.rq").write_text("ASK { ?s ?p 'Ada' }")
    assert nwx("triples", "query", "--file", tmp_path / "query.rq").out == "yes\n"
    nwx("triples", "export", tmp_path / "all.nq")
    lines = (tmp_path / "all.nq").read_text().splitlines()
    assert sorted(lines) == sorted(nwx("triples", "export", "-").out.splitlines())
    assert len({line.split()[-2] for line in lines}) == 3
    told = nwx("triples", "export", "/dev/full", code=1).err
    assert told == "nwx: /dev/full cannot be written: No space left on device\n"


def test_what_is_wrong_is_said(imported: Nwx) -> None:
    nwx = imported
    nwx("triples", "build", "--quiet")
    for query, told in (
        ("SELECT", "the query is wrong"),
        ("DROP ALL", "the query is wrong"),
        ("SELECT * { SERVICE <http://127.0.0.1:9/> {} }", "SERVICE is not allowed"),
    ):
        assert told in nwx("triples", "query", query, code=2).err
    assert "--file" in nwx("triples", "query", code=2).err
    assert "not as csv" in nwx("triples", "query", "ASK {}", "--format", "csv", code=2).err
    bomb = "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?o ?p }"
    assert "longer than 1 s" in nwx("triples", "query", bomb, "--seconds", "1", code=1).err


def test_a_server_can_be_the_store(imported: Nwx) -> None:
    with sparql_server() as address:
        places = {"NWX_TRIPLES": f"{address}/update", "NWX_TRIPLES_QUERY": f"{address}/query"}
        assert imported("triples", "build", "--json", **places).json["pages"] == 3
        assert imported("triples", "build", "--json", **places).json["known"] == 3
        found = imported("triples", "query", TITLES, "--format", "json", **places).json
        assert len(found["results"]["bindings"]) == 3


def test_hostile_values_do_not_reach_the_terminal(imported: Nwx) -> None:
    imported("triples", "build", "--quiet")
    query = 'SELECT ?x { BIND("\\u001B[31mred\\u0007" AS ?x) }'
    assert "\x1b" not in imported("triples", "query", query).out
