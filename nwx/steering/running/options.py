"""What a run of analysis can be told."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol

from nwx.bulk.resources import processors
from nwx.engine.crawls.crawl_index import DocumentScore
from nwx.errors import UsageError
from nwx.steering.analysis.page_view import PageView
from nwx.steering.analysis.term_statistics import TermStatistics
from nwx.steering.specifications.specification import CrawlSpecification


class PageAnalyzer(Protocol):
    """What gives a page its scores."""

    def analyse(self, page: PageView, document_id: str, known: Collection[str]) -> DocumentScore:
        """Return the score of a page and those of its links, of which `known` are captured."""


MakeAnalyzer = Callable[[CrawlSpecification, TermStatistics], PageAnalyzer]


@dataclass(frozen=True, slots=True)
class SteeringOptions:
    """How to analyse.

    At most `queue_pages` pages wait at a time; `jobs` is the number of
    processes that analyse, 0 for one less than there are cores.
    `item_seconds` and `item_bytes` bound what a page may take;
    `patience_seconds` is how long an engine that went away is waited for.
    `nlp` names a language model (`chosen_model`), `spam_hosts` a file of
    hosts that are never followed. With `triples` what pages state is stored
    too. `make_analyzer` takes the place of `Analyzer`, and must be a
    function that other processes can import.
    """

    jobs: int = 0
    item_seconds: float = 20.0
    item_bytes: int = 2 << 30
    queue_pages: int = 5_000
    patience_seconds: float = 120.0
    nlp: str = ""
    spam_hosts: str = ""
    triples: bool = False
    make_analyzer: MakeAnalyzer | None = None

    def __post_init__(self) -> None:
        if self.jobs < 0 or self.item_seconds <= 0 or self.queue_pages < 1:
            raise UsageError("jobs, time limits and the length of the queue must be above 0")

    @property
    def processes(self) -> int:
        """The number of processes that analyse beside the one that writes."""
        return self.jobs or max(1, processors() - 1)
