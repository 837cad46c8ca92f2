"""Records created from others by field names."""

import csv
from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

import pytest

from nwx.values.records import add_counts, copied, csv_line, csv_lines, from_mapping


class Place(NamedTuple):
    file: str
    offset: int = 0


@dataclass(slots=True)
class Sums:
    offset: int = 0
    kinds: Counter[str] = field(default_factory=Counter)


def test_values_come_before_sources_and_first_sources_before_others() -> None:
    assert copied(Place, Sums(3), Place("a", 2)) == Place("a", 3)
    assert copied(Place, Sums(3), file="b") == Place("b", 3)
    assert copied(Place, object(), file="c") == Place("c")


def test_a_field_without_value_or_default_is_an_error() -> None:
    with pytest.raises(TypeError):
        copied(Place, Sums(3))


def test_a_mapping_gives_what_it_has_of_the_fields() -> None:
    assert from_mapping(Place, {"file": "a", "other": 1}, offset=2) == Place("a", 2)
    assert from_mapping(Place, {"file": "a"}) == Place("a")


def test_counts_are_added_field_by_field() -> None:
    total = Sums(1, Counter(a=1))
    add_counts(total, Sums(2, Counter(a=1, b=1)))
    assert total == Sums(3, Counter(a=2, b=1))


@pytest.mark.parametrize("value", ["=cmd|' /C calc'!A0", "+1", "-1", "@SUM(A1)", "\t=1", "\r=1"])
def test_what_begins_a_formula_is_quoted(value: str) -> None:
    [row] = csv.reader([csv_line([value, "plain", 7, -7])])
    assert row == [f"'{value}", "plain", "7", "-7"]


@pytest.mark.parametrize("column", ["reviewed", "before", "after"])
def test_dates_of_reviews_and_changes(column: str) -> None:
    assert list(csv_lines((column,), [("20140325121732",)]))[1] == "2014-03-25T12:17:32Z\r\n"


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
