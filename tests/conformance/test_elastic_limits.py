"""Joins on Elasticsearch have limits: answers are exact within them, and lower bounds beyond."""

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from random import Random

import pytest

from nwx.engine.base import Engine, open_engine
from nwx.engine.search_server import schema
from nwx.model import Collapse, Sort
from nwx.query.question import Question
from nwx.query.tree import All, Bool, DateRange
from nwx.settings import ServerSettings, Settings
from nwx.values.timestamps import Period
from tests.conformance import chance, oracle
from tests.conformance.engines.search_server import remove_indices
from tests.conformance.hiding import HIDING, seen_through
from tests.conformance.test_chance import BATCHES, SHOWN, check

SPAN = Question(
    All(), date_from="20100101000000", date_to="20121231235959", limit=20, snippets=False
)


@contextmanager
def filled(address: str, shards: int) -> Iterator[Engine]:
    """Yield the random archive on Elasticsearch."""
    prefix = f"nwx-test-{uuid.uuid4().hex}"
    settings = Settings(address, ServerSettings(prefix=prefix, shards=shards))
    with open_engine(settings) as engine:
        try:
            engine.create()
            for batch in BATCHES:
                engine.write(batch)
            engine.refresh()
            yield engine
        finally:
            remove_indices(settings)


@pytest.fixture(scope="module")
def elastic(elasticsearch_url: str) -> Iterator[Engine]:
    """The random archive in one shard."""
    with filled(elasticsearch_url, shards=1) as engine:
        yield engine


@pytest.fixture(scope="module")
def sharded(elasticsearch_url: str) -> Iterator[Engine]:
    """The random archive in several shards."""
    with filled(elasticsearch_url, shards=3) as engine:
        yield engine


@pytest.mark.parametrize("seed", range(25))
def test_shards_make_no_difference(sharded: Engine, seed: int) -> None:
    request = chance.request(Random(1000 + seed))
    check(request, sharded.search(request))


@pytest.mark.parametrize("seed", range(40))
def test_pages_of_the_server_fit_together(
    elastic: Engine, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    monkeypatch.setattr(schema, "PAGE", 7)
    monkeypatch.setattr(schema, "SHORT_LIST", 7)
    monkeypatch.setattr(schema, "FEW", 3)
    monkeypatch.setattr(schema, "STEP", 4)
    request = chance.request(Random(seed))
    check(request, elastic.search(request))


@pytest.mark.parametrize("seed", range(40))
def test_the_smaller_side_is_looked_up(
    elastic: Engine, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Few documents match the host, many dates match the range."""
    chosen = Random(seed)
    wanted = [one for one in SHOWN if one.document.capture.host == "a.test"]
    monkeypatch.setattr(schema, "SHORT_LIST", 2)
    monkeypatch.setattr(schema, "MAX_IDS", len(wanted))
    request = Question(
        Bool(must=(DateRange("20090101000000", "20141231235959"),)),
        filters={"host": ("a.test",), "collection": ("web", chosen.choice(("art", "law")))},
        date_from=chance.moment(chosen),
        sort=chosen.choice(list(Sort)),
        limit=500,
        snippets=False,
    )
    check(request, elastic.search(request))


def test_trends_are_the_same_however_many_documents_have_several_dates(
    elastic: Engine, sharded: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The dates of few documents are cached in memory, those of many are read for each question."""
    questions = [chance.request(Random(2000 + seed)) for seed in range(15)]
    found = {period: elastic.trends(questions, period) for period in Period}
    assert any(found[Period.YEAR])
    monkeypatch.setattr(schema, "SHORT_LIST", 3)
    assert {period: sharded.trends(questions, period) for period in Period} == found
    monkeypatch.setattr(schema, "MAX_IDS", 30)
    monkeypatch.setattr(schema, "PAGE", 10)
    assert sharded.trends(questions[:6], Period.YEAR) == found[Period.YEAR][:6]


@pytest.mark.parametrize("sort", list(Sort))
@pytest.mark.parametrize("collapse", list(Collapse))
def test_beyond_both_sides_the_total_is_a_lower_bound(
    elastic: Engine, monkeypatch: pytest.MonkeyPatch, sort: Sort, collapse: Collapse
) -> None:
    monkeypatch.setattr(schema, "SHORT_LIST", 20)
    monkeypatch.setattr(schema, "MAX_IDS", 30)
    monkeypatch.setattr(schema, "PAGE", 10)
    request = Question(
        All(),
        date_from=SPAN.date_from,
        date_to=SPAN.date_to,
        sort=sort,
        collapse=collapse,
        limit=8,
        snippets=False,
    )
    wanted = oracle.matching(SHOWN, request)
    found = elastic.search(request)
    assert len(found.hits) == 8
    assert {hit.id for hit in found.hits} <= {one.id for one in wanted}
    assert found.documents.relation == found.total.relation == "gte"
    assert 8 <= found.documents.value <= len(wanted)


def test_beyond_both_sides_streaming_gives_all(
    elastic: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "SHORT_LIST", 20)
    monkeypatch.setattr(schema, "MAX_IDS", 30)
    monkeypatch.setattr(schema, "PAGE", 10)
    streamed = sorted(hit.id for hit in elastic.scroll(SPAN))
    assert streamed == sorted(one.id for one in oracle.matching(SHOWN, SPAN))


def test_beyond_both_sides_facets_leave_out_their_own_filter(
    elastic: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "SHORT_LIST", 5)
    monkeypatch.setattr(schema, "MAX_IDS", 30)
    monkeypatch.setattr(schema, "PAGE", 10)
    filters = {"content_language": ("en",), "content_type_norm": ("html",)}
    request = replace(SPAN, filters=filters, facets=("content_language", "host"))
    counted = oracle.facets(SHOWN, request)
    found = elastic.search(request)
    languages = {one.value: one.count for one in found.facets["content_language"]}
    assert set(languages) > {"en"}
    assert all(count <= counted["content_language"][name] for name, count in languages.items())


def test_more_may_be_hidden_than_a_list_holds(
    elastic: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "MAX_IDS", 7)
    monkeypatch.setattr(schema, "SHORT_LIST", 5)
    monkeypatch.setattr(schema, "PAGE", 20)
    hidden = HIDING["all"]
    request = Question(All(), sort=Sort.OLDEST, facets=("host",), limit=200, hidden=hidden)
    check(request, elastic.search(request), seen_through(hidden))
