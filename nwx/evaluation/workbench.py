"""Results of rankings pooled for judges, measured by judgements, and tuned to do better."""

import hashlib
import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from nwx.errors import UsageError
from nwx.evaluation.judgements import Qrels
from nwx.evaluation.measures import (
    DEPTH,
    MEASURES,
    Evaluation,
    MeanEstimate,
    evaluations,
    matrix,
    mean_estimate,
)
from nwx.model import Hit
from nwx.query.rankings import DEFAULT, Ranking, ranking_of

RankedSearch = Callable[[str, Ranking, int], Sequence[Hit]]
"""What gives the first hits of a query by a ranking."""

_POOLED = 10
_HELD_OUT = 3
"""One of so many queries is held out."""

_FEWEST = 20
_STEPS: Mapping[str, tuple[float, ...]] = {
    "url": (0.5, 1, 1.5, 2, 3, 4),
    "phrase": (0, 0.25, 0.5, 1, 2),
    "title": (1, 2, 3, 4, 6),
    "headings": (0.5, 1, 1.5, 2, 3),
    "text": (0.5, 1, 1.5, 2),
    "anchors": (0, 1, 2, 3, 4),
    "inlinks": (0, 0.1, 0.3),
}
"""The values that are tried of each weight."""


def pooled(search: RankedSearch, query: str, rankings: Iterable[Ranking]) -> list[Hit]:
    """Return the first hits of several rankings, each once, in an order that tells nothing."""
    found: dict[str, Hit] = {}
    for ranking in rankings:
        for hit in search(query, ranking, _POOLED):
            found.setdefault(hit.url, hit)
    hits = [found[url] for url in sorted(found)]
    random.Random(query).shuffle(hits)
    return hits


def results_of(search: RankedSearch, qrels: Qrels, ranking: Ranking) -> dict[str, list[str]]:
    """Return the URLs of the first hits of each judged query."""
    return {query: [hit.url for hit in search(query, ranking, DEPTH)] for query in qrels}


@dataclass(frozen=True, slots=True)
class Tuning:
    """The best weights that were found on the queries that are not held out.

    `gain` is the change of the measure on the `held_out` queries, `trained` on the others.
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
        """Return whether the weights do better on the queries that are held out."""
        return self.gain.mean > 0


def tune(search: RankedSearch, qrels: Qrels, base: Ranking = DEFAULT, measure: str = "") -> Tuning:
    """Try weights one after the other, and keep what does better without the held-out queries."""
    measure = measure or MEASURES[0]
    if measure not in MEASURES:
        raise UsageError(f"there is no measure {measure[:40]!r}; use {', '.join(MEASURES)}")
    useful = {query: grades for query, grades in qrels.items() if any(grades.values())}
    if len(useful) < _FEWEST:
        raise UsageError(
            f"{len(useful)} queries have a relevant URL; tuning needs {_FEWEST} or more"
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
    """Return whether a query is not used to choose weights; always the same ones."""
    return hashlib.sha256(query.encode()).digest()[0] % _HELD_OUT == 0


def compared(
    search: RankedSearch,
    qrels: Qrels,
    rankings: Sequence[Ranking],
    runs: Mapping[str, Mapping[str, Sequence[str]]],
) -> tuple[list[Evaluation], dict[str, Mapping[str, Sequence[str]]]]:
    """Return the evaluations of rankings and of runs of other programs, and their results."""
    results = {one.name: results_of(search, qrels, one) for one in rankings}
    every = {**results, **runs}
    return evaluations(qrels, every), every
