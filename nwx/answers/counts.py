"""Tables of counts: facets by criteria, and queries over time."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from nwx.answers.tables import ResultTable, bar_chart, frame_of, line_chart
from nwx.facets.question import FacetAnswer, FacetRow, Feature, Features
from nwx.searching.trends import TREND_COLUMNS, PeriodCounts, QueryTrend, Trends

if TYPE_CHECKING:
    import polars as pl

_RATIOS = frozenset(
    (Feature.AVERAGE_SIZE, Feature.AVERAGE_DOCUMENT_SIZE, Feature.DUPLICATION_RATIO)
)
_MOST_BARS = 60


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
