"""The SQLite file of a queue: its tables, and how it is opened."""

from nwx.engine.embedded.entries.own_database import DURABLE, JOURNAL_PRAGMA, DatabaseForm

_SCHEMA = """
CREATE TABLE IF NOT EXISTS crawls (
    num INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
    waiting INTEGER NOT NULL DEFAULT 0, leased INTEGER NOT NULL DEFAULT 0,
    done INTEGER NOT NULL DEFAULT 0, blacklisted INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS hosts (
    num INTEGER PRIMARY KEY, host TEXT NOT NULL UNIQUE,
    leased_at REAL NOT NULL DEFAULT 0, in_flight INTEGER NOT NULL DEFAULT 0);
-- The URLs of a host in a crawl. `best` is the highest priority of those that wait, `first` the
-- number of the first one that has it; `given` counts those that are leased or were fetched.
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
    "queue.db", _SCHEMA, (DURABLE, f"cache_size = -{16 << 10}", JOURNAL_PRAGMA)
)
