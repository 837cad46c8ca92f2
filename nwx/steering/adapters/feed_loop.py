"""A feed at work: turn after turn, until it is told to stop."""

import time
from collections.abc import Callable
from itertools import chain, repeat

from nwx.errors import (
    CrawlerUnavailableError,
    EngineBusyError,
    EngineUnavailableError,
    NwxError,
    SourceError,
)
from nwx.steering.adapters.heritrix_feed import FeedCounts, HeritrixFeed

_AWAY = (CrawlerUnavailableError, EngineBusyError, EngineUnavailableError, SourceError)
_LOOK_SECONDS = 0.2


def run_feed(
    feed: HeritrixFeed,
    interval_seconds: float,
    stopping: Callable[[], bool],
    show: Callable[[FeedCounts], object],
    tell: Callable[[NwxError, float], object],
) -> None:
    """Feed a job until `stopping` says so.

    `show` gets the counts whenever something happened. While the queue or
    the job's folder is away it is tried again, after the seconds that
    `tell` gets with the error.
    """
    pauses = _pauses()
    while not stopping():
        try:
            happened = feed.turn()
        except _AWAY as error:
            seconds = next(pauses)
            tell(error, seconds)
            _rest(seconds, stopping)
            continue
        pauses = _pauses()
        if happened:
            show(feed.counts)
        _rest(interval_seconds, stopping)


def _pauses() -> chain[float]:
    return chain((1.0, 2.0, 5.0, 10.0), repeat(30.0))


def _rest(seconds: float, stopping: Callable[[], bool]) -> None:
    until = time.monotonic() + seconds
    while not stopping() and (left := until - time.monotonic()) > 0:
        time.sleep(min(left, _LOOK_SECONDS))
