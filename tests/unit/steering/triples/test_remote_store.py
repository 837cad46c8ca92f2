"""A store on a server that is unavailable, refuses requests, or is not a SPARQL server."""

import pytest

from nwx.steering.triples import remote_store
from nwx.steering.triples.remote_store import RemoteTripleStore
from nwx.steering.triples.triple_store import (
    QueryLimits,
    SparqlQuery,
    TripleQueryError,
    TripleStoreError,
)
from tests.unit.steering.triples.stores import graph, sparql_server

ASK = SparqlQuery('ASK { ?s ?p "1" }')


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_store, "_PAUSES", (0.01, 0.01, 0.01, 0.01))


def test_updates_are_sent_again_when_the_server_is_busy() -> None:
    with sparql_server(failures=3) as address:
        store = RemoteTripleStore(f"{address}/update", f"{address}/query")
        with store.writer() as writer:
            writer.put([graph("a.example", "1")])
        assert b"true" in store.answer(ASK, QueryLimits()).data


def test_many_graphs_are_sent_in_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_store, "_UPDATE_BYTES", 1_000)
    monkeypatch.setattr(remote_store, "_ASKED_AT_ONCE", 3)
    graphs = [graph(f"a{number}.example", "1") for number in range(10)]
    with sparql_server() as address:
        writer = RemoteTripleStore(f"{address}/update", f"{address}/query").writer()
        writer.put(graphs)
        assert writer.held([one.name for one in graphs]) == {one.name for one in graphs}


def test_a_server_that_is_away_is_an_error_without_the_password() -> None:
    address = "http://me:secret@127.0.0.1:9"
    store = RemoteTripleStore(address, address)
    with pytest.raises(TripleStoreError) as raised:
        store.writer().put([graph("a.example", "1")])
    assert "127.0.0.1:9 does not answer" in str(raised.value)
    assert "secret" not in str(raised.value)
    with pytest.raises(TripleStoreError, match="does not answer"):
        store.answer(ASK, QueryLimits())


def test_a_refusal_is_told() -> None:
    with sparql_server(failures=99) as address:
        store = RemoteTripleStore(f"{address}/update", f"{address}/query")
        with pytest.raises(TripleStoreError, match="status 503: busy"):
            store.answer(ASK, QueryLimits())
    with sparql_server() as address:
        store = RemoteTripleStore(f"{address}/update", f"{address}/query")
        with pytest.raises(TripleQueryError, match="the query is wrong"):
            store.answer(SparqlQuery("nonsense"), QueryLimits())
