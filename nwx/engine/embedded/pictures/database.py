"""The SQLite file of the index pictures: its tables, and connections to it."""

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from nwx.engine.embedded.database import database_uri
from nwx.engine.embedded.folder import Folder
from nwx.engine.work import Work, current_work
from nwx.errors import EngineError, EngineVersionError

_FILE = "pictures.db"
_FORMAT = 1
_WAIT_SECONDS = 60.0
_CACHE_KIB = 32 << 10
_CHECKED_STEPS = 10_000

_SCHEMA = """
BEGIN IMMEDIATE;
-- Pictures (page '') and appearances; `picture` is the number of a picture's entry, its own or
-- that of the version that a page shows, 0 where the archive has none.
CREATE TABLE IF NOT EXISTS entries (
    num INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, picture INTEGER NOT NULL,
    page TEXT NOT NULL, page_timestamp TEXT NOT NULL, page_collection TEXT NOT NULL,
    urlkey TEXT NOT NULL, content BLOB NOT NULL);
CREATE INDEX IF NOT EXISTS entries_by_picture ON entries (picture);
CREATE INDEX IF NOT EXISTS entries_by_page ON entries (page) WHERE page <> '';
CREATE INDEX IF NOT EXISTS appearances_by_urlkey ON entries (urlkey) WHERE page <> '';
-- What is filtered and sorted by; `colours` has a bit for each.
CREATE TABLE IF NOT EXISTS measures (
    num INTEGER PRIMARY KEY, id TEXT NOT NULL, host TEXT NOT NULL, domain TEXT NOT NULL,
    content_type TEXT NOT NULL, timestamp TEXT NOT NULL, collection TEXT NOT NULL,
    long_side INTEGER NOT NULL, area INTEGER NOT NULL, colours INTEGER NOT NULL, hash INTEGER);
CREATE INDEX IF NOT EXISTS measures_by_area ON measures (area DESC, id);
-- The words of entries that belong to a picture; `every` is in all, so that what is
-- without a word can be asked for too.
CREATE VIRTUAL TABLE IF NOT EXISTS words USING fts5(
    alt_words, title_words, anchor_words, name_words, around_words, every,
    tokenize = "unicode61 remove_diacritics 0", columnsize = 1);
-- Grows with each change, so that what was read before can be kept.
CREATE TABLE IF NOT EXISTS changes (number INTEGER NOT NULL);
INSERT INTO changes SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM changes);
CREATE TABLE IF NOT EXISTS states (name TEXT PRIMARY KEY, state BLOB NOT NULL);
PRAGMA user_version = 1;
COMMIT;
"""


@contextmanager
def _interrupted(db: sqlite3.Connection, work: Work) -> Iterator[None]:
    """Stop what a connection does once a question is over; raises QuestionTimeoutError."""
    db.set_progress_handler(lambda: work.is_over, _CHECKED_STEPS)
    try:
        yield
    except sqlite3.OperationalError:
        work.check()
        raise


class PictureDatabase:
    """The file `pictures.db` of an archive, opened when it is first needed; threads may share it.

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
            db = self._writable()
            db.execute("BEGIN IMMEDIATE")
            try:
                yield db
                db.execute("UPDATE changes SET number = number + 1")
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    def compact(self) -> None:
        """Write the file anew without what was deleted, so that its bytes are gone."""
        with self.erasing() as db:
            if db is not None:
                db.execute("VACUUM")
                db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    @contextmanager
    def erasing(self) -> Iterator[sqlite3.Connection | None]:
        """Give the connection outside of a transaction, None where there is no file.

        The words of what was deleted are out of the index of words then.
        """
        with self._guard, self._folder.our_errors(self.path):
            db = self._writable() if self.path.exists() else None
            if db is not None:
                db.execute("INSERT INTO words (words) VALUES ('optimize')")
            yield db

    def _writable(self) -> sqlite3.Connection:
        if self._read_only:
            raise EngineError(f"the archive at {self._folder.path} was opened for reading only")
        if self._db is None:
            self._make_archive()
            self._folder.check(writing=True)
            self._db = self._connect()
        return self._db

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
                with _interrupted(db, current_work()):
                    yield db if self._format(db) else None

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
            db.execute("PRAGMA secure_delete = 1")
            # What a power cut takes is built again: no disk has to be waited for.
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
