"""What came of a check of playback."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from nwx.engine.quality.quality_index import Fault, PlaybackScore


@dataclass(frozen=True, slots=True)
class PlaybackReport:
    """How many pages were chosen, checked now, and `known`, that is, checked before.

    `faults` counts pages by kinds of faults. `left_aside` are requests that
    told nothing. `problems` says what could not be read or written.
    """

    pages: int = 0
    checked: int = 0
    known: int = 0
    faulty: int = 0
    faults: Mapping[str, int] = field(default_factory=dict)
    left_aside: int = 0
    mean_score: float | None = None
    problems: tuple[str, ...] = ()
    problems_total: int = 0
    interrupted: bool = False

    def with_problems(self, other: "PlaybackReport") -> "PlaybackReport":
        """Return the same figures, with the problems of another report too."""
        return replace(
            self,
            problems=(*self.problems, *other.problems),
            problems_total=self.problems_total + other.problems_total,
        )


class PlaybackTally:
    """Counts what a check finds as it goes."""

    MOST_PROBLEMS = 100

    def __init__(self) -> None:
        self.pages = self.checked = self.known = self.faulty = 0
        self.left_aside = self.problems_total = 0
        self.faults: Counter[str] = Counter()
        self._problems: list[str] = []
        self._sum = 0.0

    def add(self, score: PlaybackScore) -> None:
        """Count a page."""
        self.checked += 1
        self._sum += score.score
        self.faulty += bool(score.faults)
        self.faults.update({str(fault.kind) for fault in score.faults})

    def note(self, problem: str) -> None:
        """Count a problem, and keep the first ones."""
        self.problems_total += 1
        if len(self._problems) < self.MOST_PROBLEMS:
            self._problems.append(problem)

    def report(self, *, interrupted: bool = False) -> PlaybackReport:
        """Return the figures so far."""
        return PlaybackReport(
            pages=self.pages,
            checked=self.checked,
            known=self.known,
            faulty=self.faulty,
            faults=dict(self.faults.most_common()),
            left_aside=self.left_aside,
            mean_score=self._sum / self.checked if self.checked else None,
            problems=tuple(self._problems),
            problems_total=self.problems_total,
            interrupted=interrupted,
        )


def fault_json(score: PlaybackScore, fault: Fault) -> dict[str, Any]:
    """Return a fault as the JSON of `nwx check-playback` has it."""
    return {
        "url": score.url,
        "timestamp": score.timestamp,
        "kind": str(fault.kind),
        "resource": fault.resource,
        "status": fault.status,
    }


def score_json(score: PlaybackScore) -> dict[str, Any]:
    """Return a score as the JSON of `nwx check-playback` has it."""
    return {
        "url": score.url,
        "timestamp": score.timestamp,
        "screenshot": score.screenshot,
        "text": score.text,
        "resources": {
            "crawlGood": score.crawl_good,
            "crawlBad": score.crawl_bad,
            "replayGood": score.replay_good,
            "replayBad": score.replay_bad,
        },
    }
