"""Selection of the next waiting URLs to lease, and the leases of each host."""

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import inf

from nwx.engine.entries import IndexEntry
from nwx.engine.indices.crawl_queue import LeaseLimits, LimitsOf, UrlState
from nwx.engine.indices.queue_entries import URL_KIND, QueueEntry, entry_from_source
from nwx.engine.search_server.entries.store import ServerEntryStore, StoredEntry, term
from nwx.engine.search_server.server import Body

HOST_KIND = "host"
_MOST_HOSTS = 10_000


@dataclass(frozen=True, slots=True)
class HostState:
    """The time of a host's last lease, and the numbers of its leased URLs by expiry time."""

    leased_at: float
    leases: Mapping[int, int]

    def in_flight(self, now: float) -> int:
        """Return the number of the host's URLs leased now."""
        return sum(number for until, number in self.leases.items() if until > now)

    def left(self, limits: LeaseLimits, now: float) -> float:
        """Return how many more URLs of the host may be leased now."""
        if limits.delay_seconds > 0 and abs(now - self.leased_at) < limits.delay_seconds:
            return 0
        left = inf if limits.in_flight is None else max(0, limits.in_flight - self.in_flight(now))
        return min(left, 1) if limits.delay_seconds > 0 else left

    def with_leases(self, number: int, until: int, now: float) -> "HostState":
        """Return the state with `number` more leases; expired leases are dropped."""
        kept = {key: count for key, count in self.leases.items() if key > now}
        kept[until] = kept.get(until, 0) + number
        return HostState(now, kept)

    def without(self, ended: Mapping[int, int]) -> "HostState":
        """Return the state without ended leases, given by expiry time."""
        kept = {key: count - ended.get(key, 0) for key, count in self.leases.items()}
        return HostState(self.leased_at, {key: count for key, count in kept.items() if count > 0})

    def entry(self, host: str) -> IndexEntry:
        """Return the index entry of this state."""
        return {
            "id": _id(host),
            "kind": HOST_KIND,
            "host": host,
            "leased_at": self.leased_at,
            "in_flight": sum(self.leases.values()),
            "leased_until": min(self.leases, default=0),
            "leases": {str(until): number for until, number in self.leases.items()},
        }


class QueueHosts:
    """The states of hosts, each changed by one writer at a time."""

    def __init__(self, store: ServerEntryStore) -> None:
        self._store = store

    def blocked(self, limits: LeaseLimits, now: float) -> list[str]:
        """Return hosts from which nothing may be leased now; `claim` checks again."""
        conditions: list[Body] = []
        if limits.delay_seconds > 0:
            recent = {"gt": now - limits.delay_seconds, "lt": now + limits.delay_seconds}
            conditions.append({"range": {"leased_at": recent}})
        if limits.in_flight is not None:
            full = [
                {"range": {"in_flight": {"gte": limits.in_flight}}},
                {"range": {"leased_until": {"gt": now}}},
            ]
            conditions.append({"bool": {"filter": full}})
        if not conditions:
            return []
        query = {
            "bool": {
                "filter": [term("kind", HOST_KIND)],
                "should": conditions,
                "minimum_should_match": 1,
            }
        }
        body: Body = {"query": query, "size": _MOST_HOSTS, "_source": ["host"]}
        found = self._store.search(body | {"track_total_hits": False})["hits"]["hits"]
        return [hit["_source"]["host"] for hit in found]

    def in_flight(self, host: str, now: float) -> int:
        """Return the number of a host's URLs recorded as leased now."""
        return _state(self._store.get([_id(host)]).get(_id(host))).in_flight(now)

    def claim(
        self, wanted: Mapping[str, int], limits: Mapping[str, LeaseLimits], until: int
    ) -> dict[str, int]:
        """Record leases of wanted URLs as far as limits allow; return their numbers by host."""
        may: dict[str, int] = {}

        def more(host: str, state: HostState) -> HostState | None:
            now = time.time()
            may[host] = int(min(wanted[host], state.left(limits[host], now)))
            return state.with_leases(may[host], until, now) if may[host] > 0 else None

        return {host: may[host] for host in self._change(wanted, more)}

    def end(self, ended: Mapping[str, Counter[int]]) -> None:
        """Record ended leases of hosts, given by expiry time."""
        self._change(ended, lambda host, state: state.without(ended[host]))

    def _change(
        self, hosts: Iterable[str], change: Callable[[str, HostState], HostState | None]
    ) -> list[str]:
        """Atomically change states of hosts for which `change` is not None; return those hosts."""
        by_id = {_id(host): host for host in hosts}

        def changed(known: Mapping[str, IndexEntry | None]) -> dict[str, IndexEntry]:
            states = {by_id[id]: change(by_id[id], _state(known[id])) for id in known}
            return {_id(host): one.entry(host) for host, one in states.items() if one}

        return [by_id[id] for id in self._store.update(by_id, changed)]


