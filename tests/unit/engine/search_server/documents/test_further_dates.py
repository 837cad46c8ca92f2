"""The table of all dates of documents that have several."""

import pytest

from nwx.engine.search_server.documents.further_dates import DatesCollector, FurtherDates
from nwx.query.question import DateCondition, HiddenSpan
from nwx.values.timestamps import Period

ANY = DateCondition()
JULY, AUGUST, NEXT_YEAR = "20100701000000", "20100801000000", "20110101000000"


@pytest.fixture(scope="module")
def table() -> FurtherDates:
    """Two documents, and one without an entry; entries in several indices belong to the first."""
    collector = DatesCollector()
    collector.add([(7, [f"a/{JULY}", f"b/x/{JULY}", f"a/{NEXT_YEAR}"]), (8, [f"a/{JULY}"])])
    collector.add([(3, [f"/{AUGUST}"]), (7, [f"a/{JULY}", f"/{AUGUST}"])])
    collector.add([])
    assert collector.numbers() == {3, 7, 8}
    collector.add_own([(7, (JULY, "a"))])
    collector.add_own([(3, (NEXT_YEAR, ""))])
    return collector.table()


def beyond_own(
    table: FurtherDates,
    among: list[int],
    period: Period = Period.YEAR,
    condition: DateCondition = ANY,
    hidden: list[HiddenSpan] | None = None,
) -> list[dict[str, int]]:
    """Return the counts beyond one capture and document in the period of each entry's date."""
    found = table.beyond_own(among, period, condition, hidden or [])
    return [{name: count for name, count in one.items() if count} for one in found]


def test_captures_and_documents_are_counted_by_period(table: FurtherDates) -> None:
    assert table.numbers.tolist() == [3, 7]
    assert bytes(table.included) == b"[3,7]"
    assert beyond_own(table, [3, 7, 8, 99]) == [{"2010": 3, "2011": 1}, {"2010": 1, "2011": 1}]
    by_month = [{"201007": 1, "201008": 1, "201101": 1}, {"201008": 1, "201101": 1}]
    assert beyond_own(table, [7], Period.MONTH) == by_month
    assert beyond_own(table, []) == [{}, {}]


def test_dates_that_do_not_meet_the_condition_do_not_count(table: FurtherDates) -> None:
    spans = (("20100702000000", "20100899000000"), (NEXT_YEAR, ""))
    assert beyond_own(table, [3, 7], condition=DateCondition(spans))[0] == {"2010": 2, "2011": 1}
    of_b = DateCondition(collections=("b/x", "other"))
    assert beyond_own(table, [3, 7], condition=of_b) == [{"2010": 1}, {"2010": 1}]


def test_hidden_spans_do_not_count(table: FurtherDates) -> None:
    hidden = [HiddenSpan(JULY, JULY, "a"), HiddenSpan(AUGUST, "9" * 14), HiddenSpan("0", "1", "c")]
    assert beyond_own(table, [3, 7], hidden=hidden) == [{"2010": 1}, {"2010": 1}]


def test_nothing_makes_an_empty_table() -> None:
    assert beyond_own(DatesCollector().table(), [1]) == [{}, {}]
