"""The SQLite file of accounts, sessions and attempts, which all workers of a service share."""

import os
import secrets
import sqlite3
import stat
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nwx.engine.base import is_server
from nwx.engine.sqlite_files import connect_sqlite, transaction
from nwx.errors import EngineVersionError, SettingsError, SourceError

USERS_FILE = "users.db"
_FORMAT = 1
_SECRET_BYTES = 32
_OWNER_ONLY = 0o600

_SCHEMA = """
CREATE TABLE IF NOT EXISTS accounts (
    name TEXT PRIMARY KEY COLLATE NOCASE, role TEXT NOT NULL, password_hash TEXT NOT NULL,
    made_at TEXT NOT NULL, changed_at TEXT NOT NULL) WITHOUT ROWID;
-- A session is known by the hash of its token, so that this file opens none. `proof` is what
-- its login was checked against: a session ends when that changes.
CREATE TABLE IF NOT EXISTS sessions (
    token_hash BLOB PRIMARY KEY, name TEXT NOT NULL, proof BLOB NOT NULL,
    began INTEGER NOT NULL, seen INTEGER NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS attempts (
    key TEXT PRIMARY KEY, number INTEGER NOT NULL, expires REAL NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS secrets (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
"""


def account_file_path(engine: str, given: str = "") -> Path:
    """Return the path of the accounts file: the one given, or one in the archive's folder.

    Raises SettingsError for an archive on a server if none is given.
    """
    if given:
        return Path(given)
    if is_server(engine):
        raise SettingsError.translated(
            "the accounts of an archive on a server need a file; name one with "
            "--users-file or NWX_USERS_FILE"
        )
    return Path(engine) / USERS_FILE


class AccountFile:
    """The open accounts file; thread-safe. Created, readable by its owner only, if missing.

    Raises SourceError if it is unusable, EngineVersionError if a newer version of nwx wrote it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._guard = threading.RLock()
        self._db = self._opened()

    def _opened(self) -> sqlite3.Connection:
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            os.close(os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, _OWNER_ONLY))
            mode = self.path.stat().st_mode
        except OSError as error:
            raise SourceError.translated(
                "%(path)s cannot be used: %(reason)s",
                path=self.path,
                reason=error.strerror or error,
            ) from error
        if mode & stat.S_IRWXO:
            raise SourceError.translated(
                "every user of this machine can use %(path)s, and so log in as anybody; "
                "run `chmod o= %(path)s`",
                path=self.path,
            )
        with self._our_errors():
            db = connect_sqlite(self.path)
            try:
                self._prepare(db)
            except BaseException:
                db.close()
                raise
            return db

    def _prepare(self, db: sqlite3.Connection) -> None:
        (found,) = db.execute("PRAGMA user_version").fetchone()
        if found > _FORMAT:
            raise EngineVersionError.translated(
                "%(path)s was made by a newer version of nwx; update nwx", path=self.path
            )
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")  # attempts are counted often
        with transaction(db):
            for statement in _SCHEMA.split(";\n"):
                db.execute(statement)
            db.execute(
                "INSERT OR IGNORE INTO secrets VALUES ('sessions', ?)",
                (secrets.token_bytes(_SECRET_BYTES),),
            )
            db.execute(f"PRAGMA user_version = {_FORMAT}")

    def secret(self) -> bytes:
        """Return the key by which all workers sign and check cookies."""
        with self.reading() as db:
            row = db.execute("SELECT value FROM secrets WHERE name = 'sessions'").fetchone()
        if row is None:
            raise SourceError.translated(
                "%(path)s has no secret; restore it from a copy", path=self.path
            )
        return bytes(row[0])

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give the connection, to one thread at a time."""
        with self._guard, self._our_errors():
            yield self._db

    @contextmanager
    def changing(self) -> Iterator[sqlite3.Connection]:
        """Give the connection, and keep all changes inside, or none."""
        with self.reading() as db, transaction(db):
            yield db

    @contextmanager
    def _our_errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise SourceError.translated(
                "%(path)s cannot be used: %(reason)s", path=self.path, reason=error
            ) from error

    def close(self) -> None:
        """Close the file."""
        with self._guard:
            self._db.close()
