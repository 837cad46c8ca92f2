"""The SQLite file of the index quality: its tables, and connections to it."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from nwx.engine.embedded.database import database_uri
from nwx.engine.embedded.folder import Folder
from nwx.errors import EngineError, EngineVersionError

_FILE = "quality.db"
_FORMAT = 1
_WAIT_SECONDS = 60.0
_CACHE_KIB = 32 << 10

_SCHEMA = """
BEGIN IMMEDIATE;
-- What is sorted, filtered and counted, apart from the rest: these rows are read in their
-- thousands, those of `contents` (packed entries) for what is shown.
CREATE TABLE IF NOT EXISTS scores (
    num INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, score REAL NOT NULL,
    collection TEXT NOT NULL, host TEXT NOT NULL, domain TEXT NOT NULL, month TEXT NOT NULL,
    checked TEXT NOT NULL, rules TEXT NOT NULL);
CREATE INDEX IF NOT EXISTS scores_by_score ON scores (score, id);
CREATE INDEX IF NOT EXISTS scores_by_collection ON scores (collection, score, id);
CREATE INDEX IF NOT EXISTS scores_by_host ON scores (host, score, id);
CREATE INDEX IF NOT EXISTS scores_by_domain ON scores (domain, score, id);
CREATE INDEX IF NOT EXISTS scores_by_month ON scores (month, score, id);
CREATE INDEX IF NOT EXISTS scores_by_check ON scores (checked DESC, id);
CREATE TABLE IF NOT EXISTS contents (num INTEGER PRIMARY KEY, content BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS kinds (
    kind TEXT NOT NULL, score REAL NOT NULL, id TEXT NOT NULL, num INTEGER NOT NULL,
    PRIMARY KEY (kind, score, id)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS kinds_by_num ON kinds (num);
-- Grows with each change of scores, so that what was counted before can be given again.
CREATE TABLE IF NOT EXISTS changes (number INTEGER NOT NULL);
INSERT INTO changes SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM changes);
CREATE TABLE IF NOT EXISTS states (name TEXT PRIMARY KEY, state BLOB NOT NULL);
PRAGMA user_version = 1;
COMMIT;
"""


class QualityDatabase:
    """The file `quality.db` of an archive, opened when it is first needed; threads may share it.

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
        """Give a connection of its own, which reads one state; None where nothing was written."""
        if not self.path.exists():
            yield None
            return
        with self._folder.our_errors(self.path):
            self._folder.check(writing=True)
            with closing(self._opened(read_only=True)) as db:
                db.execute("PRAGMA query_only = 1")
                db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
                db.execute("PRAGMA mmap_size = 268435456")
                db.execute("BEGIN")
                yield db if self._format(db) else None

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
            if self._db is not None:
                self._db.close()
            self._db = None

    def _connect(self) -> sqlite3.Connection:
        db = self._opened(read_only=False)
        try:
            db.execute("PRAGMA journal_mode = WAL")
            # What a power cut takes is checked again: no disk has to be waited for.
            db.execute("PRAGMA synchronous = NORMAL")
            db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
            db.execute("PRAGMA journal_size_limit = 67108864")
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
