"""The crawler's queue on a server, and its outbox."""

import random
import secrets
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil

import msgspec

from nwx.bulk.progress import batches
from nwx.engine.entries import IndexEntry
from nwx.engine.indices.crawl_queue import (
    LEASE_SECONDS,
    MOST_LEASED_AHEAD,
    LeaseLimits,
    LimitsOf,
    OutboxEntry,
    QueueCounts,
    QueuedUrl,
    UpdateOutbox,
    UrlState,
    UrlUpdate,
    no_limits,
)
from nwx.engine.indices.entry_store import OrderField
from nwx.engine.indices.queue_entries import (
    URL_KIND,
    EntryQueue,
    KnownEntries,
    QueueEntry,
    entry_from_source,
    url_entry,
    without_pages,
)
from nwx.engine.search_server.entries.leases import (
    LeaseCandidate,
    LeaseCandidates,
    QueueHosts,
    crawl_names,
    of_crawl,
)
from nwx.engine.search_server.entries.store import ServerEntryStore, StoredEntry, term
from nwx.engine.search_server.server import Body, pause
from nwx.values.urls import host_with_port

UPDATE_KIND, _SENDER = "update", "sender"
_SENDER_BYTES = 12
_RANDOM_BYTES = 6
_MOST_QUEUES = 10_000
_NUMBERS_A_MICROSECOND = 1_000


class ServerOutbox(UpdateOutbox):
    """The outbox in the index `<prefix>-queue`.

    Numbers grow with the time of addition; updates added by several processes at the same moment
    may be in any order.
    """

    def __init__(self, store: ServerEntryStore) -> None:
        self._store = store
        self._numbers = GrowingNumbers()
        self._pending: dict[str, list[tuple[int, str]]] = {}

    def sender(self) -> str:
        def named(known: Mapping[str, IndexEntry | None]) -> dict[str, IndexEntry | None]:
            name = secrets.token_urlsafe(_SENDER_BYTES)
            new = {"id": _SENDER, "kind": _SENDER, "content": {"name": name}}
            return {} if known[_SENDER] else {_SENDER: new}

        self._store.update([_SENDER], named)
        return str(self._store.get([_SENDER])[_SENDER]["content"]["name"])

    def add(self, updates: Sequence[UrlUpdate], queue: str) -> None:
        numbers = self._numbers.take(len(updates))
        entries: list[IndexEntry] = [
            {
                "id": f"update {number:020} {secrets.token_hex(_RANDOM_BYTES)}",
                "kind": UPDATE_KIND,
                "number": number,
                "queue": queue,
                "content": {"update": _content(update)},
            }
            for number, update in zip(numbers, updates, strict=True)
        ]
        self._store.put(entries)

    def pending(self, queue: str, limit: int) -> list[OutboxEntry]:
        waiting = {"kind": UPDATE_KIND, "queue": queue}
        found = list(self._store.find(waiting, (OrderField("number"),), limit))
        # Updates added meanwhile may have lower numbers, so `delivered` removes only these.
        self._pending[queue] = [(entry["number"], entry["id"]) for entry in found]
        return [OutboxEntry(entry["number"], _update(entry)) for entry in found]

    def delivered(self, queue: str, up_to: int) -> None:
        known = self._pending.get(queue, [])
        self._store.delete([id for number, id in known if number <= up_to])
        self._pending[queue] = [(number, id) for number, id in known if number > up_to]

    def forget_pages(self, urls: Collection[str]) -> int:
        def forgotten(known: Mapping[str, IndexEntry | None]) -> dict[str, IndexEntry | None]:
            changed: dict[str, IndexEntry | None] = {}
            for id, entry in known.items():  # updates sent meanwhile are missing
                if entry and (kept := without_pages(_update(entry), urls)) != _update(entry):
                    content = {"content": {"update": _content(kept)}} if kept else {}
                    changed[id] = entry | content if kept else None
            return changed

        naming = self._store.find({"kind": UPDATE_KIND})
        ids = [one["id"] for one in naming if without_pages(_update(one), urls) != _update(one)]
        return len(self._store.update(ids, forgotten))

    def queues(self) -> dict[str, int]:
        counted = self._store.totals({"kind": UPDATE_KIND}, {"queue": _MOST_QUEUES}, "number")
        groups = sorted(counted.groups["queue"], key=lambda one: one.value)
        return {one.value: one.entries for one in groups}


def _content(update: UrlUpdate) -> str:
    return msgspec.json.encode(update).decode()


def _update(entry: IndexEntry) -> UrlUpdate:
    return msgspec.json.decode(entry["content"]["update"], type=UrlUpdate)


