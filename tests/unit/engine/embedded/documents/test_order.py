"""The first documents of a result, in order."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from nwx.engine.embedded.documents.order import by_date
from nwx.model import Sort

COLUMNS: Any = SimpleNamespace(
    oldest=np.array([0, 2010, 2009, 2010, 2012]),
    newest=np.array([0, 2015, 2011, 2010, 2012]),
    id_start=np.array([0, 9, 5, 3, 1]),
)
NUMS = np.array([1, 2, 3, 4])


@pytest.mark.parametrize(
    ("sort", "nums"), [(Sort.OLDEST, [2, 3, 1, 4]), (Sort.NEWEST, [1, 4, 2, 3])]
)
def test_documents_come_by_date_and_equal_dates_by_id(sort: Sort, nums: list[int]) -> None:
    assert [one.num for one in by_date(COLUMNS, NUMS, None, 10, sort)] == nums
    assert [one.num for one in by_date(COLUMNS, NUMS, None, 2, sort)] == nums[:2]


def test_the_first_of_each_group_is_kept() -> None:
    groups = np.array([0, 7, 8, 7, 8])
    assert [one.num for one in by_date(COLUMNS, NUMS, groups, 10, Sort.OLDEST)] == [2, 3]


def test_groups_are_looked_for_beyond_the_first_documents() -> None:
    count = 500
    dates = np.arange(count)
    columns: Any = SimpleNamespace(oldest=dates, newest=dates, id_start=dates)
    groups = np.where(dates < 400, 1, 2)
    found = by_date(columns, dates, groups, 2, Sort.OLDEST)
    assert [one.num for one in found] == [0, 400]
