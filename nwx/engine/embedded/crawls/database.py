"""The SQLite file of the index crawls: its tables, and connections to it."""

import sqlite3
from pathlib import Path

from nwx.engine.embedded.database import database_uri
from nwx.errors import EngineVersionError, ErrorText

FILE = "crawls.db"
_FORMAT = 1
_WAIT_SECONDS = 60
_CACHE_KIB = 32 << 10
_CHECKPOINT_PAGES = 16 << 10

_SCHEMA = """
CREATE TABLE specifications (
    name TEXT NOT NULL, number INTEGER NOT NULL, version TEXT NOT NULL,
    text TEXT NOT NULL, saved TEXT NOT NULL, PRIMARY KEY (name, number));
-- A version of a crawl that has scores, in tables of its own by its code. `last` is in the
-- order of the last writes.
CREATE TABLE analyses (
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


def make_tables_of(db: sqlite3.Connection, code: int) -> None:
    """Make the tables of an analysis, which removing it drops: that is quick, however many rows."""
    for statement in _TABLES.format(code=code).split(";\n"):
        db.execute(statement)


def drop_tables_of(db: sqlite3.Connection, code: int) -> None:
    """Drop the tables of an analysis."""
    db.execute(f"DROP TABLE scores_{code}")
    db.execute(f"DROP TABLE links_{code}")


def open_database(path: Path, *, read_only: bool) -> sqlite3.Connection:
    """Return a connection that begins no transactions of its own accord; makes the tables.

    Raises EngineVersionError on a file of a newer version of nwx.
    """
    db = sqlite3.connect(
        database_uri(path, read_only=read_only),
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        timeout=_WAIT_SECONDS,
    )
    try:
        if not read_only:
            db.execute("PRAGMA journal_mode = WAL")
        db.execute(f"PRAGMA wal_autocheckpoint = {_CHECKPOINT_PAGES}")
        db.execute("PRAGMA journal_size_limit = 67108864")
        db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        _prepare(db, path, read_only=read_only)
    except BaseException:
        db.close()
        raise
    return db


def _prepare(db: sqlite3.Connection, path: Path, *, read_only: bool) -> None:
    if read_only:
        db.execute("PRAGMA query_only = 1")
        _check(db, path)
        return
    db.execute("BEGIN IMMEDIATE")
    if _check(db, path) == 0:
        for statement in _SCHEMA.split(";\n"):
            db.execute(statement)
        db.execute(f"PRAGMA user_version = {_FORMAT}")
    db.execute("COMMIT")


def has_tables(db: sqlite3.Connection) -> bool:
    """Tell whether the tables have been made."""
    (found,) = db.execute("PRAGMA user_version").fetchone()
    return bool(found)


def _check(db: sqlite3.Connection, path: Path) -> int:
    """Return the format of a file, 0 of a new one."""
    (found,) = db.execute("PRAGMA user_version").fetchone()
    if found > _FORMAT:
        raise EngineVersionError(
            ErrorText(
                "%(path)s was made by a newer version of nwx (format %(found)s, here "
                "%(format)s); update nwx",
                path=path,
                found=found,
                format=_FORMAT,
            )
        )
    return int(found)
