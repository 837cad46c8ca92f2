"""The keys of crawlers that deduplicate by Redis' protocol, in a file of the archive's folder."""

import sqlite3
from collections.abc import Iterator
from enum import IntEnum

from nwx.engine.embedded.entries.own_database import JOURNAL_PRAGMA, DatabaseForm, OwnIndex
from nwx.engine.entries import IndexEntry


class KeyKind(IntEnum):
    """The types of keys."""

    STRING = 1
    HASH = 2
    LIST = 3
    SET = 4


_SCHEMA = """
CREATE TABLE IF NOT EXISTS keys (
    id INTEGER PRIMARY KEY, space TEXT NOT NULL, name BLOB NOT NULL, kind INTEGER NOT NULL,
    expires REAL, UNIQUE (space, name));
-- A field of a hash, a member of a set, the position of an item of a list, 0 of a string.
CREATE TABLE IF NOT EXISTS entries (
    key INTEGER, field, value BLOB, PRIMARY KEY (key, field)) WITHOUT ROWID;
"""
DEDUP_FORM = DatabaseForm(
    "dedup.db", _SCHEMA, ("synchronous = FULL", "cache_size = -65536", JOURNAL_PRAGMA)
)
_LOST = "SELECT count(*) FROM entries WHERE key NOT IN (SELECT id FROM keys)"


class EmbeddedCrawlerKeys(OwnIndex):
    """The index dedup: an entry is a key. `nwx.dedup.key_store` writes it."""

    form = DEDUP_FORM

    def _count(self) -> int:
        with self.database.reading() as db:
            return int(db.execute("SELECT count(*) FROM keys").fetchone()[0])

    def entries(self) -> Iterator[IndexEntry]:
        command = (
            "SELECT space, name, kind, (SELECT count(*) FROM entries WHERE key = id) FROM keys"
            " ORDER BY space, name"
        )
        with self.database.reading() as db:
            for space, name, kind, entries in db.execute(command):
                id = f"{space}/{bytes(name).decode('utf-8', 'backslashreplace')}"
                told = {"collection": space, "kind": KeyKind(kind).name.lower()}
                yield {"id": id, **told, "entries": entries}

    def _row_faults(self, db: sqlite3.Connection) -> Iterator[tuple[str, str]]:
        (lost,) = db.execute(_LOST).fetchone()
        if lost:
            yield "*", f"{lost} entries belong to no key"
