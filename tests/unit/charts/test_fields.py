"""Criteria and features as columns of charts."""

import pytest

from nwx.charts.fields import FieldKind, criterion_field, feature_field, name_axis, order
from nwx.facets.criteria import Criterion
from nwx.facets.question import Feature


@pytest.mark.parametrize("criterion", Criterion)
def test_every_criterion_is_a_column(criterion: Criterion) -> None:
    field, definition = criterion_field(criterion), criterion.definition
    assert (field.name, field.title, field.order) == (
        criterion.value,
        definition.label,
        definition.values,
    )
    assert field.is_period == (criterion.source is Criterion.MONTH)
    assert len(field.colours) in (0, len(field.order))


@pytest.mark.parametrize("feature", Feature)
def test_every_feature_is_a_number(feature: Feature) -> None:
    assert feature_field(feature).kind in (FieldKind.COUNT, FieldKind.BYTES, FieldKind.RATIO)


def test_periods_stand_in_the_order_of_time() -> None:
    month, year = criterion_field(Criterion.MONTH), criterion_field(Criterion.YEAR)
    assert order(month) == order(year) == "ascending"
    assert "labelExpr" in name_axis(month)
    assert "labelExpr" not in name_axis(year)
