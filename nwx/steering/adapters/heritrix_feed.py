"""Heritrix fed from a crawler's queue."""

import time
from collections.abc import Callable
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
from itertools import chain, repeat
from pathlib import Path

from nwx.engine.indices.crawl_queue import QueuedUrl
from nwx.errors import (
    CrawlerUnavailableError,
    EngineBusyError,
    EngineUnavailableError,
    NwxError,
    SourceError,
)
from nwx.steering.adapters.feed_state import FeedState, ScheduledUrl, url_identity
from nwx.steering.adapters.heritrix_job import HeritrixJob, ScheduleLine
from nwx.steering.adapters.leases import UrlSource

_MOST_TRIES = 2
"""After so many leases without a word, a URL is one that Heritrix does not fetch."""


@dataclass(frozen=True, slots=True)
class FeedOptions:
    """Options for feeding a job.

    Heritrix has at most `ahead` URLs waiting: a small number follows the priorities closely, a
    large one keeps it busy at many hosts. A URL not fetched after `lease_seconds` is given again.
    """

    ahead: int = 25
    lease_seconds: float = 3600.0


@dataclass(slots=True)
class FeedCounts:
    """Counts of a feed: URLs given, fetched, already known to Heritrix, and never fetched."""

    given: int = 0
    fetched: int = 0
    known: int = 0
    unanswered: int = 0


@dataclass(slots=True)
class HeritrixFeed:
    """Feeds a job from a queue; one process at a time.

    Given URLs are on disk before Heritrix sees them, and a URL is finished in the queue when
    Heritrix has logged it. So no URL is lost if any process is killed, and Heritrix drops URLs
    given twice.
    """

    job: HeritrixJob
    state: FeedState
    source: UrlSource
    options: FeedOptions = field(default_factory=FeedOptions)
    clock: Callable[[], float] = time.time
    counts: FeedCounts = field(default_factory=FeedCounts)
    _launch: str = ""

    def turn(self) -> bool:
        """Finish fetched URLs and give more; return whether anything changed."""
        launch = self.job.launch
        if not launch:
            return False
        fetched = self._take_fetches(launch)
        if launch != self._launch:
            self._give_again(launch)
        return self._give_more() or fetched

    def _take_fetches(self, launch: str) -> bool:
        """Finish the URLs that Heritrix has logged, first from the previous launch."""
        any_found = False
        for name in dict.fromkeys((self.state.launch or launch, launch)):
            while True:
                found, place = self.job.fetches(name, self.state.log_place)
                if place == self.state.log_place:
                    break
                any_found |= bool(found)
                with self.state.changing():
                    done = self.state.fetch(found)
                    self.source.finish([url.lease for url in done])
                    self.state.finish(url.key for url in done)
                    self.state.drop(url.key for url in done)
                    self.state.set_log_place(place)
                self.counts.fetched += len(done)
        return any_found

    def _give_again(self, launch: str) -> None:
        """Give unfetched URLs again, unless this launch already has them."""
        waiting = self.state.scheduled()
        if launch != self.state.launch:
            if self.state.launch:
                self.job.close_abandoned(self.state.launch)
        else:
            numbers = {url.number for url in waiting}
            known = {number for number in numbers if self.job.was_given(number, launch)}
            waiting = [url for url in waiting if url.number not in known]
        with self.state.changing():
            number = self.state.next_number()
            given = [url._replace(number=number) for url in waiting]
            for url in given:
                self.state.schedule(url)
        self._give(given, number)
        with self.state.changing():
            self.state.set_launch(launch)
        self._launch = launch

    def _give_more(self) -> bool:
        """Lease URLs and give the ones that Heritrix has not fetched yet."""
        now = self.clock()
        room = self.options.ahead - self.state.open_count(now)
        leased = self.source.lease(room, self.options.lease_seconds) if room > 0 else []
        if not leased:
            return False
        with self.state.changing():
            number = self.state.next_number()
            until = now + self.options.lease_seconds
            given = [found for one in leased if (found := self._scheduled(one, number, until))]
            leases = {url.lease for url in given}
            self.source.finish([one.lease for one in leased if one.lease not in leases])
        self._give(given, number)
        self.counts.given += len(given)
        return True

    def _scheduled(self, queued: QueuedUrl, number: int, until: float) -> ScheduledUrl | None:
        """Record a leased URL as given; None if Heritrix would not fetch it.

        A URL that the queue leases although it knows it was fetched is to be fetched again; a URL
        that Heritrix found by itself, such as a redirect target, is not.
        """
        key = url_identity(queued.url)
        before, fetched = self.state.scheduled_as(key), self.state.fetched(key)
        if (fetched and not fetched.finished) or (before and before.url != queued.url):
            self.state.finish([key])
            self.counts.known += 1
            return None
        tries = before.tries + 1 if before else 1
        if tries > _MOST_TRIES:
            self.state.drop([key])
            self.counts.unanswered += 1
            return None
        again = fetched is not None
        found = ScheduledUrl(key, queued.url, queued.via, queued.lease, tries, again, number, until)
        self.state.schedule(found)
        return found

    def _give(self, urls: list[ScheduledUrl], number: int) -> None:
        self.job.schedule([self._line(url) for url in urls], number)

    def _line(self, url: ScheduledUrl) -> ScheduleLine:
        linking = self.state.fetched(url_identity(url.via)) if url.via else None
        return ScheduleLine(url.url, f"{linking.hops if linking else ''}L", url.via, url.again)


_AWAY = (CrawlerUnavailableError, EngineBusyError, EngineUnavailableError, SourceError)
_LOOK_SECONDS = 0.2


def run_feed(
    feed: HeritrixFeed,
    interval_seconds: float,
    stopping: Callable[[], bool],
    show: Callable[[FeedCounts], object],
    tell: Callable[[NwxError, float], object],
) -> None:
    """Feed a job until `stopping` returns True.

    `show` gets the counts after every change. While the queue or the job's folder is unavailable,
    it is retried; `tell` gets the error and the seconds until the next attempt.
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


def feed_job(
    folder: Path,
    options: FeedOptions,
    source: AbstractContextManager[UrlSource],
    interval_seconds: float,
    stopping: Callable[[], bool],
    show: Callable[[FeedCounts], object],
    tell: Callable[[NwxError, float], object],
) -> None:
    """Feed the job in a folder from a queue, as `run_feed` does."""
    job = HeritrixJob(folder)
    with source as urls, closing(FeedState(folder)) as state:
        run_feed(HeritrixFeed(job, state, urls, options), interval_seconds, stopping, show, tell)
