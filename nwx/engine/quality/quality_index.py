"""What an engine does for quality: playback scores of captures, and states of monitors."""

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from nwx.model import RenderPlace

HOSTS_COUNTED = 100
"""So many hosts are counted in totals: those with the most pages."""


class Fault(NamedTuple):
    """Something wrong with a page in playback; `kind` is one of FaultKind.

    `resource` is the URL that it is about and `status` what was answered
    for it; `detail` says more in words.
    """

    kind: str
    resource: str = ""
    status: int | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class PlaybackScore:
    """How the capture of a page plays; `id` is that of the capture (`nwx.keys.capture_id`).

    `score` is 0 to 1, the worst pages have the lowest. `checked` is a
    timestamp, `rules` the version of the rules that the page was checked
    by. `screenshot`, `structure` and `text` are 0 to 1, None where there was
    nothing to compare with. Resources of the page are counted as in
    `nwx.model.Comparison`; `worst_seconds` and `mean_seconds` tell how far
    their captures lie from the page's. `faults` are some of `faults_total`.
    `crawl_view` and `playback_view` are the places of the screenshots.
    `resources` are urlkeys of missing ones.
    """

    id: str
    collection: str
    url: str
    urlkey: str
    host: str
    domain: str
    timestamp: str
    checked: str
    rules: str
    score: float
    screenshot: float | None = None
    structure: float | None = None
    text: float | None = None
    crawl_good: int | None = None
    crawl_bad: int | None = None
    replay_good: int | None = None
    replay_bad: int | None = None
    worst_seconds: int | None = None
    mean_seconds: int | None = None
    faults: tuple[Fault, ...] = ()
    faults_total: int = 0
    crawl_view: RenderPlace | None = None
    playback_view: RenderPlace | None = None
    resources: tuple[str, ...] = ()


class QualityOrder(StrEnum):
    """Orders of scores: the lowest first, or what was checked last first; ties by id."""

    WORST = "worst"
    NEWEST = "newest"


@dataclass(frozen=True, slots=True)
class QualityFilter:
    """Which scores are asked for: those that match all that is not "".

    `month` (YYYYMM) is that of the capture. `kind` asks for pages with a
    fault of a kind.
    """

    collection: str = ""
    host: str = ""
    domain: str = ""
    month: str = ""
    kind: str = ""


class QualityGroup(NamedTuple):
    """How many pages of some value there are, and their mean score."""

    value: str
    pages: int
    mean_score: float


@dataclass(frozen=True, slots=True)
class QualityTotals:
    """The pages that match a filter, counted; `mean_score` is None where there are none.

    A page is among `kinds` once for each kind of fault that it has. Kinds,
    hosts and collections are the most frequent first, ties by value; months
    are in their order. `hosts` are at most HOSTS_COUNTED.
    """

    pages: int = 0
    mean_score: float | None = None
    kinds: tuple[QualityGroup, ...] = ()
    months: tuple[QualityGroup, ...] = ()
    hosts: tuple[QualityGroup, ...] = ()
    collections: tuple[QualityGroup, ...] = ()


EVERY_SCORE = QualityFilter()


class QualityIndex(ABC):
    """The index quality of an engine; it may be written to while an import runs.

    What was written is seen at once.
    """

    @abstractmethod
    def put(self, scores: Sequence[PlaybackScore]) -> None:
        """Store scores, each in the place of the one that its capture has."""

    @abstractmethod
    def score(self, id: str) -> PlaybackScore | None:
        """Return the score of a capture."""

    @abstractmethod
    def scores_of(self, ids: Collection[str]) -> dict[str, PlaybackScore]:
        """Return the scores of those of these captures that have one."""

    @abstractmethod
    def scores(
        self,
        wanted: QualityFilter,
        limit: int,
        offset: int = 0,
        order: str = QualityOrder.WORST,
    ) -> list[PlaybackScore]:
        """Return scores, by default the worst first."""

    @abstractmethod
    def scan(
        self, wanted: QualityFilter = EVERY_SCORE, order: str = QualityOrder.WORST
    ) -> Iterator[PlaybackScore]:
        """Stream all scores that match, by default the worst first."""

    @abstractmethod
    def checked(self, ids: Collection[str], rules: str) -> set[str]:
        """Return those of these captures that have a score by a version of the rules."""

    @abstractmethod
    def totals(self, wanted: QualityFilter = EVERY_SCORE) -> QualityTotals:
        """Count the pages that match."""

    @abstractmethod
    def remove(self, ids: Collection[str]) -> int:
        """Remove the scores of captures; return how many there were."""

    @abstractmethod
    def put_state(self, name: str, state: bytes) -> None:
        """Keep some bytes, which may be millions, in the place of those of that name."""

    @abstractmethod
    def state(self, name: str) -> bytes | None:
        """Return the bytes that were put under a name last, None where there are none."""

    @abstractmethod
    def states(self) -> list[str]:
        """Return the names of all states, in order."""
