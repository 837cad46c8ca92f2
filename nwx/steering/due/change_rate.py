"""How often a page changes, estimated from captures that show whether it changed between them.

After J. Cho and H. Garcia-Molina, "Estimating Frequency of Change", ACM
Transactions on Internet Technology 3(3), 2003. Changes are taken for a Poisson
process. Two captures tell that the page changed at least once between them, or
not at all; how often it changed is not known ("existence of change").
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

_LOWEST_EXPONENT = 1e-9
_HIGHEST_EXPONENT = 500.0
_STEPS = 100
_ENOUGH = 1e-9


class ChangeObservation(NamedTuple):
    """The time between two captures, in any unit above 0, and whether the page was another."""

    elapsed: float
    changed: bool


def change_rate(observations: Sequence[ChangeObservation]) -> float:
    """Return the changes for a unit of time, above 0; the observations may be irregular.

    It is the rate that makes the observations most likely (section 5 of the
    paper): the solution r of

        sum of t / (exp(r t) - 1), of those changed  =  sum of t, of those unchanged

    where the sum of those unchanged has half an observation of mean length
    more. In the case of equal lengths t, X of n changed, this is the paper's
    estimator without bias for few observations (section 4.2),
    -log((n - X + 0.5) / (n + 0.5)) / t; it has a solution also where all
    changed. Where none changed the rate is the one at which that is as likely as
    not: log(2) / sum of t. There must be an observation.
    """
    changed = [one.elapsed for one in observations if one.changed]
    total = sum(one.elapsed for one in observations)
    if not changed:
        return math.log(2) / total
    unchanged = total - sum(changed) + 0.5 * total / len(observations)
    return _solution(changed, unchanged)


def _solution(changed: Sequence[float], unchanged: float) -> float:
    """Return the rate at which both sums are equal; the first falls as the rate grows.

    As t / (exp(r t) - 1) < 1 / r, it is below the number of changes divided
    by `unchanged`.
    """
    low, high = 0.0, len(changed) / unchanged
    for _ in range(_STEPS):
        rate = (low + high) / 2
        if _weight(changed, rate) > unchanged:
            low = rate
        else:
            high = rate
        if high - low < _ENOUGH * high:
            break
    return (low + high) / 2


def _weight(changed: Sequence[float], rate: float) -> float:
    return sum(_of_length(elapsed, rate) for elapsed in changed)


def _of_length(elapsed: float, rate: float) -> float:
    exponent = rate * elapsed
    if exponent < _LOWEST_EXPONENT:
        return 1 / rate if rate else math.inf
    if exponent > _HIGHEST_EXPONENT:
        return 0.0
    return elapsed / math.expm1(exponent)
