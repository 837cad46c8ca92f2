"""The SQLite file of a queue: its tables, and transactions of many processes in it."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from nwx.engine.embedded.database import database_uri
from nwx.engine.embedded.folder import Folder
from nwx.errors import EngineError, EngineVersionError, ErrorText

_FORMAT = 1
_WAIT_SECONDS = 30.0
_CACHE_KIB = 16 << 10
_SCHEMA = """
BEGIN IMMEDIATE;
CREATE TABLE IF NOT EXISTS crawls (
    num INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE,
    waiting INTEGER NOT NULL DEFAULT 0, leased INTEGER NOT NULL DEFAULT 0,
    done INTEGER NOT NULL DEFAULT 0, blacklisted INTEGER NOT NULL DEFAULT 0);
CREATE TABLE IF NOT EXISTS hosts (
    num INTEGER PRIMARY KEY, host TEXT NOT NULL UNIQUE,
    leased_at REAL NOT NULL DEFAULT 0, in_flight INTEGER NOT NULL DEFAULT 0);
-- The URLs of a host in a crawl. `best` is the highest priority of those that wait, `first` the
-- number of the first one that has it; `given` counts those that are leased or were fetched.
CREATE TABLE IF NOT EXISTS host_queues (
    num INTEGER PRIMARY KEY, crawl INTEGER NOT NULL, host INTEGER NOT NULL,
    best REAL, first INTEGER, given INTEGER NOT NULL DEFAULT 0, UNIQUE (crawl, host));
CREATE INDEX IF NOT EXISTS host_queues_by_best ON host_queues (crawl, best DESC, first)
    WHERE best IS NOT NULL;
CREATE TABLE IF NOT EXISTS urls (
    num INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, queue INTEGER NOT NULL,
    url TEXT NOT NULL, priority REAL, via TEXT NOT NULL, state TEXT NOT NULL,
    lease TEXT NOT NULL DEFAULT '', leased_until REAL NOT NULL DEFAULT 0,
    marks TEXT NOT NULL DEFAULT '');
CREATE INDEX IF NOT EXISTS waiting_urls ON urls (queue, priority DESC, num)
    WHERE state = 'waiting';
CREATE INDEX IF NOT EXISTS leased_urls ON urls (leased_until) WHERE state = 'leased';
CREATE TABLE IF NOT EXISTS outbox (
    num INTEGER PRIMARY KEY AUTOINCREMENT, queue TEXT NOT NULL, content TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS outbox_by_queue ON outbox (queue, num);
CREATE TABLE IF NOT EXISTS sender (name TEXT NOT NULL);
PRAGMA user_version = 1;
COMMIT;
"""


class QueueDatabase:
    """The file `queue.db` of an archive, opened when it is first needed; threads may share it.

    `make_archive` is called before the file is made.
    """

    def __init__(
        self, folder: Folder, make_archive: Callable[[], None], *, read_only: bool
    ) -> None:
        self.path = folder.path / "queue.db"
        self._folder = folder
        self._make_archive = make_archive
        self._read_only = read_only
        self._guard = threading.RLock()
        self._db: sqlite3.Connection | None = None

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """Give the connection for one transaction, which is safe on disk at the end, or undone."""
        with self._guard, self._folder.our_errors(self.path):
            if self._db is None:
                self._check_writable()
                self._make_archive()
                self._db = _connect(self.path)
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield self._db
                self._db.execute("COMMIT")
            except BaseException:
                if self._db.in_transaction:
                    self._db.execute("ROLLBACK")
                raise

    def _check_writable(self) -> None:
        if self._read_only:
            raise EngineError(
                ErrorText(
                    "the archive at %(path)s was opened for reading only", path=self._folder.path
                )
            )

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection | None]:
        """Give a connection of its own, which reads one state; None where there is no file yet."""
        if not self.path.exists():
            yield None
            return
        uri = database_uri(self.path, read_only=True)
        with (
            self._folder.our_errors(self.path),
            closing(
                sqlite3.connect(
                    uri,
                    uri=True,
                    isolation_level=None,
                    timeout=_WAIT_SECONDS,
                    check_same_thread=False,
                )
            ) as db,
        ):
            db.execute("PRAGMA query_only = 1")
            yield db if _format(db, self.path) else None

    @contextmanager
    def erasing(self) -> Iterator[sqlite3.Connection | None]:
        """Give the connection outside of a transaction, None where there is no file."""
        with self._guard, self._folder.our_errors(self.path):
            if self.path.exists() and self._db is None:
                self._db = _connect(self.path)
            yield self._db

    def stored_bytes(self) -> int:
        """Return the size of the file and its journal."""
        journal = self.path.with_name(f"{self.path.name}-wal")
        return sum(file.stat().st_size for file in (self.path, journal) if file.exists())

    def close(self) -> None:
        """Let go of the file; a later use opens it again."""
        with self._guard:
            if self._db is not None:
                self._db.close()
            self._db = None


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=_WAIT_SECONDS)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute("PRAGMA synchronous = FULL")
    db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    db.execute("PRAGMA journal_size_limit = 67108864")
    if not _format(db, path):
        db.executescript(_SCHEMA)
    return db


def _format(db: sqlite3.Connection, path: Path) -> int:
    """Return the format of a file, 0 of a new one; raises EngineVersionError on a newer one."""
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
