"""URLs due for recapture, the longest overdue first."""

import heapq
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum
from itertools import islice
from pathlib import Path
from typing import NamedTuple

import msgspec

from nwx.bulk.progress import ShowProgress, WorkProgress, no_progress
from nwx.bulk.sorted_runs import ExternalSort
from nwx.engine.base import Engine
from nwx.engine.capture_index import CdxSpan
from nwx.engine.indices.crawl_queue import UrlUpdate
from nwx.errors import TimestampError, UsageError
from nwx.steering.queue.protocol import queue_url
from nwx.steering.queue.queue_work import QueuedUpdates, queue_updates
from nwx.steering.queue.url_history import SECONDS_A_DAY, UrlHistories, UrlHistory, change_rate
from nwx.steering.specifications.specification import (
    CrawlSpecification,
    DueInterval,
    LinkRules,
    UrlCover,
)
from nwx.steering.specifications.specification_store import specification_at
from nwx.values.timestamps import DateOption, date_span, date_text, parse_timestamp, to_timestamp
from nwx.values.urls import url_parts

_SPAN = re.compile(r"(\d+(?:\.\d+)?)([hdwy])")
_DAYS = {"h": 1 / 24, "d": 1.0, "w": 7.0, "y": 365.25}


class IntervalBasis(StrEnum):
    """The source of an interval."""

    GIVEN = "given"
    SPECIFICATION = "specification"
    ESTIMATED = "estimated"
    USUAL = "usual"


class DueAfter(NamedTuple):
    """An interval in days, and its source."""

    days: float
    basis: IntervalBasis


@dataclass(frozen=True, slots=True)
class EstimateBounds:
    """The limits of estimates in days, and the interval of a URL without history."""

    least_days: float = 1.0
    most_days: float = 365.0
    usual_days: float = 30.0


class DueIntervals:
    """The intervals of URLs: one `given` for all, from a specification, or estimates.

    In a specification, the first interval with hosts or SURT prefixes that cover a URL counts, and
    then the one for all URLs.
    """

    def __init__(
        self,
        given_days: float | None = None,
        intervals: Sequence[DueInterval] = (),
        bounds: EstimateBounds | None = None,
    ) -> None:
        self._given = given_days
        self._named = [
            (one.days, UrlCover(one.hosts, one.surts))
            for one in intervals
            if one.surts or one.hosts
        ]
        self._looks_at_host = any(one.hosts for one in intervals)
        self._for_all = next((one.days for one in intervals if not one.surts + one.hosts), None)
        self._bounds = bounds or EstimateBounds()

    def after(self, history: UrlHistory) -> DueAfter:
        """Return the interval after which a URL is due."""
        if self._given is not None:
            return DueAfter(self._given, IntervalBasis.GIVEN)
        host = url_parts(history.url).host if self._looks_at_host else ""
        for days, cover in self._named:
            if cover.covering(host, history.urlkey):
                return DueAfter(days, IntervalBasis.SPECIFICATION)
        if self._for_all is not None:
            return DueAfter(self._for_all, IntervalBasis.SPECIFICATION)
        bounds = self._bounds
        if not history.observations:
            return DueAfter(bounds.usual_days, IntervalBasis.USUAL)
        days = 1 / change_rate(history.observations)
        within = min(max(days, bounds.least_days), bounds.most_days)
        return DueAfter(within, IntervalBasis.ESTIMATED)


_ALL_KEYS = CdxSpan("", "\U0010ffff")
_HELD_BYTES = 64 << 20
_AT_ONCE = 1_000
_STEPS_A_RATIO = 1_000_000
_HIGHEST = 10**18


class DueUrl(msgspec.Struct, frozen=True):
    """A URL that is due: its last capture, the time it became due, and the reason.

    `overdue` is the time since the last capture in intervals: 1 is due now, 3 is three intervals
    since the last capture. `changes` is the number of changes between its captures.
    """

    url: str
    urlkey: str
    last: str
    due: str
    interval_days: float
    overdue: float
    captures: int
    changes: int
    basis: IntervalBasis

    @property
    def priority(self) -> float:
        """The priority in a crawler's queue: from 0.5 for URLs just due up to 1."""
        return round(1 - 0.5 / max(1.0, self.overdue), 4)

    def update(self, crawl: str) -> UrlUpdate | None:
        """Return the update to queue the URL again, None if no queue accepts it."""
        url = queue_url(self.url)
        return UrlUpdate(url, self.priority, crawl=crawl, again=True) if url else None


@dataclass(frozen=True, slots=True)
class DueQuestion:
    """The selection of URLs due at the instant `at`, in seconds since 1970.

    `collection` "" is all; URLs that `rules` blacklist or leave outside the crawl are left out.
    `limit` None is no limit.
    """

    at: float
    intervals: DueIntervals = field(default_factory=DueIntervals)
    collection: str = ""
    rules: LinkRules | None = None
    limit: int | None = None


@dataclass(slots=True)
class DueReport:
    """Counts of the captures and URLs read; complete once the first URL was yielded."""

    captures: int = 0
    urls: int = 0
    due: int = 0
    unreadable: int = 0


