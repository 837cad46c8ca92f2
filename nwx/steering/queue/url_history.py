"""The captures of a URL in order of time, and the rate at which it changes."""

import math
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from nwx.cdx.rows import CdxRow, is_revisit_row
from nwx.errors import TimestampError
from nwx.values.timestamps import parse_timestamp

_HIGHEST_EXPONENT = 500.0
_STEPS = 100
_ENOUGH = 1e-10


class ChangeObservation(NamedTuple):
    """The time between two captures, above 0 in any unit, and whether the page changed."""

    elapsed: float
    changed: bool


def change_rate(observations: Sequence[ChangeObservation]) -> float:
    """Return the changes per unit of time, above 0; the observations may be irregular.

    The maximum-likelihood rate (section 5 of the paper): the solution r of

        sum of t / (exp(r t) - 1), of those changed  =  sum of t, of those unchanged

    where the sum for unchanged observations is increased by half an observation of
    mean length. With equal lengths t, X of n changed, this is the paper's unbiased
    estimator for few observations (section 4.2),
    -log((n - X + 0.5) / (n + 0.5)) / t; it has a solution also if all changed. If
    none changed, the rate is the one at which that has a probability of one half:
    log(2) / sum of t. There must be at least one observation.
    """
    changed = [one.elapsed for one in observations if one.changed]
    total = sum(one.elapsed for one in observations)
    if not changed:
        return math.log(2) / total
    unchanged = total - sum(changed) + 0.5 * total / len(observations)
    return _solution(changed, unchanged)


def _solution(changed: Sequence[float], unchanged: float) -> float:
    """Return the rate at which both sums are equal, by Newton's method.

    The first sum is convex and falls as the rate grows; as t / (exp(r t) - 1) is above 1 / r - t /
    2, it is above `unchanged` at the initial rate. So each step increases the rate, and none
    overshoots.
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


MOST_OBSERVATIONS = 1_000
"""Of a URL, the newest ones count: this bounds memory, and rates of change vary over time."""

SECONDS_A_DAY = 86_400.0
_DIGITS = 14
_NO_DIGEST = ("", "-")
_OTHER_METHOD = "__wb_method="


@dataclass(slots=True)
class UrlHistory:
    """The capture history of a URL; `last` is the newest instant, in seconds since 1970.

    Captures without success (status not 2xx) count as captures, and never as changes. Elapsed times
    are in days.
    """

    url: str
    urlkey: str
    last: float = 0.0
    captures: int = 0
    changes: int = 0
    observations: deque[ChangeObservation] = field(
        default_factory=lambda: deque(maxlen=MOST_OBSERVATIONS)
    )
    _digest: str = ""
    _seen: float = 0.0

    def add(self, row: CdxRow, instant: float) -> None:
        """Add the next capture."""
        self.url, self.last = row.url, instant
        self.captures += 1
        if row.digest in _NO_DIGEST or not _succeeded(row):
            return
        if not self._digest:
            self._digest, self._seen = row.digest, instant
            return
        changed = row.digest != self._digest
        # Captures of the same second are one observation; the last is compared with the next.
        if instant > self._seen:
            elapsed = (instant - self._seen) / SECONDS_A_DAY
            self.observations.append(ChangeObservation(elapsed, changed))
            self.changes += changed
            self._seen = instant
        self._digest = row.digest


def _succeeded(row: CdxRow) -> bool:
    return row.status.startswith("2") or (row.status == "-" and is_revisit_row(row))


class UrlHistories:
    """Builds histories from rows of captures; rows with `unreadable` dates are only counted."""

    def __init__(self) -> None:
        self.captures = 0
        self.unreadable = 0

    def read(self, rows: Iterable[CdxRow]) -> Iterator[UrlHistory]:
        """Yield the histories of rows in the order of urlkey and timestamp.

        URLs other than http and https and captures of submitted forms are left out.
        """
        for urlkey, group in groupby(rows, key=attrgetter("urlkey")):
            history = UrlHistory("", urlkey)
            for row in group:
                self.captures += 1
                if row.url[:4].lower() == "http" and _OTHER_METHOD not in urlkey:
                    self._add(history, row)
            if history.captures:
                yield history

    def _add(self, history: UrlHistory, row: CdxRow) -> None:
        try:
            history.add(row, _instant(row.timestamp))
        except TimestampError:
            self.unreadable += 1


def _instant(timestamp: str) -> float:
    """Return the seconds since 1970; the part for the day is cached."""
    if len(timestamp) == _DIGITS and timestamp.isascii() and timestamp.isdigit():
        hour, minute, second = int(timestamp[8:10]), int(timestamp[10:12]), int(timestamp[12:])
        if hour < 24 and minute < 60 and second < 60:
            return _day(timestamp[:8]) + 3_600 * hour + 60 * minute + second
    return parse_timestamp(timestamp).timestamp()


@lru_cache(maxsize=65_536)
def _day(text: str) -> float:
    return parse_timestamp(text).timestamp()
