"""Bounds on how far a crawler may run ahead of the analysis of its pages."""

import math
import time
from collections.abc import Callable

MOST_UNREAD = 25
"""Pages given and not analysed, at most: priorities only improve as pages are analysed.

On made webs 10 cost 1 % of the relevant pages within the budget, 25 3 %, 50 6 % and 100 31 %
(`benchmarks/notes.md`).
"""

_PATIENCE_SECONDS = 60.0
_RATE_SECONDS = 2.0
"""As many pages as are analysed in this time may always be unread."""


class UnreadPages:
    """Bounds how many URLs of a crawl are given, by how many of their pages are analysed.

    Not every URL yields a page: if the bound is reached and nothing is analysed for a minute, all
    given URLs count as read, and the share of URLs that yield a page is computed from them. If
    nothing is analysed at all, there is no bound after that.
    """

    def __init__(
        self, most: int = MOST_UNREAD, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._least, self._clock = most, clock
        self._begin: tuple[int, int] | None = None
        self._share = 1.0
        self._read = 0
        self._full_since: float | None = None
        self._measured = (clock(), 0)
        self._most = most

    def bound(self, given: int, analysed: int) -> int | None:
        """Return how many URLs may be given in total, None for no bound."""
        if not analysed:
            return None
        if self._begin is None:
            self._begin = given, analysed
        new, read = given - self._begin[0], analysed - self._begin[1]
        now = self._clock()
        if read > self._read:
            self._full_since, self._read = None, read
        self._measure(now, read)
        if new > 0:
            self._share = min(1.0, max(self._share, read / new))
        room = self._most - (self._share * new - read)
        if room >= 1:
            self._full_since = None
        elif self._full_since is None:
            self._full_since = now
        elif now - self._full_since >= _PATIENCE_SECONDS:
            self._full_since = None
            self._share, room = max(0.0, read / new), self._most
        if self._share <= 0:
            return None
        return given + max(0, math.floor(room / self._share))

    def _measure(self, now: float, read: int) -> None:
        then, before = self._measured
        if now - then >= _RATE_SECONDS:
            rate = (read - before) / (now - then)
            self._most = max(self._least, int(rate * _RATE_SECONDS))
            self._measured = now, read