def due_urls(
    engine: Engine,
    question: DueQuestion,
    report: DueReport | None = None,
    progress: ShowProgress = no_progress,
) -> Iterator[DueUrl]:
    """Yield the due URLs, most overdue in intervals first, ties by urlkey.

    Captures are read once, in the order of urlkeys; results that do not fit in memory are sorted on
    disk. With a limit, at most that many are held.
    """
    report = report or DueReport()
    lines = _lines(engine, question, report, progress)
    if question.limit is not None:
        yield from map(_read_line, heapq.nsmallest(question.limit, lines))
        return
    with tempfile.TemporaryDirectory(prefix="nwx-due-") as folder:
        sort = ExternalSort(Path(folder), _HELD_BYTES, "due")
        while some := list(islice(lines, _AT_ONCE)):
            sort.add(some)
        for batch in sort.batches():
            yield from map(_read_line, batch)


def _lines(
    engine: Engine, question: DueQuestion, report: DueReport, progress: ShowProgress
) -> Iterator[bytes]:
    """Yield lines that sort in the order of the result."""
    span = CdxSpan(_ALL_KEYS.start, _ALL_KEYS.end, collection=question.collection)
    histories = UrlHistories()
    for history in histories.read(engine.cdx_rows(span)):
        report.urls += 1
        report.captures, report.unreadable = histories.captures, histories.unreadable
        if report.urls % _AT_ONCE == 0:
            progress(WorkProgress("captures", histories.captures, 0))
        found = _due(history, question)
        if found is not None:
            report.due += 1
            yield _line(found)
    report.captures, report.unreadable = histories.captures, histories.unreadable


def _due(history: UrlHistory, question: DueQuestion) -> DueUrl | None:
    """Return a URL if it is due, else None."""
    after = question.intervals.after(history)
    waited = (question.at - history.last) / SECONDS_A_DAY
    if waited < after.days or not _is_wanted(history.url, question.rules):
        return None
    return _due_url(history, after, waited)


def _due_url(history: UrlHistory, after: DueAfter, waited: float) -> DueUrl:
    return DueUrl(
        url=history.url,
        urlkey=history.urlkey,
        last=_timestamp(history.last),
        due=_timestamp(history.last + after.days * SECONDS_A_DAY),
        interval_days=round(after.days, 3),
        overdue=round(waited / after.days, 3) if after.days > 0 else float(_HIGHEST),
        captures=history.captures,
        changes=history.changes,
        basis=after.basis,
    )


def _is_wanted(url: str, rules: LinkRules | None) -> bool:
    if rules is None:
        return True
    verdict = rules.verdict(url)
    return not (verdict.blacklisted or verdict.outside)


def _timestamp(instant: float) -> str:
    return to_timestamp(datetime.fromtimestamp(instant, UTC))


def _line(due: DueUrl) -> bytes:
    rank = max(0, _HIGHEST - int(min(due.overdue, 1e11) * _STEPS_A_RATIO))
    return b"%018d %s\x00%s" % (rank, due.urlkey.encode(), msgspec.json.encode(due))


def _read_line(line: bytes) -> DueUrl:
    return msgspec.json.decode(line.partition(b"\x00")[2], type=DueUrl)


def asked_due(
    since: DateOption = "",
    specification: CrawlSpecification | None = None,
    collection: str = "",
    at: DateOption = "",
    shortest: float = 1.0,
    longest: float = 365.0,
    limit: int | None = None,
) -> DueQuestion:
    """Return the question for the URLs due `at` a date, by default now.

    `since` is a span (12h, 30d, 8w, 1y) or a date; `shortest` and `longest` bound the estimated
    intervals, in days. Raises UsageError on invalid values.
    """
    if not 0 < shortest <= longest:
        raise UsageError(f"shortest is {shortest:g}; it must be above 0, and at most {longest:g}")
    instant = _instant(at)
    usual = EstimateBounds().usual_days
    estimates = EstimateBounds(shortest, longest, min(max(usual, shortest), longest))
    intervals = specification.intervals if specification else ()
    return DueQuestion(
        instant,
        DueIntervals(_days(since, instant), intervals, estimates),
        collection or (specification.collection if specification else ""),
        LinkRules(specification.rules) if specification and specification.rules else None,
        limit,
    )


def _days(since: DateOption, instant: float) -> float | None:
    """Return a span, or the time from a date to `instant`, in days; None for ""."""
    if not since:
        return None
    span = _SPAN.fullmatch(date_text(since).strip().lower())
    if span:
        return float(span[1]) * _DAYS[span[2]]
    return max(0.0, (instant - _instant(since, "; since also takes 30d")) / SECONDS_A_DAY)


def _instant(at: DateOption, hint: str = "") -> float:
    """Return the seconds since 1970 of a date, or now."""
    if not at:
        return time.time()
    try:
        return parse_timestamp(date_span(date_text(at))[0]).timestamp()
    except TimestampError as error:
        raise UsageError(f"{error}{hint}") from error


def queue_due(
    engine: Engine, spec: str, found: Iterator[DueUrl], show: Callable[[DueUrl], object]
) -> QueuedUpdates:
    """Put due URLs into the queue of an archive, or into the outbox for the specification's."""
    specification = specification_at(engine, spec) if spec else None
    crawl, queue = (specification.name, specification.queue) if specification else ("", "")

    def updates() -> Iterator[UrlUpdate | None]:
        for one in found:
            show(one)
            yield one.update(crawl)

    return queue_updates(engine, updates(), queue)
