"""Playback scores and their totals as JSON and as lines of CSV."""

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass
from json import dumps

from nwx.engine.quality.quality_index import (
    PlaybackScore,
    QualityGroup,
    QualityTotals,
)
from nwx.values.csv_cells import csv_line

SCORE_COLUMNS = (
    "score",
    "url",
    "timestamp",
    "collection",
    "screenshot",
    "structure",
    "text",
    "crawl_good",
    "crawl_bad",
    "replay_good",
    "replay_bad",
    "worst_seconds",
    "mean_seconds",
    "faults",
    "kinds",
    "checked",
    "id",
)
"""The columns of a list of scores as CSV; `kinds` are apart by blanks."""


@dataclass(frozen=True, slots=True)
class FaultAnswer:
    """A fault of a page in playback: its kind, the resource that it is about, what was answered."""

    kind: str
    resource: str
    status: int | None
    detail: str


@dataclass(frozen=True, slots=True)
class PlaybackScoreAnswer:
    """How a capture plays; 0 is worst, 1 is best, null where there was nothing to compare with.

    `id` is the capture's. Resources are those of the page that came well or
    badly, in the crawl and in playback; `worst_seconds` and `mean_seconds`
    tell how far from the page they were captured. `faults` are some of
    `faults_total`.
    """

    id: str
    collection: str
    url: str
    timestamp: str
    checked: str
    score: float
    screenshot: float | None
    structure: float | None
    text: float | None
    crawl_good: int | None
    crawl_bad: int | None
    replay_good: int | None
    replay_bad: int | None
    worst_seconds: int | None
    mean_seconds: int | None
    faults_total: int
    faults: tuple[FaultAnswer, ...]


@dataclass(frozen=True, slots=True)
class QualityGroupAnswer:
    """How many pages of some value there are, and their mean score."""

    value: str
    pages: int
    mean_score: float


@dataclass(frozen=True, slots=True)
class QualityAnswer:
    """Totals of the pages that match, and a part of the list of them.

    `kinds` counts pages by kind of fault: a page may have several.
    """

    pages: int
    mean_score: float | None
    kinds: tuple[QualityGroupAnswer, ...]
    months: tuple[QualityGroupAnswer, ...]
    hosts: tuple[QualityGroupAnswer, ...]
    collections: tuple[QualityGroupAnswer, ...]
    scores: tuple[PlaybackScoreAnswer, ...]


def score_answer(score: PlaybackScore) -> PlaybackScoreAnswer:
    """Return a score as programs read it: where files lie is not theirs to know."""
    return PlaybackScoreAnswer(
        id=score.id,
        collection=score.collection,
        url=score.url,
        timestamp=score.timestamp,
        checked=score.checked,
        score=score.score,
        screenshot=score.screenshot,
        structure=score.structure,
        text=score.text,
        crawl_good=score.crawl_good,
        crawl_bad=score.crawl_bad,
        replay_good=score.replay_good,
        replay_bad=score.replay_bad,
        worst_seconds=score.worst_seconds,
        mean_seconds=score.mean_seconds,
        faults_total=score.faults_total,
        faults=tuple(FaultAnswer(*fault) for fault in score.faults),
    )


def quality_answer(totals: QualityTotals, scores: Iterable[PlaybackScore]) -> QualityAnswer:
    """Return totals and scores as programs read them."""
    return QualityAnswer(
        totals.pages,
        totals.mean_score,
        _groups(totals.kinds),
        _groups(totals.months),
        _groups(totals.hosts),
        _groups(totals.collections),
        tuple(map(score_answer, scores)),
    )


def _groups(groups: Iterable[QualityGroup]) -> tuple[QualityGroupAnswer, ...]:
    return tuple(QualityGroupAnswer(*group) for group in groups)


def csv_of_scores(scores: Iterable[PlaybackScore]) -> Iterator[str]:
    """Stream scores as lines of CSV, the first with SCORE_COLUMNS."""
    yield csv_line(SCORE_COLUMNS)
    for score in scores:
        cells: dict[str, object] = {
            name: getattr(score, name, "") for name in SCORE_COLUMNS if name != "kinds"
        }
        kinds = sorted({fault.kind for fault in score.faults})
        cells |= {"faults": score.faults_total, "kinds": " ".join(kinds)}
        yield csv_line(["" if cells[name] is None else cells[name] for name in SCORE_COLUMNS])


def json_of_scores(scores: Iterable[PlaybackScore]) -> Iterator[str]:
    """Stream scores as a JSON array, an object a line."""
    opening = "["
    for score in scores:
        yield f"{opening}\n{dumps(asdict(score_answer(score)), ensure_ascii=False)}"
        opening = ","
    yield "[]\n" if opening == "[" else "\n]\n"
