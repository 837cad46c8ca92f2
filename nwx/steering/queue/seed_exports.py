"""Seed files of a queue, for crawlers that read files."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

from nwx.engine.base import Engine
from nwx.engine.indices.crawl_queue import QueuedUrl
from nwx.steering.adapters.heritrix_job import SeedForm, best_waiting, blacklisted, seed_file
from nwx.steering.adapters.leases import UrlSource, archive_urls
from nwx.steering.queue.protocol import queue_url

_AT_ONCE = 1_000
_TAKE_SECONDS = 3600.0


def seed_lines(urls: Iterable[str], form: str, crawl: str) -> Iterator[str]:
    """Yield the lines of a seed file with the URLs that a queue takes."""
    queued = (QueuedUrl(url, "", 0.0) for one in urls if (url := queue_url(one)))
    return seed_file(queued, SeedForm(form), crawl)


def export_queue(
    engine: Engine, crawl: str, form: str, limit: int, least: float, *, take: bool
) -> Iterator[str]:
    """Yield waiting URLs as the lines of a seed file; with `take`, they count as fetched then."""
    queue, chosen = engine.crawl_queue(), SeedForm(form)
    found: Sequence[QueuedUrl]
    if chosen is SeedForm.HERITRIX_INCLUDE:
        found = list(islice(blacklisted(queue.scan(crawl)), limit))
    elif take:
        found = _leased(archive_urls(engine, crawl), limit, least)
    else:
        found = best_waiting(queue.scan(crawl), limit, least)
    yield from seed_file(found, chosen, crawl)
    if take:
        queue.finish([each.lease for each in found if each.lease])


def _leased(source: UrlSource, limit: int, least: float) -> list[QueuedUrl]:
    """Return the best waiting URLs, leased; what is below `least` is given back."""
    taken: list[QueuedUrl] = []
    while leased := source.lease(min(limit - len(taken), _AT_ONCE), _TAKE_SECONDS):
        good = [each for each in leased if (each.priority or 0.0) >= least]
        taken += good
        if len(good) < len(leased):
            source.release([each.lease for each in leased if (each.priority or 0.0) < least])
            break
        if len(taken) == limit:
            break
    return taken
