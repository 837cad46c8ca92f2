"""Comparison of two collections, or of one with its specification, in one pass.

Captures of both are read in CDX order, so that all captures of a URL are adjacent: only counts
and the documents of one URL are kept in memory.
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from heapq import heappush, heappushpop, merge
from itertools import count, groupby
from operator import attrgetter
from typing import NamedTuple

from nwx.bulk.progress import ShowProgress, WorkProgress, no_progress
from nwx.cdx.rows import CdxRow, is_revisit_row
from nwx.engine.base import Engine
from nwx.engine.capture_index import CdxSpan
from nwx.engine.document_index import current_work
from nwx.errors import TimestampError, UrlError, UsageError
from nwx.keys import document_id, document_key
from nwx.steering.comparison.counts import (
    CollectionCounts,
    Overlap,
    RelevanceCounts,
    ScoreTable,
    SharedFreshness,
)
from nwx.steering.comparison.quality import QualityComparison, compare_quality
from nwx.steering.specifications.specification import CrawlSpecification, LinkRules
from nwx.values.media_types import HTML, normal_type
from nwx.values.render_names import RENDER_KEY_STARTS
from nwx.values.timestamps import parse_timestamp
from nwx.values.urlkeys import urlkey
from nwx.values.urls import host_of_urlkey

TOP_HOSTS = 50

_FIRST, _BEHIND_ALL = "", "\U0010ffff"
_NO_VALUE = "-"
_REDIRECTION, _ERROR = "3", "4"
_SHOWN_EVERY = 4_096
_SCORED_AT_ONCE = 200

ScoreDocuments = Callable[[Sequence[str]], Mapping[str, float]]
"""Returns scores by document id, without documents that cannot be scored."""


@dataclass(frozen=True, slots=True)
class RelevanceQuestion:
    """The definition of relevance: a specification, and document scores by it.

    `analyse` scores pages that are not in `scores`; without it these are counted as unscored.
    """

    specification: CrawlSpecification
    scores: ScoreTable
    analyse: ScoreDocuments | None = None


@dataclass(slots=True)
class RuleCounts:
    """Counts of the URLs of a collection covered by the rules of a specification.

    `seeds` counts the seeds that were captured without an error.
    """

    blacklisted: int = 0
    outside: int = 0
    preferred: int = 0
    seeds: int = 0


@dataclass(slots=True)
class ComparedCollection:
    """Counts of one of the collections; relevance and rules only with a specification."""

    name: str
    counts: CollectionCounts = field(default_factory=CollectionCounts)
    relevance: RelevanceCounts | None = None
    rules: RuleCounts | None = None


@dataclass(slots=True)
class HostComparison:
    """The captures, URLs and relevant documents of a host, by collection.

    A host with a port counts as a separate host.
    """

    host: str
    captures: list[int]
    urls: list[int]
    relevant: list[int]


@dataclass(slots=True)
class CollectionComparison:
    """Compared collections; `b` is None for a single one.

    `top_hosts` are the hosts with most captures, at most TOP_HOSTS. `quality` is None if no
    playback of the collections was checked.
    """

    a: ComparedCollection
    b: ComparedCollection | None
    specification: CrawlSpecification | None = None
    urls: Overlap = field(default_factory=Overlap)
    hosts: Overlap = field(default_factory=Overlap)
    documents: Overlap = field(default_factory=Overlap)
    freshness: SharedFreshness = field(default_factory=SharedFreshness)
    top_hosts: list[HostComparison] = field(default_factory=list)
    quality: QualityComparison | None = None

    @property
    def sides(self) -> list[ComparedCollection]:
        """The one collection, or both."""
        return [self.a] if self.b is None else [self.a, self.b]


def compare(
    engine: Engine,
    a: str,
    b: str = "",
    question: RelevanceQuestion | None = None,
    progress: ShowProgress = no_progress,
) -> CollectionComparison:
    """Return the comparison of two collections, or without `b` the counts of one.

    Renders are not counted. Raises UsageError if a collection has no captures, or both are the
    same.
    """
    names = [a, b] if b else [a]
    if a == b:
        raise UsageError.translated(
            "%(name)s cannot be compared with itself; name two collections", name=a
        )
    _check_collections(engine.collections(), names)
    collector = _Collector(engine, names, question)
    span = (_FIRST, _BEHIND_ALL)
    rows = merge(
        *(engine.cdx_rows(CdxSpan(*span, collection=name)) for name in names),
        key=attrgetter("urlkey"),
    )
    for key, captures in groupby(_shown(rows, progress), key=attrgetter("urlkey")):
        collector.add_url(key, captures)
    found = collector.finish()
    found.quality = compare_quality(engine, names, progress)
    return found


def _check_collections(known: Collection[str], names: Sequence[str]) -> None:
    for name in names:
        if name not in known:
            there = ", ".join(known) or "none yet"
            raise UsageError(f"there is no collection {name!r}; there are: {there}")


def _shown(rows: Iterator[CdxRow], progress: ShowProgress) -> Iterator[CdxRow]:
    work = current_work()
    for number, row in enumerate(rows):
        if number % _SHOWN_EVERY == 0:
            work.check()
            progress(WorkProgress("comparing captures", number))
        if not row.urlkey.startswith(RENDER_KEY_STARTS):
            yield row


class _OfUrl:
    """The captures of a URL in one collection: its documents, and the newest capture."""

    def __init__(self) -> None:
        self.documents: set[tuple[str, str]] = set()
        self.newest: CdxRow | None = None
        self.succeeded = False


class _FirstCapture(NamedTuple):
    """The first capture of a document; whether it is of a page is unknown of some revisits.

    `score` is the stored one, None without it.
    """

    number: int
    timestamp: str
    host: HostComparison
    is_page: bool
    score: float | None


class _Collector:
    def __init__(
        self, engine: Engine, names: Sequence[str], question: RelevanceQuestion | None
    ) -> None:
        self._engine = engine
        specification = question.specification if question else None
        sides = [ComparedCollection(name) for name in names]
        if specification:
            for side in sides:
                side.relevance = RelevanceCounts(specification.thresholds.relevant)
                side.rules = RuleCounts()
        self._sides = sides
        self._numbers = {name: number for number, name in enumerate(names)}
        self._found = CollectionComparison(
            sides[0], sides[1] if len(sides) > 1 else None, specification
        )
        self._question = question
        self._rules = LinkRules(specification.rules) if specification else None
        self._seeds = _seed_keys(specification) if specification else frozenset()
        self._pending: list[tuple[str, _FirstCapture]] = []
        self._head = ""
        self._host = self._new_host("")
        self._places = count()
        self._top: list[tuple[int, int, HostComparison]] = []

    def add_url(self, key: str, captures: Iterator[CdxRow]) -> None:
        """Count the captures of a urlkey, given in order of time within each collection."""
        head, bracket, _ = key.partition(")")
        head = head if bracket else ""  # dns: and the like have no host
        if head != self._head:
            self._end_host()
            self._head, self._host = head, self._new_host(_host_name(head))
        found = [_OfUrl() for _ in self._sides]
        for row in captures:
            self._add(row, self._numbers[row.collection], found)
        for side, number in zip(self._sides, range(len(found)), strict=True):
            newest = found[number].newest
            if newest is not None:
                side.counts.add_url(newest.timestamp)
                self._host.urls[number] += 1
                self._judge(side, key, newest.url, found[number].succeeded)
        if len(found) > 1:
            self._compare(*found)

    def finish(self) -> CollectionComparison:
        """Return the comparison."""
        self._end_host()
        self._score_pending()
        # Ties are in the order of urlkeys.
        best = sorted(self._top, key=lambda entry: (-entry[0], -entry[1]))
        self._found.top_hosts = [host for _, _, host in best]
        return self._found

    def _add(self, row: CdxRow, number: int, found: Sequence[_OfUrl]) -> None:
        side, of_url = self._sides[number], found[number]
        document = row.url, row.digest
        is_duplicate = document in of_url.documents
        side.counts.add(row, is_duplicate=is_duplicate)
        self._host.captures[number] += 1
        succeeded = row.status < _ERROR
        of_url.succeeded |= succeeded
        if of_url.newest is None or row.timestamp >= of_url.newest.timestamp:
            of_url.newest = row
        if row.digest == _NO_VALUE or is_duplicate:
            return
        of_url.documents.add(document)
        if side.relevance is not None and row.status < _REDIRECTION:
            self._weigh(row, number)

    def _weigh(self, row: CdxRow, number: int) -> None:
        """Count the relevance of a document at its first capture; a revisit's may be no page."""
        assert self._question is not None
        is_page = normal_type(row.mime, row.url) == HTML
        if not is_page and not is_revisit_row(row):
            return
        id = document_id(document_key(row.url, row.digest))
        score = self._question.scores.score(id)
        first = _FirstCapture(number, row.timestamp, self._host, is_page, score)
        if is_page and (score is not None or self._question.analyse is None):
            self._count(first, score)
            return
        self._pending.append((id, first))
        if len(self._pending) >= _SCORED_AT_ONCE:
            self._score_pending()

    def _score_pending(self) -> None:
        if not self._pending or self._question is None:
            return
        analyse, pending = self._question.analyse, self._pending
        unscored = [id for id, first in pending if first.score is None]
        scores = analyse(unscored) if analyse and unscored else {}
        others = self._not_pages([id for id, first in pending if first.score is not None])
        for id, first in pending:
            if id not in others:
                self._count(first, scores.get(id) if first.score is None else first.score)
        self._pending.clear()

    def _not_pages(self, ids: Sequence[str]) -> set[str]:
        """Return the documents of other types: URL lists have scores too."""
        found = self._engine.documents(ids) if ids else {}
        return {id for id, one in found.items() if one.capture.content_type_norm != HTML}

    def _count(self, first: _FirstCapture, score: float | None) -> None:
        relevance = self._sides[first.number].relevance
        if relevance is not None and (first.is_page or score is not None):
            relevance.add(first.timestamp, score)
            first.host.relevant[first.number] += relevance.is_relevant(score)

    def _judge(self, side: ComparedCollection, key: str, url: str, succeeded: bool) -> None:
        if self._rules is None or side.rules is None:
            return
        verdict = self._rules.verdict(url)
        side.rules.blacklisted += verdict.blacklisted
        side.rules.outside += verdict.outside
        side.rules.preferred += verdict.preferred
        side.rules.seeds += succeeded and key in self._seeds

    def _compare(self, in_a: _OfUrl, in_b: _OfUrl) -> None:
        found, a, b = self._found, in_a.newest, in_b.newest
        both = a is not None and b is not None
        found.urls.add(a is not None, b is not None, both)
        common = len(in_a.documents & in_b.documents)
        found.documents.add(len(in_a.documents), len(in_b.documents), common)
        if a is not None and b is not None:
            found.freshness.newer_in_a += a.timestamp > b.timestamp
            found.freshness.newer_in_b += a.timestamp < b.timestamp
            found.freshness.same_time += a.timestamp == b.timestamp
            found.freshness.changed += a.digest != b.digest
            found.freshness.seconds += _seconds_between(a.timestamp, b.timestamp)

    def _new_host(self, host: str) -> HostComparison:
        zeros = [0] * len(self._sides)
        return HostComparison(host, [*zeros], [*zeros], [*zeros])

    def _end_host(self) -> None:
        host = self._host
        held = [bool(captures) for captures in host.captures]
        if not any(held) or not host.host:
            return
        for side, is_there in zip(self._sides, held, strict=True):
            side.counts.hosts += is_there
        if len(held) > 1:
            self._found.hosts.add(held[0], held[1], all(held))
        entry = (sum(host.captures), -next(self._places), host)
        if len(self._top) < TOP_HOSTS:
            heappush(self._top, entry)
        else:
            heappushpop(self._top, entry)


def _host_name(head: str) -> str:
    """Return the host at the head of urlkeys, with its port if they have one.

    Hosts with different ports count separately: their URLs are not adjacent.
    """
    _, colon, port = head.rpartition(":") if head.count(":") == 1 else ("", "", "")
    return f"{host_of_urlkey(f'{head})')}{colon}{port if colon else ''}" if head else ""


def _seed_keys(specification: CrawlSpecification) -> frozenset[str]:
    keys = set()
    for seed in specification.seeds:
        try:
            keys.add(urlkey(seed))
        except UrlError:
            continue  # the check of specifications reports it
    return frozenset(keys)


def _seconds_between(a: str, b: str) -> float:
    try:
        return abs((parse_timestamp(a) - parse_timestamp(b)).total_seconds())
    except TimestampError:
        return 0.0  # of a damaged date
