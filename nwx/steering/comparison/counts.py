"""Counts of a collection: captures, freshness, overlap, relevance; the harvest of a crawl."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import attrgetter

import numpy as np

from nwx.bulk.arrays import Array
from nwx.cdx.rows import CdxRow, is_revisit_row
from nwx.engine.indices.crawl_index import CrawlIndex, DocumentScore
from nwx.steering.analysis.link_learner import LEARNED, LinkLearner
from nwx.steering.specifications.specification import CrawlSpecification

_LOWEST_ERROR = "4"
_NO_VALUE = "-"
_DAY = 8


@dataclass(slots=True)
class CollectionCounts:
    """Counts of a collection.

    A document is a URL with a digest; each capture of it after the first is a duplicate.
    `newest_days` counts URLs by the day (`20130126`) of their newest capture. `statuses` counts
    captures, without a status as `-`. `bytes` is the sum of known record lengths.
    """

    captures: int = 0
    revisits: int = 0
    urls: int = 0
    hosts: int = 0
    documents: int = 0
    duplicates: int = 0
    duplicate_bytes: int = 0
    bytes: int = 0
    first: str = ""
    last: str = ""
    statuses: Counter[str] = field(default_factory=Counter)
    newest_days: Counter[str] = field(default_factory=Counter)

    @property
    def errors(self) -> int:
        """The captures with a status of 400 or higher."""
        return sum(count for status, count in self.statuses.items() if status >= _LOWEST_ERROR)

    def add(self, row: CdxRow, *, is_duplicate: bool) -> None:
        """Count a capture."""
        length = int(row.length) if row.length.isdecimal() else 0
        self.captures += 1
        self.revisits += is_revisit_row(row)
        self.bytes += length
        self.statuses[row.status] += 1
        self.first = min(self.first or row.timestamp, row.timestamp)
        self.last = max(self.last, row.timestamp)
        if is_duplicate:
            self.duplicates += 1
            self.duplicate_bytes += length
        elif row.digest != _NO_VALUE:
            self.documents += 1

    def add_url(self, newest: str) -> None:
        """Count a URL with the timestamp of its newest capture."""
        self.urls += 1
        self.newest_days[newest[:_DAY]] += 1


@dataclass(slots=True)
class Overlap:
    """Sizes of the intersection and of the two differences of A and B."""

    both: int = 0
    only_a: int = 0
    only_b: int = 0

    def add(self, in_a: int, in_b: int, both: int) -> None:
        """Add the sizes of A, of B and of their intersection."""
        self.both += both
        self.only_a += in_a - both
        self.only_b += in_b - both

    @property
    def share_of_a(self) -> float | None:
        """The share of A that B also has; None if A is empty."""
        whole = self.both + self.only_a
        return self.both / whole if whole else None

    @property
    def share_of_b(self) -> float | None:
        """The share of B that A also has; None if B is empty."""
        whole = self.both + self.only_b
        return self.both / whole if whole else None

    @property
    def jaccard(self) -> float | None:
        """The intersection divided by the union; None if both are empty."""
        whole = self.both + self.only_a + self.only_b
        return self.both / whole if whole else None


@dataclass(slots=True)
class SharedFreshness:
    """Counts of the URLs in both collections, by which has the newer capture.

    `changed` counts URLs whose newest captures have different digests. `seconds` is the sum of the
    time between the newest captures.
    """

    newer_in_a: int = 0
    newer_in_b: int = 0
    same_time: int = 0
    changed: int = 0
    seconds: float = 0.0


MOST_BINS = 4_000

_PRECISIONS = (14, 12, 10, 8, 6, 4)
"""Digits of a timestamp: seconds, minutes, hours, days, months, years."""


class TimeBins:
    """Pages and relevant pages by period.

    Periods are seconds at first, and become minutes, hours, days, months and years when there are
    more than `most`.
    """

    def __init__(self, most: int = MOST_BINS) -> None:
        self._most = most
        self._precisions = list(_PRECISIONS)
        self._bins: dict[str, tuple[int, int]] = {}

    def add(self, timestamp: str, relevant: bool) -> None:
        """Count a page by its timestamp of 14 digits."""
        self._count(timestamp, 1, int(relevant))
        while len(self._bins) > self._most and len(self._precisions) > 1:
            self._coarsen()

    def periods(self, most: int) -> Iterator[tuple[str, int, int]]:
        """Yield at most `most` periods in order: the period, its pages, and its relevant pages.

        All periods are timestamps cut to the same number of digits.
        """
        while len(self._bins) > most and len(self._precisions) > 1:
            self._coarsen()
        for period, (pages, relevant) in sorted(self._bins.items()):
            yield period, pages, relevant

    def _count(self, timestamp: str, pages: int, relevant: int) -> None:
        period = timestamp[: self._precisions[0]]
        known = self._bins.get(period, (0, 0))
        self._bins[period] = known[0] + pages, known[1] + relevant

    def _coarsen(self) -> None:
        del self._precisions[0]
        finer, self._bins = self._bins, {}
        for period, counts in finer.items():
            self._count(period, *counts)


SCORE_BINS = 10
HARVEST_POINTS = 200

_AT_ONCE = 100_000
_ID_DIGITS = 16


class ScoreTable:
    """The scores of documents by id, in 12 bytes a document.

    A document is identified by half of its id: among a thousand million, two agree with a
    probability of 3 %.
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
        """Return the score of a document, None if it has none."""
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
    """Cumulative numbers of pages and relevant pages at the end of a period."""

    period: str
    pages: int
    relevant: int


