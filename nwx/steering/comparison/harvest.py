"""The harvest of a crawl as it goes: relevant pages, compared with what breadth first may find."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from operator import attrgetter

from nwx.engine.indices.crawl_index import CrawlIndex, DocumentScore
from nwx.steering.analysis.link_learner import LEARNED, LinkLearner
from nwx.steering.specifications.specification import CrawlSpecification

_MOST_PAGES = 500
"""So many analysed pages are looked at; of more a sample, as they come by their ids."""

_BANDS = 10  # of relevance
_HOSTS, _WORDS = 8, 16


@dataclass(frozen=True, slots=True)
class HarvestedHost:
    """A host with its relevant pages and all of them; older pages count less."""

    host: str
    relevant: float
    pages: float


@dataclass(frozen=True, slots=True)
class CrawlHarvest:
    """What a crawl found: `relevant` of the `pages` looked at, the best hosts, what was learned.

    `breadth_first` is the estimated share of relevant pages had links been fetched in the order
    that they were found, None without pages to tell. `learned` are words, hosts and folders with
    their weights, good ones first.
    """

    pages: int
    relevant: int
    breadth_first: float | None
    hosts: tuple[HarvestedHost, ...]
    learned: tuple[tuple[str, float], ...]

    @property
    def share(self) -> float:
        """The share of relevant pages."""
        return self.relevant / self.pages if self.pages else 0.0


def crawl_harvest(
    index: CrawlIndex, specification: CrawlSpecification, version: str = ""
) -> CrawlHarvest:
    """Return the harvest of a crawl, from the scores of a version; "" is the last one."""
    limit = specification.thresholds.relevant
    found = islice(index.document_scores(specification.name, version), _MOST_PAGES)
    pages = sorted(found, key=attrgetter("timestamp"))
    learner = LinkLearner(limit)
    learner.learn_stored(pages)
    return CrawlHarvest(
        len(pages),
        sum(page.score >= limit for page in pages),
        _breadth_first(pages, limit),
        tuple(HarvestedHost(*host) for host in learner.hosts(_HOSTS)),
        tuple(learner.strongest(_WORDS)),
    )


def _breadth_first(pages: Sequence[DocumentScore], limit: float) -> float | None:
    """Estimate the harvest of the first links found, as many as there are pages.

    Links of about the same relevance by the specification are taken to lead to relevant pages as
    often as those that were followed.
    """
    scores = {page.url: page.score for page in pages}
    bands: dict[str, int] = {}
    for page in pages:
        for link in page.links:
            if link.relevance is not None and link.url not in bands:
                by_specification = link.relevance - link.parts.get(LEARNED, 0.0)
                bands[link.url] = min(_BANDS - 1, max(0, int(by_specification * _BANDS)))
    totals = [[0, 0] for _ in range(_BANDS)]
    for url, band in bands.items():
        if url in scores:
            totals[band][0] += scores[url] >= limit
            totals[band][1] += 1
    shares = [relevant / fetched if fetched else None for relevant, fetched in totals]
    first = (shares[band] for band in islice(bands.values(), len(pages)))
    known = [share for share in first if share is not None]
    return sum(known) / len(known) if known else None
