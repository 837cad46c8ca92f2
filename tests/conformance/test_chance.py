"""Random questions return what plain Python finds, one document at a time."""

from collections import Counter
from collections.abc import Sequence
from random import Random

import pytest

from nwx.engine.base import Engine
from nwx.model import SearchResult, Total
from nwx.query.question import BY_SCORE, Question, resolve
from nwx.query.tree import has_scores
from tests.conformance import chance, oracle
from tests.conformance.oracle import Shown

BATCHES, SHOWN = chance.archive(Random(2010), 160)
SEEDS = (*range(30), 43, 53, 64, 66, 78, 79, 88, 95, 99)
"""These seeds cover the same branches as the first 100."""


def check(request: Question, found: SearchResult, documents: Sequence[Shown] = SHOWN) -> None:
    """Compare an answer with the oracle's."""
    wanted = oracle.matching(documents, request)
    folds = Counter(oracle.fold(one, request.collapse) for one in wanted)
    assert found.documents == Total(len(wanted))
    assert found.total == Total(len(folds))
    shown = {one.id: one for one in wanted}
    assert {oracle.fold(shown[hit.id], request.collapse) for hit in found.hits} == set(folds)
    for hit in found.hits:
        assert hit.versions == folds[oracle.fold(shown[hit.id], request.collapse)]
        assert hit.dates == tuple(sorted({date for date, _ in shown[hit.id].pairs}))
        assert set(hit.collections) == {name for _, name in shown[hit.id].pairs}
    if request.sort not in BY_SCORE or not has_scores(resolve(request).tree):
        in_order = oracle.ordered(wanted, request.sort, request.collapse)
        assert [hit.id for hit in found.hits] == [one.id for one in in_order]
    counted = {
        name: {value.value: value.count for value in values}
        for name, values in found.facets.items()
    }
    assert counted == oracle.facets(documents, request)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_question_made_by_chance(archive: Engine, seed: int) -> None:
    request = chance.request(Random(seed))
    check(request, archive.search(request))
    streamed = sorted(hit.id for hit in archive.scroll(request))
    assert streamed == sorted(one.id for one in oracle.matching(SHOWN, request))
