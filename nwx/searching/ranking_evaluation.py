"""Evaluation of rankings by judgements: pooling results for judges, measures, tuning of weights."""

import hashlib
import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from nwx.errors import UsageError
from nwx.model import Hit
from nwx.query.rankings import DEFAULT, Ranking, ranking_of
from nwx.searching.judgements import GRADES, Judgement, Qrels, distinct_urls, url_of

MeasureValues = npt.NDArray[np.float64]
MEASURES = ("nDCG@10", "MRR", "P@1", "recall@100")
DEPTH = 100
_SAMPLES = 1_000


def measures_of_query(grades: Mapping[str, int], urls: Sequence[str]) -> tuple[float, ...]:
    """Return nDCG@10, reciprocal rank, precision at 1 and recall at 100 of one query.

    Computed as by ir_measures and trec_eval: gains are grades, and grades from 1 are relevant.
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
    """A mean with the ends of its 95 % confidence interval."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Means of a ranking over the judged queries, by measure.

    `changes` are the mean differences per query from the first ranking.
    """

    ranking: str
    queries: int
    values: Mapping[str, MeanEstimate]
    changes: Mapping[str, MeanEstimate]


def mean_estimate(values: MeasureValues) -> MeanEstimate:
    """Return a mean with its bootstrapped interval; deterministic for the same values."""
    if not len(values):
        return MeanEstimate(0.0, 0.0, 0.0)
    chosen = np.random.default_rng(1).integers(0, len(values), (_SAMPLES, len(values)))
    low, high = np.percentile(values[chosen].mean(axis=1), (2.5, 97.5))
    return MeanEstimate(float(values.mean()), float(low), float(high))


def matrix(qrels: Qrels, results: Mapping[str, Sequence[str]]) -> MeasureValues:
    """Return a row of MEASURES for each query with a relevant URL."""
    rows = [
        measures_of_query(grades, distinct_urls(results.get(query, ())))
        for query, grades in sorted(qrels.items())
        if any(grades.values())
    ]
    return np.array(rows, dtype=np.float64).reshape(-1, len(MEASURES))


def evaluations(
    qrels: Qrels, results: Mapping[str, Mapping[str, Sequence[str]]]
) -> list[Evaluation]:
    """Return an evaluation of each ranking's results; the first ranking is the baseline."""
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
    """The agreement of two judges on what both judged: Cohen's kappa with quadratic weights."""

    judges: tuple[str, str]
    both: int
    equal: float
    kappa: float


def agreements(judgements: Iterable[Judgement]) -> list[Agreement]:
    """Return the agreement of each two judges with common judgements."""
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


RankedSearch = Callable[[str, Ranking, int], Sequence[Hit]]
"""Returns the first hits of a query by a ranking, up to a limit."""

_POOLED = 10
_HELD_OUT = 3
"""One of this many queries is held out."""

_FEWEST = 20
_STEPS: Mapping[str, tuple[float, ...]] = {
    "url": (0.5, 1, 1.5, 2, 3, 4),
    "phrase": (0, 0.25, 0.5, 1, 2),
    "lower": (0, 0.25, 0.5, 1),
    "title": (1, 2, 3, 4, 6),
    "headings": (0.5, 1, 1.5, 2, 3),
    "text": (0.5, 1, 1.5, 2),
    "anchors": (0, 1, 2, 3, 4),
    "inlinks": (0, 0.1, 0.3),
}
"""The values to try for each weight."""


def pooled(search: RankedSearch, query: str, rankings: Iterable[Ranking]) -> list[Hit]:
    """Return the first hits of several rankings, each URL once, in a shuffled order."""
    found: dict[str, Hit] = {}
    for ranking in rankings:
        for hit in search(query, ranking, _POOLED):
            found.setdefault(hit.url, hit)
    hits = [found[url] for url in sorted(found)]
    random.Random(query).shuffle(hits)
    return hits


def results_of(search: RankedSearch, qrels: Qrels, ranking: Ranking) -> dict[str, list[str]]:
    """Return the urlkeys of the first hits of each judged query, as qrels name them."""
    return {
        query: distinct_urls(hit.url for hit in search(query, ranking, DEPTH)) for query in qrels
    }


@dataclass(frozen=True, slots=True)
class Tuning:
    """The best weights found on the queries that are not held out.

    `gain` is the change of the measure on the `held_out` queries, `trained` that on the others.
    """

    ranking: Ranking
    measure: str
    held_out: int
    before: float
    gain: MeanEstimate
    trained: MeanEstimate
    tried: int

    @property
    def gains(self) -> bool:
        """Return whether the weights improve the measure on the held-out queries."""
        return self.gain.mean > 0


def tune(search: RankedSearch, qrels: Qrels, base: Ranking = DEFAULT, measure: str = "") -> Tuning:
    """Try values of each weight in turn; keep those that improve the measure in training."""
    measure = measure or MEASURES[0]
    if measure not in MEASURES:
        raise UsageError(f"there is no measure {measure[:40]!r}; use {', '.join(MEASURES)}")
    useful = {query: grades for query, grades in qrels.items() if any(grades.values())}
    if len(useful) < _FEWEST:
        raise UsageError(
            f"tuning needs {_FEWEST} queries with a relevant URL or more; there are {len(useful)}"
        )
    held = set(filter(is_held_out, useful))
    train = {query: grades for query, grades in useful.items() if query not in held}
    test = {query: useful[query] for query in held}
    column = MEASURES.index(measure)

    def score(ranking: Ranking, queries: Qrels) -> float:
        return float(matrix(queries, results_of(search, queries, ranking))[:, column].mean())

    best, most, tried = base, score(base, train), 1
    for name, values in _STEPS.items():
        for value in values:
            if value == getattr(best, name):
                continue
            ranking = ranking_of(best.weights() | {name: value})
            tried += 1
            if (found := score(ranking, train)) > most:
                best, most = ranking, found
    before, after = (matrix(test, results_of(search, test, one)) for one in (base, best))
    early, late = (matrix(train, results_of(search, train, one)) for one in (base, best))
    return Tuning(
        best,
        measure,
        len(test),
        float(before[:, column].mean()) if len(before) else 0.0,
        mean_estimate((after - before)[:, column]),
        mean_estimate((late - early)[:, column]),
        tried,
    )


def is_held_out(query: str) -> bool:
    """Return whether a query is held out from tuning, chosen by its hash."""
    return hashlib.sha256(query.encode()).digest()[0] % _HELD_OUT == 0


def compared(
    search: RankedSearch,
    qrels: Qrels,
    rankings: Sequence[Ranking],
    runs: Mapping[str, Mapping[str, Sequence[str]]],
) -> tuple[list[Evaluation], dict[str, Mapping[str, Sequence[str]]]]:
    """Return the evaluations of rankings and of other programs' runs, and all results by name."""
    results = {one.name: results_of(search, qrels, one) for one in rankings}
    every = {**results, **runs}
    return evaluations(qrels, every), every
