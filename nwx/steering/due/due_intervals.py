"""After how long a URL is due again: as it is told, or estimated from its own history."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from nwx.steering.due.change_rate import change_rate
from nwx.steering.due.url_history import UrlHistory
from nwx.steering.rules.surt_prefixes import SurtPrefixes, covering_hosts, normal_host
from nwx.steering.specifications.specification import DueInterval
from nwx.values.urls import url_parts


class IntervalBasis(StrEnum):
    """What an interval is from."""

    GIVEN = "given"
    SPECIFICATION = "specification"
    ESTIMATED = "estimated"
    USUAL = "usual"


class DueAfter(NamedTuple):
    """An interval in days, and what it is from."""

    days: float
    basis: IntervalBasis


@dataclass(frozen=True, slots=True)
class EstimateBounds:
    """Between which days estimates lie, and the interval of a URL of which nothing is known."""

    least_days: float = 1.0
    most_days: float = 365.0
    usual_days: float = 30.0


class DueIntervals:
    """The intervals of URLs: one `given` for all, those of a specification, or estimates.

    Of the intervals of a specification the first that names hosts or SURT
    prefixes that cover a URL counts, and then the one that is for all.
    """

    def __init__(
        self,
        given_days: float | None = None,
        intervals: Sequence[DueInterval] = (),
        bounds: EstimateBounds | None = None,
    ) -> None:
        self._given = given_days
        self._named = [_NamedInterval(one) for one in intervals if one.surts or one.hosts]
        self._for_all = next((one.days for one in intervals if not one.surts + one.hosts), None)
        self._bounds = bounds or EstimateBounds()

    def after(self, history: UrlHistory) -> DueAfter:
        """Return after how many days a URL is due."""
        if self._given is not None:
            return DueAfter(self._given, IntervalBasis.GIVEN)
        for named in self._named:
            if named.covers(history):
                return DueAfter(named.days, IntervalBasis.SPECIFICATION)
        if self._for_all is not None:
            return DueAfter(self._for_all, IntervalBasis.SPECIFICATION)
        bounds = self._bounds
        if not history.observations:
            return DueAfter(bounds.usual_days, IntervalBasis.USUAL)
        days = 1 / change_rate(history.observations)
        within = min(max(days, bounds.least_days), bounds.most_days)
        return DueAfter(within, IntervalBasis.ESTIMATED)


class _NamedInterval:
    """An interval for some SURT prefixes and hosts."""

    def __init__(self, interval: DueInterval) -> None:
        self.days = interval.days
        self._surts = SurtPrefixes(interval.surts)
        self._hosts = frozenset(map(normal_host, interval.hosts))

    def covers(self, history: UrlHistory) -> bool:
        """Return whether the interval is for a URL."""
        if self._surts and self._surts.covering(history.urlkey):
            return True
        return bool(self._hosts) and any(
            host in self._hosts for host in covering_hosts(url_parts(history.url).host)
        )
