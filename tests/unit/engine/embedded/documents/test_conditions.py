"""Conditions on all dates of a document."""

import pytest

from nwx.engine.embedded.documents.conditions import (
    DateCondition,
    filter_condition,
    range_condition,
    without_conditions,
)
from nwx.errors import QueryError
from nwx.query.question import DocumentQuery
from nwx.query.tree import All, Bool, DateRange, Term

RANGE = DateRange("20100101000000", "20101231235959")
SPAN = (20100101000000, 20101231235959)
STONE = Term("", "stone")


def test_a_question_without_dates_and_filters_has_no_condition() -> None:
    assert filter_condition(DocumentQuery(All())) is None


def test_years_are_spans_within_the_dates_of_the_question() -> None:
    query = DocumentQuery(All(), date_from="20100601000000", filters={"year": ("2010", "2012")})
    assert filter_condition(query) == DateCondition(
        ((20100601000000, 20101231235959), (20120101000000, 20121231235959))
    )


def test_a_collection_alone_has_any_date() -> None:
    query = DocumentQuery(All(), filters={"collection": ("web",)})
    assert filter_condition(query) == DateCondition(None, ("web",))


def test_an_open_range_reaches_to_the_last_timestamp() -> None:
    assert range_condition(DateRange("20100101000000", "")).spans == (
        (20100101000000, 99999999999999),
    )


def test_dates_that_are_no_timestamps_are_refused() -> None:
    with pytest.raises(QueryError, match="'2010' is no timestamp"):
        range_condition(DateRange("2010", ""))


def test_ranges_that_hold_for_all_are_taken_out_of_a_query() -> None:
    query = Bool(must=(STONE, RANGE))
    assert without_conditions(query) == (Bool(must=(STONE,)), (DateCondition((SPAN,)),))


def test_ranges_that_are_ruled_out_are_unwanted() -> None:
    query = Bool(must=(STONE,), must_not=(RANGE,))
    assert without_conditions(query) == (
        Bool(must=(STONE,)),
        (DateCondition((SPAN,), wanted=False),),
    )


def test_a_range_by_itself_leaves_all_documents() -> None:
    assert without_conditions(RANGE) == (All(), (DateCondition((SPAN,)),))


def test_a_range_that_is_one_of_several_choices_stays() -> None:
    query = Bool(should=(STONE, RANGE))
    assert without_conditions(query) == (query, ())
