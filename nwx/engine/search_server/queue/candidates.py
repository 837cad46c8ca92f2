"""Which waiting URLs may be leased next, as searches find them; what is leased is checked later."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from nwx.engine.queue.crawl_queue import LeaseLimits, LimitsOf, UrlState
from nwx.engine.queue.entries import URL_KIND, QueueEntry, entry_from_source
from nwx.engine.search_server.entry_store import ServerEntryStore, StoredEntry, term
from nwx.engine.search_server.queue.hosts import QueueHosts
from nwx.engine.search_server.server import Body

_MOST_HOSTS = 10_000
_MOST_CRAWLS = 10_000
_GIVEN = [str(UrlState.LEASED), str(UrlState.DONE)]
BEST_FIRST: list[Body] = [{"priority": "desc"}, {"number": "asc"}, {"id": "asc"}]
_NO_BOUND = 1 << 60


@dataclass(frozen=True, slots=True)
class LeaseCandidate:
    """A URL that may be leased, and the version of its entry that was found."""

    entry: QueueEntry
    stored: StoredEntry


@dataclass(slots=True)
class _CrawlBounds:
    """What may still be leased of a crawl, and of its hosts as far as that is bounded."""

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
        """Return up to so many URLs, the best first; none of the hosts `without`."""
        bounds = {name: self._bounds(name) for name in self._crawls(crawl)}
        offers: list[LeaseCandidate] = []
        for name, one in bounds.items():
            if one.pages > 0:
                offers += self._offers(name, one, count, host, now, without)
        offers.sort(key=lambda one: (-(one.entry.priority or 0.0), one.entry.number))
        return list(_within(offers, bounds, count))

    def _crawls(self, crawl: str) -> list[str]:
        if crawl:
            return [crawl]
        by_crawl = {"terms": {"field": "crawl", "missing": "", "size": _MOST_CRAWLS}}
        body = _waiting() | {"size": 0, "aggs": {"crawls": by_crawl}}
        found = self._store.search(body)["aggregations"]["crawls"]["buckets"]
        return [bucket["key"] for bucket in found]

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
    """Return what has a search find so many URLs of each host at most."""
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


def of_crawl(crawl: str) -> list[Body]:
    """Return the condition that an entry is of a crawl; "" is the one without a name."""
    if crawl:
        return [term("crawl", crawl)]
    return [{"bool": {"must_not": [{"exists": {"field": "crawl"}}]}}]


def _within(
    offers: Sequence[LeaseCandidate], bounds: Mapping[str, _CrawlBounds], count: int
) -> Iterator[LeaseCandidate]:
    """Give the first so many offers that keep to the bounds of their crawls."""
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
