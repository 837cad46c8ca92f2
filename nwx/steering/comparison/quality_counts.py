"""What checks of playback found in one collection, and in which pages two differ."""

from collections import Counter
from dataclasses import dataclass, field

from nwx.engine.quality.quality_index import PlaybackScore
from nwx.steering.comparison.collection_counts import Overlap

QUALITY_BINS = 10
CHANGES_LISTED = 20
LEAST_CHANGE = 0.01
"""Scores that lie nearer to each other than this are the same."""


@dataclass(slots=True)
class QualityCounts:
    """The playback scores of the captures of a collection that were checked.

    `distribution` counts these by score: [0, 0.1), [0.1, 0.2), …, [0.9, 1].
    `faults` counts by kind those that have such faults. `missing` adds up what
    each of them misses; `missing_resources` are distinct.
    """

    pages: int = 0
    total: float = 0.0
    distribution: list[int] = field(default_factory=lambda: [0] * QUALITY_BINS)
    faults: Counter[str] = field(default_factory=Counter)
    missing: int = 0
    missing_resources: int = 0

    @property
    def mean(self) -> float | None:
        """The mean of the scores, None of none."""
        return self.total / self.pages if self.pages else None

    def add(self, score: PlaybackScore) -> None:
        """Count a capture."""
        self.pages += 1
        self.total += score.score
        self.distribution[min(int(score.score * QUALITY_BINS), QUALITY_BINS - 1)] += 1
        self.faults.update({fault.kind for fault in score.faults})
        self.missing += len(score.resources)


@dataclass(frozen=True, slots=True)
class PageChange:
    """A page that was checked in both collections: its newest captures there, and their scores."""

    url: str
    timestamp_a: str
    timestamp_b: str
    score_a: float
    score_b: float

    @property
    def change(self) -> float:
        """How much higher the score in B is."""
        return self.score_b - self.score_a


@dataclass(slots=True)
class QualityChanges:
    """Pages (by urlkey) that were checked in both collections, by their newest captures in each.

    `worse` and `better` are told from A to B. `worst` and `best` list those
    that changed most, at most CHANGES_LISTED. `missing` are missing resources.
    """

    both: int = 0
    worse: int = 0
    better: int = 0
    total: float = 0.0
    worst: list[PageChange] = field(default_factory=list)
    best: list[PageChange] = field(default_factory=list)
    missing: Overlap = field(default_factory=Overlap)

    @property
    def same(self) -> int:
        """The pages that are neither worse nor better."""
        return self.both - self.worse - self.better

    @property
    def mean(self) -> float | None:
        """The mean change, None of no pages."""
        return self.total / self.both if self.both else None
