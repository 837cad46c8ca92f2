"""Base classes of all list answers: lazy lists, their HTML, and tables for other libraries."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property, partial
from html import escape
from itertools import chain, islice
from operator import index
from os import PathLike
from pathlib import Path
from types import UnionType
from typing import (
    TYPE_CHECKING,
    Any,
    Generic,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from nwx.bulk.whole_files import whole_file
from nwx.errors import UsageError
from nwx.values.arguments import check_arguments, first_of
from nwx.values.records import BYTE_ORDER_MARK, csv_lines

if TYPE_CHECKING:
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from nwx.engine.indices.quality_index import (
        PlaybackScore,
        QualityFilter,
        QualityIndex,
        QualityOrder,
        QualityTotals,
        ReviewIndex,
    )


# C0, C1, bidirectional and other characters that change the display of surrounding text.
_HIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
_LONGEST_CELL = 300
_WIDTH, _HEIGHT, _MARGIN = 420, 90, 14
_MOST_YEARS = 100
_COLOURS = ("#30638e", "#d1495b", "#2a9d8f", "#edae49", "#6d597a", "#57606a")


def html_text(value: object) -> str:
    """Return a value as escaped text without control characters; lists are joined by spaces."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        value = " ".join(map(str, value))
    text = str(value)
    if len(text) > _LONGEST_CELL:
        text = f"{text[:_LONGEST_CELL]}…"
    return escape(_HIDDEN.sub("\ufffd", text))


def html_table(columns: Sequence[str], rows: Iterable[Sequence[object]], note: str = "") -> str:
    """Return an HTML table with an optional note below it."""
    head = "".join(f"<th>{html_text(name)}</th>" for name in columns)
    body = "".join(
        f"<tr>{''.join(f'<td>{html_text(cell)}</td>' for cell in row)}</tr>" for row in rows
    )
    below = f"<p>{html_text(note)}</p>" if note else ""
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{below}"


def bar_chart(bars: Mapping[str, float]) -> str:
    """Return an SVG chart with a bar for each value, "" without values."""
    if not bars:
        return ""
    most = max(*bars.values(), 0) or 1
    width = _WIDTH / len(bars)
    shapes = []
    for place, (name, value) in enumerate(bars.items()):
        height = _HEIGHT * max(value, 0) / most
        shapes.append(
            f'<rect x="{place * width:.1f}" y="{_HEIGHT - height:.1f}" width="{width * 0.8:.1f}"'
            f' height="{height:.1f}" fill="{_COLOURS[0]}"><title>{html_text(name)}: {value:,}'
            "</title></rect>"
        )
    return _chart("".join(shapes), list(bars))


def line_chart(periods: Sequence[str], curves: Mapping[str, Sequence[float]]) -> str:
    """Return an SVG chart with a curve for each name, "" without periods or curves."""
    if not periods or not curves:
        return ""
    most = max((value for curve in curves.values() for value in curve), default=0) or 1
    step = _WIDTH / max(len(periods) - 1, 1)
    shapes = []
    for (name, curve), colour in zip(curves.items(), _COLOURS * len(curves), strict=False):
        points = " ".join(
            f"{place * step:.1f},{_HEIGHT - _HEIGHT * value / most:.1f}"
            for place, value in enumerate(curve)
        )
        shapes.append(
            f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2">'
            f"<title>{html_text(name)}</title></polyline>"
        )
    named = ", ".join(
        f'<span style="color:{colour}">{html_text(name)}</span>'
        for name, colour in zip(curves, _COLOURS * len(curves), strict=False)
    )
    return f"{_chart(''.join(shapes), periods)}<p>{named}</p>"


def _chart(shapes: str, labels: Sequence[str]) -> str:
    first, last = html_text(labels[0]), html_text(labels[-1])
    below = _HEIGHT + _MARGIN
    ends = f'<text x="0" y="{below}" font-size="11">{first}</text>'
    if len(labels) > 1:
        ends += f'<text x="{_WIDTH}" y="{below}" font-size="11" text-anchor="end">{last}</text>'
    return f'<svg role="img" width="{_WIDTH}" height="{below + 4}">{shapes}{ends}</svg>'


_T = TypeVar("_T")
ColumnTypes = Mapping[str, type | tuple[type]]
"""Column types by name: str, int, float or bool, and a 1-tuple of one of them for lists."""