def _id(host: str) -> str:
    """Return the id of a host's entry, hashed because ids have at most 512 bytes."""
    return f"host {hashlib.blake2b(host.encode(), digest_size=16).hexdigest()}"


def _state(entry: IndexEntry | None) -> HostState:
    if entry is None:
        return HostState(0.0, {})
    leases = {int(until): number for until, number in entry["leases"].items()}
    return HostState(entry["leased_at"], leases)


_MOST_CRAWLS = 10_000
_GIVEN = [str(UrlState.LEASED), str(UrlState.DONE)]
BEST_FIRST: list[Body] = [{"priority": "desc"}, {"number": "asc"}, {"id": "asc"}]
_NO_BOUND = 1 << 60


@dataclass(frozen=True, slots=True)
class LeaseCandidate:
    """A URL that may be leased, and its entry with the version that was read."""

    entry: QueueEntry
    stored: StoredEntry


@dataclass(slots=True)
class _CrawlBounds:
    """The lease limits of a crawl, its remaining pages, and the pages leased so far by host."""

    limits: LeaseLimits
    pages: int
    given: Mapping[str, int]


class LeaseCandidates:
    """Searches for the URLs that may be leased next."""

    def __init__(self, store: ServerEntryStore, hosts: QueueHosts, limits: LimitsOf) -> None:
        self._store = store
        self._hosts = hosts
        self._limits = limits

    def find(
        self, count: int, host: str, crawl: str, now: float, without: Collection[str]
    ) -> list[LeaseCandidate]:
        """Return at most `count` URLs, best first, without the hosts `without`."""
        names = [crawl] if crawl else crawl_names(self._store, _waiting())
        bounds = {name: self._bounds(name) for name in names}
        offers: list[LeaseCandidate] = []
        for name, one in bounds.items():
            if one.pages > 0:
                offers += self._offers(name, one, count, host, now, without)
        offers.sort(key=lambda one: (-(one.entry.priority or 0.0), one.entry.number))
        return list(_within(offers, bounds, count))

    def _bounds(self, crawl: str) -> _CrawlBounds:
        limits = self._limits(crawl)
        if limits.pages is None and limits.pages_per_host is None:
            return _CrawlBounds(limits, _NO_BOUND, {})
        by_host: Body = {"terms": {"field": "host", "size": _MOST_HOSTS}}
        filters = [term("kind", URL_KIND), *of_crawl(crawl), {"terms": {"state": _GIVEN}}]
        body: Body = {"query": {"bool": {"filter": filters}}, "size": 0, "track_total_hits": True}
        if limits.pages_per_host is not None:
            body["aggs"] = {"hosts": by_host}
        answer = self._store.search(body)
        given = answer["hits"]["total"]["value"]
        found = answer.get("aggregations", {}).get("hosts", {}).get("buckets", ())
        pages = _NO_BOUND if limits.pages is None else limits.pages - given
        return _CrawlBounds(limits, pages, {one["key"]: one["doc_count"] for one in found})

    def _offers(
        self,
        crawl: str,
        bounds: _CrawlBounds,
        count: int,
        host: str,
        now: float,
        without: Collection[str],
    ) -> Iterator[LeaseCandidate]:
        limits = bounds.limits
        full = _full_hosts(bounds)
        excluded = {*without, *self._hosts.blocked(limits, now), *full}
        body = _waiting(
            [*of_crawl(crawl), *([term("host", host)] if host else [])],
            [{"terms": {"host": sorted(excluded)}}] if excluded else [],
        )
        body |= {"sort": BEST_FIRST, "size": count, "track_total_hits": False}
        body["seq_no_primary_term"] = True
        bounded = (limits.in_flight, limits.pages_per_host)
        if limits.delay_seconds > 0 or any(one is not None for one in bounded):
            body["collapse"] = _of_each_host(limits, count)
        for hit in self._store.search(body)["hits"]["hits"]:
            inner = hit.get("inner_hits")
            for one in inner["urls"]["hits"]["hits"] if inner else [hit]:
                stored = StoredEntry.of_hit(one)
                yield LeaseCandidate(entry_from_source(stored.source), stored)


