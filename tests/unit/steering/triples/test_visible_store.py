"""Triples behind access rules: a copy of the store without what is hidden."""

import io
import json
from pathlib import Path

import pytest
from pyoxigraph import NamedNode, Triple

from nwx.access.restricted.engine import RestrictedEngine
from nwx.engine.access.rules import Scope
from nwx.errors import SettingsError, WithheldError
from nwx.settings import Settings, load_settings
from nwx.steering.analysis.page_view import page_view
from nwx.steering.triples.capture_graphs import CaptureGraph, page_graph
from nwx.steering.triples.local_store import LocalTripleStore
from nwx.steering.triples.remote_store import RemoteTripleStore
from nwx.steering.triples.triple_store import (
    QueryLimits,
    SparqlQuery,
    TripleStore,
    TripleStoreError,
)
from nwx.steering.triples.visible_store import triple_store, visible_triples
from tests.unit.access.restricted.archives import HIDDEN, PAGES, SHOWN, archive_of_pages, hiding


def test_it_is_in_the_archive_unless_another_place_is_set(tmp_path: Path) -> None:
    with triple_store(Settings(str(tmp_path / "archive"))).writer():
        assert (tmp_path / "archive" / "triples").is_dir()
    other = load_settings({}, {"NWX_ENGINE": "http://e.example", "NWX_TRIPLES": str(tmp_path)})
    assert isinstance(triple_store(other), LocalTripleStore)


def test_it_may_be_a_server() -> None:
    variables = {
        "NWX_TRIPLES": "http://t.example/update",
        "NWX_TRIPLES_QUERY": "http://t.example/q",
    }
    assert isinstance(triple_store(load_settings({}, variables)), RemoteTripleStore)


def test_an_archive_on_elasticsearch_needs_a_place() -> None:
    with pytest.raises(SettingsError, match="NWX_TRIPLES"):
        triple_store(Settings("http://e.example"))


_ALL = SparqlQuery("SELECT ?s ?p ?o { ?s ?p ?o }")


def graph(url: str, *linked: str) -> CaptureGraph:
    made = page_graph(page_view(b"x", url, PAGES[url].capture.timestamp))
    triples = (Triple(NamedNode(url), NamedNode("urn:see"), NamedNode(one)) for one in linked)
    return CaptureGraph(made.name, (*made.triples, *triples))


def values(store: TripleStore) -> str:
    return json.dumps(json.loads(store.answer(_ALL, QueryLimits()).data))


def test_graphs_and_urls_that_are_hidden_are_left_out(tmp_path: Path) -> None:
    settings = Settings(str(tmp_path / "archive"), triples=str(tmp_path / "triples"))
    with LocalTripleStore(tmp_path / "triples").writer() as writer:
        writer.put([graph(f"{SHOWN}1", f"{HIDDEN}2", f"{SHOWN}2"), graph(f"{HIDDEN}1")])
    with archive_of_pages(tmp_path / "archive") as engine:
        whole = visible_triples(settings, engine)
        assert HIDDEN in values(whole)
        shown = RestrictedEngine(engine, hiding())
        store = visible_triples(settings, shown)
        assert f"{SHOWN}1" in values(store)
        assert f"{SHOWN}2" in values(store)
        assert "hidden.test" not in values(store)
        written = io.BytesIO()
        store.export(written)
        assert b"hidden.test" not in written.getvalue()
        assert b"shown.test" in written.getvalue()
        assert HIDDEN in values(whole), "others see all triples still"
        assert store.version() not in ("", whole.version())
        with pytest.raises(TripleStoreError, match="whole archive"):
            store.writer()


def test_a_copy_follows_what_is_written_and_other_rules(tmp_path: Path) -> None:
    settings = Settings(str(tmp_path / "archive"), triples=str(tmp_path / "triples"))
    with archive_of_pages(tmp_path / "archive") as engine:
        shown = RestrictedEngine(engine, hiding())
        store = visible_triples(settings, shown)
        assert store.version() == ""
        for url in (f"{SHOWN}1", f"{SHOWN}2", f"{HIDDEN}1"):
            with LocalTripleStore(tmp_path / "triples").writer() as writer:
                writer.put([graph(url)])
            assert (url in values(store)) == url.startswith(SHOWN)
        for number in range(6):
            scope = Scope(prefix=f"test,shown)/{number}", is_exact=True)
            other = visible_triples(settings, RestrictedEngine(engine, hiding(scope=scope)))
            assert (f"{SHOWN}1" in values(other)) == (number != 1)
        assert len(list((tmp_path / "triples").glob("shown-read-*"))) == 4


def test_no_copy_keeps_what_is_erased(tmp_path: Path) -> None:
    settings = Settings(str(tmp_path / "archive"), triples=str(tmp_path / "triples"))
    with LocalTripleStore(tmp_path / "triples").writer() as writer:
        writer.put([graph(f"{SHOWN}1"), graph(f"{SHOWN}2"), graph(f"{HIDDEN}1")])
    with archive_of_pages(tmp_path / "archive") as engine:
        store = visible_triples(settings, RestrictedEngine(engine, hiding()))
        assert f"{SHOWN}2" in values(store)
        assert list((tmp_path / "triples").glob("shown-read-*"))
        with LocalTripleStore(tmp_path / "triples").writer() as writer:
            assert writer.erase([graph(f"{SHOWN}2").name]) == 1
        assert not list((tmp_path / "triples").glob("shown-read-*"))
        assert f"{SHOWN}2" not in values(store)
        assert f"{SHOWN}1" in values(store)


def test_triples_on_a_server_are_withheld(tmp_path: Path) -> None:
    settings = Settings(str(tmp_path / "archive"), triples="http://127.0.0.1:9/update")
    with archive_of_pages(tmp_path / "archive") as engine:
        store = visible_triples(settings, RestrictedEngine(engine, hiding()))
        with pytest.raises(WithheldError, match="NWX_TRIPLES"):
            store.answer(_ALL, QueryLimits())
        with pytest.raises(WithheldError):
            store.export(io.BytesIO())
