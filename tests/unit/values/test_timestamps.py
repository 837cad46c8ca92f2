"""Timestamps and dates."""

import math
from datetime import UTC, date, datetime, timedelta, timezone

import pandas as pd
import pytest

from nwx.errors import TimestampError, UsageError
from nwx.values.timestamps import (
    Period,
    date_bound,
    date_bounds,
    date_span,
    date_text,
    normal_timestamp,
    parse_timestamp,
    seconds_between,
    to_timestamp,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("20140127171238", datetime(2014, 1, 27, 17, 12, 38, tzinfo=UTC)),
        ("201401271712", datetime(2014, 1, 27, 17, 12, tzinfo=UTC)),
        ("20140127", datetime(2014, 1, 27, tzinfo=UTC)),
        ("2014", datetime(2014, 1, 1, tzinfo=UTC)),
        ("20160229", datetime(2016, 2, 29, tzinfo=UTC)),
    ],
)
def test_parts_left_out_take_their_lowest_value(text: str, expected: datetime) -> None:
    assert parse_timestamp(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "2010abc", "201", "20145", "20141301", "20140230", "20150229", "2014010124",
        "201401010060", "20140101000060", "00000101", "201401010000001", "٢٠١٤", " 2014", "-2014",
    ],
)  # fmt: skip
def test_anything_else_is_an_error(text: str) -> None:
    with pytest.raises(TimestampError):
        parse_timestamp(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2014-02-10T00:00:01Z", "20140210000001"),
        ("2014-02-10T00:00:01.000000002Z", "20140210000001"),
        ("2014-02-10T00:00:01.01Z", "20140210000001"),
        ("2014-01", "20140101000000"),
        ("2014", "20140101000000"),
        ("2014-02-10", "20140210000000"),
        ("2014-02-10T07:08Z", "20140210070800"),
        ("2014-02-10 07:08:09", "20140210070809"),
        ("2014-2-1T7:08:09Z", "20140201070809"),
        ("2014-02-10T07:08:09+02:00", "20140210050809"),
        ("2014-02-10T23:08:09-0200", "20140211010809"),
        (" 2014-02-10T07:08:09Z\t", "20140210070809"),
        ("20140210", "20140210000000"),
    ],
)
def test_dates_of_warcs_become_14_digits(text: str, expected: str) -> None:
    assert normal_timestamp(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "", "2010abc", "2014-13-01T00:00:00Z", "2014-02-30", "2014-02-10T24:00:00Z", "yesterday",
        "2014-02-10T07:61:00Z", "2014/02/10", "Mon, 10 Feb 2014 07:08:09 GMT", "2014-",
        "0001-01-01T00:00:00+14:00", "2014-02-10T07:08:09+99:99",
    ],
)  # fmt: skip
def test_what_is_no_date_is_an_error_and_never_guessed(text: str) -> None:
    with pytest.raises(TimestampError):
        normal_timestamp(text)


def test_the_message_shows_what_was_found_and_no_more_than_a_line_of_it() -> None:
    with pytest.raises(TimestampError, match="'2010abc'"):
        normal_timestamp("2010abc")
    with pytest.raises(TimestampError) as caught:
        normal_timestamp("x" * 100_000)
    assert len(str(caught.value)) < 200


def test_instants_are_written_in_utc() -> None:
    there = timezone(timedelta(hours=2))
    assert to_timestamp(datetime(2014, 1, 1, 1, 0, 0, tzinfo=there)) == "20131231230000"
    assert to_timestamp(datetime(814, 1, 1, 1, 0, 0)) == "08140101010000"


def test_the_time_between_timestamps_is_in_seconds() -> None:
    assert seconds_between("20191231235959", "20200101000001") == 2
    assert seconds_between("2020", "20200101000100") == 60
    assert seconds_between("", "2020") == math.inf


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
def test_what_is_no_written_date_is_an_error(text: str) -> None:
    with pytest.raises(TimestampError):
        date_span(text)


def test_an_impossible_date_is_named_in_the_language_of_the_reader() -> None:
    with pytest.raises(TimestampError) as caught:
        date_span("2010-13")
    assert caught.value.text.values == {"text": "'2010-13'"}


def test_the_bounds_of_a_range_that_may_be_open() -> None:
    assert date_bounds("2010", "2010-03") == ("20100101000000", "20100331235959")
    assert date_bounds("2015", "") == ("20150101000000", "")
    assert date_bounds("", "") == ("", "")
    with pytest.raises(UsageError, match="ends before it begins"):
        date_bounds("2015", "2010")


def test_dates_of_python_are_texts_or_wrong_use() -> None:
    assert date_text(date.min) == "00010101" and date_text(datetime.min) == "00010101000000"
    east, west = timezone(timedelta(hours=5)), timezone(timedelta(hours=-5))
    for wrong in (datetime.min.replace(tzinfo=east), datetime.max.replace(tzinfo=west), pd.NaT):
        with pytest.raises(UsageError, match="is not a date"):
            date_bound(wrong, 0)


def test_the_digits_that_name_a_period() -> None:
    assert {period: "20130615120000"[: period.digits] for period in Period} == {
        Period.MONTH: "201306",
        Period.YEAR: "2013",
    }
