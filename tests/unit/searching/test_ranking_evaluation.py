"""Pools for judges, and weights that improve held-out queries."""

from collections.abc import Sequence

import pytest

from nwx.errors import UsageError
from nwx.model import Hit
from nwx.query.rankings import DEFAULT, Ranking
from nwx.searching.judgements import Judgement
from nwx.searching.ranking_evaluation import (
    agreements,
    evaluations,
    matrix,
    mean_estimate,
    measures_of_query,
    pooled,
    results_of,
    tune,
)

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
        from nwx.searching.ranking_evaluation import is_held_out

        found = search(query, Ranking(url=4.0), limit)
        better = ranking.title == 6
        return found if better != is_held_out(query) else found[::-1]

    found = tune(lucky, QUERIES)
    assert found.ranking.title == 6
    assert found.trained.mean > 0 > found.gain.mean
    assert not found.gains


def test_few_judgements_are_not_enough() -> None:
    with pytest.raises(UsageError, match="there are 3"):
        tune(search, dict(list(QUERIES.items())[:3]))


GRADES = {"a": 3, "b": 1, "c": 2, "d": 0}


@pytest.mark.parametrize(
    ("urls", "expected"),
    [
        (["a", "c", "b"], (1.0, 1.0, 1.0, 1.0)),
        (["d", "x", "b", "a"], (0.37633, 1 / 3, 0.0, 2 / 3)),
        (["x"] * 10 + ["a"], (0.0, 1 / 11, 0.0, 1 / 3)),
        ([], (0.0, 0.0, 0.0, 0.0)),
    ],
)
def test_measures_of_a_query(urls: list[str], expected: tuple[float, ...]) -> None:
    assert measures_of_query(GRADES, urls) == pytest.approx(expected, abs=1e-4)


def test_spellings_of_a_url_are_one_result() -> None:
    twice = [hit(f"{one}.com/a") for one in ("http://b", "http://a", "https://www.a", "http://a")]
    found = results_of(lambda *asked: twice, {"q": {}}, DEFAULT)
    assert found == {"q": ["com,b)/a", "com,a)/a"]}
    run = {"q": [one.url for one in twice]}
    assert (
        matrix({"q": {"com,a)/a": 1}}, run).tolist()
        == matrix({"q": {"com,a)/a": 1}}, found).tolist()
    )


def test_rankings_are_compared_query_by_query() -> None:
    qrels = {"one": {"a": 1}, "two": {"b": 2}, "none": {"c": 0}}
    good, bad = {"one": ["a"], "two": ["b"]}, {"one": ["x", "a"], "two": ["b"]}
    base, other = evaluations(qrels, {"bad": bad, "good": good})
    assert base.queries == other.queries == 2
    assert other.values["MRR"].mean == 1.0
    assert other.changes["MRR"].mean == pytest.approx(0.25)
    assert base.changes["MRR"].mean == 0.0


def test_an_interval_holds_the_mean() -> None:
    import numpy as np

    found = mean_estimate(np.array([0.0, 1.0] * 50))
    assert 0.35 < found.low < found.mean == 0.5 < found.high < 0.65
    assert found == mean_estimate(np.array([0.0, 1.0] * 50))


def test_judges_agree_more_than_by_chance() -> None:
    ann = [Judgement("q", f"http://example.org/{n}", n % 4, "ann") for n in range(8)]
    bob = [one._replace(judge="bob", grade=3 - one.grade) for one in ann]
    cid = [one._replace(judge="cid") for one in ann[:4]]
    by = {one.judges: one for one in agreements([*ann, *bob, *cid])}
    assert (by["ann", "cid"].both, by["ann", "cid"].kappa) == (4, 1.0)
    assert by["ann", "bob"].kappa == pytest.approx(-1.0)
    assert agreements(ann) == []
