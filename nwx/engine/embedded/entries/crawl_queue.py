"""The crawl queue and its outbox in SQLite."""

import secrets
import sqlite3
import time
from collections.abc import Callable, Collection, Iterator, Sequence

import msgspec

from nwx.engine.embedded.entries.own_database import (
    DURABLE,
    JOURNAL_PRAGMA,
    DatabaseForm,
    OwnDatabase,
    OwnIndex,
)
from nwx.engine.embedded.entries.queue_rows import (
    EntriesById,
    choose_urls,
    entries_of,
    entries_where,
    name_ports,
    queue_problems,
    write_entries,
)
from nwx.engine.entries import IndexEntry
from nwx.engine.indices.crawl_queue import (
    LEASE_SECONDS,
    MOST_LEASED_AHEAD,
    LimitsOf,
    OutboxEntry,
    QueueCounts,
    QueuedUrl,
    UpdateOutbox,
    UrlUpdate,
    no_limits,
)
from nwx.engine.indices.queue_entries import (
    EntryQueue,
    KnownEntries,
    queue_id,
    url_entry,
    without_pages,
)

_SCHEMA = """
CREATE TABLE IF NOT EXISTS crawls (
    num INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
    waiting INTEGER NOT NULL DEFAULT 0, leased INTEGER NOT NULL DEFAULT 0,
    done INTEGER NOT NULL DEFAULT 0, blacklisted INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS hosts (
    num INTEGER PRIMARY KEY, host TEXT NOT NULL UNIQUE,
    leased_at REAL NOT NULL DEFAULT 0, in_flight INTEGER NOT NULL DEFAULT 0);
-- The URLs of a host in a crawl. `best` is the highest priority of waiting URLs, `first` the
-- number of the first URL with it; `given` counts leased and fetched URLs.
CREATE TABLE IF NOT EXISTS host_queues (
    num INTEGER PRIMARY KEY, crawl INTEGER NOT NULL, host INTEGER NOT NULL,
    best REAL, first INTEGER, given INTEGER NOT NULL DEFAULT 0, UNIQUE (crawl, host));
CREATE INDEX IF NOT EXISTS host_queues_by_best ON host_queues (crawl, best DESC, first)
    WHERE best IS NOT NULL;
CREATE TABLE IF NOT EXISTS urls (
    num INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, queue INTEGER NOT NULL,
    url TEXT NOT NULL, priority REAL, via TEXT NOT NULL, state TEXT NOT NULL,
    lease TEXT NOT NULL DEFAULT '', leased_until REAL NOT NULL DEFAULT 0,
    marks TEXT NOT NULL DEFAULT '');
CREATE INDEX IF NOT EXISTS waiting_urls ON urls (queue, priority DESC, num)
    WHERE state = 'waiting';
CREATE INDEX IF NOT EXISTS leased_urls ON urls (leased_until) WHERE state = 'leased';
CREATE TABLE IF NOT EXISTS outbox (
    num INTEGER PRIMARY KEY AUTOINCREMENT, queue TEXT NOT NULL, content TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS outbox_by_queue ON outbox (queue, num);
CREATE TABLE IF NOT EXISTS sender (name TEXT NOT NULL);
"""

QUEUE_FORM = DatabaseForm(
    "queue.db",
    _SCHEMA,
    (DURABLE, f"cache_size = -{16 << 10}", JOURNAL_PRAGMA),
    format=2,
    steps=(name_ports,),
)


_EXPIRED_AT_ONCE = 10_000


