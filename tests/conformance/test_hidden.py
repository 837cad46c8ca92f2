"""Random questions return what they would if the hidden documents did not exist."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random

import pytest

from nwx.engine.base import Engine
from nwx.model import Batch, Sort
from nwx.query.question import HiddenDocuments, Question
from nwx.query.tree import All
from tests.conformance import chance, oracle
from tests.conformance.archive import also, batch, page
from tests.conformance.engines import new_archive
from tests.conformance.hiding import HIDING, seen_through
from tests.conformance.oracle import Shown
from tests.conformance.test_chance import BATCHES, check
from tests.conformance.test_chance_named import spread

ABOVE_ENGINES = (
    "test_first_pages_of_an_order",
    "test_dates_of_several_indices",
)

DATES_OF_ENTRY = 1

EACH = 8


def check_hidden(engine: Engine, way: str, seed: int, shown: Sequence[Shown]) -> None:
    """Compare a random question and its scroll with the oracle."""
    request = replace(chance.request(Random(seed)), hidden=HIDING[way])
    check(request, engine.search(request), shown)
    streamed = sorted(hit.id for hit in engine.scroll(request))
    assert streamed == sorted(one.id for one in oracle.matching(shown, request))


@pytest.mark.parametrize("way", HIDING)
def test_questions_made_by_chance(archive: Engine, way: str) -> None:
    shown = seen_through(HIDING[way])
    for seed in range(EACH):
        check_hidden(archive, way, seed, shown)


@pytest.fixture(scope="module")
def named(
    kind: str, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Engine]:
    """The random archive, with additional dates in three indices."""
    random = Random(1975)
    with new_archive(kind, tmp_path_factory.mktemp(kind), request) as opener, opener() as opened:
        opened.create()
        for some in BATCHES:
            opened.write(Batch(some.documents, some.captures))
            for name, dates in spread(some.dates, random).items():
                opened.append_dates(dates, into=name)
        opened.refresh()
        yield opened


@pytest.mark.parametrize("way", ["all"])
def test_dates_of_several_indices(named: Engine, way: str) -> None:
    shown = seen_through(HIDING[way])
    for seed in range(EACH):
        check_hidden(named, way, seed, shown)


@pytest.mark.parametrize("sort", [Sort.OLDEST, Sort.NEWEST, Sort.RELEVANCE])
def test_first_pages_of_an_order(archive: Engine, sort: Sort) -> None:
    shown = seen_through(HIDING["all"])
    for seed in range(6):
        request = replace(chance.request(Random(seed)), sort=sort, hidden=HIDING["all"])
        if sort is Sort.RELEVANCE:
            request = replace(request, query=All())  # which has no scores
        wanted = oracle.ordered(oracle.matching(shown, request), sort, request.collapse)
        for limit in (1, 10):
            first = archive.search(replace(request, limit=limit))
            assert [hit.id for hit in first.hits] == [one.id for one in wanted[:limit]]


HELD = page("http://example.org/held", "2010", "slate", source_file="one.warc.gz")


@pytest.fixture(scope="module")
def held(
    kind: str, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Engine]:
    """An archive of one document with two captures, with the text of the first."""
    with new_archive(kind, tmp_path_factory.mktemp(kind), request) as opener, opener() as opened:
        opened.create()
        opened.write(batch([HELD], [also(HELD, "2012 other")]))
        opened.refresh()
        yield opened


@pytest.mark.parametrize(
    "query",
    [
        "source_file:one.warc.gz",
        "collection:web",
        "crawl_year:2010",
        "crawl_date:[2009 TO 2011]",
        "timestamp:20100101000000",
        "record_length:333",
        "date:2010",
    ],
)
def test_the_place_of_a_hidden_capture_finds_nothing(held: Engine, query: str) -> None:
    id = HELD.capture.document_id
    hidden = HiddenDocuments("one", dates={id: frozenset({("20100101000000", "web")})})
    assert len(held.search(Question(query)).hits) == 1
    assert held.search(Question(query, hidden=hidden)).hits == ()
    (hit,) = held.search(Question("slate", facets=("year",), hidden=hidden)).hits
    assert (hit.dates, hit.collections) == (("20120101000000",), ("other",))
    either = Question(f"slate OR {query}", hidden=hidden)
    assert len(held.search(either).hits) == len(list(held.scroll(either))) == 1
