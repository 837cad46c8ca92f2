"""One connection to the database of an archive, for short reads of all threads."""

import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from nwx.engine.embedded.database import connect
from nwx.engine.embedded.folder import FORMAT, Folder


class SharedConnection:
    """A connection that is opened when it is first needed."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._guard = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._format = FORMAT

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Give the connection, to one thread at a time."""
        with self._guard, self._folder.our_errors():
            if self._db is not None and self._format < FORMAT:
                self._leave_older(self._db)
            if self._db is None:
                self._folder.check()
                self._format = self._folder.format
                self._db = connect(self._folder.database, read_only=True)
            yield self._db

    def _leave_older(self, db: sqlite3.Connection) -> None:
        """Let go of the database once another process has brought the archive forward."""
        self._folder.check()
        if self._folder.format != self._format:
            db.close()
            self._db = None

    def close(self) -> None:
        """Let go of the database; a later read opens it again."""
        with self._guard:
            if self._db is not None:
                self._db.close()
            self._db = None
