"""The charts of pages: their kinds, colours, words and picture formats."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from flask import Response, request
from flask_babel import gettext, lazy_gettext
from werkzeug.exceptions import NotFound

from nwx.charts import fields, specs, treemap
from nwx.charts.fields import (
    ADDITIVE,
    OTHERS,
    Field,
    FieldKind,
    Spec,
    criterion_field,
    drawable,
    feature_field,
)
from nwx.charts.pictures import PictureFormat, draw_picture
from nwx.facets.criteria import Criterion
from nwx.facets.question import FEATURES, Feature, Features
from webapp.explore.answers import (
    CRITERION_LABELS,
    Grid,
    Line,
    cell_value,
    described_feature,
    in_sentence,
)
from webapp.explore.view import Chart, ExplorerView
from webapp.site import parameters
from webapp.site.preferences import page_locale

_NAMES = frozenset({"field", "host", "source", "target"})
"""Keys of a specification whose values are not text to translate."""


def chart_looks(scheme: str, *, background: bool = False) -> Spec:
    """Return the Vega configuration of a colour scheme, with the number signs of the language."""
    signs = page_locale().number_symbols["latn"]
    number = {
        "decimal": signs["decimal"],
        "thousands": signs["group"],
        "grouping": [3],
        "currency": ["", ""],
        "percent": page_locale().percent_formats[None].suffix[0],
    }
    return {**fields.config(scheme, background=background), "locale": {"number": number}}


def with_words(spec: Any, words: Mapping[str, str]) -> Any:
    """Return a specification with words replaced in titles, scales and values."""
    if isinstance(spec, str):
        return words.get(spec, spec)
    if isinstance(spec, list):
        return [with_words(one, words) for one in spec]
    if isinstance(spec, dict):
        return {key: one if key in _NAMES else with_words(one, words) for key, one in spec.items()}
    return spec


_FORMS: dict[str, tuple[PictureFormat, str]] = {
    "svg": ("svg", "image/svg+xml"),
    "png": ("png", "image/png"),
}


@dataclass(frozen=True, slots=True)
class AskedPicture:
    """The requested form of a picture; `suffix` is the end of its address."""

    suffix: str
    scheme: str
    format: PictureFormat
    mimetype: str

    def of_chart(self, spec: Spec, name: str) -> Response:
        """Return the response with a chart, in the words and numbers of the page's language."""
        return self.answer(
            draw_picture(spec, chart_looks(self.scheme, background=True), self.format), name
        )

    def answer(self, drawn: bytes, name: str) -> Response:
        """Return the response with a drawn picture, with a file name."""
        response = Response(drawn, mimetype=self.mimetype)
        response.headers["Content-Disposition"] = f'inline; filename="{name}.{self.suffix}"'
        return response


def picture_width() -> int:
    """Return the requested width of a picture in pixels."""
    return NARROW if parameters.text(request.args, "narrow", 1) else PICTURE_WIDTH


def asked_picture(form: str) -> AskedPicture:
    """Return the requested form of a picture; `form` is the end of its address.

    Raises NotFound on an unknown form, UsageError on an unknown colour scheme.
    """
    if form not in _FORMS:
        raise NotFound(
            gettext(
                "charts come as %(choices)s, not as %(form)s",
                choices=" and ".join(_FORMS),
                form=repr(form),
            )
        )
    scheme = parameters.text(request.args, "scheme", 10) or fields.SCHEMES[0]
    parameters.one_of_these("scheme", scheme, fields.SCHEMES)
    return AskedPicture(form, scheme, *_FORMS[form])


TITLES = {
    Chart.BARS: lazy_gettext("Bars"),
    Chart.LINES: lazy_gettext("Lines"),
    Chart.STACKED: lazy_gettext("Stacked"),
    Chart.SHARE: lazy_gettext("Share of total"),
    Chart.GROUPED: lazy_gettext("Side by side"),
    Chart.HEAT: lazy_gettext("Heat map"),
    Chart.TREEMAP: lazy_gettext("Treemap"),
}
PICTURE_WIDTH, NARROW = 960, 460
"""Widths of pictures in pixels: for a desktop, and for a phone."""
FILLED_YEARS = 40
_MOST_ROWS = 4_000
_BARS_BESIDE = 40
"""A bar is at most as wide as one of 40 side by side, unless there are fewer places."""
SELECTION = Field("selection", "Selection", FieldKind.CATEGORY)
COMPARED_COLOURS = ("#1f9384", "#e0a030")

