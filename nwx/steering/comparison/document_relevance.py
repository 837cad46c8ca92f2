"""The relevance of what a collection has: document scores, and the harvest along time."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from nwx.bulk.arrays import Array
from nwx.steering.comparison.time_bins import TimeBins

SCORE_BINS = 10
HARVEST_POINTS = 200

_AT_ONCE = 100_000
_ID_DIGITS = 16


class ScoreTable:
    """The scores of documents by their ids, in 12 bytes a document.

    A document is known by half of its id: of a thousand million there are
    two alike with a probability of 3 %.
    """

    def __init__(self, scores: Iterable[tuple[str, float]] = ()) -> None:
        keys: list[Array] = [np.zeros(0, np.uint64)]
        values: list[Array] = [np.zeros(0, np.float32)]
        held: dict[int, float] = {}
        for id, score in scores:
            held[_key(id)] = score
            if len(held) >= _AT_ONCE:
                _move(held, keys, values)
        _move(held, keys, values)
        joined = np.concatenate(keys)
        order = np.argsort(joined, kind="stable")
        self._keys, self._values = joined[order], np.concatenate(values)[order]

    def __len__(self) -> int:
        return len(self._keys)

    def score(self, id: str) -> float | None:
        """Return the score of a document, None where it has none."""
        key = np.uint64(_key(id))
        place = int(np.searchsorted(self._keys, key))
        if place < len(self._keys) and self._keys[place] == key:
            return float(self._values[place])
        return None


def _key(id: str) -> int:
    return int(id[:_ID_DIGITS], 16)


def _move(held: dict[int, float], keys: list[Array], values: list[Array]) -> None:
    keys.append(np.fromiter(held.keys(), np.uint64, len(held)))
    values.append(np.fromiter(held.values(), np.float32, len(held)))
    held.clear()


@dataclass(frozen=True, slots=True)
class HarvestPoint:
    """Where a crawl was at the end of a period: all pages up to then, and the relevant ones."""

    period: str
    pages: int
    relevant: int


@dataclass(slots=True)
class RelevanceCounts:
    """The scores of the documents of a collection that are pages, each at its first capture.

    `distribution` counts documents by score: [0, 0.1), [0.1, 0.2), …, [0.9, 1].
    `unscored` ones were not analysed; they are in none of the other counts.
    """

    threshold: float
    pages: int = 0
    relevant: int = 0
    unscored: int = 0
    total: float = 0.0
    distribution: list[int] = field(default_factory=lambda: [0] * SCORE_BINS)
    bins: TimeBins = field(default_factory=TimeBins)

    @property
    def mean(self) -> float | None:
        """The mean of the scores, None of none."""
        return self.total / self.pages if self.pages else None

    @property
    def harvest_rate(self) -> float | None:
        """The share of relevant documents, None of none."""
        return self.relevant / self.pages if self.pages else None

    def is_relevant(self, score: float | None) -> bool:
        """Return whether a score reaches the threshold."""
        return score is not None and score >= self.threshold

    def add(self, timestamp: str, score: float | None) -> None:
        """Count a document by the timestamp of its first capture."""
        if score is None:
            self.unscored += 1
            return
        relevant = self.is_relevant(score)
        self.pages += 1
        self.relevant += relevant
        self.total += score
        self.distribution[min(int(score * SCORE_BINS), SCORE_BINS - 1)] += 1
        self.bins.add(timestamp, relevant)

    def harvest(self) -> Iterator[HarvestPoint]:
        """Yield the harvest along time, at most HARVEST_POINTS points."""
        pages = relevant = 0
        for period, of_pages, of_relevant in self.bins.periods(HARVEST_POINTS):
            pages += of_pages
            relevant += of_relevant
            yield HarvestPoint(period, pages, relevant)