SHOWN_ROWS = 20
"""The number of rows shown in a notebook."""

_ROWS_AT_ONCE = 20_000


class ResultTable(ABC, Generic[_T]):
    """A list of results, read on demand and convertible to a table.

    Supports `len`, slices and repeated iteration.
    """

    @property
    @abstractmethod
    def columns(self) -> tuple[str, ...]:
        """The column names of the table."""

    @abstractmethod
    def __iter__(self) -> Iterator[_T]: ...

    @abstractmethod
    def __len__(self) -> int: ...

    @abstractmethod
    def frames(self) -> Iterator["pl.DataFrame"]:
        """Stream the rows as one or more frames with the same columns."""

    @abstractmethod
    def cells(self, row: _T) -> Sequence[object]:
        """Return the values of a row in the order of the columns."""

    @overload
    def __getitem__(self, place: int) -> _T: ...

    @overload
    def __getitem__(self, place: slice) -> list[_T]: ...

    def __getitem__(self, place: int | slice) -> _T | list[_T]:
        if isinstance(place, slice):
            return self._slice(place)
        place = index(place)
        found = self._slice(slice(place, place + 1 or None))
        if not found:
            raise IndexError("there is no such row")
        return found[0]

    def _slice(self, place: slice) -> list[_T]:
        bounds = (place.start or 0, 0 if place.stop is None else place.stop, place.step or 1)
        if min(bounds) < 0:
            return list(self)[place]
        return self.rows_between(place.start or 0, place.stop)[:: place.step]

    def rows_between(self, start: int, stop: int | None) -> list[_T]:
        """Return the rows from `start` up to, but excluding, `stop`."""
        return list(islice(self, start, stop))

    def to_polars(self) -> "pl.DataFrame":
        """Return all rows as a polars DataFrame."""
        import polars as pl

        return pl.concat(self.frames(), rechunk=False)

    def to_arrow(self) -> "pa.Table":
        """Return all rows as a pyarrow Table; raises UsageError without pyarrow."""
        try:
            import pyarrow as pa
        except ImportError as error:
            raise UsageError("to_arrow() needs pyarrow; pip install pyarrow") from error
        frames = iter(self.frames())
        first = next(frames).to_arrow()
        batches = chain.from_iterable(frame.to_arrow().to_batches() for frame in frames)
        return pa.Table.from_batches(chain(first.to_batches(), batches), first.schema)

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the rows through the Arrow PyCapsule interface, which does not need pyarrow."""
        return self.to_polars().__arrow_c_stream__(requested_schema)

    def to_pandas(self) -> "pd.DataFrame":
        """Return all rows as a pandas DataFrame; raises UsageError without pandas."""
        try:
            import pandas as pd
        except ImportError as error:
            raise UsageError("to_pandas() needs pandas; pip install pandas") from error
        frame = self.to_polars()
        found = pd.DataFrame(frame.to_dict(as_series=False))
        # Without rows, pandas treats all columns as numeric.
        texts = [name for name, kind in frame.schema.items() if not kind.is_numeric()]
        return found if frame.height else found.astype(dict.fromkeys(texts, "object"))

    @check_arguments
    def to_csv(self, path: str | PathLike[str], *, excel: bool = False) -> int:
        """Write all rows to a CSV file, safe to open in a spreadsheet; return their number.

        With `excel`, it begins with a byte order mark.
        """
        count = -1
        with whole_file(Path(path)) as stream:
            stream.write((BYTE_ORDER_MARK if excel else "").encode())
            for line in csv_lines(self.columns, map(self.cells, self)):
                count += 1
                stream.write(line.encode("utf-8", "replace"))
        return count

    def _repr_html_(self) -> str:
        total = len(self)
        rows = [self.cells(row) for row in self[:SHOWN_ROWS]]
        note = f"{total:,} row{'s' * (total != 1)}"
        note = note if total == len(rows) else f"{len(rows):,} of {note}"
        return f"{self.chart()}{html_table(self.columns, rows, note)}"

    def chart(self) -> str:
        """Return a small SVG chart of the answer, "" without data to draw."""
        return ""


def frame_of(columns: ColumnTypes, rows: Sequence[Sequence[object]]) -> "pl.DataFrame":
    """Return rows as a polars frame with the given columns."""
    import polars as pl

    types: Any = {str: pl.String, int: pl.Int64, float: pl.Float64, bool: pl.Boolean}
    schema = {
        name: pl.List(types[kind[0]]) if isinstance(kind, tuple) else types[kind]
        for name, kind in columns.items()
    }
    return pl.DataFrame([[_plain(cell) for cell in row] for row in rows], schema, orient="row")


def _plain(value: object) -> object:
    """Return a value that polars accepts: lone surrogates are replaced, tuples become lists."""
    if isinstance(value, str):
        return value if value.isascii() else value.encode("utf-8", "replace").decode()
    return list(map(_plain, value)) if isinstance(value, tuple) else value


def frames_of(columns: ColumnTypes, rows: Iterator[Sequence[object]]) -> Iterator["pl.DataFrame"]:
    """Stream rows as frames; without rows, yield one empty frame."""
    yield frame_of(columns, list(islice(rows, _ROWS_AT_ONCE)))
    while some := list(islice(rows, _ROWS_AT_ONCE)):
        yield frame_of(columns, some)


_CELL_TYPES = (str, int, float, bool)


class Rows(ResultTable[_T]):
    """Records of one type, one a row, fetched when iterated or counted.

    Each iteration calls `ask` until a count or slice has cached the rows. `bars` names a timestamp
    column whose years are drawn as a chart. Pickles contain only the rows.
    """

    def __init__(self, kind: type[_T], ask: Callable[[], Iterable[_T]], bars: str = "") -> None:
        self._kind = kind
        self._types = column_types(kind)  # type: ignore[arg-type]  # classes are hashable
        self._ask = ask
        self._bars = bars
        self._kept: list[_T] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return Rows, (self._kind, partial(list, self._all()), self._bars)

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(self._types)

    def __iter__(self) -> Iterator[_T]:
        # A generator: `list` calls `len` first, which caches the rows read next.
        yield from self._ask() if self._kept is None else self._kept

    def __len__(self) -> int:
        return len(self._all())

    def _all(self) -> list[_T]:
        if self._kept is None:
            self._kept = list(self._ask())
        return self._kept

    def cells(self, row: _T) -> Sequence[object]:
        return [getattr(row, name) for name in self._types]

    def frames(self) -> Iterator["pl.DataFrame"]:
        return frames_of(self._types, map(self.cells, self))

    def chart(self) -> str:
        """Return a chart of rows by year as SVG, "" without a timestamp column."""
        return (
            bar_chart(rows_by_year(getattr(row, self._bars) for row in self)) if self._bars else ""
        )

    def __repr__(self) -> str:
        return repr(self._all())


def rows_by_year(timestamps: Iterable[str]) -> Mapping[str, int]:
    """Return the number of timestamps of each year, from the first year to the last.

    Years without any are left out if wrong dates, such as 9999, make them too many.
    """
    counts: dict[str, int] = {}
    for timestamp in timestamps:
        counts[timestamp[:4]] = counts.get(timestamp[:4], 0) + 1
    if not counts:
        return {}
    first, last = int(min(counts)), int(max(counts))
    if last - first > _MOST_YEARS:
        return dict(sorted(counts.items()))
    return {f"{year:04}": counts.get(f"{year:04}", 0) for year in range(first, last + 1)}


@cache
def column_types(kind: type) -> ColumnTypes:
    """Return the columns of a record type: its fields that are texts, numbers or lists of them."""
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
    """The playback scores of matching pages, lowest score or last check first."""

    def __init__(
        self,
        index: "QualityIndex",
        reviews: "ReviewIndex",
        wanted: "QualityFilter",
        order: "QualityOrder",
        limit: int | None,
    ) -> None:
        # Imported here: other lists do not need it.
        from nwx.engine.indices.quality_index import PlaybackScore

        super().__init__(
            PlaybackScore, lambda: reviews.judged(first_of(index.scan(wanted, order), limit))
        )
        self._reviews = reviews
        self._index, self._wanted, self._order = index, wanted, order

    @cached_property
    def totals(self) -> "QualityTotals":
        """The totals of all matching pages, regardless of the limit."""
        return self._index.totals(self._wanted)

    def page(self, offset: int, limit: int) -> "list[PlaybackScore]":
        """Return a part of the list, without reading the rows before it."""
        if not limit or offset >= self.totals.pages:
            return []
        found = self._index.scores(self._wanted, limit, offset, self._order)
        return list(self._reviews.judged(found))
