"""The files of a Heritrix job, and seed files for other crawlers."""

import heapq
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

from nwx.engine.indices.crawl_queue import QueuedUrl, UrlState
from nwx.errors import SourceError, UrlError, UsageError
from nwx.steering.adapters.feed_state import LogPlace, read_crawl_log
from nwx.values.crawl_log import LoggedFetch
from nwx.values.urls import clean_url
from nwx.warc.sources import is_archive_name


class ScheduleLine(NamedTuple):
    """A URL for Heritrix: its hops from a seed, and the page that links to it.

    `again` means: fetch it although it was fetched before.
    """

    url: str
    hops: str
    via: str
    again: bool = False


class HeritrixJob:
    """A job by its folder, whether Heritrix runs it now or not."""

    def __init__(self, folder: Path) -> None:
        """Take a folder; raises UsageError where it is not that of a job."""
        if not any(folder.glob("*.cxml")):
            raise UsageError(
                f"{folder} is no folder of a Heritrix job: it has no crawler-beans.cxml"
            )
        self.folder = folder
        self._actions = folder / "action"

    @property
    def launch(self) -> str:
        """The name of the last launch, "" where the job was never launched."""
        try:
            return (self.folder / "latest").readlink().name
        except OSError:
            return ""

    def fetches(self, launch: str, place: LogPlace) -> tuple[list[LoggedFetch], LogPlace]:
        """Return the fetches of a launch since `place`, and the next place."""
        return read_crawl_log(self.folder / launch / "logs", place)

    def schedule(self, lines: Sequence[ScheduleLine], number: int) -> None:
        """Have URLs scheduled in this order, unless Heritrix has seen them or `again` is set."""
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
        """Rename the WARC files that an ended launch left open to the names of closed ones.

        Heritrix leaves them open when it is killed; they would never be read.
        """
        with SourceError.instead_of(OSError, f"a file in {self.folder / launch} cannot be renamed"):
            for path in sorted((self.folder / launch).rglob("*.open")):
                closed = path.with_suffix("")
                if is_archive_name(closed.name) and not closed.exists():
                    path.rename(closed)

    def _act(self, name: str, text: str) -> None:
        """Put a file into the action directory; it is whole from the start, as Heritrix needs."""
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

    Heritrix 3.13 cannot write a page that has hops but no linking page: a URL without one is given
    as its own.
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
    """How a file of URLs is written, by the crawler that reads it."""

    URLS = "urls"
    BROWSERTRIX = "browsertrix"
    BROZZLER = "brozzler"
    HERITRIX_SCHEDULE = "heritrix-schedule"
    HERITRIX_INCLUDE = "heritrix-include"


def best_waiting(queued: Iterable[QueuedUrl], limit: int, least: float = 0.0) -> list[QueuedUrl]:
    """Return the waiting URLs of a queue that have a priority of at least `least`, best first."""
    waiting = (
        (each.priority, -number, each)
        for number, each in enumerate(queued)
        if each.state is UrlState.WAITING and each.priority is not None and each.priority >= least
    )
    return [each for _, _, each in heapq.nlargest(limit, waiting, key=lambda found: found[:2])]


def blacklisted(queued: Iterable[QueuedUrl]) -> Iterator[QueuedUrl]:
    """Yield the URLs of a queue that must never be fetched."""
    return (each for each in queued if each.state is UrlState.BLACKLISTED)


def seed_file(urls: Iterable[QueuedUrl], form: SeedForm, crawl: str) -> Iterator[str]:
    """Yield the lines of a seed file with these URLs, in their order.

    A crawler that reads it fetches each page with its resources, and follows no links: nwx reads
    these from the WARC files.
    """
    yield from _heads(form, crawl)
    for each in urls:
        try:
            url = clean_url(each.url)
        except UrlError:
            continue
        yield from _entry(form, url, clean_via(each.via) or url)


def _heads(form: SeedForm, crawl: str) -> Iterator[str]:
    match form:
        case SeedForm.BROWSERTRIX:
            yield f"collection: {_quoted(crawl or 'nwx')}"
            yield "scopeType: page"
            yield "seeds:"
        case SeedForm.BROZZLER:
            yield f"id: {_quoted(crawl or 'nwx')}"
            yield "scope:"
            yield "  max_hops: 0"
            yield "seeds:"


def _entry(form: SeedForm, url: str, via: str) -> Iterator[str]:
    match form:
        case SeedForm.URLS:
            yield url
        case SeedForm.BROWSERTRIX | SeedForm.BROZZLER:
            yield f"  - url: {_quoted(url)}"
        case SeedForm.HERITRIX_SCHEDULE:
            yield f"F+ {url} L {via}"
        case SeedForm.HERITRIX_INCLUDE:
            yield f"F+ {url}"


def _quoted(text: str) -> str:
    """Return text as YAML: a string of JSON is one."""
    return json.dumps(text, ensure_ascii=False)
