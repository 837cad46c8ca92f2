"""A SQLite file of an archive beside its main one: opened when it is first needed."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import ClassVar

from nwx.engine.embedded.database import database_uri
from nwx.engine.embedded.folder import Folder
from nwx.errors import EngineError, EngineVersionError, ErrorText

CACHE_PRAGMA = f"cache_size = -{32 << 10}"
_WAIT_SECONDS = 60.0


class OwnDatabase:
    """A file with a schema, a format and locks of its own; threads may share it.

    `name` is that of the file, `schema` the script that makes its tables and
    sets `user_version` to `format`. `pragmas` are set where it is written,
    `read_pragmas` where it is read. `make_archive` is called before the file
    is made.
    """

    name: ClassVar[str]
    schema: ClassVar[str]
    format: ClassVar[int] = 1
    pragmas: ClassVar[tuple[str, ...]]
    read_pragmas: ClassVar[tuple[str, ...]] = ()

    def __init__(
        self, folder: Folder, make_archive: Callable[[], None], *, read_only: bool
    ) -> None:
        self.path = folder.path / self.name
        self._folder = folder
        self._make_archive = make_archive
        self._read_only = read_only
        self._guard = threading.RLock()
        self._db: sqlite3.Connection | None = None

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Give the connection for one change, all of it or nothing."""
        with self._guard, self._folder.our_errors(self.path):
            db = self._writable()
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        """Give a connection of its own, which reads one state; None where nothing was written."""
        if not self.path.exists():
            yield None
            return
        with self._folder.our_errors(self.path), closing(self._opened_to_read()) as db:
            db.execute("BEGIN")
            yield db if self._format(db) else None

    @contextmanager
    def erasing(self) -> Iterator[sqlite3.Connection | None]:
        """Give the connection outside of a transaction, None where there is no file."""
        with self._guard, self._folder.our_errors(self.path):
            yield self._writable() if self.path.exists() else None

    def stored_bytes(self) -> int:
        """Return the size of the file and its journal."""
        return sum(file.stat().st_size for file in self._folder.path.glob(f"{self.name}*"))

    def close(self) -> None:
        """Let go of the file; a later use opens it again."""
        with self._guard:
            if self._db is not None:
                self._db.close()
            self._db = None

    def _writable(self) -> sqlite3.Connection:
        if self._read_only:
            raise EngineError(
                ErrorText(
                    "the archive at %(path)s was opened for reading only", path=self._folder.path
                )
            )
        if self._db is None:
            self._make_archive()
            self._folder.check(writing=True)
            self._db = self._connect()
        return self._db

    def _connect(self) -> sqlite3.Connection:
        db = self._opened(read_only=False)
        try:
            for pragma in ("journal_mode = WAL", *self.pragmas):
                db.execute(f"PRAGMA {pragma}")
            if not self._format(db):
                db.executescript(self.schema)
        except BaseException:
            db.close()
            raise
        return db

    def _opened_to_read(self) -> sqlite3.Connection:
        self._folder.check(writing=True)
        db = self._opened(read_only=True)
        for pragma in ("query_only = 1", *self.read_pragmas):
            db.execute(f"PRAGMA {pragma}")
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
        if found > self.format:
            raise EngineVersionError(
                ErrorText(
                    "%(path)s was made by a newer version of nwx (format %(found)s, here "
                    "%(format)s); update nwx",
                    path=self.path,
                    found=found,
                    format=self.format,
                )
            )
        return int(found)
