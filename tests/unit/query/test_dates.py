"""Spans of dates as people write them."""

import pytest

from nwx.errors import TimestampError
from nwx.query.dates import Period, date_span


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2010", "20100101000000", "20101231235959"),
        ("2012-02", "20120201000000", "20120229235959"),
        ("201302", "20130201000000", "20130228235959"),
        ("2010-03-05", "20100305000000", "20100305235959"),
        ("2010-03-05T12", "20100305120000", "20100305125959"),
        ("2010-03-05 12:30", "20100305123000", "20100305123059"),
        ("2010-03-05T12:30:07Z", "20100305123007", "20100305123007"),
        ("20100305123007", "20100305123007", "20100305123007"),
        ("0987", "09870101000000", "09871231235959"),
    ],
)
def test_a_date_is_a_span(text: str, first: str, last: str) -> None:
    assert date_span(text) == (first, last)


@pytest.mark.parametrize(
    "text", ["", "20", "2010-13", "2010-02-30", "2010abc", "last year", "٢٠١٠"]
)
def test_anything_else_is_an_error(text: str) -> None:
    with pytest.raises(TimestampError):
        date_span(text)


def test_the_digits_that_name_a_period() -> None:
    assert {period: "20130615120000"[: period.digits] for period in Period} == {
        Period.MONTH: "201306",
        Period.YEAR: "2013",
    }
