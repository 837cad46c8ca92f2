"""Entries of a queue as rows: reading, leasing, writing with their counts, checks."""

import heapq
import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from nwx.bulk.progress import batches
from nwx.engine.indices.crawl_queue import LeaseLimits, LimitsOf, UrlState
from nwx.engine.indices.queue_entries import QueueEntry
from nwx.engine.sqlite_files import among
from nwx.values.urls import host_with_port

_CHUNK = 500
_SELECT = (
    "SELECT urls.id, crawls.name, url, hosts.host, priority, via, state, lease, leased_until,"
    " marks, urls.num"
    " FROM urls JOIN host_queues ON host_queues.num = queue"
    " JOIN crawls ON crawls.num = host_queues.crawl JOIN hosts ON hosts.num = host_queues.host"
)

EntriesById = dict[str, QueueEntry]
"""Entries by id."""


def entries_of(db: sqlite3.Connection, ids: Iterable[str]) -> EntriesById:
    """Return the existing entries among these ids."""
    command = f"{_SELECT} WHERE urls.id IN ({{}})"
    return dict(map(_entry, among(db, command, map(bytes.fromhex, ids))))


def entries_where(
    db: sqlite3.Connection, condition: str, values: Sequence[object]
) -> Iterator[tuple[str, QueueEntry]]:
    """Yield ids and entries that meet an SQL condition."""
    return map(_entry, db.execute(f"{_SELECT} {condition}", values))


def _entry(row: Sequence[Any]) -> tuple[str, QueueEntry]:
    id, crawl, url, host, priority, via, state, lease, until, marks, number = row
    known = json.loads(marks) if marks else {}
    entry = QueueEntry(
        crawl, url, host, priority, via, UrlState(state), lease, until, known, number
    )
    return id.hex(), entry


def write_entries(
    db: sqlite3.Connection, known: Mapping[str, QueueEntry], new: EntriesById
) -> None:
    """Write entries, replacing the known ones, and update the counts.

    Called within the transaction that read the known entries.
    """
    before = [known[id] for id in new if id in known]
    queues = _HostQueues(db, (*before, *new.values()))
    _write_urls(db, queues, known, new)
    _count_states(db, before, new.values())
    _count_leases(db, before, new.values())
    _note_queues(db, queues, before, new.values())


def name_ports(db: sqlite3.Connection) -> None:
    """Move URLs with an explicit port from the queue of their bare host to that of host and port.

    Formats before 2 had one queue for all ports of a host.
    """
    ported = entries_where(db, "WHERE hosts.host NOT LIKE '%:%' AND url GLOB '*://*:[0-9]*'", ())
    for some in batches(list(ported), _CHUNK):
        known = dict(some)
        new = {id: replace(one, host=host_with_port(one.url)) for id, one in known.items()}
        write_entries(db, known, {id: one for id, one in new.items() if one != known[id]})


class _HostQueues:
    """The numbers of the queues of hosts, created if missing."""

    def __init__(self, db: sqlite3.Connection, entries: Iterable[QueueEntry]) -> None:
        self._numbers: dict[tuple[str, str], int] = {}
        crawls: dict[str, int] = {}
        for key in dict.fromkeys((entry.crawl, entry.host) for entry in entries):
            crawl, host = key
            if crawl not in crawls:
                crawls[crawl] = _number(db, "crawls", "name", crawl)
            numbers = (crawls[crawl], _number(db, "hosts", "host", host))
            where = "SELECT num FROM host_queues WHERE crawl = ? AND host = ?"
            row = db.execute(where, numbers).fetchone()
            if row is None:
                db.execute("INSERT INTO host_queues (crawl, host) VALUES (?, ?)", numbers)
                row = db.execute(where, numbers).fetchone()
            self._numbers[key] = row[0]

    def number(self, entry: QueueEntry) -> int:
        return self._numbers[entry.crawl, entry.host]

    def all(self) -> Iterable[int]:
        return self._numbers.values()


def _number(db: sqlite3.Connection, table: str, column: str, value: str) -> int:
    row = db.execute(f"SELECT num FROM {table} WHERE {column} = ?", (value,)).fetchone()
    if row is not None:
        return int(row[0])
    return db.execute(f"INSERT INTO {table} ({column}) VALUES (?)", (value,)).lastrowid or 0


def _write_urls(
    db: sqlite3.Connection, queues: _HostQueues, known: Mapping[str, QueueEntry], new: EntriesById
) -> None:
    inserted = (_row(id, one, queues) for id, one in new.items() if id not in known)
    changed = (_row(id, one, queues) for id, one in new.items() if id in known)
    for rows in batches(inserted, _CHUNK):
        db.executemany(
            "INSERT INTO urls (queue, url, priority, via, state, lease, leased_until, marks, id)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            rows,
        )
    db.executemany(
        "UPDATE urls SET queue = ?, url = ?, priority = ?, via = ?, state = ?, lease = ?,"
        " leased_until = ?, marks = ? WHERE id = ?",
        changed,
    )


