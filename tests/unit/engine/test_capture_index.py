"""Batches of captures in CDX order."""

import pytest

from nwx.cdx.rows import CdxRow
from nwx.engine.capture_index import CdxSpan, exactly, lowest_statuses, nearest_captures
from tests.conformance.archive import capture


def _row(urlkey: str, timestamp: str) -> CdxRow:
    return CdxRow(urlkey, timestamp, "http://a.example/", *["-"] * 8)


def test_the_bounds_are_urlkeys_and_timestamps() -> None:
    span = CdxSpan("example,a)/ 2010", "example,a)/b 2012")
    assert span.bounds() == ("example,a)/", "2010", "example,a)/b", "2012")
    assert CdxSpan("example,", "example-").bounds() == ("example,", "", "example-", "")


@pytest.mark.parametrize(
    ("urlkey", "timestamp", "beyond"),
    [
        ("example,a)/", "20111231235959", False),
        ("example,a)/", "20120101000000", True),
        ("example,a)/b", "20100101000000", True),
    ],
)
def test_a_span_of_a_urlkey_ends_before_a_timestamp(
    urlkey: str, timestamp: str, beyond: bool
) -> None:
    span = exactly("example,a)/", "2010", "2012")
    assert span.beyond(_row(urlkey, timestamp)) is beyond


def test_a_span_of_a_urlkey_without_dates_holds_all_of_it_alone() -> None:
    span = exactly("example,a)/")
    assert not span.beyond(_row("example,a)/", "99991231235959"))
    assert span.beyond(_row("example,a)/b", "19960101000000"))


def test_newest_first_ends_before_the_start() -> None:
    span = CdxSpan("example,a)/ 2010", "example,a)/ 2012", newest_first=True)
    assert not span.beyond(_row("example,a)/", "20100101000000"))
    assert span.beyond(_row("example,a)/", "20091231235959"))


def test_the_nearest_come_first() -> None:
    times = ("20100101000000", "20100101000010", "20100101000020", "20110101000000")
    captures = [capture("http://a.example/", time, offset=1) for time in times]
    found = nearest_captures(captures, "20100101000014", 3)
    assert [one.timestamp[-2:] for one in found] == ["10", "20", "00"]


def test_the_earlier_of_two_as_near_comes_first() -> None:
    later, earlier = (
        capture("http://a.example/", time, offset=1) for time in ("20100103", "20100101")
    )
    assert nearest_captures([later, earlier], "20100102000000", 9) == [earlier, later]


def test_the_lowest_status_counts_and_none_is_zero() -> None:
    found = [("a", 404), ("b", None), ("a", 200), ("b", 500), ("c", 999)]
    assert lowest_statuses(found) == {"a": 200, "b": 0, "c": 999}
