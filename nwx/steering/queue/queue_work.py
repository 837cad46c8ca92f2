"""Work on the crawler's queue of an archive: updates, deliveries and seed files."""

import random
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import accumulate, islice
from typing import Protocol, Self

from nwx.bulk.progress import batches
from nwx.engine.base import Engine
from nwx.engine.indices.crawl_queue import (
    CrawlQueue,
    LeaseLimits,
    OutboxEntry,
    PutCounts,
    QueuedUrl,
    UpdateOutbox,
    UrlUpdate,
)
from nwx.errors import (
    CrawlerError,
    CrawlerUnavailableError,
    EngineBusyError,
    EngineUnavailableError,
    NwxError,
)
from nwx.settings import Settings
from nwx.steering.adapters.heritrix_feed import SeedForm, best_waiting, blacklisted, seed_file
from nwx.steering.queue.protocol import (
    MOST_REQUEST_BYTES,
    check_queue_name,
    queue_url,
    queued_to_json,
    read_updates,
    write_updates,
)
from nwx.steering.queue.url_sources import QueueClient, UrlSource, archive_urls, queue_address
from nwx.values.arguments import chosen

MOST_AT_ONCE = 500
_OWN_BYTES = 200
"""Bytes of an item without its URLs; a character of these may take four bytes."""

_FIRST_PAUSE_SECONDS, _LONGEST_PAUSE_SECONDS = 0.5, 60.0
_LOOK_SECONDS = 0.5


class UpdateTarget(Protocol):
    """A queue that accepts updates."""

    def put(self, updates: Sequence[UrlUpdate], sender: str, orders: Sequence[int]) -> object:
        """Put updates with their numbers, as `CrawlQueue.put` does."""


@dataclass(slots=True)
class DeliveryReport:
    """Counts of a delivery: accepted updates, refused updates, failed attempts."""

    delivered: int = 0
    refused: int = 0
    failures: int = 0


TellError = Callable[[NwxError], object]


def deliver_updates(
    outbox: UpdateOutbox,
    queue: str,
    token: str = "",
    stopping: threading.Event | None = None,
    *,
    own: CrawlQueue | None = None,
    until_empty: bool = False,
    tell: TellError = lambda error: None,
    tell_accepted: Callable[[], object] = lambda: None,
) -> DeliveryReport:
    """Send waiting updates to a queue until `stopping` is set, or until none is left.

    `until_empty` selects the latter. `queue` is an http(s) address; "" is the archive's own queue,
    which is then given as `own`. While the queue is unavailable, sending is retried after growing
    pauses; `tell` is called with each failure, `tell_accepted` after each batch that the queue has
    accepted. A refused update is reported, counted and left out. Raises CrawlerError if the queue
    refuses every update, as without its token: waiting updates stay in the outbox.
    """
    ending = stopping or threading.Event()
    if not queue and own is not None:
        delivery = _Delivery(outbox, queue, own, ending, tell, tell_accepted)
        return delivery.run(until_empty=until_empty)
    with QueueClient(queue, token) as client:
        delivery = _Delivery(outbox, queue, client, ending, tell, tell_accepted)
        return delivery.run(until_empty=until_empty)


class _Delivery:
    """Delivers the updates of an outbox to one queue."""

    def __init__(
        self,
        outbox: UpdateOutbox,
        queue: str,
        target: UpdateTarget,
        ending: threading.Event,
        tell: TellError,
        tell_accepted: Callable[[], object] = lambda: None,
    ) -> None:
        self._outbox = outbox
        self._queue = queue
        self._target = target
        self._ending = ending
        self._tell, self._tell_accepted = tell, tell_accepted
        self._sender = ""
        self._report = DeliveryReport()
        self._pause = _FIRST_PAUSE_SECONDS

    def run(self, *, until_empty: bool) -> DeliveryReport:
        """Deliver until stopped, or until the outbox is empty with `until_empty`."""
        while not self._ending.is_set():
            try:
                found = self._step()
            except (CrawlerUnavailableError, EngineUnavailableError, EngineBusyError) as error:
                self._wait(error)
            else:
                self._pause = _FIRST_PAUSE_SECONDS
                if not found and until_empty:
                    break
                if not found:
                    self._ending.wait(_LOOK_SECONDS)
        return self._report

    def _step(self) -> bool:
        """Deliver a batch; return whether there was one."""
        batch = _that_fits(self._outbox.pending(self._queue, MOST_AT_ONCE))
        if batch:
            self._deliver(batch)
        return bool(batch)

    def _deliver(self, batch: list[OutboxEntry]) -> None:
        """Send a batch; refused updates are left out."""
        self._sender = self._sender or self._outbox.sender()
        numbers = [entry.number for entry in batch]
        try:
            self._target.put([entry.update for entry in batch], self._sender, numbers)
        except CrawlerUnavailableError:
            raise
        except CrawlerError as error:
            if error.item is None or not 0 <= error.item < len(batch):
                raise
            self._leave_out(batch, error.item, error)
        else:
            self._outbox.delivered(self._queue, numbers[-1])
            self._report.delivered += len(batch)
            self._tell_accepted()

    def _wait(self, error: NwxError) -> None:
        """Wait before the next attempt, longer each time."""
        self._report.failures += 1
        self._tell(error)
        asked = error.retry_seconds if isinstance(error, CrawlerUnavailableError) else 0.0
        self._ending.wait(max(asked, self._pause * random.uniform(0.5, 1.0)))
        self._pause = min(2 * self._pause, _LONGEST_PAUSE_SECONDS)

    def _leave_out(self, batch: list[OutboxEntry], item: int, error: CrawlerError) -> None:
        """Deliver the updates before a refused one, and drop the refused one."""
        if item:
            self._deliver(batch[:item])
        self._outbox.delivered(self._queue, batch[item].number)
        self._report.refused += 1
        self._tell(error)


