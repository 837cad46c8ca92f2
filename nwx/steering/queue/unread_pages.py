"""How far a crawler may run ahead of the analysis of the pages that it was given."""

import math
import time
from collections.abc import Callable

MOST_UNREAD = 25
"""Pages that are given and not analysed: priorities are as good as what is known of the web.

On made webs 10 cost 1 % of the relevant pages within the budget, 25 3 %, 50 6 % and 100 31 %
(`benchmarks/notes.md`).
"""

_PATIENCE_SECONDS = 60.0
_RATE_SECONDS = 2.0
"""What is analysed in this time may always be unread."""


class UnreadPages:
    """Bounds how many URLs of a crawl are given, by how many of their pages are analysed.

    Not each URL brings a page: where nothing is analysed for a minute although the bound is
    reached, all that was given counts as read, and the share of URLs that bring a page is taken
    from it. Where nobody analyses, there is no bound after that.
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
        """Return how many URLs may have been given in all, None for no bound."""
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
