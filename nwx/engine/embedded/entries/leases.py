"""Which waiting URLs are leased next: the best of the hosts that may be asked now."""

import heapq
import sqlite3
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from nwx.engine.indices.crawl_queue import LeaseLimits, LimitsOf

_NO_BOUND = 1 << 60


@dataclass(order=True, slots=True)
class _Offer:
    """The best URL of a host in a crawl that is not taken yet; lower ones come first."""

    rank: float
    num: int
    id: bytes = field(compare=False)
    host: int = field(compare=False)
    queue: int = field(compare=False)
    crawl: int = field(compare=False)
    others: Iterator[tuple[int, bytes, float]] = field(compare=False)


@dataclass(slots=True)
class _Bounds:
    """Remaining leases per host, per host in a crawl, and per crawl."""

    hosts: dict[int, int]
    queues: dict[int, int]
    crawls: dict[int, int]

    def take(self, offer: _Offer) -> bool:
        """Return whether a URL may be leased, and count it if so."""
        left = (self.hosts[offer.host], self.queues[offer.queue], self.crawls[offer.crawl])
        if min(left) <= 0:
            return False
        self.hosts[offer.host] -= 1
        self.queues[offer.queue] -= 1
        self.crawls[offer.crawl] -= 1
        return True


def choose_urls(
    db: sqlite3.Connection, count: int, host: str, crawl: str, now: float, limits: LimitsOf
) -> list[str]:
    """Return the ids of at most `count` URLs that may be leased now, the best first."""
    bounds = _Bounds({}, {}, {})
    found = db.execute(
        "SELECT num, name, leased + done FROM crawls WHERE waiting > 0 AND name = ifnull(?, name)",
        (crawl or None,),
    ).fetchall()
    streams = [
        _crawl_offers(db, number, given, host, now, limits(name), bounds)
        for number, name, given in found
    ]
    chosen: list[str] = []
    coming = heapq.merge(*streams)
    opened: list[_Offer] = []
    following = next(coming, None)
    while len(chosen) < count and (opened or following):
        if following is not None and (not opened or following < opened[0]):
            offer, following = following, next(coming, None)
        else:
            offer = heapq.heappop(opened)
        if bounds.take(offer):
            chosen.append(offer.id.hex())
            _offer_next(opened, offer)
    return chosen


def _offer_next(opened: list[_Offer], offer: _Offer) -> None:
    """Offer the URL of a host that follows the one taken."""
    for num, id, priority in offer.others:
        heapq.heappush(opened, replace(offer, rank=-priority, num=num, id=id))
        return


def _crawl_offers(
    db: sqlite3.Connection,
    crawl: int,
    given: int,
    host: str,
    now: float,
    limits: LeaseLimits,
    bounds: _Bounds,
) -> Iterator[_Offer]:
    """Stream the best URL of each host of a crawl that may be asked now, the best first."""
    bounds.crawls[crawl] = _left(limits.pages, given)
    rows = db.execute(
        "SELECT host_queues.num, hosts.num, in_flight, given FROM host_queues"
        " JOIN hosts ON hosts.num = host_queues.host"
        " WHERE crawl = ? AND best IS NOT NULL AND abs(leased_at - ?) >= ?"
        " AND in_flight < ? AND given < ?"
        f"{' AND hosts.host = ?' if host else ''} ORDER BY best DESC, first",
        (
            crawl,
            now,
            limits.delay_seconds,
            _NO_BOUND if limits.in_flight is None else limits.in_flight,
            _NO_BOUND if limits.pages_per_host is None else limits.pages_per_host,
            *((host,) if host else ()),
        ),
    )
    return _best_of_hosts(db, crawl, rows, limits, bounds)


def _best_of_hosts(
    db: sqlite3.Connection,
    crawl: int,
    rows: Iterator[Sequence[int]],
    limits: LeaseLimits,
    bounds: _Bounds,
) -> Iterator[_Offer]:
    for queue, host, in_flight, given in rows:
        if bounds.crawls[crawl] <= 0:
            return
        most = 1 if limits.delay_seconds > 0 else _left(limits.in_flight, in_flight)
        bounds.queues[queue] = _left(limits.pages_per_host, given)
        bounds.hosts[host] = min(bounds.hosts.get(host, most), most)
        urls = db.execute(
            "SELECT num, id, priority FROM urls WHERE queue = ? AND state = 'waiting'"
            " ORDER BY priority DESC, num",
            (queue,),
        )
        for num, id, priority in urls:
            yield _Offer(-priority, num, id, host, queue, crawl, urls)
            break


def _left(limit: int | None, taken: int) -> int:
    return _NO_BOUND if limit is None else max(0, limit - taken)