def _row(id: str, entry: QueueEntry, queues: _HostQueues) -> tuple[object, ...]:
    marks = json.dumps(entry.marks) if entry.marks else ""
    values = (entry.url, entry.priority, entry.via, str(entry.state), entry.lease)
    return (queues.number(entry), *values, entry.leased_until, marks, bytes.fromhex(id))


def _count_states(
    db: sqlite3.Connection, before: Iterable[QueueEntry], after: Iterable[QueueEntry]
) -> None:
    counts = Counter((one.state, one.crawl) for one in after)
    counts.subtract((one.state, one.crawl) for one in before)
    for (state, crawl), number in counts.items():
        if number:
            db.execute(f"UPDATE crawls SET {state} = {state} + ? WHERE name = ?", (number, crawl))


def _count_leases(
    db: sqlite3.Connection, before: Iterable[QueueEntry], after: Iterable[QueueEntry]
) -> None:
    counts = Counter(one.host for one in after if one.state is UrlState.LEASED)
    counts.subtract(one.host for one in before if one.state is UrlState.LEASED)
    changes = [(number, host) for host, number in counts.items() if number]
    db.executemany("UPDATE hosts SET in_flight = in_flight + ? WHERE host = ?", changes)


def _note_queues(
    db: sqlite3.Connection,
    queues: _HostQueues,
    before: Iterable[QueueEntry],
    after: Iterable[QueueEntry],
) -> None:
    """Update for each host queue the number of URLs given out, and the best waiting one."""
    counts = Counter(queues.number(one) for one in after if one.is_given)
    counts.subtract(queues.number(one) for one in before if one.is_given)
    db.executemany(
        "UPDATE host_queues SET given = given + ?, (best, first) = (SELECT priority, num FROM urls"
        " WHERE queue = host_queues.num AND state = 'waiting' ORDER BY priority DESC, num LIMIT 1)"
        " WHERE num = ?",
        [(counts[number], number) for number in queues.all()],
    )


_STATES = ("waiting", "leased", "done", "blacklisted")
_COUNTED = ", ".join(f"sum(state = '{state}') AS {state}" for state in _STATES)
_DIFFERENT = " OR ".join(f"ifnull(found.{state}, 0) <> crawls.{state}" for state in _STATES)

_CRAWLS = (
    f"WITH found AS (SELECT crawl, {_COUNTED} FROM urls"
    " JOIN host_queues ON host_queues.num = queue GROUP BY crawl)"
    " SELECT name FROM crawls LEFT JOIN found ON found.crawl = crawls.num"
    f" WHERE {_DIFFERENT} ORDER BY name"
)
_HOST_QUEUES = (
    "WITH found AS (SELECT queue, sum(state IN ('leased', 'done')) AS given,"
    " max(CASE WHEN state = 'waiting' THEN priority END) AS best FROM urls GROUP BY queue)"
    " SELECT hosts.host FROM host_queues JOIN hosts ON hosts.num = host_queues.host"
    " LEFT JOIN found ON found.queue = host_queues.num"
    " WHERE ifnull(found.given, 0) <> host_queues.given OR found.best IS NOT host_queues.best"
    " ORDER BY hosts.host"
)
_HOSTS = (
    "WITH found AS (SELECT host, count(*) AS leased FROM urls"
    " JOIN host_queues ON host_queues.num = queue WHERE state = 'leased' GROUP BY host)"
    " SELECT hosts.host FROM hosts LEFT JOIN found ON found.host = hosts.num"
    " WHERE ifnull(found.leased, 0) <> in_flight ORDER BY hosts.host"
)
_CHECKS = (
    (_CRAWLS, "the counts of the crawl are not those of its URLs"),
    (_HOST_QUEUES, "the best priority or the pages of the host are not those of its URLs"),
    (_HOSTS, "the leases in flight of the host are not those of its URLs"),
)


def queue_problems(db: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """Yield crawls and hosts whose stored counts are wrong, each with a message."""
    for query, message in _CHECKS:
        for (name,) in db.execute(query):
            yield name, message


_NO_BOUND = 1 << 60


@dataclass(order=True, slots=True)
class _Offer:
    """The best URL of a host in a crawl that is not taken yet; sorted by `rank`, lowest first."""

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
        """Count a URL as leased, if it may be; return whether it may."""
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
    """Return the ids of up to `count` URLs that may be leased now, the best first."""
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
    """Offer the next URL of the host whose URL was taken."""
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
    """Yield the best URL of each host of a crawl that may be fetched from now, the best first."""
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
