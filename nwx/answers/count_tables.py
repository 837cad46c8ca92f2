"""Tables of counts: facets by criteria, queries over time, hosts, links to a URL or host."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from nwx.answers.tables import ResultTable, Rows, bar_chart, frame_of, line_chart
from nwx.engine.base import Engine
from nwx.engine.document_index import Work, working
from nwx.facets.question import FacetAnswer, FacetRow, Feature, Features
from nwx.links.archive_links import ArchiveLinks, asked_place
from nwx.model import Anchor, LinkCell, LinkCounts
from nwx.searching.trends import TREND_COLUMNS, PeriodCounts, QueryTrend, Trends
from nwx.values.arguments import first_of

if TYPE_CHECKING:
    import polars as pl

_RATIOS = frozenset(
    (Feature.AVERAGE_SIZE, Feature.AVERAGE_DOCUMENT_SIZE, Feature.DUPLICATION_RATIO)
)
_MOST_BARS = 60
_COUNTED = ("months", "statuses", "types", "languages")


class FacetTable(ResultTable[FacetRow]):
    """The answer to a facet question: the `total` of the selection, and a row for each value."""

    def __init__(self, answer: FacetAnswer, features: Sequence[Feature] = ()) -> None:
        self.answer = answer
        self.features = tuple(features or Feature)

    @property
    def total(self) -> Features:
        """The features of the whole selection: all captures that meet the conditions."""
        return self.answer.total

    @property
    def columns(self) -> tuple[str, ...]:
        """The criteria, then the features."""
        return tuple(map(str, (*self.answer.question.by, *self.features)))

    def __iter__(self) -> Iterator[FacetRow]:
        return iter(self.answer.rows)

    def __len__(self) -> int:
        return len(self.answer.rows)

    def cells(self, row: FacetRow) -> Sequence[object]:
        return (*row.values, *(row.features.value(one) for one in self.features))

    def frames(self) -> Iterator["pl.DataFrame"]:
        types: dict[str, type | tuple[type]] = {str(one): str for one in self.answer.question.by}
        types |= {str(one): float if one in _RATIOS else int for one in self.features}
        yield frame_of(types, list(map(self.cells, self)))

    def chart(self) -> str:
        """Return a chart of the first feature of each row as SVG, "" unless by one criterion."""
        first = self.features[0]
        if len(self.answer.question.by) != 1:
            return ""
        rows = self.answer.rows[:_MOST_BARS]
        return bar_chart({row.values[0]: row.features.value(first) or 0 for row in rows})

    def __repr__(self) -> str:
        return repr(self.answer)


class TrendTable(ResultTable[tuple[QueryTrend, PeriodCounts]]):
    """Queries over time: a row for each query and period."""

    def __init__(self, trends: Trends) -> None:
        self.answer = trends

    @property
    def columns(self) -> tuple[str, ...]:
        return TREND_COLUMNS

    def __iter__(self) -> Iterator[tuple[QueryTrend, PeriodCounts]]:
        for trend in self.answer.trends:
            for point in trend.points:
                yield trend, point

    def __len__(self) -> int:
        return len(self.answer.trends) * len(self.answer.periods)

    def cells(self, row: tuple[QueryTrend, PeriodCounts]) -> Sequence[object]:
        trend, point = row
        counts = point.captures, point.documents, point.captures_share, point.documents_share
        return (point.period, trend.query, *counts)

    def frames(self) -> Iterator["pl.DataFrame"]:
        types = dict(zip(TREND_COLUMNS, (str, str, int, int, float, float), strict=True))
        yield frame_of(types, list(map(self.cells, self)))

    def chart(self) -> str:
        """Return a chart of captures over time, a curve for each query, as SVG."""
        curves = {
            trend.query: [point.captures for point in trend.points] for trend in self.answer.trends
        }
        return line_chart(self.answer.periods, curves)

    def __repr__(self) -> str:
        return repr(self.answer)


class HostOrder(StrEnum):
    """Sort orders of hosts: names ascending, numbers descending."""

    CAPTURES = "captures"
    HOST = "host"
    DOCUMENTS = "documents"
    BYTES = "bytes"
    PAGERANK = "pagerank"


@dataclass(frozen=True, slots=True)
class ValueCount:
    """A value and the number of captures that have it."""

    value: str
    captures: int


@dataclass(frozen=True, slots=True)
class ArchivedHost:
    """The counts of a host; `pagerank` and `harmonic` are None if links were not inverted.

    `documents` counts distinct documents, `bytes` is the size of payloads. `months` are in order,
    other counts have the most frequent value first.
    """

    host: str
    domain: str
    captures: int
    documents: int
    bytes: int
    months: tuple[ValueCount, ...]
    statuses: tuple[ValueCount, ...]
    types: tuple[ValueCount, ...]
    languages: tuple[ValueCount, ...]
    robots: bool
    sitemap: bool
    pagerank: float | None
    harmonic: float | None


class HostTable(ResultTable[ArchivedHost]):
    """Hosts with their counts; in CSV, lists are written as `200:12 404:1`."""

    def __init__(self, frame: "pl.DataFrame") -> None:
        self._frame = frame

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self._frame.columns)

    def __iter__(self) -> Iterator[ArchivedHost]:
        return map(_host, self._frame.iter_rows(named=True))

    def __len__(self) -> int:
        return len(self._frame)

    def rows_between(self, start: int, stop: int | None) -> list[ArchivedHost]:
        return list(HostTable(self._frame[start:stop]))

    def frames(self) -> Iterator["pl.DataFrame"]:
        """Yield all hosts as one frame; list columns contain structs."""
        yield self._frame

    def cells(self, row: ArchivedHost) -> Sequence[object]:
        values = (getattr(row, name) for name in self.columns)
        return [_joined(one) if isinstance(one, tuple) else one for one in values]

    def chosen(
        self, name: str = "", sort: str = HostOrder.CAPTURES, *, reverse: bool = False
    ) -> "HostTable":
        """Return the hosts whose names contain a text; `sort` is a value of HostOrder."""
        import polars as pl

        frame = self._frame
        if name:
            frame = frame.filter(pl.col("host").str.contains(name.lower(), literal=True))
        order = HostOrder(sort)
        down = (order is not HostOrder.HOST) ^ reverse
        frame = frame.sort(order, "host", descending=[down, False], nulls_last=True)
        return HostTable(frame)


def _host(row: Mapping[str, Any]) -> ArchivedHost:
    counts = {name: tuple(ValueCount(**one) for one in row[name]) for name in _COUNTED}
    return ArchivedHost(**{**row, **counts})


def _joined(counts: Sequence[ValueCount]) -> str:
    return " ".join(f"{one.value or '-'}:{one.captures}" for one in counts)


class KeptHosts:
    """The hosts of an engine, counted again after captures or links change."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._guard = threading.Lock()
        self._stamp = "", ""
        self._table: HostTable | None = None

    def table(self) -> HostTable:
        """Return the hosts, ordered by site."""
        from nwx.exports.hosts import hosts_frame

        stamp = self._engine.facet_store().stamp(), self._engine.inlink_index().version()
        with self._guard:
            if self._table is None or self._stamp != stamp:
                with working(Work()):  # not under one query's deadline: the result is shared
                    self._table = HostTable(hosts_frame(self._engine))
                self._stamp = stamp
            return self._table


