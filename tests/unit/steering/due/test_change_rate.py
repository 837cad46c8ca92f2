"""The rate of change: the cases of the paper, and changes simulated as Poisson processes."""

import math
import random
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nwx.steering.due.change_rate import ChangeObservation, change_rate


def regular(changed: int, of: int, elapsed: float = 1.0) -> list[ChangeObservation]:
    """Return observations at equal intervals, the first ones changed."""
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
    """Return what captures after these gaps see of a page that changes at a rate."""
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
    # Of ten regular captures, as in figure 5 of the paper; the plain estimator -log(1 - X/n)
    # has no value at all where each time the page was another.
    chance = random.Random(7)
    rates = [change_rate(simulated(chance, rate, [1.0] * 10)) for _ in range(4_000)]
    never = (1 - math.exp(-rate)) ** 10
    assert never < 0.02
    # A page that was never seen to change has a rate above 0, by intent.
    above = math.exp(-rate * 10) * math.log(2) / 10
    assert mean(rates) - above == pytest.approx(rate, rel=0.06)
