"""Pools for judges, and weights that do better on queries held out."""

from collections.abc import Sequence

import pytest

from nwx.errors import UsageError
from nwx.evaluation.workbench import pooled, tune
from nwx.model import Hit
from nwx.query.rankings import DEFAULT, Ranking

QUERIES = {f"query {n}": {f"com,good)/{n}": 3} for n in range(40)}


def hit(url: str) -> Hit:
    return Hit(id=url, url=url, digest="", title="", dates=(), snippet=(), score=1.0, versions=1)


def search(query: str, ranking: Ranking, limit: int) -> Sequence[Hit]:
    number = query.split()[-1]
    found = [hit(f"http://bad.com/{number}"), hit(f"http://good.com/{number}")]
    return found[::-1] if ranking.url == 4 else found


def test_pools_do_not_tell_the_ranking() -> None:
    first = pooled(search, "query 7", [DEFAULT, Ranking(url=4.0)])
    assert {one.url for one in first} == {"http://bad.com/7", "http://good.com/7"}
    assert first == pooled(search, "query 7", [Ranking(url=4.0), DEFAULT])


def test_weights_that_gain_are_found() -> None:
    found = tune(search, QUERIES)
    assert found.ranking.url == 4
    assert found.gains
    assert 0 < found.held_out < 30


def test_weights_that_gain_by_chance_do_not_gain_on_queries_held_out() -> None:
    def lucky(query: str, ranking: Ranking, limit: int) -> Sequence[Hit]:
        from nwx.evaluation.workbench import is_held_out

        found = search(query, Ranking(url=4.0), limit)
        better = ranking.title == 6
        return found if better != is_held_out(query) else found[::-1]

    found = tune(lucky, QUERIES)
    assert found.ranking.title == 6
    assert found.trained.mean > 0 > found.gain.mean
    assert not found.gains


def test_few_judgements_are_not_enough() -> None:
    with pytest.raises(UsageError, match="3 queries have a relevant URL"):
        tune(search, dict(list(QUERIES.items())[:3]))
