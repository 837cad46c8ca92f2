"""Options, orders and reports of a run of analysis."""

from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from nwx.bulk.resources import processors
from nwx.captures import PagePlace
from nwx.engine.indices.crawl_index import DocumentScore
from nwx.errors import NwxError, UsageError
from nwx.model import ReadError
from nwx.settings import Settings
from nwx.steering.analysis.document_scorer import TermStatistics
from nwx.steering.specifications.specification import CrawlSpecification
from nwx.warc.sources import ArchiveSource

if TYPE_CHECKING:  # the import loads the readers of pages
    from nwx.steering.analysis.page_view import PageView


class PageAnalyzer(Protocol):
    """Protocol of an analyzer that scores pages."""

    def analyse(self, page: "PageView", document_id: str, known: Collection[str]) -> DocumentScore:
        """Return the score of a page and of its links; `known` are the captured ones."""


@dataclass(frozen=True, slots=True)
class SteeringOptions:
    """Options of the analysis.

    At most `queue_pages` pages wait at a time; `jobs` is the number of analysing processes, 0 for
    one less than there are cores. `item_seconds` and `item_bytes` limit the time and memory of a
    page; `patience_seconds` is how long to wait for an unavailable engine. `nlp` names a language
    model (`chosen_model`), `spam_hosts` a file of hosts that are never followed. With `triples`,
    statements of pages are stored too. `make_analyzer` replaces `Analyzer`, and must be a function
    that other processes can import.
    """

    jobs: int = 0
    item_seconds: float = 20.0
    item_bytes: int = 2 << 30
    queue_pages: int = 5_000
    patience_seconds: float = 120.0
    nlp: str = ""
    spam_hosts: str = ""
    triples: bool = False
    make_analyzer: Callable[[CrawlSpecification, TermStatistics], PageAnalyzer] | None = None

    def __post_init__(self) -> None:
        if self.jobs < 0 or self.item_seconds <= 0 or self.queue_pages < 1:
            raise UsageError("jobs, time limits and the length of the queue must be above 0")

    @property
    def processes(self) -> int:
        """The number of analysing processes, without the writing one."""
        return self.jobs or max(1, processors() - 1)


@dataclass(frozen=True, slots=True)
class SteeringPlan:
    """The input of the processes; the one that writes fills in `statistics`."""

    settings: Settings
    specification: CrawlSpecification
    options: SteeringOptions
    statistics: TermStatistics = field(default_factory=TermStatistics)


MOST_ERRORS_LISTED = 1_000
ANALYSIS = "analysis"
"""The error kind of pages that could not be analysed."""

_ADDED = "analysed relevant links blacklisted sent triples waiting failed seconds".split()


@dataclass(slots=True)
class SteeringReport:
    """The report of an analysis by a version of a specification.

    `analysed` pages now have scores; `relevant` of them reach the threshold. `links` were scored,
    `blacklisted` of them are blacklisted. `sent` counts updates for the queue, `undelivered` the
    updates of all runs that the queue has not accepted yet, `delivery_problem` is the reason.
    `triples` are new to their store. `waiting` pages are left for later; the analysis of `failed`
    pages failed or took too long: `errors` lists the first. `stopped` is the reason why the
    analysis ended early.
    """

    crawl: str = ""
    version: str = ""
    analysed: int = 0
    relevant: int = 0
    links: int = 0
    blacklisted: int = 0
    sent: int = 0
    undelivered: int = 0
    delivery_problem: str = ""
    triples: int = 0
    waiting: int = 0
    failed: int = 0
    errors: tuple[ReadError, ...] = ()
    stopped: str = ""
    interrupted: bool = False
    seconds: float = 0.0

    def fail(self, error: ReadError) -> None:
        """Count a page that could not be analysed."""
        self.failed += 1
        if len(self.errors) < MOST_ERRORS_LISTED:
            self.errors = (*self.errors, error)

    def __add__(self, later: "SteeringReport") -> "SteeringReport":
        """Return the figures of two runs, one after the other."""
        return replace(
            later,
            crawl=self.crawl,
            version=self.version,
            errors=(*self.errors, *later.errors)[:MOST_ERRORS_LISTED],
            stopped=later.stopped or self.stopped,
            **{name: getattr(self, name) + getattr(later, name) for name in _ADDED},
        )


def steering_report_json(report: SteeringReport) -> dict[str, Any]:
    """Return a report as JSON values."""
    return asdict(report) | {"seconds": round(report.seconds, 3)}


@dataclass(frozen=True, slots=True)
class NewPages:
    """New pages of a file, already in the archive."""

    source: ArchiveSource
    places: tuple[PagePlace, ...]


class SteeringCommand(StrEnum):
    """Commands of a listener to the process, other than pages."""

    SWEEP = "sweep"  # search the archive for pages left for later, once idle
    FINISH = "finish"  # end once all waiting pages are analysed


@dataclass(frozen=True, slots=True)
class Figures:
    """The progress of a steering process, and the pages it has taken; `is_last`: it ends."""

    report: SteeringReport
    taken: int
    is_last: bool = False


Order = NewPages | SteeringCommand
ProcessAnswer = Figures | NwxError
"""A message of a steering process: its progress, or the error that ended it."""

STOP = 1
"""The position of a pulse that tells the process to end at once."""
