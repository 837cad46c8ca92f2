"""Criteria and features as columns of charts."""

from nwx.charts.fields import Field, FieldKind
from nwx.facets.criteria import Criterion
from nwx.facets.features import FEATURES, Feature

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
