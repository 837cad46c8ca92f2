"""Keys in files of a folder: additional digests of payloads, and the keys of crawlers."""

import base64
import re
import sqlite3
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from enum import IntEnum
from itertools import groupby, islice

from nwx.engine.embedded.entries.own_database import (
    CACHE_PRAGMA,
    DURABLE,
    JOURNAL_PRAGMA,
    STATES_TABLE,
    DatabaseForm,
    OwnDatabase,
    OwnIndex,
    note_count,
)
from nwx.engine.embedded.entries.store import EmbeddedEntryStore, unpack_entry
from nwx.engine.entries import IndexEntry
from nwx.engine.indices.declarations import IndexDeclaration
from nwx.engine.indices.entry_store import BY_ID, EVERY_ENTRY, Change, EntryFilter, EntryOrder
from nwx.engine.sqlite_files import among

_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS pairs (
    further BLOB NOT NULL, known BLOB NOT NULL, PRIMARY KEY (further, known)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS pairs_by_known ON pairs (known);
CREATE TABLE IF NOT EXISTS changes (number INTEGER NOT NULL);
INSERT INTO changes SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM changes);
{STATES_TABLE}"""
_ADD = "INSERT OR IGNORE INTO pairs VALUES (?, ?)"
_OF_ENTRIES = "SELECT further, known FROM pairs WHERE further IN ({}) ORDER BY further"
_OTHER, _SHA1, _SHA256 = b"\0", b"\1", b"\2"
_NORMAL = re.compile(r"sha1:([A-Z2-7]{32})|sha256:([0-9a-f]{64})")
# An alphabet that makes bytes sort like their texts.
_BASE32 = "234567ABCDEFGHIJKLMNOPQRSTUVWXYZ", "0123456789ABCDEFGHIJKLMNOPQRSTUV"
_TO_ORDERED, _FROM_ORDERED = str.maketrans(*_BASE32), str.maketrans(*reversed(_BASE32))

_Pair = tuple[bytes, bytes]


def _packed(digest: str) -> bytes:
    found = _NORMAL.fullmatch(digest)
    if found is None:
        return _OTHER + digest.encode("utf-8", "surrogatepass")
    if found[1]:
        return _SHA1 + base64.b32hexdecode(found[1].translate(_TO_ORDERED))
    return _SHA256 + bytes.fromhex(found[2])


def _unpacked(packed: bytes) -> str:
    kind, value = packed[:1], packed[1:]
    if kind == _SHA1:
        return f"sha1:{base64.b32hexencode(value).decode().translate(_FROM_ORDERED)}"
    return f"sha256:{value.hex()}" if kind == _SHA256 else value.decode("utf-8", "surrogatepass")


def _pairs(entries: Iterable[IndexEntry]) -> Iterator[_Pair]:
    """Yield the pairs of entries; an entry without digests has one with an empty digest."""
    for entry in entries:
        further = _packed(entry["id"])
        yield from ((further, _packed(one)) for one in entry["digests"] or [""])


def _entries(pairs: Iterable[_Pair]) -> Iterator[IndexEntry]:
    for further, some in groupby(pairs, key=lambda pair: pair[0]):
        yield {
            "id": _unpacked(further),
            "digests": sorted(_unpacked(known) for _, known in some if known != _OTHER),
        }


def _move_entries(db: sqlite3.Connection) -> None:
    """Convert the entries of format 1 to pairs."""
    for statement in _SCHEMA.split(";\n"):
        db.execute(statement)
    for (packed,) in db.execute("SELECT content FROM contents"):
        with suppress(TypeError, ValueError, zlib.error):  # damaged ones can be added again
            db.executemany(_ADD, _pairs([unpack_entry(packed)]))
    for table in ("contents", "entries"):
        db.execute(f"DROP TABLE {table}")
    note_count(db, "pairs")


class EmbeddedDigestPairs(EmbeddedEntryStore):
    """The index digests: an entry is an additional digest, with the digests that captures have."""

    form = DatabaseForm(
        "digests.db",
        _SCHEMA,
        (DURABLE, CACHE_PRAGMA, JOURNAL_PRAGMA),
        (CACHE_PRAGMA, "mmap_size = 268435456"),
        keeps_reader=True,
        format=2,
        steps=(_move_entries,),
    )

    def __init__(self, database: OwnDatabase, declared: IndexDeclaration) -> None:
        super().__init__(database, declared)
        self.counted = "pairs"

    def put(self, entries: Sequence[IndexEntry]) -> None:
        stored = {one["id"]: one for one in entries}
        self.update(stored, lambda _: stored)

    def update(self, ids: Collection[str], change: Change) -> Mapping[str, IndexEntry | None]:
        with self.database.writing() as db:
            found = {one["id"]: one for one in _stored(db, ids)}
            changed = change({id: found.get(id) for id in ids})
            if changed:
                kept = (one for one in changed.values() if one is not None)
                removed = _removed(db, changed)
                added = db.executemany(_ADD, _pairs(kept)).rowcount
                db.execute("UPDATE changes SET number = number + 1")
                note_count(db, self.counted, added - removed)
        return changed

    def get(self, ids: Collection[str], fields: Sequence[str] = ()) -> dict[str, IndexEntry]:
        with self.database.reading() as db:
            return {one["id"]: one for one in _stored(db, ids)}

    def delete(self, ids: Collection[str]) -> int:
        found = self.get(ids)
        self.update(found, lambda _: dict.fromkeys(found))
        return len(found)

    def find(
        self,
        where: EntryFilter = EVERY_ENTRY,
        order: EntryOrder = BY_ID,
        limit: int | None = None,
        offset: int = 0,
    ) -> Iterator[IndexEntry]:
        known = where.get("digests", ())
        wanted = [_packed(str(one)) for one in (known if isinstance(known, tuple) else (known,))]
        having = "WHERE further IN (SELECT further FROM pairs WHERE known IN ({}))" if where else ""
        command = f"SELECT further, known FROM pairs {having} ORDER BY further, known"
        with self.database.reading() as db:
            found = among(db, command, wanted) if where else db.execute(command)
            yield from islice(_entries(found), offset, limit and offset + limit)

    def count(self, where: EntryFilter = EVERY_ENTRY) -> int:
        if where:
            return sum(1 for _ in self.find(where))
        with self.database.reading() as db:
            command = "SELECT count(DISTINCT further) FROM pairs"
            return int(db.execute(command).fetchone()[0])

    def _row_faults(self, db: sqlite3.Connection) -> Iterator[tuple[str, str]]:
        return iter(())  # `pair_faults` checks the entries


def _stored(db: sqlite3.Connection, ids: Iterable[str]) -> Iterator[IndexEntry]:
    return _entries(among(db, _OF_ENTRIES, map(_packed, ids)))


def _removed(db: sqlite3.Connection, ids: Iterable[str]) -> int:
    """Remove entries; return the number of their pairs."""
    command = "DELETE FROM pairs WHERE further = ?"
    return db.executemany(command, [(_packed(id),) for id in ids]).rowcount


class KeyKind(IntEnum):
    """The types of keys."""

    STRING = 1
    HASH = 2
    LIST = 3
    SET = 4


_DEDUP_SCHEMA = """
CREATE TABLE IF NOT EXISTS keys (
    id INTEGER PRIMARY KEY, space TEXT NOT NULL, name BLOB NOT NULL, kind INTEGER NOT NULL,
    expires REAL, UNIQUE (space, name));
-- `field` is the field of a hash, the member of a set, the index of a list item, 0 for a string.
CREATE TABLE IF NOT EXISTS entries (
    key INTEGER, field, value BLOB, PRIMARY KEY (key, field)) WITHOUT ROWID;
"""
DEDUP_FORM = DatabaseForm(
    "dedup.db",
    _DEDUP_SCHEMA,
    ("synchronous = FULL", "cache_size = -65536", JOURNAL_PRAGMA),
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
