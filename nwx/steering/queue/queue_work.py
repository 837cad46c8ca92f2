"""Work on the crawler's queue of an archive: updates and deliveries."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import islice

from nwx.engine.base import Engine
from nwx.engine.indices.crawl_queue import LeaseLimits, PutCounts, QueuedUrl, UrlUpdate
from nwx.errors import NwxError
from nwx.settings import Settings
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
