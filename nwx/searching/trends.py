"""Queries over time: when the documents of each were captured."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Annotated

from msgspec import Meta

from nwx.engine.base import Engine
from nwx.errors import UsageError
from nwx.query.question import Question
from nwx.searching.answers import Count
from nwx.values.timestamps import Period, TrendPoint

MOST_QUERIES = 6
"""The most queries that are compared at once."""

_MOST_PERIODS = 1_200
"""Over a longer time, periods without captures are left out: some clocks of servers are wrong."""

TREND_COLUMNS = (
    "period",
    "query",
    "captures",
    "documents",
    "captures_share",
    "documents_share",
)
"""The columns of trends as CSV, a row for each query and period."""


@dataclass(frozen=True, slots=True)
class PeriodCounts:
    """Captures and documents that a query finds in a period, and their shares.

    A share is relative to the same filters without the query; None if these find nothing.
    """

    period: Annotated[str, Meta(description="a year, or a month: 2013, 201301")]
    captures: Count
    documents: Count
    captures_share: float | None
    documents_share: float | None


@dataclass(frozen=True, slots=True)
class QueryTrend:
    """A query and its counts in each period."""

    query: str
    points: tuple[PeriodCounts, ...]


@dataclass(frozen=True, slots=True)
class Trends:
    """Counts of queries over the same periods, and of the filters without a query."""

    by: Period
    periods: tuple[str, ...]
    trends: tuple[QueryTrend, ...]
    all: QueryTrend

    def rows(self) -> Iterator[tuple[object, ...]]:
        """Give the rows of trends as a table of TREND_COLUMNS."""
        for one in self.trends:
            for point in one.points:
                shares = point.captures_share, point.documents_share
                yield point.period, one.query, point.captures, point.documents, *shares


def trends(
    engine: Engine, queries: Sequence[str], question: Question, period: Period = Period.YEAR
) -> Trends:
    """Return the captures over time of the documents of at most six queries.

    `question` has the common filters and dates. Periods run from the first to the last one with a
    capture, without gaps up to 1,200 periods; beyond that, empty periods are left out. Raises
    QueryError and UsageError as searches do.
    """
    if len(queries) > MOST_QUERIES:
        raise UsageError.translated(
            "%(count)s queries are too many; compare up to %(most)s",
            count=len(queries),
            most=MOST_QUERIES,
        )
    each = list(dict.fromkeys(queries))
    asked = [replace(question, query=query) for query in ("", *each)]
    every, *counted = engine.trends(asked, period)
    found = dict(zip(each, counted, strict=True))
    periods = _periods(every, period)
    totals = {point.period: point for point in every}
    return Trends(
        period,
        periods,
        tuple(_query_trend(query, points, periods, totals) for query, points in found.items()),
        _query_trend("", every, periods, totals),
    )


def _query_trend(
    query: str,
    points: Sequence[TrendPoint],
    periods: Sequence[str],
    totals: dict[str, TrendPoint],
) -> QueryTrend:
    known = {point.period: point for point in points}
    return QueryTrend(
        query,
        tuple(
            _counts(
                known.get(period, TrendPoint(period, 0, 0)),
                totals.get(period, TrendPoint(period, 0, 0)),
            )
            for period in periods
        ),
    )


def _counts(point: TrendPoint, total: TrendPoint) -> PeriodCounts:
    return PeriodCounts(
        point.period,
        point.captures,
        point.documents,
        _share(point.captures, total.captures),
        _share(point.documents, total.documents),
    )


def _share(part: int, whole: int) -> float | None:
    # A capture may come between two questions.
    return min(1.0, part / whole) if whole else None


def _periods(points: Sequence[TrendPoint], unit: Period) -> tuple[str, ...]:
    """Return all periods from the first to the last one."""
    if not points:
        return ()
    first, last = points[0].period, points[-1].period
    width = _month(last.ljust(6, "1")) - _month(first.ljust(6, "1"))
    if width // (12 if unit is Period.YEAR else 1) > _MOST_PERIODS:
        return tuple(point.period for point in points)
    if unit is Period.YEAR:
        return tuple(f"{year:04}" for year in range(int(first), int(last) + 1))
    months = (
        f"{month // 12:04}{month % 12 + 1:02}" for month in range(_month(first), _month(last) + 1)
    )
    return tuple(months)


def _month(period: str) -> int:
    return int(period[:4]) * 12 + int(period[4:]) - 1
