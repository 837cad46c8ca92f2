"""Documents with some hidden dates: their first dates, and queries that stay short."""

from nwx.engine.search_server.documents.hidden_parts import (
    HiddenParts,
    PartlyHidden,
    PartlyHiddenDates,
)
from nwx.query.question import HiddenDocuments, HiddenSpan

OLD, MIDDLE, NEW = ("20100101000000", "web"), ("20120101000000", "web"), ("20200101000000", "web")
DATES = PartlyHiddenDates(
    [
        PartlyHidden(9, [OLD, MIDDLE], [NEW], own_is_hidden=True),
        PartlyHidden(3, [OLD], [NEW], own_is_hidden=False),
    ]
)
EVERY = {"match_all": {}}


def test_the_first_date_is_one_that_is_seen() -> None:
    assert DATES.first_date(9, newest=True) == MIDDLE[0]
    assert DATES.first_date(9, newest=False) == DATES.first_date(3, newest=True) == OLD[0]
    assert [DATES.first_date(number, newest=True) for number in (1, 4, 10)] == ["", "", ""]
    for _ in range(2):
        numbers, dates = DATES.in_order(newest=True)
        assert numbers.tolist() == [9, 3]
        assert dates.tolist() == [int(MIDDLE[0]), int(OLD[0])]


def test_values_that_only_hidden_dates_have() -> None:
    for _ in range(2):
        ((year, numbers),) = DATES.lost_values("year")
        assert (year, numbers.tolist()) == ("2020", [3, 9])
        assert list(DATES.lost_values("collection")) == []


def test_an_embargo_is_named_by_its_span_however_many_documents_it_hides() -> None:
    rules = HiddenDocuments("k", spans=(HiddenSpan("20150101000000", "9" * 14),))
    parts = HiddenParts(rules, (), DATES)
    for query in (parts.by_own_date(EVERY), parts.entries(EVERY)):
        assert "20150101000000" in str(query)
        assert "terms" not in str(query)
    kept = HiddenParts(rules, (), DATES, apart=[7], own=[9])
    assert "{'num': [7]}" in str(kept.entries(EVERY))
    assert "{'num': [9]}" in str(kept.by_own_date(EVERY))


def test_without_spans_entries_are_as_they_were() -> None:
    parts = HiddenParts(HiddenDocuments("k", dates={"a": frozenset({NEW})}), (), DATES)
    assert parts.entries(EVERY) == parts.by_own_date(EVERY) == EVERY
