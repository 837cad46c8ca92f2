"""CSV as other programs read it: RFC 4180, ISO 8601 dates, no formulas."""

import csv

import pytest

from nwx.values.csv_cells import csv_line, csv_lines


@pytest.mark.parametrize("value", ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_what_begins_a_formula_is_quoted(value: str) -> None:
    [row] = csv.reader([csv_line([value, "plain", 7, -7])])
    assert row == [f"'{value}", "plain", "7", "-7"]


def test_dates_are_written_as_iso_8601_in_columns_of_dates_only() -> None:
    rows = [
        ("20140325121732", ("20140325121732", "20150101000000"), "20140325121732", None),
        ("", (), "=1", 7),
    ]
    assert list(csv_lines(("timestamp", "dates", "title", "checked"), rows)) == [
        "timestamp,dates,title,checked\r\n",
        "2014-03-25T12:17:32Z,2014-03-25T12:17:32Z 2015-01-01T00:00:00Z,20140325121732,\r\n",
        ",,'=1,7\r\n",
    ]


def test_dates_of_cameras_and_within_texts() -> None:
    row = ("20140325121732", "20140325121732 http://a.org/20140325121732 sha1:A")
    assert list(csv_lines(("taken", "original"), [row]))[1] == (
        "2014-03-25T12:17:32,2014-03-25T12:17:32Z http://a.org/20140325121732 sha1:A\r\n"
    )


def test_a_table_of_texts_with_every_separator_is_read_back() -> None:
    rows = [["a,b", 'say "x"', "two\r\nlines"], ["", "ü", "\n"]]
    lines = csv_lines(("one", "two", "three"), rows)
    assert list(csv.reader(lines, strict=True)) == [["one", "two", "three"], *rows]