class EmbeddedCrawlQueue(OwnIndex, EntryQueue):
    """The queue in the file `queue.db` of an archive; each method is one transaction."""

    form = QUEUE_FORM

    def _change(
        self, ids: Collection[str], change: Callable[[KnownEntries], EntriesById]
    ) -> Collection[str]:
        if ids and not self.is_made() and not change(dict.fromkeys(ids)):
            return ()
        with self.database.writing() as db:
            known = entries_of(db, ids)
            new = change(dict.fromkeys(ids) | known)
            write_entries(db, known, new)
        return new

    def lease(
        self,
        count: int,
        host: str = "",
        crawl: str = "",
        seconds: float = LEASE_SECONDS,
        limits: LimitsOf = no_limits,
    ) -> list[QueuedUrl]:
        if not self.is_made():
            return []
        with self.database.writing() as db:
            now = time.time()
            _end_leases(db, now)
            known = entries_of(db, ids := choose_urls(db, count, host, crawl, now, limits))
            leased = {id: known[id].leased(now + seconds) for id in ids}
            write_entries(db, known, leased)
            hosts = [(now, one) for one in {entry.host for entry in leased.values()}]
            db.executemany("UPDATE hosts SET leased_at = ? WHERE host = ?", hosts)
        return [entry.queued() for entry in leased.values()]

    def forget_pages(self, urls: Collection[str]) -> int:
        if not self.is_made():
            return 0
        with self.database.writing() as db:
            rows = db.execute("SELECT num, via FROM urls WHERE via != ''")
            found = [(num,) for num, via in rows if via in urls]
            db.executemany("UPDATE urls SET via = '' WHERE num = ?", found)
        return len(found)

    def _count(self) -> int:
        return self.counts().total

    def counts(self, crawl: str = "") -> QueueCounts:
        with self.database.reading() as db:
            row = db.execute(
                "SELECT sum(waiting), sum(leased), sum(done), sum(blacklisted) FROM crawls"
                " WHERE name = ifnull(?, name)",
                (crawl or None,),
            ).fetchone()
        return QueueCounts(*(number or 0 for number in row))

    def scan(self, crawl: str = "") -> Iterator[QueuedUrl]:
        with self.database.reading() as db:
            order = "WHERE crawls.name = ifnull(?, crawls.name) ORDER BY urls.num"
            for _, entry in entries_where(db, order, (crawl or None,)):
                yield entry.queued()

    def entries(self) -> Iterator[IndexEntry]:
        with self.database.reading() as db:
            for id, entry in entries_where(db, "ORDER BY urls.id", ()):
                yield url_entry(id, entry)

    def _row_faults(self, db: sqlite3.Connection) -> Iterator[tuple[str, str]]:
        for id, entry in entries_where(db, "", ()):
            if id != queue_id(entry.crawl, entry.url):
                yield id, f"its row belongs to another URL ({entry.url})"

    def problems(self) -> Iterator[tuple[str, str]]:
        with self.database.reading() as db:
            yield from queue_problems(db)

    def crawls(self) -> list[str]:
        with self.database.reading() as db:
            return [name for (name,) in db.execute("SELECT name FROM crawls ORDER BY name")]


def _end_leases(db: sqlite3.Connection, now: float) -> None:
    """Return URLs with expired leases to the state waiting."""
    condition = (
        "WHERE state = 'leased' AND (leased_until < ? OR leased_until > ?)"
        " ORDER BY leased_until LIMIT ?"
    )
    given = (now, now + MOST_LEASED_AHEAD, _EXPIRED_AT_ONCE)
    while known := dict(entries_where(db, condition, given)):
        ended: EntriesById = {id: entry.expired() for id, entry in known.items()}
        write_entries(db, known, ended)


_SENDER_BYTES = 12


class EmbeddedOutbox(UpdateOutbox):
    """The outbox in the file `queue.db` of an archive."""

    def __init__(self, database: OwnDatabase) -> None:
        self._database = database

    def sender(self) -> str:
        with self._database.writing() as db:
            row = db.execute("SELECT name FROM sender").fetchone()
            if row is None:
                row = (secrets.token_urlsafe(_SENDER_BYTES),)
                db.execute("INSERT INTO sender VALUES (?)", row)
        return str(row[0])

    def add(self, updates: Sequence[UrlUpdate], queue: str) -> None:
        rows = [(queue, _content(update)) for update in updates]
        with self._database.writing() as db:
            db.executemany("INSERT INTO outbox (queue, content) VALUES (?, ?)", rows)

    def pending(self, queue: str, limit: int) -> list[OutboxEntry]:
        with self._database.reading() as db:
            rows = db.execute(
                "SELECT num, content FROM outbox WHERE queue = ? ORDER BY num LIMIT ?",
                (queue, limit),
            ).fetchall()
        return [OutboxEntry(num, _update(content)) for num, content in rows]

    def delivered(self, queue: str, up_to: int) -> None:
        with self._database.writing() as db:
            db.execute("DELETE FROM outbox WHERE queue = ? AND num <= ?", (queue, up_to))

    def forget_pages(self, urls: Collection[str]) -> int:
        with self._database.reading() as db:
            rows = db.execute("SELECT num, content FROM outbox").fetchall()
        changed = []
        for num, content in rows:
            update = _update(content)
            if (kept := without_pages(update, urls)) != update:
                changed.append((num, kept))
        if changed:
            with self._database.writing() as db:
                gone = [(num,) for num, kept in changed if kept is None]
                db.executemany("DELETE FROM outbox WHERE num = ?", gone)
                texts = [(_content(kept), num) for num, kept in changed if kept is not None]
                db.executemany("UPDATE outbox SET content = ? WHERE num = ?", texts)
        return len(changed)

    def queues(self) -> dict[str, int]:
        with self._database.reading() as db:
            rows = db.execute("SELECT queue, count(*) FROM outbox GROUP BY queue ORDER BY queue")
            return dict(rows.fetchall())


def _content(update: UrlUpdate) -> str:
    return msgspec.json.encode(update).decode()


def _update(content: str) -> UrlUpdate:
    return msgspec.json.decode(content, type=UrlUpdate)
