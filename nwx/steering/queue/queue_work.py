"""Work on the crawler's queue of an archive: updates, deliveries and seed files."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice

from nwx.engine.base import Engine
from nwx.engine.indices.crawl_queue import LeaseLimits, PutCounts, QueuedUrl, UrlUpdate
from nwx.errors import NwxError
from nwx.settings import Settings
from nwx.steering.adapters.heritrix_job import SeedForm, best_waiting, blacklisted, seed_file
from nwx.steering.adapters.leases import UrlSource, archive_urls
from nwx.steering.queue.delivery import DeliveryReport, deliver_updates
from nwx.steering.queue.protocol import (
    check_queue_name,
    queue_url,
    queued_to_json,
    read_updates,
    write_updates,
)

__all__ = ["LeaseLimits", "PutCounts", "QueuedUrl", "UrlUpdate", "queued_to_json"]

_AT_ONCE = 1_000


def put_checked(engine: Engine, updates: Iterable[UrlUpdate]) -> PutCounts:
    """Put updates into the queue, held to the rules of those sent over HTTP; return the counts."""
    total, updates = PutCounts(), iter(updates)
    while some := list(islice(updates, _AT_ONCE)):
        counts = engine.crawl_queue().put(read_updates(write_updates(some)).updates)
        pairs = zip(asdict(total).items(), asdict(counts).values(), strict=True)
        total = PutCounts(**{name: one + other for (name, one), other in pairs})
    return total


@dataclass(frozen=True, slots=True)
class QueuedUpdates:
    """Numbers of updates put into a queue and of URLs that no queue takes.

    `queue` is the address of a queue elsewhere, for which they wait in the outbox.
    """

    put: int
    left_out: int
    queue: str = ""


def queue_updates(
    engine: Engine, updates: Iterable[UrlUpdate | None], queue: str = ""
) -> QueuedUpdates:
    """Put updates into the queue of an archive, or into its outbox; None counts as left out."""
    put = left_out = 0
    updates = iter(updates)
    while some := list(islice(updates, _AT_ONCE)):
        taken = [one for one in some if one]
        if queue:
            engine.outbox().add(taken, queue)
        else:
            engine.crawl_queue().put(taken)
        put += len(taken)
        left_out += len(some) - len(taken)
    return QueuedUpdates(put, left_out, queue)


def queue_repairs(
    engine: Engine, urls: Iterable[str], listed: int, crawl: str, address: str | None
) -> QueuedUpdates:
    """Put URLs into the queue, the first ones with the highest priority; `listed` is how many.

    Without an address, into the queue of the crawl's specification, or the archive's.
    """
    from nwx.steering.queue.client import queue_address  # loads requests
    from nwx.steering.specifications.specification_store import specification_of

    check_queue_name("crawl", crawl)
    if address is None:
        stored = engine.crawl_index().specification(crawl) if crawl else None
        address = specification_of(stored).queue if stored else ""

    def updates() -> Iterator[UrlUpdate | None]:
        for place, one in enumerate(urls):
            url = queue_url(one)
            priority = round(1 - place / (2 * max(1, listed)), 6)
            yield UrlUpdate(url, priority, crawl=crawl, again=True) if url else None

    return queue_updates(engine, updates(), queue_address(address) if address else "")


def deliver_outbox(
    engine: Engine,
    settings: Settings,
    addresses: Sequence[str],
    token: str,
    tell: Callable[[NwxError], object],
) -> Iterator[tuple[str, DeliveryReport]]:
    """Send what waits in the outbox to its queues, or to those named; yield a report of each."""
    outbox = engine.outbox()
    for address in addresses or tuple(outbox.queues()):
        yield (
            address,
            deliver_updates(
                outbox,
                address,
                token or settings.queue_token,
                own=engine.crawl_queue(),
                until_empty=True,
                tell=tell,
            ),
        )


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
