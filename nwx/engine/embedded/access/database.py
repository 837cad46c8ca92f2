"""The SQLite file of the index access: its tables, and connections to it."""

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from nwx.engine.embedded.folder import Folder
from nwx.engine.embedded.own_database import OwnDatabase

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


class AccessDatabase(OwnDatabase):
    """The file `access.db` of an archive."""

    name = "access.db"
    schema = _SCHEMA
    pragmas = ("synchronous = FULL",)

    def __init__(
        self, folder: Folder, make_archive: Callable[[], None], *, read_only: bool
    ) -> None:
        super().__init__(folder, make_archive, read_only=read_only)
        self._reader: sqlite3.Connection | None = None
        self._read_file = (0, 0)
        self._has_tables = False

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

    def close(self) -> None:
        """Let go of the file; a later use opens it again."""
        with self._guard:
            self._close_reader()
            super().close()

    def _close_reader(self) -> None:
        if self._reader is not None:
            self._reader.close()
        self._reader = None
        self._has_tables = False
