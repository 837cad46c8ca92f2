"""How often a page changes, estimated from captures that show whether it changed between them.

After J. Cho and H. Garcia-Molina, "Estimating Frequency of Change", ACM
Transactions on Internet Technology 3(3), 2003. Changes are taken for a Poisson
process. Two captures tell that the page changed at least once between them, or
not at all; how often it changed is not known ("existence of change").
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

_HIGHEST_EXPONENT = 500.0
_STEPS = 100
_ENOUGH = 1e-10


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
    """Return the rate at which both sums are equal, by Newton's method.

    The first sum falls as the rate grows, and is convex; as t / (exp(r t) - 1)
    is above 1 / r - t / 2, it is above `unchanged` at the rate to begin with. So each
    step goes up, and none too far.
    """
    rate = len(changed) / (unchanged + sum(changed) / 2)
    for _ in range(_STEPS):
        value, slope = -unchanged, 0.0
        for elapsed in changed:
            exponent = rate * elapsed
            if exponent < _HIGHEST_EXPONENT:
                grown = math.expm1(exponent)
                weight = elapsed / grown
                value += weight
                slope += weight * weight * (grown + 1)
        step = value / slope if slope else 0.0
        rate += step
        if step <= _ENOUGH * rate:
            break
    return rate