ChartRow = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Drawn:
    """A chart: its kind, the suitable kinds, its rows and its specification."""

    kind: Chart
    kinds: tuple[Chart, ...]
    rows: tuple[ChartRow, ...]
    spec: Spec
    names: int

    def page_spec(self) -> Spec:
        """Return the specification for a page, as wide as its container."""
        return self._sized("container")

    def picture(self, scheme: str, form: PictureFormat) -> bytes:
        """Return a picture with a painted background; raises DrawingError."""
        return draw_picture(
            self._sized(picture_width()), chart_looks(scheme, background=True), form
        )

    def _sized(self, width: int | str) -> Spec:
        if self.kind is Chart.TREEMAP:
            return treemap.sized_treemap(treemap.treemap_with_rows(self.spec, self.rows), width)
        return specs.sized_spec(specs.spec_with_rows(self.spec, self.rows), width, self.names)


def drawn(view: ExplorerView, grid: Grid, other_name: str = "") -> Drawn:
    """Return the chart of a grid; `other_name` names the selection compared with."""
    other_name = drawable(other_name)
    kinds = suitable(view)
    kind = view.chart if view.chart in kinds else kinds[0]
    rows = tuple(_rows(view, grid, other_name))
    spec = _spec(view, grid, kind, other_name)
    return Drawn(kind, kinds, rows, spec, _names_down(view, grid, kind))


def suitable(view: ExplorerView) -> tuple[Chart, ...]:
    """Return the kinds of charts that do not mislead about a question, the best first."""
    periods = _is_period(view.by[0])
    additive = view.feature in ADDITIVE
    if view.compares:
        return (Chart.GROUPED, Chart.LINES) if periods else (Chart.GROUPED,)
    if len(view.by) == 2:
        parts = (Chart.STACKED, Chart.SHARE) if additive else ()
        return (*parts, *((Chart.LINES,) if periods else (Chart.GROUPED,)), Chart.HEAT)
    if periods:
        counted = FEATURES[view.feature].unit == "count" or additive
        return (Chart.BARS, Chart.LINES) if counted else (Chart.LINES, Chart.BARS)
    return (Chart.BARS, Chart.TREEMAP) if additive else (Chart.BARS,)


def _spec(view: ExplorerView, grid: Grid, kind: Chart, other_name: str) -> Spec:
    first, value = _criterion(view.by[0]), _feature(view.feature)
    clickable = not view.compares
    if view.compares:
        names = (grid.columns[0], other_name)
        series = Field(
            SELECTION.name, gettext("Selection"), FieldKind.CATEGORY, names, COMPARED_COLOURS
        )
    elif len(view.by) == 2:
        series = _series(view.by[1], grid.columns)
    bands = _bar_bands(_filled(view, grid))
    if kind is Chart.BARS:
        return specs.bars(first, value, clickable=clickable, bands=bands)
    if kind is Chart.TREEMAP:
        return treemap.treemap(first, value, clickable=clickable)
    if kind is Chart.LINES:
        split = view.compares or len(view.by) == 2
        return specs.lines(first, value, series if split else None, clickable=clickable)
    if kind is Chart.GROUPED:
        return specs.grouped_bars(first, series, value, clickable=clickable)
    if kind is Chart.HEAT:
        return specs.heat_map(*_across_and_down(first, series), value, clickable=clickable)
    shared = kind is Chart.SHARE
    spec = specs.stacked(first, series, value, share=shared, clickable=clickable, bands=bands)
    told = gettext("Share of %(name)s", name=in_sentence(value.title))
    return with_words(spec, {f"Share of {value.title.lower()}": told}) if shared else spec


def _bar_bands(lines: Sequence[Line]) -> float:
    """Return the number of places a bar covers: of many months, few may have captures."""
    places = [place for place, line in enumerate(lines) if line.whole.captures]
    nearest = min((after - place for place, after in pairwise(places)), default=1)
    return min(0.9 * nearest, len(lines) / _BARS_BESIDE)


def _criterion(criterion: Criterion) -> Field:
    return replace(criterion_field(criterion), title=str(CRITERION_LABELS[criterion]))


def _feature(feature: Feature) -> Field:
    return replace(feature_field(feature), title=described_feature(feature).title)