class GrowingNumbers:
    """Increasing numbers, in this process and, as far as clocks agree, across processes."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._own = random.randrange(_NUMBERS_A_MICROSECOND)
        self._last = 0

    def take(self, count: int) -> range:
        """Reserve and return `count` new numbers."""
        step = _NUMBERS_A_MICROSECOND
        with self._guard:
            first = max(self._last + step, time.time_ns() // 1_000 * step + self._own)
            self._last = first + (count - 1) * step
            return range(first, first + count * step, step)


_ATTEMPTS = 20
_EXPIRED_AT_ONCE = 1_000


class ServerCrawlQueue(EntryQueue):
    """The queue in the index `<prefix>-queue`.

    An entry is written only over the version that was read, so that no URL is leased twice. Updates
    of a request that fails midway may be stored in part; they are sent again. The limits `pages`
    and `pages_per_host` may be exceeded by concurrent leases of several processes.
    """

    def __init__(self, store: ServerEntryStore) -> None:
        self._store = store
        self._hosts = QueueHosts(store)
        self._numbers = GrowingNumbers()

    def _change(
        self, ids: Collection[str], change: Callable[[KnownEntries], dict[str, QueueEntry]]
    ) -> Collection[str]:
        before: dict[str, QueueEntry | None] = {}
        after: dict[str, QueueEntry] = {}

        def changed(stored: Mapping[str, IndexEntry | None]) -> dict[str, IndexEntry]:
            known = {id: entry_from_source(one) if one else None for id, one in stored.items()}
            before.update(known)
            after.update(new := change(known))
            return self._numbered(new)

        done = self._store.update(ids, changed)
        self._end_in_flight((known, after[id]) for id in done if (known := before[id]))
        return done

    def _write(
        self,
        new: Mapping[str, QueueEntry],
        known: Mapping[str, QueueEntry],
        stored: Mapping[str, StoredEntry],
    ) -> set[str]:
        """Write entries; return the ids of those that other writers changed meanwhile."""
        failed = self._store.write(self._numbered(new), stored)
        pairs = [(known[id], new[id]) for id in new if id in known and id not in failed]
        self._end_in_flight(pairs)
        return failed

    def _numbered(self, new: Mapping[str, QueueEntry]) -> dict[str, IndexEntry]:
        numbers = iter(self._numbers.take(len(new)))
        return {
            id: url_entry(id, entry if entry.number else replace(entry, number=next(numbers)))
            for id, entry in new.items()
        }

    def _end_in_flight(self, changed: Iterable[tuple[QueueEntry, QueueEntry]]) -> None:
        """Record for each host the leases that have ended."""
        ended: dict[str, Counter[int]] = defaultdict(Counter)
        for before, after in changed:
            if before.state is UrlState.LEASED and after.state is not UrlState.LEASED:
                ended[before.host][int(before.leased_until)] += 1
        if ended:
            self._hosts.end(ended)

    def lease(
        self,
        count: int,
        host: str = "",
        crawl: str = "",
        seconds: float = LEASE_SECONDS,
        limits: LimitsOf = no_limits,
    ) -> list[QueuedUrl]:
        if not self._store.refresh():
            return []
        self._end_leases()
        candidates = LeaseCandidates(self._store, self._hosts, limits)
        leased: list[QueueEntry] = []
        full: set[str] = set()
        for attempt in range(_ATTEMPTS):
            if attempt:
                pause(min(attempt, 2))
                self._store.refresh()
            wanted = count - len(leased)
            found = candidates.find(wanted, host, crawl, time.time(), full)
            if not found:
                break
            leased += self._claim(found, seconds, limits, full)
            if len(leased) >= count:
                break
        leased.sort(key=lambda one: (-(one.priority or 0.0), one.number))
        return [entry.queued() for entry in leased]

    def _claim(
        self, found: Sequence[LeaseCandidate], seconds: float, limits: LimitsOf, full: set[str]
    ) -> list[QueueEntry]:
        """Lease the candidates that their hosts allow and other processes have not taken meanwhile.

        Hosts at their limit are added to `full`.
        """
        until = ceil(time.time() + seconds)
        wanted = Counter(one.entry.host for one in found)
        of_hosts = _strictest((one.entry for one in found), limits)
        may = self._hosts.claim(wanted, of_hosts, until)
        full |= {
            host
            for host, number in wanted.items()
            if may.get(host, 0) < number or of_hosts[host].delay_seconds > 0
        }
        claimed, known, stored = {}, {}, {}
        for one in found:
            if may.get(one.entry.host, 0) > 0:
                may[one.entry.host] -= 1
                id = one.entry.id
                claimed[id] = one.entry.leased(float(until))
                known[id], stored[id] = one.entry, one.stored
        failed = self._write(claimed, known, stored)
        lost = [(claimed[id], known[id]) for id in failed]
        self._end_in_flight(lost)
        return [entry for id, entry in claimed.items() if id not in failed]

    def _end_leases(self) -> None:
        """Return URLs with expired leases to the waiting state."""
        now = time.time()
        lasting: Body = {"range": {"leased_until": {"gte": now, "lte": now + MOST_LEASED_AHEAD}}}
        filters = [term("kind", URL_KIND), term("state", str(UrlState.LEASED))]
        query: Body = {"bool": {"filter": filters, "must_not": [lasting]}}
        body: Body = {"query": query, "size": _EXPIRED_AT_ONCE}
        body |= {"seq_no_primary_term": True, "track_total_hits": False}
        while hits := self._store.search(body)["hits"]["hits"]:
            stored = {hit["_id"]: StoredEntry.of_hit(hit) for hit in hits}
            known = {id: entry_from_source(one.source) for id, one in stored.items()}
            self._write({id: one.expired() for id, one in known.items()}, known, stored)
            self._store.refresh()

    def counts(self, crawl: str = "") -> QueueCounts:
        where = {"kind": URL_KIND} | ({"crawl": crawl} if crawl else {})
        found = self._store.totals(where, {"state": len(UrlState)}, "number").groups["state"]
        return QueueCounts(**{one.value: one.entries for one in found})

    def scan(self, crawl: str = "") -> Iterator[QueuedUrl]:
        filters = [term("kind", URL_KIND), *(of_crawl(crawl) if crawl else [])]
        query: Body = {"bool": {"filter": filters}}
        for hit in self._store.stream(query, [{"number": "asc"}, {"id": "asc"}]):
            yield entry_from_source(hit["_source"]).queued()

    def forget_pages(self, urls: Collection[str]) -> int:
        hits = self._store.stream(term("kind", URL_KIND), [{"_doc": "asc"}], ["via"])
        found = [hit["_id"] for hit in hits if hit["_source"].get("via") in urls]
        return len(self._change(found, lambda known: _without_pages(known, urls)))

    def name_ports(self) -> None:
        """Move URLs with an explicit port from their bare host to host:port.

        Leased URLs are moved by a later call.
        """
        hits = self._store.stream(term("kind", URL_KIND), [{"_doc": "asc"}])
        found = {hit["_id"]: StoredEntry.of_hit(hit) for hit in hits if _is_without_port(hit)}
        known = {id: entry_from_source(one.source) for id, one in found.items()}
        new = {id: replace(one, host=host_with_port(one.url)) for id, one in known.items()}
        for some in batches(list(new), _EXPIRED_AT_ONCE):
            self._write({id: new[id] for id in some}, known, found)

    def problems(self) -> Iterator[tuple[str, str]]:
        leased: Counter[str] = Counter()
        over = time.time()
        for found in self._store.find({"kind": URL_KIND, "state": str(UrlState.LEASED)}):
            entry = entry_from_source(found)
            leased[entry.host] += entry.leased_until > over
        for host, number in sorted(leased.items()):
            # A killed process may leave too many recorded leases, but never too few.
            if self._hosts.in_flight(host, over) < number:
                yield host, "the host has fewer leases recorded than its URLs have"

    def crawls(self) -> list[str]:
        query = {"query": term("kind", URL_KIND)}
        return crawl_names(self._store, query) if self._store.refresh() else []


def _without_pages(known: KnownEntries, urls: Collection[str]) -> dict[str, QueueEntry]:
    return {id: replace(one, via="") for id, one in known.items() if one and one.via in urls}


def _is_without_port(hit: Body) -> bool:
    source = hit["_source"]
    moves = source["host"] != host_with_port(source["url"])
    return moves and ":" not in source["host"] and source["state"] != str(UrlState.LEASED)


def _strictest(entries: Iterable[QueueEntry], limits: LimitsOf) -> dict[str, LeaseLimits]:
    """Return the limits of each host: the strictest among the crawls with URLs on it."""
    found: dict[str, LeaseLimits] = {}
    for entry in entries:
        one = limits(entry.crawl)
        other = found.get(entry.host, one)
        bounds = [each for each in (one.in_flight, other.in_flight) if each is not None]
        found[entry.host] = LeaseLimits(
            delay_seconds=max(one.delay_seconds, other.delay_seconds),
            in_flight=min(bounds, default=None),
        )
    return found
