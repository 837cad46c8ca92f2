"""The SQLite file of the index access: its tables, and connections to it."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from nwx.engine.embedded.database import database_uri
from nwx.engine.embedded.folder import Folder
from nwx.errors import EngineError, EngineVersionError

_FILE = "access.db"
_FORMAT = 1
_WAIT_SECONDS = 60.0

_SCHEMA = """
BEGIN IMMEDIATE;
-- Entries as JSON. `changes` are the log: rows of it are never changed or deleted.
CREATE TABLE IF NOT EXISTS rules (id TEXT PRIMARY KEY, entry TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS changes (
    number INTEGER PRIMARY KEY AUTOINCREMENT, entry TEXT NOT NULL);
CREATE TRIGGER IF NOT EXISTS changes_stay BEFORE UPDATE ON changes
    BEGIN SELECT RAISE(ABORT, 'the log of access rules cannot be changed'); END;
CREATE TRIGGER IF NOT EXISTS changes_are_kept BEFORE DELETE ON changes
    BEGIN SELECT RAISE(ABORT, 'the log of access rules cannot be deleted'); END;
-- Tells the rules of this file from those of another in its place.
CREATE TABLE IF NOT EXISTS marks (mark TEXT NOT NULL);
INSERT INTO marks SELECT lower(hex(randomblob(6))) WHERE NOT EXISTS (SELECT 1 FROM marks);
CREATE TABLE IF NOT EXISTS states (name TEXT PRIMARY KEY, state BLOB NOT NULL);
PRAGMA user_version = 1;
COMMIT;
"""


class AccessDatabase:
    """The file `access.db` of an archive, opened when it is first needed; threads may share it.

    `make_archive` is called before the file is made.
    """

    def __init__(
        self, folder: Folder, make_archive: Callable[[], None], *, read_only: bool
    ) -> None:
        self.path = folder.path / _FILE
        self._folder = folder
        self._make_archive = make_archive
        self._read_only = read_only
        self._guard = threading.RLock()
        self._db: sqlite3.Connection | None = None
        self._reader: sqlite3.Connection | None = None
        self._read_file = (0, 0)
        self._has_tables = False

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Give the connection for one change, all of it or nothing."""
        with self._guard, self._folder.our_errors(self.path):
            if self._read_only:
                raise EngineError(f"the archive at {self._folder.path} was opened for reading only")
            if self._db is None:
                self._make_archive()
                self._folder.check(writing=True)
                self._db = self._connect()
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        """Give the connection that reads, to one thread at a time; None where there is no file.

        It is kept: each request of a service asks for the version of the rules.
        """
        with self._guard, self._folder.our_errors(self.path):
            try:
                found = self.path.stat()
            except FileNotFoundError:
                yield None
                return
            file = (found.st_dev, found.st_ino)
            if self._reader is None or self._read_file != file:
                self._close_reader()
                self._reader, self._read_file = self._opened_to_read(), file
            self._has_tables = self._has_tables or bool(self._format(self._reader))
            yield self._reader if self._has_tables else None

    @contextmanager
    def erasing(self) -> Iterator[sqlite3.Connection | None]:
        """Give the connection outside of a transaction, None where there is no file."""
        with self._guard, self._folder.our_errors(self.path):
            if self.path.exists() and self._db is None:
                self._folder.check(writing=True)
                self._db = self._connect()
            yield self._db

    def stored_bytes(self) -> int:
        """Return the size of the file and its journal."""
        return sum(file.stat().st_size for file in self._folder.path.glob(f"{_FILE}*"))

    def close(self) -> None:
        """Let go of the file; a later use opens it again."""
        with self._guard:
            self._close_reader()
            if self._db is not None:
                self._db.close()
            self._db = None

    def _close_reader(self) -> None:
        if self._reader is not None:
            self._reader.close()
        self._reader = None
        self._has_tables = False

    def _opened_to_read(self) -> sqlite3.Connection:
        self._folder.check(writing=True)
        db = self._opened(read_only=True)
        db.execute("PRAGMA query_only = 1")
        return db

    def _connect(self) -> sqlite3.Connection:
        db = self._opened(read_only=False)
        try:
            db.execute("PRAGMA journal_mode = WAL")
            db.execute("PRAGMA synchronous = FULL")
            if not self._format(db):
                db.executescript(_SCHEMA)
        except BaseException:
            db.close()
            raise
        return db

    def _opened(self, *, read_only: bool) -> sqlite3.Connection:
        return sqlite3.connect(
            database_uri(self.path, read_only=read_only),
            uri=True,
            isolation_level=None,
            check_same_thread=False,
            timeout=_WAIT_SECONDS,
        )

    def _format(self, db: sqlite3.Connection) -> int:
        """Return the format of the file, 0 of a new one."""
        (found,) = db.execute("PRAGMA user_version").fetchone()
        if found > _FORMAT:
            raise EngineVersionError(
                f"{self.path} was made by a newer version of nwx (format {found}, here {_FORMAT}); "
                f"update nwx"
            )
        return int(found)
