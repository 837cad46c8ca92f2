"""A store in a folder: one writer, and readers of the previous state."""

import json
import shutil
import time
from pathlib import Path

import pytest

from nwx.errors import QuestionTimeoutError
from nwx.steering.triples import local_store
from nwx.steering.triples.local_store import LocalTripleStore
from nwx.steering.triples.triple_store import (
    QueryLimits,
    SparqlQuery,
    TripleQueryError,
    TripleStoreError,
)
from tests.unit.steering.triples.stores import graph

COUNT = SparqlQuery("SELECT (COUNT(*) AS ?n) { ?s <urn:p> ?o }")


def count(store: LocalTripleStore) -> int:
    found = json.loads(store.answer(COUNT, QueryLimits()).data)
    return int(found["results"]["bindings"][0]["n"]["value"])


def test_readers_see_what_was_there_until_the_writer_closes(tmp_path: Path) -> None:
    store = LocalTripleStore(tmp_path / "t")
    with pytest.raises(TripleStoreError, match="nwx triples build"):
        count(store)
    assert store.version() == ""
    with store.writer() as writer:
        writer.put([graph("a.example", "1")])
    first = store.version()
    with store.writer() as writer:
        writer.put([graph("b.example", "2")])
        assert count(store) == 1
        assert store.version() == first
    assert count(store) == 2
    assert store.version() != first


def test_one_process_writes_at_a_time(tmp_path: Path) -> None:
    store = LocalTripleStore(tmp_path / "t")
    with store.writer(), pytest.raises(TripleStoreError, match="another process"):
        store.writer(wait_seconds=0.2)
    with store.writer() as writer:
        writer.put([graph("a.example", "1")])
    with pytest.raises(TripleStoreError, match="is closed"):
        writer.put([graph("a.example", "1")])


def test_copies_for_readers_do_not_pile_up(tmp_path: Path) -> None:
    store = LocalTripleStore(tmp_path / "t")
    for number in range(5):
        with store.writer() as writer:
            writer.put([graph("a.example", f"{number}")])
    assert len(list((tmp_path / "t").glob("read-*"))) == 2
    version = store.version()
    with store.writer() as writer:
        assert writer.put([graph("a.example", "4")]) == 0
    assert store.version() == version


def test_no_file_holds_what_was_erased(tmp_path: Path) -> None:
    store, planted = LocalTripleStore(tmp_path / "t"), b"qzxkplanted"
    with store.writer() as writer:
        writer.put([graph("gone.example", planted.decode()), graph("b.example", "2")])
    with store.writer() as writer:
        assert _holding(tmp_path, planted)
        assert writer.erase([graph("gone.example").name]) == 1
        assert _holding(tmp_path, planted) == []
        assert count(store) == 1
    assert _holding(tmp_path, planted) == []
    assert count(store) == 1


def _holding(folder: Path, text: bytes) -> list[Path]:
    return [each for each in folder.rglob("*") if each.is_file() and text in each.read_bytes()]


def test_a_store_that_is_broken_is_an_error(tmp_path: Path) -> None:
    store = LocalTripleStore(tmp_path / "t")
    with store.writer() as writer:
        writer.put([graph("a.example", "1")])
    for copy in (tmp_path / "t").glob("read-*"):
        shutil.rmtree(copy)
        copy.mkdir()
    with pytest.raises(TripleStoreError):
        count(store)
    (tmp_path / "file").write_text("x")
    with pytest.raises(TripleStoreError, match="cannot be used"):
        LocalTripleStore(tmp_path / "file").writer()


def test_what_was_written_is_seen_after_a_while(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(local_store, "_PUBLISH_SECONDS", 0.05)
    store = LocalTripleStore(tmp_path / "t")
    with store.writer() as writer:
        writer.put([graph("a.example", "1")])
        until = time.monotonic() + 30
        while not store.version() and time.monotonic() < until:
            time.sleep(0.05)
        assert count(store) == 1


BOMBS = (
    "SELECT (COUNT(*) AS ?n) { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l . ?m ?n2 ?o . ?p ?q ?r }",
    "SELECT * { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l } ORDER BY ?a ?d ?g ?j",
    'SELECT (GROUP_CONCAT(CONCAT(STR(?a), STR(?d), STR(?g)); separator="x") AS ?t) '
    "{ ?a ?b ?c . ?d ?e ?f . ?g ?h ?i . ?j ?k ?l }",
    "SELECT (COUNT(*) AS ?n) { ?a !<urn:q>* ?b . ?c !<urn:q>* ?d . ?e !<urn:q>* ?f }",
)


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_stopped(tmp_path: Path, bomb: str) -> None:
    store = LocalTripleStore(tmp_path / "t")
    with store.writer() as writer:
        writer.put([graph("a.example", *map(str, range(300)))])
    with pytest.raises((TripleQueryError, QuestionTimeoutError)):
        store.answer(SparqlQuery(bomb), QueryLimits(seconds=1.0, memory_bytes=256 << 20))
    assert count(store) == 300
