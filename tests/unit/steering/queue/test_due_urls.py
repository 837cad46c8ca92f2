"""Intervals: given, from a specification, estimated, or the default."""

import pytest

from nwx.steering.queue.due_urls import DueAfter, DueIntervals, EstimateBounds, IntervalBasis
from nwx.steering.queue.url_history import ChangeObservation, UrlHistory
from nwx.steering.specifications.specification import DueInterval


def history(url: str = "http://www.a.example/news/1", *gaps: tuple[float, bool]) -> UrlHistory:
    found = UrlHistory(url, "example,a)/news/1", captures=1)
    found.observations.extend(ChangeObservation(*gap) for gap in gaps)
    return found


def test_a_given_interval_is_for_all() -> None:
    intervals = DueIntervals(3.0, [DueInterval(7.0)])
    assert intervals.after(history()) == DueAfter(3.0, IntervalBasis.GIVEN)


@pytest.mark.parametrize(
    ("interval", "covers"),
    [
        (DueInterval(1.0, surts=("example,a)/news",)), True),
        (DueInterval(1.0, surts=("http://(example,a,)/news/",)), True),
        (DueInterval(1.0, surts=("example,a)/sport",)), False),
        (DueInterval(1.0, hosts=("a.example",)), True),
        (DueInterval(1.0, hosts=("www.a.example",)), True),
        (DueInterval(1.0, hosts=("b.example",)), False),
    ],
)
def test_an_interval_for_some_comes_before_that_for_all(
    interval: DueInterval, covers: bool
) -> None:
    intervals = DueIntervals(None, [DueInterval(30.0), interval])
    expected = 1.0 if covers else 30.0
    assert intervals.after(history()) == DueAfter(expected, IntervalBasis.SPECIFICATION)


def test_others_are_estimated_within_bounds() -> None:
    intervals = DueIntervals(None, [DueInterval(1.0, hosts=("b.example",))])
    daily = [(1.0, True), (1.0, False)] * 20
    found = intervals.after(history("http://a.example/", *daily))
    assert found.basis is IntervalBasis.ESTIMATED
    assert 1.2 < found.days < 1.7
    assert intervals.after(history("http://a.example/", *[(0.01, True)] * 9)).days == 1.0
    assert intervals.after(history("http://a.example/", *[(900.0, False)] * 9)).days == 365.0
    bounds = EstimateBounds(5.0, 10.0, 7.0)
    assert DueIntervals(bounds=bounds).after(history("http://a/", *daily)).days == 5.0


def test_one_capture_tells_nothing() -> None:
    assert DueIntervals().after(history()) == DueAfter(30.0, IntervalBasis.USUAL)
