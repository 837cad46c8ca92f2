"""Selections of columns by conditions, and questions that stored combinations can answer."""

import numpy as np
import pytest

from nwx.engine.document_index import Work, working
from nwx.errors import QuestionTimeoutError
from nwx.facets.columns import FacetColumns, KeptCounts, candidate_rows
from nwx.facets.criteria import Criterion
from nwx.facets.question import (
    STORED_FEATURES,
    FacetCondition,
    FacetQuestion,
    Feature,
    Features,
    parse_condition,
)

LABELS = {
    "status": ["ok", "redirection"],
    "month": ["unknown", "2013-02", "2012-12"],
    "type": ["unknown", "html", "pdf", "image"],
}


def stored(**codes: list[int]) -> dict[str, np.ndarray]:
    """Return combinations whose features all equal `captures`."""
    captures = np.array(codes.pop("captures"))
    found = {name: np.array(values) for name, values in codes.items()}
    return found | dict.fromkeys(STORED_FEATURES, captures)


@pytest.fixture
def columns() -> FacetColumns:
    month = {"status": np.array([0, 0, 1]), "type": np.array([1, 2, 1])}
    groupings = {
        "": stored(status=[0], captures=[20]),
        "type": stored(status=[0, 0], type=[1, 2], captures=[12, 5]),
    }
    months = {"2012-12": month, "2013-02": month}
    return FacetColumns(months, np.zeros(0), {}, 0, LABELS.__getitem__, groupings, min_captures=5)


@pytest.mark.parametrize(
    ("texts", "allowed"),
    [
        (["type=html"], {"type": [1]}),
        (["type!=html"], {"type": [0, 2, 3]}),
        (["type=html,pdf", "type!=pdf"], {"type": [1]}),
        (["type=audio"], {"type": []}),
        (["month=2012..2013-01"], {"month": [2]}),
        (["year=2013"], {"month": [1]}),
        (["year!=2013", "month!=unknown"], {"month": [2]}),
        (["year=unknown"], {"month": [0]}),
    ],
)
def test_codes_that_conditions_allow(
    columns: FacetColumns, texts: list[str], allowed: dict[str, list[int]]
) -> None:
    found = columns.allowed(list(map(parse_condition, texts)))
    assert {name: np.flatnonzero(fits).tolist() for name, fits in found.items()} == allowed


@pytest.mark.parametrize(
    ("texts", "rows"),
    [
        ([], {"2012-12": None, "2013-02": None}),
        (["year=2013", "type=html"], {"2013-02": [0, 2]}),
        (["type=pdf", "status=redirection"], {}),
    ],
)
def test_selected_rows(
    columns: FacetColumns, texts: list[str], rows: dict[str, list[int] | None]
) -> None:
    found = columns.select(columns.allowed(list(map(parse_condition, texts))))
    known = {one.month: None if one.rows is None else one.rows.tolist() for one in found}
    assert known == rows


def test_combinations_are_looked_up(columns: FacetColumns) -> None:
    def total(*texts: str) -> Features | None:
        return columns.stored_total(columns.allowed(list(map(parse_condition, texts))))

    assert total("status=ok") == Features(20, 20, 20, 20, 20)
    assert total("status=ok", "type=pdf") == Features(5, 5, 5, 5, 5)
    assert total("status=ok", "type=image") is None
    assert total("type=pdf") is None


def test_lists_are_stored_where_nothing_else_can_be_among_the_first(columns: FacetColumns) -> None:
    where, by = (FacetCondition(Criterion.STATUS, ("ok",)),), (Criterion.TYPE,)
    allowed = columns.allowed(where)

    def listed(limit: int | None, sort: Feature = Feature.CAPTURES) -> list[str] | None:
        found = columns.stored_rows(FacetQuestion(where, by, sort, limit=limit), allowed)
        return None if found is None else [row.values[0] for row in found[0]]

    assert listed(1) == ["html"]
    assert listed(2) == ["html", "pdf"]
    assert listed(3) is None
    assert listed(None) is None
    assert listed(1, Feature.AVERAGE_SIZE) is None


def test_rows_that_tie_with_the_last_are_kept() -> None:
    question = FacetQuestion(by=(Criterion.TYPE,), sort=Feature.BYTES, limit=2)
    columns = {"bytes": np.array([3, 9, 3, 1])}
    assert candidate_rows(question, columns, np.arange(4)).tolist() == [0, 1, 2]


def test_selecting_stops_between_months_when_nobody_waits(columns: FacetColumns) -> None:
    with working(Work()) as work:
        found = columns.select({})
        assert next(found).month == "2012-12"
        work.cancel()
        with pytest.raises(QuestionTimeoutError):
            next(found)


def test_counts_are_made_once() -> None:
    kept, made = KeptCounts(), []

    def count() -> list[int]:
        made.append(1)
        return [7]

    assert [kept.get("a", count), kept.get("a", count)] == [[7], [7]]
    assert kept.get("b", lambda: 5) == 5
    assert len(made) == 1


def test_a_count_that_fails_is_not_kept() -> None:
    kept = KeptCounts()
    with pytest.raises(ZeroDivisionError):
        kept.get("a", lambda: 1 // 0)
    assert kept.get("a", lambda: 1) == 1


def test_the_groups_that_are_kept_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nwx.facets.columns.KEPT_GROUPS", 10)
    kept = KeptCounts()
    assert kept.get("too many", lambda: [0] * 11) == [0] * 11
    assert kept.get("too many", lambda: [1]) == [1]
    for number in range(5):
        kept.get(number, lambda number=number: [number] * 4)
    assert kept.get(4, lambda: []) == [4] * 4
    assert kept.get(0, lambda: [9]) == [9]
