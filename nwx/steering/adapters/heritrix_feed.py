"""Feeding Heritrix jobs from the queue through their folders; seed files for other crawlers."""

import heapq
import json
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, closing
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import chain, repeat
from pathlib import Path
from typing import NamedTuple

from nwx.engine.indices.crawl_queue import QueuedUrl, UrlState
from nwx.errors import (
    CrawlerUnavailableError,
    EngineBusyError,
    EngineUnavailableError,
    NwxError,
    SourceError,
    UrlError,
    UsageError,
)
from nwx.steering.adapters.feed_state import (
    FeedState,
    LogPlace,
    ScheduledUrl,
    read_crawl_log,
    url_identity,
)
from nwx.steering.queue.url_sources import UrlSource
from nwx.values.crawl_log import LoggedFetch
from nwx.values.urls import clean_url
from nwx.warc.sources import is_archive_name


class ScheduleLine(NamedTuple):
    """A URL for Heritrix: its hops from a seed, and the page that links to it.

    `again` fetches it although it was fetched before.
    """

    url: str
    hops: str
    via: str
    again: bool = False


class HeritrixJob:
    """The folder of a Heritrix job, whether it is running or not."""

    def __init__(self, folder: Path) -> None:
        """Open the folder of a job; raises UsageError if it is not one."""
        if not any(folder.glob("*.cxml")):
            raise UsageError(
                f"{folder} is not the folder of a Heritrix job: it has no crawler-beans.cxml"
            )
        self.folder = folder
        self._actions = folder / "action"

    @property
    def launch(self) -> str:
        """The name of the last launch, "" if the job was never launched."""
        try:
            return (self.folder / "latest").readlink().name
        except OSError:
            return ""

    def fetches(self, launch: str, place: LogPlace) -> tuple[list[LoggedFetch], LogPlace]:
        """Return the fetches of a launch since `place`, and the next place."""
        return read_crawl_log(self.folder / launch / "logs", place)

    def schedule(self, lines: Sequence[ScheduleLine], number: int) -> None:
        """Schedule URLs in this order; Heritrix skips known ones unless `again` is set."""
        for ending, again in (("schedule", False), ("force", True)):
            text = "".join(_line(line) for line in lines if line.again == again)
            if text:
                self._act(f"{_name(number)}.{ending}", text)

    def was_given(self, number: int, launch: str) -> bool:
        """Return whether the files with a number are waiting for a launch or were read by it."""
        done = self.folder / launch / "actions-done"
        return any(self._actions.glob(f"{_name(number)}.*")) or any(
            done.glob(f"*.{_name(number)}.*")
        )

    def close_abandoned(self, launch: str) -> None:
        """Rename the WARC files that an ended launch left open to the names of closed files.

        Heritrix leaves them open when it is killed; they would never be read.
        """
        with SourceError.instead_of(OSError, f"a file in {self.folder / launch} cannot be renamed"):
            for path in sorted((self.folder / launch).rglob("*.open")):
                closed = path.with_suffix("")
                if is_archive_name(closed.name) and not closed.exists():
                    path.rename(closed)

    def _act(self, name: str, text: str) -> None:
        """Write a file into the action directory atomically, as Heritrix requires."""
        unfinished = self.folder / f".{name}"
        with SourceError.instead_of(OSError, f"{self._actions / name} cannot be written"):
            self._actions.mkdir(exist_ok=True)
            with unfinished.open("w", encoding="utf-8") as stream:
                stream.write(text)
                stream.flush()
                os.fsync(stream.fileno())
            unfinished.replace(self._actions / name)


def _name(number: int) -> str:
    return f"nwx-{number:012}"


def _line(line: ScheduleLine) -> str:
    """Return a line of a recovery log.

    Heritrix 3.13 cannot write a page that has hops but no linking page: a URL without one gets
    itself.
    """
    url = clean_url(line.url)
    return f"F+ {url} {line.hops or 'L'} {clean_via(line.via) or url}\n"


