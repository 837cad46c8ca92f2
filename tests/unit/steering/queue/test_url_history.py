"""Histories of URLs from capture rows."""

import math
import random
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nwx.cdx.rows import CdxRow
from nwx.steering.queue.url_history import (
    MOST_OBSERVATIONS,
    ChangeObservation,
    UrlHistories,
    UrlHistory,
    change_rate,
)


def regular(changed: int, of: int, elapsed: float = 1.0) -> list[ChangeObservation]:
    """Return observations at equal intervals, the first `changed` of them with a change."""
    return [ChangeObservation(elapsed, number < changed) for number in range(of)]


@pytest.mark.parametrize(("changed", "of"), [(1, 1), (1, 10), (5, 10), (10, 10), (99, 100)])
@pytest.mark.parametrize("elapsed", [0.001, 1.0, 700.0])
def test_equal_intervals_have_the_estimator_of_the_paper(
    changed: int, of: int, elapsed: float
) -> None:
    expected = -math.log((of - changed + 0.5) / (of + 0.5)) / elapsed
    assert change_rate(regular(changed, of, elapsed)) == pytest.approx(expected)


def test_a_page_that_never_changed_has_the_rate_at_which_that_is_as_likely_as_not() -> None:
    rate = change_rate(regular(0, 8, 2.5))
    assert math.exp(-rate * 20) == pytest.approx(0.5)


def test_one_more_change_is_a_higher_rate() -> None:
    rates = [change_rate(regular(changed, 12)) for changed in range(13)]
    assert rates == sorted(rates)
    assert len(set(rates)) == 13


observation = st.builds(ChangeObservation, st.floats(1e-5, 1e4, allow_nan=False), st.booleans())


@given(st.lists(observation, min_size=1, max_size=40))
def test_a_rate_is_always_found(observations: list[ChangeObservation]) -> None:
    rate = change_rate(observations)
    assert 0 < rate < math.inf
    assert change_rate(observations[::-1]) == pytest.approx(rate, rel=1e-6)


@given(st.lists(observation, min_size=1, max_size=20), st.floats(0.01, 100))
def test_the_unit_of_time_does_not_matter(
    observations: list[ChangeObservation], factor: float
) -> None:
    scaled = [ChangeObservation(one.elapsed * factor, one.changed) for one in observations]
    assert change_rate(scaled) * factor == pytest.approx(change_rate(observations), rel=1e-6)


def simulated(chance: random.Random, rate: float, gaps: list[float]) -> list[ChangeObservation]:
    """Return the observations of captures after these gaps of a page that changes at a rate."""
    return [ChangeObservation(gap, chance.random() > math.exp(-rate * gap)) for gap in gaps]


@pytest.mark.parametrize("rate", [0.02, 0.1, 0.5, 1.5])
@pytest.mark.parametrize("regular_gaps", [True, False])
def test_simulated_changes_with_many_observations(rate: float, regular_gaps: bool) -> None:
    chance = random.Random(12)
    found = []
    for _ in range(30):
        gaps = [1.0 if regular_gaps else chance.expovariate(1.0) + 0.01 for _ in range(400)]
        found.append(change_rate(simulated(chance, rate, gaps)))
    assert mean(found) == pytest.approx(rate, rel=0.1)


@pytest.mark.parametrize("rate", [0.1, 0.3, 0.7])
def test_few_observations_have_hardly_any_bias(rate: float) -> None:
    # With ten regular captures, as in figure 5 of the paper; the plain estimator -log(1 - X/n)
    # is undefined if the page changed each time.
    chance = random.Random(7)
    rates = [change_rate(simulated(chance, rate, [1.0] * 10)) for _ in range(4_000)]
    never = (1 - math.exp(-rate)) ** 10
    assert never < 0.02
    # A page without observed changes has a rate above 0, by design.
    above = math.exp(-rate * 10) * math.log(2) / 10
    assert mean(rates) - above == pytest.approx(rate, rel=0.06)


def row(
    timestamp: str,
    digest: str = "A",
    status: str = "200",
    mime: str = "text/html",
    key: str = "example,a)/",
    url: str = "http://a.example/",
) -> CdxRow:
    return CdxRow(key, timestamp, url, mime, status, digest, "-", "-", "1", "0", "f")


def read(*rows: CdxRow) -> list[UrlHistory]:
    return list(UrlHistories().read(rows))


def test_changes_between_captures() -> None:
    (found,) = read(
        row("20260101000000"),
        row("20260103000000", mime="warc/revisit", status="-"),
        row("20260103120000", "B"),
        row("20260104120000", "A"),
    )
    assert list(found.observations) == [
        ChangeObservation(2.0, False),
        ChangeObservation(0.5, True),
        ChangeObservation(1.0, True),
    ]
    assert (found.captures, found.changes) == (4, 2)
    assert found.last - 1_767_225_600 == 3.5 * 86_400


def test_failures_are_captures_that_tell_nothing_of_changes() -> None:
    (found,) = read(
        row("20260101000000"),
        row("20260102000000", "X", "503"),
        row("20260103000000", "-"),
        row("20260105000000"),
        row("20260106000000", "Y", "404"),
    )
    assert list(found.observations) == [ChangeObservation(4.0, False)]
    assert found.captures == 5
    assert found.last - 1_767_225_600 == 5 * 86_400


def test_captures_of_the_same_second_are_one_observation() -> None:
    (found,) = read(*[row("20260101000000", digest) for digest in "ABC"], row("20260102000000"))
    assert list(found.observations) == [ChangeObservation(1.0, True)]


def test_urls_one_after_the_other() -> None:
    histories = UrlHistories()
    found = list(
        histories.read(
            [
                row("20260101000000", key="dns:a", url="dns:a.example"),
                row("20260101000000"),
                row("20260102000000", url="https://a.example/"),
                row("20260101000000", key="example,a)/?__wb_method=post"),
                row("20269901000000", key="example,b)/", url="http://b.example/"),
                row("20260101000000", key="example,c)/", url="http://c.example/"),
            ]
        )
    )
    assert [(one.url, one.captures) for one in found] == [
        ("https://a.example/", 2),
        ("http://c.example/", 1),
    ]
    assert (histories.captures, histories.unreadable) == (6, 1)


def test_the_memory_of_a_url_is_bounded() -> None:
    days = [f"{2000 + n // 336}{n // 28 % 12 + 1:02}{n % 28 + 1:02}000000" for n in range(3_000)]
    (found,) = read(*[row(day, str(n)) for n, day in enumerate(days)])
    assert len(found.observations) == MOST_OBSERVATIONS
    assert found.captures == 3_000
