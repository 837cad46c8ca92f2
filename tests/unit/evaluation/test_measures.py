"""Measures, compared with what ir_measures 0.4.3 computes for the same judgements and runs."""

import pytest

from nwx.evaluation.judgements import Judgement
from nwx.evaluation.measures import agreements, evaluations, mean_estimate, measures_of_query

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
