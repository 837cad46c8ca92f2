"""The SQLite file of the index crawls: its tables."""

import sqlite3

from nwx.engine.embedded.entries.own_database import CACHE_PRAGMA, JOURNAL_PRAGMA, DatabaseForm

_SCHEMA = """
CREATE TABLE IF NOT EXISTS specifications (
    name TEXT NOT NULL, number INTEGER NOT NULL, version TEXT NOT NULL,
    text TEXT NOT NULL, saved TEXT NOT NULL, PRIMARY KEY (name, number));
-- A version of a crawl that has scores, in tables of its own by its code. `last` is in the
-- order of the last writes.
CREATE TABLE IF NOT EXISTS analyses (
    code INTEGER PRIMARY KEY AUTOINCREMENT, crawl TEXT NOT NULL, version TEXT NOT NULL,
    last INTEGER NOT NULL, documents INTEGER NOT NULL, urls INTEGER NOT NULL,
    UNIQUE (crawl, version));
"""


_TABLES = """
-- `content` is packed: site type, links and entities.
CREATE TABLE scores_{code} (
    document_id TEXT NOT NULL UNIQUE, url TEXT NOT NULL, timestamp TEXT NOT NULL,
    score REAL NOT NULL, content BLOB NOT NULL);
-- The best link to each URL; keys begin with that of the host; blacklisted ones have relevance -1.
CREATE TABLE links_{code} (
    key BLOB NOT NULL UNIQUE, url TEXT NOT NULL, host TEXT NOT NULL, relevance REAL NOT NULL,
    role TEXT NOT NULL, parts TEXT NOT NULL, reason TEXT NOT NULL, via TEXT NOT NULL);
CREATE INDEX links_by_relevance_{code} ON links_{code} (relevance DESC, key);
"""


CRAWLS_FORM = DatabaseForm(
    "crawls.db",
    _SCHEMA,
    ("wal_autocheckpoint = 16384", JOURNAL_PRAGMA, CACHE_PRAGMA),
    (CACHE_PRAGMA,),
    keeps_reader=True,
)


def make_tables_of(db: sqlite3.Connection, code: int) -> None:
    """Make the tables of an analysis, which removing it drops: that is quick, however many rows."""
    for statement in _TABLES.format(code=code).split(";\n"):
        db.execute(statement)


def drop_tables_of(db: sqlite3.Connection, code: int) -> None:
    """Drop the tables of an analysis."""
    db.execute(f"DROP TABLE scores_{code}")
    db.execute(f"DROP TABLE links_{code}")
