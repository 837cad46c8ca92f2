"""Searches by meaning: exact in small archives, fused with words, under filters and rules."""

import json
import shlex
import sys
from collections.abc import Iterator
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from nwx import Archive
from nwx.access.restricted_engine import restricted_to
from nwx.engine.access.rules import EVERYBODY, AccessRule, Action, Scope
from nwx.engine.base import Engine
from nwx.engine.indices import vector_index
from nwx.engine.indices.vector_index import DocumentPassages, quantised
from nwx.engine.search_server.entries.vector_index import ServerVectorIndex, _codes
from nwx.errors import SourceError, UsageError
from nwx.model import Document, Hit, IndexName, SearchResult
from nwx.searching.vectors import VectorBuildReport, build_vectors, has_current_vectors
from tests import embedder
from tests.conformance.archive import also, batch, page, settings_of
from tests.conformance.engines import Opener
from tests.conformance.test_takedown import purge
from tests.embedder import TOPICS

ABOVE_ENGINES = (
    "test_other_words_of_the_meaning_are_found",
    "test_the_nearest_version_stands_for_its_url",
    "test_builds_take_what_is_new",
    "test_purged_documents_have_no_passages",
    "test_answers_tell_nothing_of_what_is_hidden",
)

COMMAND = f"{shlex.quote(sys.executable)} {shlex.quote(embedder.__file__)}"
OTHERS = [f"word{number}" for number in range(200)]
FIRST, FURTHER = 90, 30


def made_pages(count: int) -> list[Document]:
    """Return pages of several hosts and years, each with one word of a topic among others."""
    chance = Random(29)
    pages = []
    for number in range(count):
        topic = number % len(TOPICS)
        words = [chance.choice(TOPICS[topic].split()), *chance.sample(OTHERS, 4)]
        chance.shuffle(words)
        url = f"http://site{number % 7}.example/{number}"
        pages.append(page(url, str(2010 + number % 5), " ".join(words), title=f"Page {number}"))
    return pages


PAGES = made_pages(FIRST + FURTHER)
BATCHES = [batch(PAGES, [also(PAGES[5], "2018 other")])]


@pytest.fixture(scope="module")
def built(archive: Engine) -> Engine:
    """The module's archive with vectors."""
    build(archive)
    return archive


def build(engine: Engine, *, anew: bool = False) -> VectorBuildReport:
    return build_vectors(engine, COMMAND, anew=anew)


def search(engine: Engine, query: str, by: str = "meaning", **asked: object) -> SearchResult:
    settings = replace(settings_of(engine), embedder=COMMAND)
    return Archive.over(engine, settings).search(query, by=by, **asked).page()  # type: ignore[arg-type]


def urls(result: SearchResult) -> list[str]:
    return [hit.url for hit in result.hits]


def expected(query: str, pages: list[Document]) -> list[Document]:
    """Return pages by the distance of their vectors from a query's, computed directly."""

    def numbers(text: str) -> np.ndarray:
        return quantised(np.array([embedder.vector(text)]))[0].astype(float)

    asked = numbers(query)
    scored = []
    for one in pages:
        own = numbers(f"{one.extract.title}\n{one.extract.content}")
        scored.append((-(asked @ own) / np.linalg.norm(asked) / np.linalg.norm(own), one))
    return [one for _, one in sorted(scored, key=lambda pair: pair[0])]


def test_other_words_of_the_meaning_are_found(built: Engine) -> None:
    for query in ("automobile", "tempest word7", "choir"):
        found = search(built, query, limit=20)
        assert urls(found) == [one.capture.url for one in expected(query, PAGES)[:20]]
        assert found.total.value == vector_index.NEAREST
        contents = {one.capture.url: one.extract.content for one in PAGES}
        assert all(hit.snippet[0][0] == contents[hit.url] for hit in found.hits)
    assert not urls(search(built, "lorry", by="words"))
    topics = [PAGES.index(one) % len(TOPICS) for one in expected("car", PAGES)[:10]]
    assert set(topics) == {0}


