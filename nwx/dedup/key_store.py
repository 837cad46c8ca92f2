"""Redis keys of crawlers, stored in SQLite: strings, hashes, lists and sets.

All changes between two calls of `KeyStore.commit` are one transaction, on disk once it returns.
"""

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from nwx.engine.base import is_server
from nwx.engine.embedded.entries.payload_keys import DEDUP_FORM, KeyKind
from nwx.engine.sqlite_files import connect_sqlite, file_format
from nwx.errors import NwxError, SettingsError

_PRAGMAS = ("journal_mode = WAL", *DEDUP_FORM.pragmas)
_FIND_KEY = "SELECT id, kind, expires FROM keys WHERE space = ? AND name = ?"
_GET_FIELD = """
SELECT kind, expires, value FROM keys LEFT JOIN entries ON key = id AND field = ?
WHERE space = ? AND name = ?"""


class CommandError(NwxError):
    """An error sent as the answer to a command; the first word is its code."""


def dedup_file_path(engine: str, given: Path | None = None) -> Path:
    """Return the path of the key file: the given one, or one in the archive's folder.

    Raises SettingsError for an archive on a server if none is given.
    """
    if given is None and is_server(engine):
        raise SettingsError(
            "the keys of crawlers need a file if the archive is on a server; "
            "name one with --dedup-file"
        )
    return given or Path(engine) / DEDUP_FORM.name


class KeyStore:
    """The open key file, for use by one thread; created if missing."""

    def __init__(self, path: Path, clock: Callable[[], float] = time.time) -> None:
        self.clock = clock
        try:
            self._db = connect_sqlite(path, _PRAGMAS)
            if not file_format(self._db, path, DEDUP_FORM.format):
                self._db.executescript(f"BEGIN IMMEDIATE; {DEDUP_FORM.script} COMMIT;")
        except sqlite3.Error as error:
            raise SettingsError(f"{path} cannot be used for the keys ({error})") from error
        self.read = self._db.execute

    def write(self, statement: str, values: tuple[Any, ...] = ()) -> sqlite3.Cursor:
        """Run a statement within the transaction, which is begun if necessary."""
        if not self._db.in_transaction:
            self._db.execute("BEGIN IMMEDIATE")
        return self._db.execute(statement, values)

    def commit(self) -> None:
        """Write all changes to disk."""
        if self._db.in_transaction:
            self._db.execute("COMMIT")

    def rollback(self) -> None:
        """Discard all changes since the last commit."""
        if self._db.in_transaction:
            self._db.execute("ROLLBACK")

    def close(self) -> None:
        """Close the file; uncommitted changes are discarded."""
        self._db.close()


class Keyspace:
    """The keys of one Redis database."""

    def __init__(self, store: KeyStore, space: str) -> None:
        self.store, self.space = store, space

    def found(self, name: bytes) -> tuple[int, KeyKind, float | None] | None:
        """Return number, kind and expiry (epoch seconds) of a key, None if missing or expired."""
        row = self.store.read(_FIND_KEY, (self.space, name)).fetchone()
        if row is None:
            return None
        if row[2] is not None and row[2] <= self.store.clock():
            self.drop(row[0])
            return None
        return row[0], KeyKind(row[1]), row[2]

    def names(self) -> list[bytes]:
        """Return the names of all keys, in order."""
        rows = self.store.read("SELECT name FROM keys WHERE space = ? ORDER BY name", (self.space,))
        return [name for (name,) in rows]

    def key(self, name: bytes, kind: KeyKind) -> int | None:
        """Return the number of a key, None if missing; raises CommandError for another kind."""
        found = self.found(name)
        if found is None:
            return None
        _check_kind(found[1], kind)
        return found[0]

    def made(self, name: bytes, kind: KeyKind) -> int:
        """Return the number of a key, created if missing."""
        return self.key(name, kind) or self.new(name, kind)

    def new(self, name: bytes, kind: KeyKind, expires: float | None = None) -> int:
        """Create a key, replacing any with this name; return its number."""
        self.remove(name)
        values = (self.space, name, int(kind), expires)
        statement = "INSERT INTO keys (space, name, kind, expires) VALUES (?, ?, ?, ?)"
        return self.store.write(statement, values).lastrowid or 0

    def remove(self, name: bytes) -> bool:
        """Remove a key; return whether it existed."""
        found = self.found(name)
        if found is not None:
            self.drop(found[0])
        return found is not None

    def drop(self, key: int) -> None:
        """Remove a key by its number."""
        self.store.write("DELETE FROM keys WHERE id = ?", (key,))
        self.store.write("DELETE FROM entries WHERE key = ?", (key,))

    def field(self, name: bytes, kind: KeyKind, field: bytes | int) -> bytes | None:
        """Return the value of a field of a key, None if missing."""
        row = self.store.read(_GET_FIELD, (field, self.space, name)).fetchone()
        if row is None or (row[1] is not None and row[1] <= self.store.clock()):
            return None
        _check_kind(row[0], kind)
        value: bytes | None = row[2]
        return value

    def put(self, key: int, field: bytes | int, value: bytes, *, replace: bool = True) -> bool:
        """Store a field; return whether it is new. Without `replace`, an existing one stays."""
        values = (key, field, value)
        added = self.store.write("INSERT OR IGNORE INTO entries VALUES (?, ?, ?)", values).rowcount
        if not added and replace:
            self.store.write("UPDATE entries SET value = ?3 WHERE key = ?1 AND field = ?2", values)
        return bool(added)

    def take(self, key: int, fields: list[Any]) -> int:
        """Remove fields, and the key if it has no more; return the number of removed fields."""
        statement = "DELETE FROM entries WHERE key = ? AND field = ?"
        gone = sum(self.store.write(statement, (key, one)).rowcount for one in fields)
        left = self.store.read("SELECT 1 FROM entries WHERE key = ? LIMIT 1", (key,)).fetchone()
        if left is None:
            self.drop(key)
        return gone

    def entries(self, key: int | None, more: str = "", *values: Any) -> list[tuple[Any, bytes]]:
        """Return fields and values of a key; `more` is SQL with a condition, order and limit."""
        statement = f"SELECT field, value FROM entries WHERE key = ? {more or 'ORDER BY field'}"
        return self.store.read(statement, (key, *values)).fetchall() if key else []

    def size(self, name: bytes, kind: KeyKind) -> int:
        """Return the number of entries of a key."""
        statement = "SELECT count(*) FROM entries WHERE key = ?"
        return int(self.store.read(statement, (self.key(name, kind),)).fetchone()[0])


def _check_kind(found: int, wanted: KeyKind) -> None:
    if found != wanted:
        raise CommandError("WRONGTYPE Operation against a key holding the wrong kind of value")