@dataclass(slots=True)
class RelevanceCounts:
    """The scores of the pages of a collection, each document at its first capture.

    `distribution` counts documents by score: [0, 0.1), [0.1, 0.2), …, [0.9, 1]. `unscored` ones
    were not analysed; they are in none of the other counts.
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
        """The mean of the scores, None without pages."""
        return self.total / self.pages if self.pages else None

    @property
    def harvest_rate(self) -> float | None:
        """The share of relevant documents, None without pages."""
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
        """Yield the harvest over time, at most HARVEST_POINTS points."""
        pages = relevant = 0
        for period, of_pages, of_relevant in self.bins.periods(HARVEST_POINTS):
            pages += of_pages
            relevant += of_relevant
            yield HarvestPoint(period, pages, relevant)


_MOST_PAGES = 500
"""Analysed pages examined; if there are more, a sample of them in the order of their ids."""

_BANDS = 10  # of relevance
_HOSTS, _WORDS = 8, 16


@dataclass(frozen=True, slots=True)
class HarvestedHost:
    """A host with its relevant pages and all its pages; older pages count less."""

    host: str
    relevant: float
    pages: float


@dataclass(frozen=True, slots=True)
class CrawlHarvest:
    """The harvest of a crawl: `relevant` of the `pages` examined, best hosts, learned terms.

    `breadth_first` is the estimated share of relevant pages had links been fetched in the order
    found, None without an estimate. `learned` are words, hosts and folders with their weights, good
    ones first. `is_sample`: more pages were analysed than examined.
    """

    pages: int
    relevant: int
    breadth_first: float | None
    hosts: tuple[HarvestedHost, ...]
    learned: tuple[tuple[str, float], ...]
    is_sample: bool = False

    @property
    def share(self) -> float:
        """The share of relevant pages."""
        return self.relevant / self.pages if self.pages else 0.0


def crawl_harvest(
    index: CrawlIndex, specification: CrawlSpecification, version: str = ""
) -> CrawlHarvest:
    """Return the harvest of a crawl, from the scores of a version; "" is the last one."""
    limit = specification.thresholds.relevant
    found = list(islice(index.document_scores(specification.name, version), _MOST_PAGES + 1))
    pages = sorted(found[:_MOST_PAGES], key=attrgetter("timestamp"))
    learner = LinkLearner(limit)
    learner.learn_stored(pages)
    return CrawlHarvest(
        len(pages),
        sum(page.score >= limit for page in pages),
        _breadth_first(pages, limit),
        tuple(HarvestedHost(*host) for host in learner.hosts(_HOSTS)),
        tuple(learner.strongest(_WORDS)),
        len(found) > _MOST_PAGES,
    )


def _breadth_first(pages: Sequence[DocumentScore], limit: float) -> float | None:
    """Estimate the share of relevant pages of the first links found, as many as there are pages.

    Links of about the same relevance by the specification are assumed to lead to relevant pages as
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
