"""The SQLite file of the index crawls: its tables, and connections to it."""

import sqlite3
from pathlib import Path

from nwx.engine.embedded.database import database_uri
from nwx.errors import EngineVersionError

FILE = "crawls.db"
_FORMAT = 1
_WAIT_SECONDS = 60
_CACHE_KIB = 32 << 10

_SCHEMA = """
CREATE TABLE specifications (
    name TEXT NOT NULL, number INTEGER NOT NULL, version TEXT NOT NULL,
    text TEXT NOT NULL, saved TEXT NOT NULL, PRIMARY KEY (name, number));
-- A version of a crawl that has scores; `last` orders them by their last writes.
CREATE TABLE analyses (
    code INTEGER PRIMARY KEY AUTOINCREMENT, crawl TEXT NOT NULL, version TEXT NOT NULL,
    last INTEGER NOT NULL, documents INTEGER NOT NULL, urls INTEGER NOT NULL,
    UNIQUE (crawl, version));
-- `content` is packed: site type, links and entities.
CREATE TABLE scores (
    analysis INTEGER NOT NULL, document_id TEXT NOT NULL, url TEXT NOT NULL,
    timestamp TEXT NOT NULL, score REAL NOT NULL, content BLOB NOT NULL,
    UNIQUE (analysis, document_id));
-- The best link to each URL; the relevance of blacklisted ones is -1.
CREATE TABLE links (
    analysis INTEGER NOT NULL, key BLOB NOT NULL, url TEXT NOT NULL, host TEXT NOT NULL,
    relevance REAL NOT NULL, role TEXT NOT NULL, parts TEXT NOT NULL, reason TEXT NOT NULL,
    via TEXT NOT NULL, UNIQUE (analysis, key));
CREATE INDEX links_by_relevance ON links (analysis, relevance DESC, key);
CREATE INDEX links_by_host ON links (analysis, host, relevance DESC, key);
"""


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
        db.execute("PRAGMA synchronous = FULL")
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


def _check(db: sqlite3.Connection, path: Path) -> int:
    """Return the format of a file, 0 of a new one."""
    (found,) = db.execute("PRAGMA user_version").fetchone()
    if found > _FORMAT:
        raise EngineVersionError(
            f"{path} was made by a newer version of nwx (format {found}, here {_FORMAT}); "
            f"update nwx"
        )
    return int(found)
