"""Random questions, with dates distributed randomly over several indices."""

from collections.abc import Iterator
from dataclasses import replace
from random import Random

import pytest

from nwx.engine.base import Engine
from nwx.model import MAIN_DATES, Batch, Dates, Sort
from nwx.query.tree import All
from tests.conformance import chance, oracle
from tests.conformance.engines import new_archive
from tests.conformance.test_chance import BATCHES, SHOWN, check

DATES_OF_ENTRY = 2

INDICES = (MAIN_DATES, "a", "b")
SEEDS = (*range(20), 21, 22, 26, 28, 36, 43, 53, 57, 64, 66, 67, 78, 79)
"""These seeds cover the same branches as the first 80."""


def spread(dates: tuple[Dates, ...], random: Random) -> dict[str, list[Dates]]:
    """Return the dates of each index; each date is in one or several of them."""
    found: dict[str, list[Dates]] = {name: [] for name in INDICES}
    for one in dates:
        for pair in one.seen:
            for name in random.sample(INDICES, random.choice((1, 1, 2, 3))):
                found[name].append(Dates(one.key, (pair,)))
    return found


@pytest.fixture(scope="module")
def named(
    kind: str, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Engine]:
    """The random archive, with additional dates in three indices."""
    random = Random(1975)
    with new_archive(kind, tmp_path_factory.mktemp(kind), request) as opener, opener() as opened:
        opened.create()
        for batch in BATCHES:
            opened.write(Batch(batch.documents, batch.captures))
            for name, dates in spread(batch.dates, random).items():
                opened.append_dates(dates, into=name)
        opened.refresh()
        yield opened


@pytest.mark.parametrize("seed", SEEDS)
def test_a_question_made_by_chance(named: Engine, seed: int) -> None:
    request = chance.request(Random(seed))
    check(request, named.search(request))
    streamed = sorted(hit.id for hit in named.scroll(request))
    assert streamed == sorted(one.id for one in oracle.matching(SHOWN, request))


@pytest.mark.parametrize("sort", [Sort.OLDEST, Sort.NEWEST, Sort.RELEVANCE])
@pytest.mark.parametrize("seed", range(10))
def test_first_pages_of_an_order(named: Engine, sort: Sort, seed: int) -> None:
    request = chance.request(Random(seed))
    if sort is Sort.RELEVANCE:
        request = replace(request, query=All())  # which has no scores
    for limit in (1, 3, 10):
        first = named.search(replace(request, sort=sort, limit=limit))
        wanted = oracle.ordered(oracle.matching(SHOWN, request), sort, request.collapse)
        assert [hit.id for hit in first.hits] == [one.id for one in wanted[:limit]]