def clean_via(via: str) -> str:
    """Return the URL of the linking page, "" if it is invalid."""
    try:
        return clean_url(via)
    except UrlError:
        return ""


class SeedForm(StrEnum):
    """Formats of seed files, by the crawler that reads them."""

    URLS = "urls"
    BROWSERTRIX = "browsertrix"
    BROZZLER = "brozzler"
    HERITRIX_SCHEDULE = "heritrix-schedule"
    HERITRIX_INCLUDE = "heritrix-include"


def best_waiting(queued: Iterable[QueuedUrl], limit: int, least: float = 0.0) -> list[QueuedUrl]:
    """Return the waiting URLs of a queue with a priority of at least `least`, best first."""
    waiting = (
        (each.priority, -number, each)
        for number, each in enumerate(queued)
        if each.state is UrlState.WAITING and each.priority is not None and each.priority >= least
    )
    return [each for _, _, each in heapq.nlargest(limit, waiting, key=lambda found: found[:2])]


def blacklisted(queued: Iterable[QueuedUrl]) -> Iterator[QueuedUrl]:
    """Yield the blacklisted URLs of a queue, never to be fetched."""
    return (each for each in queued if each.state is UrlState.BLACKLISTED)


def seed_file(urls: Iterable[QueuedUrl], form: SeedForm, crawl: str) -> Iterator[str]:
    """Yield the lines of a seed file with these URLs, in their order.

    The crawler fetches each page with its resources and follows no links; nwx reads the links from
    the WARC files.
    """
    entries = [line for each in urls for line in _entry(form, each)]
    yield from _heads(form, crawl)
    if form in _YAML:
        yield "seeds:" if entries else "seeds: []"
    yield from entries


_YAML = (SeedForm.BROWSERTRIX, SeedForm.BROZZLER)


def _heads(form: SeedForm, crawl: str) -> Iterator[str]:
    match form:
        case SeedForm.BROWSERTRIX:
            yield f"collection: {_quoted(crawl or 'nwx')}"
            yield "scopeType: page"
        case SeedForm.BROZZLER:
            yield f"id: {_quoted(crawl or 'nwx')}"
            yield "scope:"
            yield "  max_hops: 0"


def _entry(form: SeedForm, queued: QueuedUrl) -> Iterator[str]:
    """Yield the line of a URL, none if it is invalid."""
    try:
        url = clean_url(queued.url)
    except UrlError:
        return
    match form:
        case SeedForm.URLS:
            yield url
        case SeedForm.BROWSERTRIX | SeedForm.BROZZLER:
            yield f"  - url: {_quoted(url)}"
        case SeedForm.HERITRIX_SCHEDULE:
            yield f"F+ {url} L {clean_via(queued.via) or url}"
        case SeedForm.HERITRIX_INCLUDE:
            yield f"F+ {url}"


def _quoted(text: str) -> str:
    """Return text as a YAML string; JSON strings are valid YAML."""
    return json.dumps(text, ensure_ascii=False)


_MOST_TRIES = 2
"""Leases without a fetch after which a URL is abandoned."""


@dataclass(frozen=True, slots=True)
class FeedOptions:
    """Options for feeding a job.

    At most `ahead` URLs wait in Heritrix: a small number follows the priorities closely, a large
    one keeps many hosts busy. A URL not fetched after `lease_seconds` is given again.
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

    URLs are stored on disk before Heritrix gets them, and finished in the queue once Heritrix has
    logged them, so none is lost if a process is killed. Heritrix drops URLs given twice.
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
        """Finish the URLs that Heritrix has logged, those of the previous launch first."""
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
        """Lease URLs and give those that Heritrix has not fetched yet."""
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

        A leased URL that was already finished in the queue is fetched again; a URL that Heritrix
        fetched on its own initiative, such as a redirect target, is not.
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