def _that_fits(entries: list[OutboxEntry]) -> list[OutboxEntry]:
    """Return the first entries that fit into one request, at least one."""
    sizes = accumulate(_most_bytes(entry.update) for entry in entries)
    return [
        entry
        for place, (entry, size) in enumerate(zip(entries, sizes, strict=True))
        if place == 0 or size <= MOST_REQUEST_BYTES
    ]


def _most_bytes(update: UrlUpdate) -> int:
    """Return an upper bound on the bytes of an update in a request."""
    return _OWN_BYTES + 4 * (len(update.url) + len(update.via)) + len(update.crawl)


_COUNT_SECONDS = 1.0
_FINISH_LOOK_SECONDS = 0.1
_IDLE_SECONDS = 5.0
"""How long to wait at the end for a queue that accepts nothing."""


class QueueDelivery:
    """A thread that sends the updates in the outbox to the queue at an address.

    The archive's own queue, "", needs no thread: it accepts updates directly.
    """

    def __init__(self, engine: Engine, queue: str, token: str) -> None:
        self._engine, self._queue, self._token = engine, queue, token
        self._stopping = threading.Event()
        self._counted = 0.0
        self._undelivered = 0
        self._thread = threading.Thread(target=self._deliver) if queue else None
        self.problem = ""
        """The reason of the last failed attempt, "" if none failed or the queue accepts again."""

    def undelivered(self) -> int:
        """Return the number of updates that the queue has not accepted yet, as last counted.

        They are counted every second, unless the engine is unavailable or busy.
        """
        if self._thread is not None and time.monotonic() - self._counted >= _COUNT_SECONDS:
            with suppress(EngineUnavailableError, EngineBusyError):
                self._undelivered = self._engine.outbox().queues().get(self._queue, 0)
            self._counted = time.monotonic()
        return self._undelivered

    def finish(self, stopping: Callable[[], bool]) -> None:
        """Wait until everything is delivered, or the queue accepts nothing for some seconds."""
        last, since = self.undelivered(), time.monotonic()
        while last and self._is_running and not stopping():
            time.sleep(_FINISH_LOOK_SECONDS)
            left = self.undelivered()
            if left != last:
                last, since = left, time.monotonic()
            if time.monotonic() - since > _IDLE_SECONDS:
                return

    @property
    def _is_running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def _deliver(self) -> None:
        try:
            deliver_updates(
                self._engine.outbox(),
                self._queue,
                self._token,
                self._stopping,
                tell=self._note,
                tell_accepted=self._forget,
            )
        except NwxError as error:
            self._note(error)

    def _note(self, error: NwxError) -> None:
        self.problem = str(error)

    def _forget(self) -> None:
        self.problem = ""

    def __enter__(self) -> Self:
        if self._thread is not None:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
            self._counted = 0.0


__all__ = ["LeaseLimits", "PutCounts", "QueuedUrl", "UrlUpdate", "queued_to_json"]

_AT_ONCE = 1_000


def put_checked(engine: Engine, updates: Iterable[UrlUpdate]) -> PutCounts:
    """Put updates into the queue, checked like those sent over HTTP; return the counts."""
    total = PutCounts()
    for some in batches(updates, _AT_ONCE):
        counts = engine.crawl_queue().put(read_updates(write_updates(some)).updates)
        pairs = zip(asdict(total).items(), asdict(counts).values(), strict=True)
        total = PutCounts(**{name: one + other for (name, one), other in pairs})
    return total


@dataclass(frozen=True, slots=True)
class QueuedUpdates:
    """Numbers of updates put into a queue and of URLs that no queue accepts.

    `queue` is the address of another queue, for which the updates wait in the outbox.
    """

    put: int
    left_out: int
    queue: str = ""


def queue_updates(
    engine: Engine, updates: Iterable[UrlUpdate | None], queue: str = ""
) -> QueuedUpdates:
    """Put updates into the queue of an archive, or into its outbox; None counts as left out."""
    put = left_out = 0
    for some in batches(updates, _AT_ONCE):
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
    """Put URLs into a queue, the first with the highest priority; `listed` is their number.

    Without `address` it is the queue of the crawl's specification, or else the archive's.
    """
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
    """Deliver the outbox to all its queues, or to `addresses`; yield each with its report."""
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
_MOST_SEEDS = 1_000


def seed_lines(urls: Iterable[str], form: str, crawl: str) -> Iterator[str]:
    """Yield the lines of a seed file with the URLs that a queue accepts."""
    queued = (QueuedUrl(url, "", 0.0) for one in urls if (url := queue_url(one)))
    return seed_file(queued, SeedForm(form), crawl)


def export_queue(
    engine: Engine, crawl: str, form: str, limit: int | None, least: float, *, take: bool
) -> Iterator[str]:
    """Yield waiting URLs as the lines of a seed file; with `take`, then mark them as fetched.

    Without `limit`, yields the best 1,000, but all blacklisted ones.
    """
    queue, wanted = engine.crawl_queue(), chosen(SeedForm, form)
    found: Sequence[QueuedUrl]
    if wanted is SeedForm.HERITRIX_INCLUDE:
        found = list(islice(blacklisted(queue.scan(crawl)), limit))
    elif take:
        found = _leased(archive_urls(engine, crawl), limit or _MOST_SEEDS, least)
    else:
        found = best_waiting(queue.scan(crawl), limit or _MOST_SEEDS, least)
    yield from seed_file(found, wanted, crawl)
    if take:
        queue.finish([each.lease for each in found if each.lease])


def _leased(source: UrlSource, limit: int, least: float) -> list[QueuedUrl]:
    """Lease and return the best waiting URLs; release those below `least`."""
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
