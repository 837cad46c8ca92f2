"""Waiting URLs as files that crawlers begin from: browsers, wget, Heritrix."""

import heapq
import json
from collections.abc import Iterable, Iterator
from enum import StrEnum

from nwx.engine.queue.crawl_queue import QueuedUrl, UrlState
from nwx.errors import UrlError
from nwx.steering.adapters.heritrix_job import clean_via
from nwx.values.urls import clean_url


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
    """Yield the lines of a file with these URLs, in their order.

    A crawler that reads it fetches each page and what the page consists
    of, and follows no links: nwx reads these from the WARC files.
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