class LinkTo(NamedTuple):
    """A link: linking page, that page's first capture with it, kind, anchor text and target."""

    url: str
    timestamp: str
    kind: str
    text: str
    target: str


class Inlinks(Rows[LinkTo]):
    """The links to a URL, or to all URLs of a host from other hosts, with their counts."""

    def __init__(self, engine: Engine, to: str, cell: LinkCell, limit: int | None = None) -> None:
        super().__init__(LinkTo, lambda: first_of(self._links(), limit), bars="timestamp")
        self._place = asked_place(to)
        self._cell = cell
        self._archive = ArchiveLinks(engine)

    @property
    def is_current(self) -> bool:
        """Whether the archive is unchanged since links were inverted."""
        return self._archive.is_current()

    @cached_property
    def counts(self) -> LinkCounts:
        """The counts of all links, regardless of the limit."""
        if self._place.is_host:
            return self._archive.of_host(self._place.host).counts(self._cell)
        return self._archive.counts(self._place.urlkey, self._cell) or LinkCounts()

    @property
    def anchors(self) -> tuple[Anchor, ...]:
        """The most frequent anchor texts."""
        if self._place.is_host:
            return self.counts.anchors
        return self._archive.anchors(self._place.urlkey, self._cell)

    def _links(self) -> Iterator[LinkTo]:
        if self._place.is_host:
            for target, one in self._archive.of_host(self._place.host).inlinks(self._cell):
                yield LinkTo(one.url, one.timestamp, one.kind, one.text, target)
            return
        target = self._place.urlkey
        for one in self._archive.inlinks(target, self._cell):
            yield LinkTo(one.url, one.timestamp, one.kind, one.text, target)
