"""Measures of rankings by judgements, and of the agreement of judges."""

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from nwx.evaluation.judgements import GRADES, Judgement, Qrels, url_of

MeasureValues = npt.NDArray[np.float64]
MEASURES = ("nDCG@10", "MRR", "P@1", "recall@100")
DEPTH = 100
_SAMPLES = 1_000


def measures_of_query(grades: Mapping[str, int], urls: Sequence[str]) -> tuple[float, ...]:
    """Return nDCG@10, reciprocal rank, precision at 1 and recall at 100 of one query.

    As ir_measures and trec_eval compute them: gains are grades, and a grade of 1 is relevant.
    """
    found = [grades.get(url, 0) for url in urls[:DEPTH]]
    relevant = sum(grade > 0 for grade in grades.values())
    best = _gain(sorted(grades.values(), reverse=True))
    first = next((place for place, grade in enumerate(found, 1) if grade > 0), 0)
    return (
        _gain(found) / best if best else 0.0,
        1 / first if first else 0.0,
        float(first == 1),
        sum(grade > 0 for grade in found) / relevant if relevant else 0.0,
    )


def _gain(grades: Sequence[int]) -> float:
    return sum(grade / math.log2(place + 1) for place, grade in enumerate(grades[:10], 1))


@dataclass(frozen=True, slots=True)
class MeanEstimate:
    """A mean with the ends of its interval of 95 %."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Evaluation:
    """How well a ranking answers the judged queries, by measure.

    `changes` are against the first ranking, query by query.
    """

    ranking: str
    queries: int
    values: Mapping[str, MeanEstimate]
    changes: Mapping[str, MeanEstimate]


def mean_estimate(values: MeasureValues) -> MeanEstimate:
    """Return a mean with its bootstrapped interval; the same values give the same one."""
    if not len(values):
        return MeanEstimate(0.0, 0.0, 0.0)
    chosen = np.random.default_rng(1).integers(0, len(values), (_SAMPLES, len(values)))
    low, high = np.percentile(values[chosen].mean(axis=1), (2.5, 97.5))
    return MeanEstimate(float(values.mean()), float(low), float(high))


def matrix(qrels: Qrels, results: Mapping[str, Sequence[str]]) -> MeasureValues:
    """Return a row of MEASURES for each query that has a relevant URL."""
    rows = [
        measures_of_query(grades, [url_of(url) for url in results.get(query, ())])
        for query, grades in sorted(qrels.items())
        if any(grades.values())
    ]
    return np.array(rows, dtype=np.float64).reshape(-1, len(MEASURES))


def evaluations(
    qrels: Qrels, results: Mapping[str, Mapping[str, Sequence[str]]]
) -> list[Evaluation]:
    """Return the evaluations of the results of rankings by name."""
    rows = {name: matrix(qrels, found) for name, found in results.items()}
    base = next(iter(rows.values()))
    return [
        Evaluation(
            name,
            len(own),
            {one: mean_estimate(own[:, n]) for n, one in enumerate(MEASURES)},
            {one: mean_estimate((own - base)[:, n]) for n, one in enumerate(MEASURES)},
        )
        for name, own in rows.items()
    ]


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far two judges agree on what both judged: Cohen's kappa, with quadratic weights."""

    judges: tuple[str, str]
    both: int
    equal: float
    kappa: float


def agreements(judgements: Iterable[Judgement]) -> list[Agreement]:
    """Return the agreement of each two judges that judged the same."""
    by_judge: dict[str, dict[tuple[str, str], int]] = defaultdict(dict)
    for one in judgements:
        by_judge[one.judge][one.query, url_of(one.url)] = one.grade
    return [
        _agreement((one, other), [(by_judge[one][key], by_judge[other][key]) for key in same])
        for one, other in combinations(sorted(by_judge), 2)
        if (same := sorted(by_judge[one].keys() & by_judge[other].keys()))
    ]


def _agreement(judges: tuple[str, str], pairs: Sequence[tuple[int, int]]) -> Agreement:
    counts = np.zeros((len(GRADES), len(GRADES)))
    for one, other in pairs:
        counts[one, other] += 1
    shares = counts / len(pairs)
    places = np.arange(len(GRADES))
    apart = (places[:, None] - places[None, :]) ** 2
    chance = float((apart * np.outer(shares.sum(axis=1), shares.sum(axis=0))).sum())
    kappa = 1 - float((apart * shares).sum()) / chance if chance else 1.0
    return Agreement(judges, len(pairs), float(np.trace(shares)), kappa)