def _series(criterion: Criterion, columns: Sequence[str]) -> Field:
    field = _criterion(criterion)
    if field.colours and OTHERS not in columns:
        return field
    return replace(field, order=tuple(map(_shown, columns)), colours=())


def _shown(value: str) -> str:
    return gettext("all others") if value == OTHERS else drawable(value)


def _across_and_down(first: Field, second: Field) -> tuple[Field, Field]:
    """Return the fields across and down: a period goes across, else the second criterion."""
    return (first, second) if first.is_period else (second, first)


def _names_down(view: ExplorerView, grid: Grid, kind: Chart) -> int:
    periods = _is_period(view.by[0])
    if kind is Chart.HEAT:
        return len(grid.columns) if periods else len(grid.lines)
    if periods or kind is Chart.TREEMAP:
        return 0
    return len(grid.lines) * (2 if kind is Chart.GROUPED else 1)


def _rows(view: ExplorerView, grid: Grid, other_name: str) -> Iterator[ChartRow]:
    """Yield the rows of a chart: every line, and every period between the first and the last.

    With more than _MOST_ROWS cells, a line without captures has only one row.
    """
    first = view.by[0]
    lines = _filled(view, grid)
    sparse = len(lines) * len(grid.columns) > _MOST_ROWS
    for line in lines:
        if not grid.columns:
            yield _row(view, {first: line.value}, line.whole, line)
            continue
        cells = list(zip(grid.columns, line.cells, strict=True))
        if sparse and not line.whole.captures:
            cells = cells[:1]
        for column, cell in cells:
            if view.compares:
                name = column if column == grid.columns[0] else other_name
                yield _row(view, {first: line.value}, cell, line) | {SELECTION.name: name}
            else:
                yield _row(view, {first: line.value, view.by[1]: column}, cell, line)


def _filled(view: ExplorerView, grid: Grid) -> tuple[Line, ...]:
    return with_gaps(grid.lines, len(grid.columns)) if _is_period(view.by[0]) else grid.lines


def _row(
    view: ExplorerView, chosen: dict[Criterion, str], features: Features | None, line: Line
) -> ChartRow:
    """Return a row of a chart; a period without captures is a gap, not a zero."""
    row: ChartRow = {criterion.value: _shown(value) for criterion, value in chosen.items()}
    counted = view.feature in ADDITIVE or FEATURES[view.feature].unit == "count"
    empty = 0 if counted and line.whole.captures else None
    if not line.whole.captures:
        features = None
    value = cell_value(features, view.feature)
    row[view.feature.value] = empty if value is None else value
    return row


def with_gaps(lines: Sequence[Line], columns: int) -> tuple[Line, ...]:
    """Return lines by month or year, with empty lines for the periods in between.

    Damaged dates make months such as 0201-01 or 9999-12: the gap to months
    that are more than FILLED_YEARS from the median capture is not filled.
    """
    numbers = {line: _number(line.value) for line in lines if line.value[:4].isdigit()}
    if not numbers:
        return tuple(lines)
    middle, a_year = _middle(numbers), 12 if "-" in next(iter(numbers)).value else 1
    near = [number for number in numbers.values() if abs(number - middle) <= FILLED_YEARS * a_year]
    known = {number: line for line, number in numbers.items()}
    empty = (None,) * columns
    filled = tuple(
        known.get(number) or Line(_period(number, a_year), Features(), empty)
        for number in range(near[0], near[-1] + 1)
    )
    before = tuple(line for line, number in numbers.items() if number < near[0])
    after = tuple(line for line, number in numbers.items() if number > near[-1])
    return (*before, *filled, *after, *(line for line in lines if line not in numbers))


def _middle(numbers: Mapping[Line, int]) -> int:
    """Return the number of the period with the median capture."""
    left = sum(line.whole.captures for line in numbers) / 2
    for line, number in numbers.items():
        left -= line.whole.captures
        if left <= 0:
            return number
    return next(iter(numbers.values()))


def _is_period(criterion: Criterion) -> bool:
    return criterion.source is Criterion.MONTH


def _number(period: str) -> int:
    """Return the number of a month, counted from the year 0, or of a year."""
    year, _, month = period.partition("-")
    return int(year) * 12 + int(month) - 1 if month else int(year)


def _period(number: int, a_year: int) -> str:
    if a_year == 1:
        return f"{number:04}"
    return f"{number // a_year:04}-{number % a_year + 1:02}"
