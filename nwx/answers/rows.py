"""Lazy lists of records of one kind: any, and scores of playback."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from types import UnionType
from typing import TYPE_CHECKING, Any, TypeVar, Union, get_args, get_origin, get_type_hints

from nwx.answers.options import first_of
from nwx.answers.tables import ColumnTypes, ResultTable, bar_chart, frames_of

if TYPE_CHECKING:
    import polars as pl

    from nwx.engine.indices.quality_index import (
        PlaybackScore,
        QualityFilter,
        QualityIndex,
        QualityOrder,
        QualityTotals,
        ReviewIndex,
    )


_T = TypeVar("_T")
_CELL_TYPES = (str, int, float, bool)


class Rows(ResultTable[_T]):
    """Records of one kind, one a row, fetched when iterated or counted.

    `ask` fetches them anew each time; counts and slices are cached. `bars` names a timestamp
    column, whose years are drawn as a chart.
    """

    def __init__(self, kind: type[_T], ask: Callable[[], Iterable[_T]], bars: str = "") -> None:
        self._types = column_types(kind)  # type: ignore[arg-type]  # classes are hashable
        self._ask = ask
        self._bars = bars
        self._kept: list[_T] | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns of the table."""
        return tuple(self._types)

    def __iter__(self) -> Iterator[_T]:
        # A generator: `list` asks for the length first, which keeps the rows that follow.
        yield from self._ask() if self._kept is None else self._kept

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> list[_T]:
        if self._kept is None:
            self._kept = list(self._ask())
        return self._kept

    def cells(self, row: _T) -> Sequence[object]:
        """Return the values of a row in the order of the columns."""
        return [getattr(row, name) for name in self._types]

    def frames(self) -> Iterator["pl.DataFrame"]:
        """Stream the rows as frames."""
        return frames_of(self._types, map(self.cells, self))

    def chart(self) -> str:
        """Return the rows by year as SVG, "" without timestamps."""
        return (
            bar_chart(rows_by_year(getattr(row, self._bars) for row in self)) if self._bars else ""
        )

    def __repr__(self) -> str:
        return repr(self._all())


def rows_by_year(timestamps: Iterable[str]) -> Mapping[str, int]:
    """Return how many timestamps each year has, from the first year to the last."""
    counts: dict[str, int] = {}
    for timestamp in timestamps:
        counts[timestamp[:4]] = counts.get(timestamp[:4], 0) + 1
    if not counts:
        return {}
    first, last = int(min(counts)), int(max(counts))
    return {f"{year:04}": counts.get(f"{year:04}", 0) for year in range(first, last + 1)}


@cache
def column_types(kind: type) -> ColumnTypes:
    """Return the columns of a record: its fields that are texts, numbers, or lists of these."""
    found = ((name, _column_type(hint)) for name, hint in get_type_hints(kind).items())
    return {name: column for name, column in found if column is not None}


def _column_type(hint: Any) -> type | tuple[type] | None:
    if get_origin(hint) in (Union, UnionType):
        hint = next((one for one in get_args(hint) if one is not type(None)), None)
    if get_origin(hint) is tuple:
        inside = _column_type(get_args(hint)[0])
        return (inside,) if isinstance(inside, type) else None
    if not isinstance(hint, type):
        return None
    return next((one for one in (bool, *_CELL_TYPES) if issubclass(hint, one)), None)


class PlaybackScores(Rows["PlaybackScore"]):
    """The scores of the pages that match, worst first or those checked last first."""

    def __init__(
        self,
        index: "QualityIndex",
        reviews: "ReviewIndex",
        wanted: "QualityFilter",
        order: "QualityOrder",
        limit: int | None,
    ) -> None:
        # Imported here: other lists do without.
        from nwx.engine.indices.quality_index import PlaybackScore

        super().__init__(
            PlaybackScore, lambda: reviews.judged(first_of(index.scan(wanted, order), limit))
        )
        self._reviews = reviews
        self._index, self._wanted, self._order = index, wanted, order

    @cached_property
    def totals(self) -> "QualityTotals":
        """The totals of all pages that match, whatever the limit."""
        return self._index.totals(self._wanted)

    def page(self, offset: int, limit: int) -> "list[PlaybackScore]":
        """Return a part of the list, without reading what comes before."""
        if not limit or offset >= self.totals.pages:
            return []
        found = self._index.scores(self._wanted, limit, offset, self._order)
        return list(self._reviews.judged(found))
