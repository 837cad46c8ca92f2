"""The table of all dates of documents that have several."""

import pytest

from nwx.engine.search_server.documents.conditions import DateCondition
from nwx.engine.search_server.further_dates.table import DatesCollector, FurtherDates
from nwx.query.hidden import HiddenSpan
from nwx.query.periods import Period

ANY = DateCondition()
JULY, AUGUST, NEXT_YEAR = "20100701000000", "20100801000000", "20110101000000"


@pytest.fixture(scope="module")
def table() -> FurtherDates:
    """Two documents; entries of several indices are about the first one."""
    collector = DatesCollector()
    collector.add([(7, [f"a/{JULY}", f"b/x/{JULY}", f"a/{NEXT_YEAR}"])])
    collector.add([(3, [f"/{AUGUST}"]), (7, [f"a/{JULY}", f"/{AUGUST}"])])
    collector.add([])
    assert collector.numbers() == {3, 7}
    return collector.table()


def counted(
    table: FurtherDates,
    among: list[int],
    period: Period = Period.YEAR,
    condition: DateCondition = ANY,
    hidden: list[HiddenSpan] | None = None,
) -> list[dict[str, int]]:
    return [dict(one) for one in table.periods(among, period, condition, hidden or [])]


def test_captures_and_documents_are_counted_by_period(table: FurtherDates) -> None:
    assert table.numbers.tolist() == [3, 7]
    assert counted(table, [3, 7, 99]) == [{"2010": 4, "2011": 1}, {"2010": 2, "2011": 1}]
    by_month = [{"201007": 2, "201008": 1, "201101": 1}, {"201007": 1, "201008": 1, "201101": 1}]
    assert counted(table, [7], Period.MONTH) == by_month
    assert counted(table, []) == [{}, {}]


def test_dates_that_do_not_meet_the_condition_do_not_count(table: FurtherDates) -> None:
    spans = (("20100702000000", "20100899000000"), (NEXT_YEAR, ""))
    assert counted(table, [3, 7], condition=DateCondition(spans))[0] == {"2010": 2, "2011": 1}
    of_b = DateCondition(collections=("b/x", "other"))
    assert counted(table, [3, 7], condition=of_b) == [{"2010": 1}, {"2010": 1}]


def test_hidden_spans_do_not_count(table: FurtherDates) -> None:
    hidden = [HiddenSpan(JULY, JULY, "a"), HiddenSpan(AUGUST, "9" * 14), HiddenSpan("0", "1", "c")]
    assert counted(table, [3, 7], hidden=hidden) == [{"2010": 1}, {"2010": 1}]


def test_nothing_makes_an_empty_table() -> None:
    assert counted(DatesCollector().table(), [1]) == [{}, {}]