def _full_hosts(bounds: _CrawlBounds) -> Iterator[str]:
    most = bounds.limits.pages_per_host
    if most is not None:
        yield from (host for host, given in bounds.given.items() if given >= most)


def _of_each_host(limits: LeaseLimits, count: int) -> Body:
    """Return the collapse body of a search for at most `count` URLs per host.

    `limits` may lower this number, to 1 if there is a delay between leases of a host.
    """
    most = [one for one in (limits.in_flight, limits.pages_per_host, count) if one is not None]
    number = 1 if limits.delay_seconds > 0 else min(most)
    found: Body = {"field": "host"}
    if number > 1:
        urls = {"name": "urls", "size": min(number, 100), "sort": BEST_FIRST}
        found["inner_hits"] = urls | {"seq_no_primary_term": True}
    return found


def _waiting(filters: Sequence[Body] = (), but: Sequence[Body] = ()) -> Body:
    waiting = [term("kind", URL_KIND), term("state", str(UrlState.WAITING)), *filters]
    return {"query": {"bool": {"filter": waiting, "must_not": list(but)}}}


def crawl_names(store: ServerEntryStore, body: Body) -> list[str]:
    """Return the sorted names of the crawls of the URLs that a search finds."""
    by_crawl = {"terms": {"field": "crawl", "missing": "", "size": _MOST_CRAWLS}}
    found = store.search(body | {"size": 0, "aggs": {"crawls": by_crawl}})
    return sorted(bucket["key"] for bucket in found["aggregations"]["crawls"]["buckets"])


def of_crawl(crawl: str) -> list[Body]:
    """Return the condition on entries of a crawl; "" is the crawl without a name."""
    if crawl:
        return [term("crawl", crawl)]
    return [{"bool": {"must_not": [{"exists": {"field": "crawl"}}]}}]


def _within(
    offers: Sequence[LeaseCandidate], bounds: Mapping[str, _CrawlBounds], count: int
) -> Iterator[LeaseCandidate]:
    """Yield the first `count` offers within the bounds of their crawls."""
    of_hosts: Counter[tuple[str, str]] = Counter()
    of_crawls: Counter[str] = Counter()
    for offer in offers:
        crawl, host = offer.entry.crawl, offer.entry.host
        one = bounds[crawl]
        most = one.limits.pages_per_host
        left = _NO_BOUND if most is None else most - one.given.get(host, 0)
        if of_hosts[crawl, host] < left and of_crawls[crawl] < one.pages:
            of_hosts[crawl, host] += 1
            of_crawls[crawl] += 1
            yield offer
            count -= 1
            if count == 0:
                return
