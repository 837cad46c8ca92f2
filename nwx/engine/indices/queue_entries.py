"""Entries of a queue and the effect of updates on them, the same on every engine."""

import hashlib
import secrets
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from functools import reduce
from typing import Any

from nwx.engine.indices.crawl_queue import CrawlQueue, PutCounts, QueuedUrl, UrlState, UrlUpdate
from nwx.errors import UsageError
from nwx.values.urls import host_with_port

_MOST_MARKS = 8
"""The number of senders remembered for a URL."""

_LEASE_BYTES = 9

URL_KIND = "url"
"""The kind of URL entries in the index queue, where an engine may store other entries too."""


class PutOutcome(StrEnum):
    """Outcome of an update, named as in PutCounts."""

    NEW = "new"
    CHANGED = "changed"
    UNCHANGED = "unchanged"
    BLACKLISTED = "blacklisted"


@dataclass(frozen=True, slots=True)
class QueueEntry:
    """A URL as stored in a queue.

    `priority` of a blacklisted URL is its previous one, None if it had none. `lease` is kept after
    its end until the next lease. `marks` are the last orders of senders that number their updates.
    `number` grows in the order of insertion, and is 0 until the engine assigns one.
    """

    crawl: str
    url: str
    host: str
    priority: float | None
    via: str
    state: UrlState
    lease: str = ""
    leased_until: float = 0.0
    marks: Mapping[str, int] = field(default_factory=dict)
    number: int = 0

    @property
    def id(self) -> str:
        """The id of the entry: 32 hex digits."""
        return queue_id(self.crawl, self.url)

    @property
    def is_given(self) -> bool:
        """Whether the URL was given to a crawler, and counts as a page of its host."""
        return self.state in (UrlState.LEASED, UrlState.DONE)

    def queued(self) -> QueuedUrl:
        """Return the entry as a QueuedUrl, the public form."""
        leased = self.state is UrlState.LEASED
        return QueuedUrl(
            self.url,
            self.host,
            None if self.state is UrlState.BLACKLISTED else self.priority,
            self.via,
            self.crawl,
            self.lease if leased else "",
            self.leased_until if leased else 0.0,
            self.state,
        )

    def leased(self, until: float) -> "QueueEntry":
        """Return the entry with a new lease."""
        lease = f"{self.id}-{secrets.token_urlsafe(_LEASE_BYTES)}"
        return replace(self, state=UrlState.LEASED, lease=lease, leased_until=until)

    def finished(self, lease: str) -> "QueueEntry":
        """Return the entry once the URL of a lease was fetched; unchanged for other leases."""
        if self.lease != lease or self.state not in (UrlState.LEASED, UrlState.WAITING):
            return self
        return replace(self, state=UrlState.DONE, lease="", leased_until=0.0)

    def released(self, lease: str) -> "QueueEntry":
        """Return the entry after a lease was released; unchanged for other leases."""
        if self.lease != lease or self.state is not UrlState.LEASED:
            return self
        return replace(self, state=UrlState.WAITING, lease="", leased_until=0.0)

    def expired(self) -> "QueueEntry":
        """Return the entry once its lease has ended; its holder may still finish it."""
        return replace(self, state=UrlState.WAITING)


KnownEntries = Mapping[str, QueueEntry | None]
"""Entries by id, None for ids without an entry."""


def queue_id(crawl: str, url: str) -> str:
    """Return the id of the entry of a URL: 32 hex digits."""
    key = f"{crawl}\n{url}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(key, digest_size=16).hexdigest()


def url_entry(id: str, entry: QueueEntry) -> dict[str, Any]:
    """Return the index entry of a URL in the index queue, with the names of its mapping."""
    found = {"id": id, "kind": URL_KIND, **asdict(entry)}
    found |= {"state": str(entry.state), "marks": dict(entry.marks)}
    return {name: value for name, value in found.items() if value not in ("", None, {})}


def entry_from_source(source: Mapping[str, Any]) -> QueueEntry:
    """Return the queue entry from an index entry made by `url_entry`."""
    values = {name: source[name] for name in _STORED if name in source}
    values["state"] = UrlState(source["state"])
    return QueueEntry(**{"crawl": "", "via": "", "priority": None, "host": "", **values})


def id_of_lease(lease: str) -> str:
    """Return the id of the entry of a lease."""
    return lease.partition("-")[0]


def leases_by_id(leases: Iterable[str]) -> dict[str, list[str]]:
    """Return leases by the ids of their entries; an entry may have several."""
    found: dict[str, list[str]] = {}
    for lease in leases:
        found.setdefault(id_of_lease(lease), []).append(lease)
    return found


def ended(
    known: KnownEntries,
    leases: Mapping[str, Sequence[str]],
    end: Callable[[QueueEntry, str], QueueEntry],
) -> dict[str, QueueEntry]:
    """Apply `end` to entries with each of their leases; return the entries that changed."""
    new = {id: reduce(end, leases[id], entry) for id, entry in known.items() if entry}
    return {id: entry for id, entry in new.items() if entry is not known[id]}