@pytest.mark.parametrize("few", [3, 400])
def test_filters_and_dates_leave_the_nearest_of_the_rest(
    built: Engine, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nwx.searching.vectors.FEW_PASSAGES", few)
    for most in (5_000, 5):
        monkeypatch.setattr("nwx.searching.vectors._MOST_COMPARED", most)
        host = [one for one in PAGES if one.capture.host == "site3.example"]
        found = search(built, "automobile", host="site3.example", limit=50)
        assert urls(found) == [one.capture.url for one in expected("automobile", host)]
        assert found.documents.value == found.total.value == len(host)
        late = [one for one in PAGES if one.capture.timestamp[:4] == "2014" or one is PAGES[5]]
        found = search(built, "ship", from_="2014", limit=50, facets=["host"])
        assert urls(found) == [one.capture.url for one in expected("ship", late)]
        assert sum(one.count for one in found.facets["host"]) == len(late)
    assert urls(search(built, "ship", collection="other")) == [PAGES[5].capture.url]
    assert urls(search(built, "ship", collection="none")) == []


@pytest.mark.parametrize("nearest", [5, 100])
def test_words_and_meaning_are_fused_by_rank(
    built: Engine, nearest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_index, "NEAREST", nearest)
    query = "car OR ship OR word3"
    words = urls(search(built, query, by="words", limit=200))
    near = urls(search(built, query, limit=200))
    assert len(near) == nearest < len(PAGES)
    found = search(built, query, by="both", limit=200)
    scores: dict[str, float] = {}
    for listed in (words[:nearest], near):
        for rank, url in enumerate(listed, 1):
            scores[url] = scores.get(url, 0) + 1 / (60 + rank)
    fused = urls(found)[: len(scores)]
    assert sorted(fused) == sorted(scores)
    assert [scores[url] for url in fused] == sorted(scores.values(), reverse=True)
    assert urls(found)[len(scores) :] == [one for one in words[nearest:] if one not in scores]
    assert found.total.value == len(found.hits) == len({*words, *near})
    paged: list[Hit] = []
    while some := search(built, query, by="both", offset=len(paged), limit=3).hits:
        paged += some
    assert paged == list(found.hits)


@pytest.mark.parametrize("by", ["meaning", "both"])
def test_the_nearest_version_stands_for_its_url(engine: Engine, by: str) -> None:
    old, new = "gale word1 word2 word3", "car word1 word2 word3"
    versions = [page("http://a.test/", "2011", new), page("http://a.test/", "2010", old)]
    engine.write(batch([*versions, page("http://b.test/", "2010", "ship word4 word5 word6")]))
    engine.refresh()
    build(engine)
    for query, text in (("tempest", old), ("automobile", new), ("gale", old), ("word2 gale", old)):
        found = search(engine, query, by=by)
        assert sorted(urls(found)) == ["http://a.test/", "http://b.test/"], query
        (hit,) = (one for one in found.hits if one.url == "http://a.test/")
        assert "".join(piece for piece, _ in hit.snippet) == text
        assert found.total.value == 2
    found = search(engine, "gale", by=by, collapse="none")
    assert sorted(urls(found)) == ["http://a.test/", "http://a.test/", "http://b.test/"]


def test_snippets_mark_words_where_there_are_some(built: Engine) -> None:
    for hit in search(built, "automobile", by="both", limit=40).hits:
        text = "".join(piece for piece, _ in hit.snippet)
        marked = [piece for piece, matches in hit.snippet if matches]
        assert text and marked == (["automobile"] if "automobile" in text.split() else [])


def test_orders_by_date_are_refused_and_queries_without_words_list_all(built: Engine) -> None:
    with pytest.raises(UsageError):
        search(built, "ship", sort="newest")
    assert search(built, "", by="both", limit=0).total.value == len(PAGES)


def test_entries_are_passages(built: Engine) -> None:
    entries = list(built.scan(IndexName.VECTORS))
    assert built.count(IndexName.VECTORS) == len(entries) == len(PAGES)
    assert [one["id"] for one in entries] == sorted(one["id"] for one in entries)
    content = {one.capture.document_id: one.extract.content for one in PAGES}
    for one in entries:
        assert (one["start"], one["end"]) == (0, len(content[one["document"]]))
        assert len(one["vector"]) == embedder.DIMENSIONS and max(map(abs, one["vector"])) == 127
    assert not list(built.damage())


def test_builds_take_what_is_new(engine: Engine) -> None:
    with pytest.raises(UsageError):
        search(engine, "ship")
    index = engine.vector_index()
    assert not index.is_made() and not has_current_vectors(engine)
    engine.write(batch(PAGES[:FIRST]))
    engine.refresh()
    assert build(engine).passages == FIRST and has_current_vectors(engine)
    engine.write(batch(PAGES[FIRST:]))
    engine.write(batch([page("http://a.test/", "2010", "ship " * 9, status=404)]))
    engine.refresh()
    assert not has_current_vectors(engine) and "vectors" in Archive.over(engine).stale()
    report = build(engine)
    assert (report.documents, report.passages) == (FURTHER, FURTHER)
    assert build(engine).captures == 0 and engine.count(IndexName.VECTORS) == len(PAGES)
    with pytest.raises(UsageError, match="NWX_EMBEDDER"):
        build_vectors(engine, "another")
    with pytest.raises(UsageError, match="another length"):
        index.put([DocumentPassages("0" * 32, ((0, 9),), np.ones((1, 7), np.int8))])
    with pytest.raises(SourceError, match="exit code"):
        build_vectors(engine, "false", anew=True)
    assert has_current_vectors(engine) and search(engine, "ship")
    assert build(engine, anew=True).passages == len(PAGES)
    assert urls(search(engine, "car", limit=5)) == [
        one.capture.url for one in expected("car", PAGES)[:5]
    ]


def test_vectors_that_servers_stored_as_words_are_compared(engine: Engine) -> None:
    engine.write(batch(PAGES))
    engine.refresh()
    build(engine)
    index = engine.vector_index()
    if isinstance(index, ServerVectorIndex):  # as earlier versions stored codes for scripts
        words = {"codes": {"type": "keyword", "index": False}}
        path = f"/{index._store.alias}/_mapping"
        index._store.server.request("PUT", path, {"properties": words})
        older = [one | {"codes": _codes(one["vector"])} for one in index.entries()]
        index._store.put(older[::2])
    assert urls(search(engine, "car", limit=20)) == [
        one.capture.url for one in expected("car", PAGES)[:20]
    ]


def test_purged_documents_have_no_passages(open_archive: Opener) -> None:
    with open_archive() as engine:
        engine.create()
        long = page("http://long.test/", "2010", "gale " * 1_000)
        engine.write(batch([*PAGES[:20], long]))
        engine.refresh()
        build(engine)
        spans = len(list(engine.scan(IndexName.VECTORS))) - 20
        assert spans == 9 and engine.vector_index().known([long.capture.document_id])
        purge(engine, open_archive, "http://long.test/")
        assert engine.count(IndexName.VECTORS) == 20
        assert not engine.vector_index().known([long.capture.document_id])
        assert "http://long.test/" not in urls(search(engine, "gale", limit=100))
        assert urls(search(engine, "car", limit=20)) == [
            one.capture.url for one in expected("car", PAGES[:20])
        ]


@pytest.fixture
def pair(open_archive: Opener, open_another: Opener) -> Iterator[tuple[Engine, Engine]]:
    """An archive with hidden pages as the public sees it, and one that never had them."""
    hidden = [one for one in PAGES if one.capture.host in ("site1.example", "site2.example")]
    with open_archive() as one, open_another() as other:
        for engine, pages in ((one, PAGES), (other, [p for p in PAGES if p not in hidden])):
            engine.create()
            engine.write(batch(pages))
            engine.refresh()
            build(engine)
        rules = [
            AccessRule(f"r{number}", Action.BLOCK, Scope(prefix=f"example,site{number})/"))
            for number in (1, 2)
        ]
        for engine in (one, other):
            engine.access_index().put(rules, "test")
            engine.refresh()
        yield restricted_to(one, EVERYBODY), restricted_to(other, EVERYBODY)


@pytest.mark.parametrize("few", [4, 400])
def test_answers_tell_nothing_of_what_is_hidden(
    pair: tuple[Engine, Engine], few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nwx.searching.vectors.FEW_PASSAGES", few)
    chance = Random(few)
    for _ in range(8):
        words = [chance.choice(" ".join(TOPICS).split()), *chance.sample(OTHERS, 2)]
        query, offset = " OR ".join(words), chance.choice((0, 5))
        answers = [
            search(engine, query, limit=10, offset=offset, facets=["host"]) for engine in pair
        ]
        shown, never = (replace(one, took_ms=0.0) for one in answers)
        assert shown == never, query
        # Words of hidden documents affect scores: the order may differ (docs/access.md).
        shown, never = (search(engine, query, "both", limit=200) for engine in pair)
        assert sorted(urls(shown)) == sorted(urls(never)) and shown.total == never.total, query
    entries = [json.dumps(list(engine.scan(IndexName.VECTORS))) for engine in pair]
    assert entries[0] == entries[1]
    assert pair[0].count(IndexName.VECTORS) == pair[1].count(IndexName.VECTORS)
