"""The dashboard charts: each a query on the facets index and a specification.

A panel asks for the combinations of one grouping, with one status or all, so its numbers are
the ones stored by `nwx build-facets`: exact, unique counts included. Kibana's own counts of
distinct values are estimates.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Any

from nwx.charts import specs, treemap
from nwx.charts.fields import Field, FieldKind, Spec
from nwx.facets.criteria import Criterion, grouping_name
from nwx.facets.question import FEATURES, Feature

VEGA = "https://vega.github.io/schema/vega/v5.json"
VEGA_LITE = "https://vega.github.io/schema/vega-lite/v5.json"
MOST_COMBINATIONS = 10_000
"""The most hits that Elasticsearch gives at once."""


class PanelForm(Enum):
    """The charts of panels."""

    BARS = "bars"
    LINES = "lines"
    STACKED = "stacked"
    HEAT = "heat"
    TREEMAP = "treemap"


@dataclass(frozen=True, slots=True)
class Panel:
    """A chart of the dashboard.

    `by` are the criteria of its grouping; `status` is the only status shown, "" for all. `top`
    limits it to the combinations with the most of the feature; without it all are shown, in the
    order of their values.
    """

    name: str
    title: str
    form: PanelForm
    feature: Feature
    by: tuple[Criterion, ...]
    status: str = ""
    top: int = 0

    @property
    def criteria(self) -> tuple[Criterion, ...]:
        """The criteria whose values are in the rows."""
        return self.by if self.status else (*self.by, Criterion.STATUS)


PANELS = (
    Panel(
        "captures-by-month",
        "Captures by month and status",
        PanelForm.STACKED,
        Feature.CAPTURES,
        (Criterion.MONTH,),
    ),
    Panel(
        "duplication-by-month",
        "Duplication ratio by month",
        PanelForm.LINES,
        Feature.DUPLICATION_RATIO,
        (Criterion.MONTH,),
        status="ok",
    ),
    Panel(
        "bytes-by-type",
        "Bytes by type",
        PanelForm.BARS,
        Feature.BYTES,
        (Criterion.TYPE,),
        status="ok",
        top=20,
    ),
    Panel(
        "top-sites",
        "Sites with the most unique documents",
        PanelForm.BARS,
        Feature.UNIQUE_DOCUMENTS,
        (Criterion.SITE,),
        status="ok",
        top=20,
    ),
    Panel(
        "sites-by-bytes",
        "Sites by bytes",
        PanelForm.TREEMAP,
        Feature.BYTES,
        (Criterion.SITE,),
        status="ok",
        top=50,
    ),
    Panel(
        "size-categories",
        "Captures by size",
        PanelForm.STACKED,
        Feature.CAPTURES,
        (Criterion.SIZE,),
    ),
    Panel(
        "top-level-domains",
        "Unique URLs by top-level domain",
        PanelForm.BARS,
        Feature.UNIQUE_URLS,
        (Criterion.TLD,),
        status="ok",
        top=20,
    ),
    Panel(
        "types-by-month",
        "Bytes by month and type",
        PanelForm.HEAT,
        Feature.BYTES,
        (Criterion.MONTH, Criterion.TYPE),
        status="ok",
    ),
)
"""The panels of the dashboard, in its order."""


def query(panel: Panel) -> dict[str, Any]:
    """Return the body of the search that a panel asks of the facets index."""
    wanted = [{"term": {"grouping": grouping_name(panel.by)}}]
    if panel.status:
        wanted.append({"term": {Criterion.STATUS.definition.facets_field: panel.status}})
    order = (
        {panel.feature.value: "desc"} if panel.top else {panel.by[0].definition.facets_field: "asc"}
    )
    return {
        "size": panel.top or MOST_COMBINATIONS,
        "sort": [order],
        "query": {"bool": {"filter": wanted}},
    }


def specification(panel: Panel, source: Spec) -> Spec:
    """Return the specification of a panel with its hits read from a source.

    The source is `url` for Kibana, or `values` for a picture.
    """
    columns, bare = _columns(panel), _bare(panel)
    if panel.form is PanelForm.TREEMAP:
        formulas = [{"type": "formula", "expr": expr, "as": name} for name, expr in columns]
        return {"$schema": VEGA, **treemap.with_source(bare, {**source, "transform": formulas})}
    calculated = [{"calculate": expr, "as": name} for name, expr in columns]
    transforms = [*calculated, *bare.get("transform", ())]
    return {"$schema": VEGA_LITE, **bare, "data": source, "transform": transforms}


def _bare(panel: Panel) -> Spec:
    value = feature_field(panel.feature)
    first, *rest = map(criterion_field, panel.criteria)
    match panel.form:
        case PanelForm.BARS:
            return specs.bars(first, value)
        case PanelForm.LINES:
            return specs.lines(first, value)
        case PanelForm.TREEMAP:
            return treemap.treemap(first, value)
        case PanelForm.HEAT:
            return specs.heat_map(first, rest[0], value)
        case PanelForm.STACKED:
            return specs.stacked(first, rest[0], value)


_WORKED_OUT = {
    Feature.AVERAGE_SIZE: ("unique_bytes", "unique_urls"),
    Feature.AVERAGE_DOCUMENT_SIZE: ("unique_bytes", "unique_documents"),
    Feature.DUPLICATION_RATIO: ("bytes", "unique_bytes"),
}
"""The features that are not stored: what is divided by what."""


def _columns(panel: Panel) -> list[tuple[str, str]]:
    """Return the columns of the chart and how each comes from a hit."""
    named = [(own.value, f"datum._source.{own.definition.facets_field}") for own in panel.criteria]
    feature = panel.feature
    if feature not in _WORKED_OUT:
        return [*named, (feature.value, f"datum._source.{feature.value}")]
    upper, lower = (f"datum._source.{name}" for name in _WORKED_OUT[feature])
    return [*named, (feature.value, f"{lower} > 0 ? {upper} / {lower} : null")]


ADDITIVE = frozenset({Feature.CAPTURES, Feature.BYTES})
"""The features of which a whole is the sum of its parts.

A document may be in several months, a URL have several statuses: the
others do not add up, and are never stacked.
"""


OTHERS = "all others"
"""The part of a whole that is in none of the values shown."""


_STATUS_COLOURS = {
    "ok": "#1f9384",
    "redirection": "#e0a030",
    "request_error": "#d2566a",
    "server_error": "#8f5fc4",
    "ignored": "#93a1a8",
}


_PERIODS = {Criterion.MONTH: FieldKind.MONTH, Criterion.YEAR: FieldKind.YEAR}


_KINDS = {"count": FieldKind.COUNT, "bytes": FieldKind.BYTES, "ratio": FieldKind.RATIO}


def criterion_field(criterion: Criterion) -> Field:
    """Return the column of a criterion, named as people name it."""
    definition = criterion.definition
    if criterion is Criterion.STATUS:
        names, colours = tuple(_STATUS_COLOURS), tuple(_STATUS_COLOURS.values())
        return Field(criterion.value, definition.label, FieldKind.CATEGORY, names, colours)
    kind = _PERIODS.get(criterion, FieldKind.CATEGORY)
    return Field(criterion.value, definition.label, kind, definition.values)


def feature_field(feature: Feature) -> Field:
    """Return the column of a feature."""
    described = FEATURES[feature]
    return Field(feature.value, described.title, _KINDS[described.unit])