def updated(entry: QueueEntry | None, update: UrlUpdate) -> tuple[QueueEntry | None, PutOutcome]:
    """Return an entry after an update, and the outcome; `entry` is None for a new URL."""
    if entry is None:
        return _entered(update)
    if entry.state is UrlState.BLACKLISTED:
        return _updated_blacklisted(entry, update)
    if update.priority is None and not update.lifted:
        changed = replace(entry, state=UrlState.BLACKLISTED, lease="", leased_until=0.0)
        return changed, PutOutcome.CHANGED
    requeued = update.again and entry.state is UrlState.DONE
    priority = entry.priority if update.priority is None else update.priority
    via = update.via or entry.via
    if not requeued and (priority, via) == (entry.priority, entry.via):
        return entry, PutOutcome.UNCHANGED
    state = UrlState.WAITING if requeued else entry.state
    same = not requeued and priority == entry.priority
    changed = replace(entry, priority=priority, via=via, state=state)
    return changed, PutOutcome.UNCHANGED if same else PutOutcome.CHANGED


def _entered(update: UrlUpdate) -> tuple[QueueEntry | None, PutOutcome]:
    if update.priority is None and update.lifted:
        return None, PutOutcome.UNCHANGED
    state = UrlState.BLACKLISTED if update.priority is None else UrlState.WAITING
    host = host_with_port(update.url)
    entered = QueueEntry(update.crawl, update.url, host, update.priority, update.via, state)
    return entered, PutOutcome.NEW


def _updated_blacklisted(entry: QueueEntry, update: UrlUpdate) -> tuple[QueueEntry, PutOutcome]:
    if not update.lifted:
        same = update.priority is None
        return entry, PutOutcome.UNCHANGED if same else PutOutcome.BLACKLISTED
    priority = entry.priority or 0.0 if update.priority is None else update.priority
    changed = replace(entry, priority=priority, via=update.via or entry.via, state=UrlState.WAITING)
    return changed, PutOutcome.CHANGED


def without_pages(update: UrlUpdate, urls: Collection[str]) -> UrlUpdate | None:
    """Return an update without purged pages, None if nothing remains.

    An update that blacklists a purged page stays, as it keeps crawlers away from it.
    """
    if update.url in urls and (update.priority is not None or update.lifted):
        return None
    return update._replace(via="") if update.via in urls else update


_STORED = tuple(one.name for one in fields(QueueEntry))


class UpdateBatch:
    """Updates to apply in order to the known entries of their URLs."""

    def __init__(self, updates: Sequence[UrlUpdate], sender: str, orders: Sequence[int]) -> None:
        if sender and len(orders) != len(updates):
            raise UsageError(
                f"{len(orders)} numbers were given for {len(updates)} updates; each needs one"
            )
        self._updates = updates
        self._sender = sender
        self._orders = orders if sender else [0] * len(updates)
        self._outcomes = [PutOutcome.UNCHANGED] * len(updates)
        self._ids = [queue_id(update.crawl, update.url) for update in updates]
        self.ids = list(dict.fromkeys(self._ids))
        """The ids of the entries of the updates."""

    def apply(self, known: KnownEntries) -> dict[str, QueueEntry]:
        """Apply the updates of the known ids; return the entries to write by id."""
        entries = dict(known)
        for place, (id, update) in enumerate(zip(self._ids, self._updates, strict=True)):
            if id in known:
                entries[id], self._outcomes[place] = self._apply(
                    entries[id], update, self._orders[place]
                )
        return {id: one for id, one in entries.items() if one and one is not known[id]}

    @property
    def counts(self) -> PutCounts:
        """The counts of outcomes; for an update that was applied again, the last one counts."""
        return PutCounts(**{str(name): count for name, count in Counter(self._outcomes).items()})

    def _apply(
        self, entry: QueueEntry | None, update: UrlUpdate, order: int
    ) -> tuple[QueueEntry | None, PutOutcome]:
        sender = self._sender
        if not sender:
            return updated(entry, update)
        if entry is not None and entry.marks.get(sender, order - 1) >= order:
            return entry, PutOutcome.UNCHANGED
        entry, outcome = updated(entry, update)
        if entry is None:
            return None, outcome
        others = {name: last for name, last in entry.marks.items() if name != sender}
        kept = dict(list(others.items())[1 - _MOST_MARKS :])
        return replace(entry, marks={**kept, sender: order}), outcome


class EntryQueue(CrawlQueue):
    """A queue whose entries are changed in the way of `EntryStore.update`."""

    def put(
        self, updates: Sequence[UrlUpdate], sender: str = "", orders: Sequence[int] = ()
    ) -> PutCounts:
        batch = UpdateBatch(updates, sender, orders)
        self._change(batch.ids, batch.apply)
        return batch.counts

    @abstractmethod
    def _change(
        self, ids: Collection[str], change: Callable[[KnownEntries], dict[str, QueueEntry]]
    ) -> Collection[str]:
        """Change the entries of these ids atomically; return the ids of the written ones.

        Without ids, a queue in a folder is created.
        """

    def finish(self, leases: Sequence[str]) -> int:
        return self._end(leases, QueueEntry.finished)

    def release(self, leases: Sequence[str]) -> int:
        return self._end(leases, QueueEntry.released)

    def _end(self, leases: Sequence[str], end: Callable[[QueueEntry, str], QueueEntry]) -> int:
        by_id = leases_by_id(leases)
        return len(self._change(by_id, lambda known: ended(known, by_id, end))) if by_id else 0
