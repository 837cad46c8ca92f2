"""Features counted from columns and by cell: repeated values, new ones, numbers out of range."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nwx.engine.document_index import Work, working
from nwx.errors import EngineError, QuestionTimeoutError
from nwx.facets.columns import FacetColumns, MonthRows
from nwx.facets.criteria import Criterion
from nwx.facets.feature_counts import count_features, only_new, repeats, sums, varied_bytes
from nwx.facets.groups import count_groups
from nwx.facets.question import Features


def columns(labels: dict[str, list[str]] | None = None) -> FacetColumns:
    """Return two months of captures of documents 0 and 1; document 1 has two sizes."""
    known = {
        "month": ["unknown", "2012-12", "2013-01"],
        "type": ["unknown", "html"],
        "status": ["ok"],
        **(labels or {}),
    }
    month = {"status": np.zeros(2, np.uint8), "type": np.array([1, 0], np.uint8)}
    numbers = {"digest": np.array([0, 1], np.uint8), "url": np.array([0, 1], np.uint8)}
    first = month | numbers | {"size_bytes": np.array([5, 7], np.uint8)}
    second = month | numbers | {"size_bytes": np.array([5, 9], np.uint8)}
    months = {"2012-12": first, "2013-01": second}
    varied = {name: np.array([1]) for name in months}
    return FacetColumns(months, np.array([5, 0]), varied, 2, known.__getitem__)


def test_the_largest_capture_of_a_document_counts_in_each_selection() -> None:
    found = columns()
    assert count_features(found, list(found.select({}))) == Features(4, 2, 2, 26, 14)
    rows = count_groups(found, list(found.select({})), (Criterion.MONTH,)).rows(found)
    assert [(row.values, row.features.unique_bytes) for row in rows] == [
        (("2012-12",), 12),
        (("2013-01",), 14),
    ]


@pytest.mark.parametrize("by", [(Criterion.YEAR,), (Criterion.YEAR, Criterion.MONTH)])
def test_years_are_counted_from_the_columns_of_months(by: tuple[Criterion, ...]) -> None:
    found = columns()
    rows = count_groups(found, list(found.select({})), by).rows(found)
    assert [row.values[0] for row in rows] == ["2012", "2013"]
    assert [row.features.bytes for row in rows] == [12, 14]


def test_no_captures_are_no_groups() -> None:
    found = columns()
    for by in ((Criterion.YEAR,), (Criterion.TYPE,), (Criterion.MONTH, Criterion.TYPE)):
        assert count_groups(found, [], by).rows(found) == []


class Many(list[str]):
    """A list that claims to be longer than memory allows."""

    def __len__(self) -> int:
        return 1 << 32


def test_too_many_groups_are_refused() -> None:
    found = columns({"site": Many(), "type": Many()})
    with pytest.raises(EngineError, match="too many captures, URLs or values"):
        count_groups(found, list(found.select({})), (Criterion.SITE, Criterion.TYPE))


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2**50)), max_size=20))
def test_sums_are_exact(rows: list[tuple[int, int]]) -> None:
    cells = np.array([cell for cell, _ in rows], dtype=np.int64)
    sizes = np.array([size for _, size in rows], dtype=np.int64)
    wanted = [sum(size for cell, size in rows if cell == number) for number in range(4)]
    assert sums(cells, sizes, 4).tolist() == wanted


def test_documents_of_several_sizes_count_once_a_cell() -> None:
    cells, numbers, sizes = np.array([[0, 0, 1, 1], [5, 5, 5, 6], [3, 8, 2, 4]])
    assert varied_bytes(cells, numbers, sizes, 2).tolist() == [8, 6]


@pytest.mark.parametrize("by", [(), (Criterion.MONTH,), (Criterion.TYPE,)], ids=str)
def test_counting_stops_when_nobody_waits_for_the_answer(by: tuple[Criterion, ...]) -> None:
    found = columns()
    selected = list(found.select({}))
    with working(Work()) as work:
        work.cancel()
        with pytest.raises(QuestionTimeoutError):
            count_groups(found, selected, by) if by else count_features(found, selected)


def test_both_halves_of_a_large_count_know_the_deadline() -> None:
    many = columns()
    month = {name: np.tile(one, 200_000) for name, one in many.months["2013-01"].items()}
    large = FacetColumns({"2013-01": month}, many.sizes, {}, 2, many.labels)
    with working(Work()):
        found = count_features(large, list(large.select({})))
    assert found.unique_urls == 2
    with working(Work(0.0)), pytest.raises(QuestionTimeoutError):
        count_features(large, [MonthRows("2013-01", month, None)])


ROWS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 4), st.booleans()), max_size=60)


def arrays(rows: list[tuple[int, int, bool]]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    columns = list(zip(*rows, strict=True)) or [(), (), ()]
    numbers, cells, new = columns
    return np.array(numbers, np.uint32), np.array(cells, np.uint32), np.array(new, bool)


@given(ROWS)
def test_repeats_are_all_but_the_first_of_each_pair(rows: list[tuple[int, int, bool]]) -> None:
    numbers, cells, _ = arrays(rows)
    found = repeats(numbers, cells)
    pairs = [(number, cell) for number, cell, _ in rows]
    wanted = sorted(pair for pair in set(pairs) for _ in range(pairs.count(pair) - 1))
    assert sorted(zip(found.numbers.tolist(), found.cells.tolist(), strict=True)) == wanted


@given(ROWS)
def test_only_new_pairs_are_found_once(rows: list[tuple[int, int, bool]]) -> None:
    cells, numbers = only_new(*arrays(rows))
    known = {(number, cell) for number, cell, new in rows if not new}
    wanted = sorted({(number, cell) for number, cell, new in rows if new} - known)
    assert sorted(zip(numbers.tolist(), cells.tolist(), strict=True)) == wanted


def test_pairs_that_do_not_fit_are_refused() -> None:
    cells = np.array([0, (1 << 31) - 1] * 2, dtype=np.uint32)
    fits, too_large = np.full(4, 1 << 31, np.int64), np.full(4, 1 << 32, np.int64)
    assert len(repeats(fits, cells).cells) == 2
    with pytest.raises(EngineError, match="split the archive"):
        repeats(too_large, cells)
    with pytest.raises(EngineError, match="split the archive"):
        only_new(fits, cells, np.zeros(4, bool))
