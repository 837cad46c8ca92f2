"""Entries of a queue as rows: read, written with all that is counted of them, and checked."""

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from nwx.engine.embedded.entries.tables import among
from nwx.engine.indices.crawl_queue import UrlState
from nwx.engine.indices.queue_entries import QueueEntry

_CHUNK = 500
_SELECT = (
    "SELECT urls.id, crawls.name, url, hosts.host, priority, via, state, lease, leased_until,"
    " marks, urls.num"
    " FROM urls JOIN host_queues ON host_queues.num = queue"
    " JOIN crawls ON crawls.num = host_queues.crawl JOIN hosts ON hosts.num = host_queues.host"
)

EntriesById = dict[str, QueueEntry]
"""Entries by their ids."""


def entries_of(db: sqlite3.Connection, ids: Sequence[str]) -> EntriesById:
    """Return the entries of these ids, missing ones left out."""
    command = f"{_SELECT} WHERE urls.id IN ({{}})"
    return dict(map(_entry, among(db, command, map(bytes.fromhex, ids))))


def entries_where(
    db: sqlite3.Connection, condition: str, values: Sequence[object]
) -> Iterator[tuple[str, QueueEntry]]:
    """Stream the entries, with their ids, for which a condition of SQL holds."""
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
    """Write entries over the known ones, and correct their counts.

    Called within the transaction that read the known entries.
    """
    queues = _HostQueues(db, new.values())
    _write_urls(db, queues, known, new)
    before = [known[id] for id in new if id in known]
    _count_states(db, before, new.values())
    _count_leases(db, before, new.values())
    _note_queues(db, queues, before, new.values())


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
        """Return the number of the queue that an entry is in."""
        return self._numbers[entry.crawl, entry.host]

    def all(self) -> Iterable[int]:
        """Return the numbers of all these queues."""
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
    while rows := list(islice(inserted, _CHUNK)):
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
    """Note of each queue of a host how many URLs were given, and the best that waits."""
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
    """Yield crawls and hosts whose stored counts are wrong, each with the difference."""
    for query, message in _CHECKS:
        for (name,) in db.execute(query):
            yield name, message
