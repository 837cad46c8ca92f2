"""Additional SQLite files of an archive, opened on first use."""

import sqlite3
import threading
from abc import abstractmethod
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cached_property
from typing import ClassVar

from nwx.data_classes import dataclass
from nwx.engine.embedded.folder import Folder, damaged
from nwx.engine.entries import IndexEntry
from nwx.engine.indices.declarations import IndexDeclaration
from nwx.engine.indices.entry_store import StatefulIndex
from nwx.engine.sqlite_files import connect_sqlite, file_format, transaction
from nwx.errors import EngineError
from nwx.model import IndexStats

CACHE_PRAGMA = f"cache_size = -{32 << 10}"
JOURNAL_PRAGMA = "journal_size_limit = 67108864"
DURABLE, FAST = "synchronous = FULL", "synchronous = NORMAL"
"""Whether commits wait for the disk; with FAST, a power cut may lose the last ones."""

STATES_TABLE = "CREATE TABLE IF NOT EXISTS states (name TEXT PRIMARY KEY, state BLOB NOT NULL);"


@dataclass(frozen=True, slots=True)
class DatabaseForm:
    """The name of a file, the script that creates its tables, and how it is opened.

    `pragmas` are set for writing, `read_pragmas` for reading. `keeps_reader` is for files with many
    short reads: one connection is kept instead of one per read. `steps` convert a file from each
    older format to the next. `before_erasing` runs before deleted data is erased from the file. An
    archive cannot be used if a file that `must_stay` is lost.
    """

    name: str
    schema: str
    pragmas: tuple[str, ...]
    read_pragmas: tuple[str, ...] = ()
    keeps_reader: bool = False
    must_stay: bool = False
    format: int = 1
    before_erasing: str = ""
    steps: tuple[Callable[[sqlite3.Connection], None], ...] = ()

    @property
    def script(self) -> str:
        """The script that creates the tables of a new file, within a transaction."""
        return f"{self.schema}PRAGMA user_version = {self.format};"

    def bring_forward(self, db: sqlite3.Connection, found: int) -> None:
        """Migrate a file from the format `found`, within a transaction."""
        for step in self.steps[found - 1 :]:
            step(db)
        db.execute(f"PRAGMA user_version = {self.format}")


class OwnDatabase:
    """A file with its own schema, format and locks; thread-safe.

    `make_archive` is called before the file is created.
    """

    def __init__(
        self,
        folder: Folder,
        make_archive: Callable[[], None],
        form: DatabaseForm,
        *,
        read_only: bool,
    ) -> None:
        self.path = folder.path / form.name
        self._folder = folder
        self._make_archive = make_archive
        self._form = form
        self._read_pragmas = ("query_only = 1", *form.read_pragmas)
        self._read_only = read_only
        self._guard = threading.RLock()
        self._db: sqlite3.Connection | None = None
        self._reader: sqlite3.Connection | None = None
        self._read_file = (0, 0, 0)
        self._is_current = False  # whether the kept reader's file has the current format
        self._is_checked = False
        self._was_read = False

    @contextmanager
    def writing(
        self, synchronous: str = "", *, derived: bool = False
    ) -> Iterator[sqlite3.Connection]:
        """Yield the connection for one change, stored whole or not at all.

        What can be `derived` again is also written where the archive is open for reading only, if
        the file exists in the current format.
        """
        with self._guard, self._folder.our_errors(self.path):
            db = self._writable(derived=derived)
            if synchronous:
                db.execute(f"PRAGMA {synchronous}")
            with transaction(db):
                yield db

    def is_missing(self) -> bool:
        """Return whether nothing was written; faster than opening a connection.

        Raises EngineError if a file that must stay was written and is lost. An empty file in its
        place means that it was discarded on purpose.
        """
        try:
            self.path.stat()
        except FileNotFoundError:
            known = self._was_read or self._form.name in self._folder.stores
            if self._form.must_stay and known:
                raise damaged(self.path, "it is missing") from None
            return True
        except OSError:
            return False
        return False

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection that reads one state; empty tables if nothing was written."""
        if self._form.keeps_reader:
            with self._guard, self._folder.our_errors(self.path):
                yield from _one_state(self._kept_reader() or self._empty)
        else:
            with self.streaming() as db:
                yield db

    @contextmanager
    def streaming(self) -> Iterator[sqlite3.Connection]:
        """Yield a connection for a long read, which does not make others wait."""
        with self._folder.our_errors(self.path):
            if not self.path.exists():
                yield self._empty
                return
            db, found = self._opened_to_read()
            with closing(db):
                yield from _one_state(db if found else self._empty)

    @cached_property
    def _empty(self) -> sqlite3.Connection:
        """Empty tables, for a file that does not exist."""
        db = connect_sqlite(None)
        db.executescript(self._form.script)
        db.execute("PRAGMA query_only = 1")
        return db

    def _kept_reader(self) -> sqlite3.Connection | None:
        if self.is_missing():
            return None
        found = self.path.stat()
        last = 0 if self._is_current else self._last_write()
        if self._reader is None or self._read_file != (found.st_dev, found.st_ino, last):
            self._close_reader()
            last = self._last_write()
            self._reader, found_format = self._opened_to_read()
            # The in-memory copy of an older file is used until the file is written.
            self._is_current = found_format == self._form.format
            self._read_file = (found.st_dev, found.st_ino, 0 if self._is_current else last)
            if not found_format:
                self._close_reader()
        return self._reader

    def _last_write(self) -> int:
        """Return the time in nanoseconds at which the file or its journal was last written."""
        files = (self.path, self.path.with_name(f"{self.path.name}-wal"))
        return max((file.stat().st_mtime_ns for file in files if file.exists()), default=0)

    @contextmanager
    def erasing(self) -> Iterator[sqlite3.Connection | None]:
        """Yield the connection outside of a transaction, None without a file."""
        with self._guard, self._folder.our_errors(self.path):
            self._close_reader()
            db = self._writable() if self.path.exists() else None
            if db is not None and self._form.before_erasing:
                db.execute(self._form.before_erasing)
            yield db

    def stored_bytes(self) -> int:
        """Return the size of the file and its journal."""
        files = self._folder.path.glob(f"{self._form.name}*")
        return sum(file.stat().st_size for file in files)

    def close(self) -> None:
        """Close the file; a later use opens it again."""
        with self._guard:
            self._close_reader()
            if self._db is not None:
                self._db.close()
            self._db = None
            if empty := self.__dict__.pop("_empty", None):
                empty.close()

    def _close_reader(self) -> None:
        if self._reader is not None:
            self._reader.close()
        self._reader = None

    def _writable(self, *, derived: bool = False) -> sqlite3.Connection:
        if self._read_only and not (derived and self._has_current_format()):
            raise EngineError.translated(
                "the archive at %(path)s was opened for reading only", path=self._folder.path
            )
        if self._db is None:
            if self._read_only:
                self._db = self._opened_to_write()
                return self._db
            self._make_archive()
            self._folder.check(writing=True)
            self.is_missing()
            self._db = self._opened_to_write()
            self._folder.note_store(self._form.name)
        return self._db

    def _has_current_format(self) -> bool:
        if self.is_missing():
            return False
        with closing(connect_sqlite(self.path, read_only=True)) as db:
            return file_format(db, self.path, self._form.format) == self._form.format

    def _opened_to_write(self) -> sqlite3.Connection:
        db = connect_sqlite(self.path, ("journal_mode = WAL", *self._form.pragmas))
        try:
            found = file_format(db, self.path, self._form.format)
            if not found:
                db.executescript(f"BEGIN IMMEDIATE; {self._form.script} COMMIT;")
            elif found < self._form.format:
                with transaction(db):  # another process may have been first
                    found = file_format(db, self.path, self._form.format)
                    self._form.bring_forward(db, found)
        except BaseException:
            db.close()
            raise
        return db

    def _opened_to_read(self) -> tuple[sqlite3.Connection, int]:
        """Return a connection, and the format of its file, 0 if it has no tables yet."""
        if not self._is_checked:
            self._folder.check(writing=True)
            self._is_checked = True
        db = connect_sqlite(self.path, self._read_pragmas, read_only=True)
        self._was_read = True
        found = file_format(db, self.path, self._form.format)
        is_older = 0 < found < self._form.format
        return self._brought_forward(db, found) if is_older else db, found

    def _brought_forward(self, older: sqlite3.Connection, found: int) -> sqlite3.Connection:
        """Return a migrated in-memory copy of an older file, as readers must not write it."""
        with closing(older):
            db = connect_sqlite(None)
            older.backup(db)
        with transaction(db):
            self._form.bring_forward(db, found)
        return db


def _one_state(db: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Yield a connection that reads one state of its file, in its open transaction or a new one."""
    if db.in_transaction:
        yield db
        return
    db.execute("BEGIN")
    try:
        yield db
    finally:
        db.execute("ROLLBACK")


_COUNT = "_count"
"""The name of the state with the number of the last change and the entry count after it."""

_COUNTED = "SELECT (SELECT number FROM changes) || ' ' || (SELECT count(*) FROM {})"


def note_count(db: sqlite3.Connection, table: str, added: int | None = None) -> None:
    """Store the number of rows of a table, so that lost rows are noticed.

    They are counted again, unless the stored number is from the change before: then `added` is
    added to it.
    """
    (counted,) = db.execute("SELECT number FROM changes").fetchone()
    change, kept = _kept_count(db)
    if added is not None and change == str(counted - 1):
        counted = f"{counted} {int(kept) + added}"
    else:
        (counted,) = db.execute(_COUNTED.format(table)).fetchone()
    db.execute("INSERT OR REPLACE INTO states VALUES (?, ?)", (_COUNT, counted.encode()))


def _kept_count(db: sqlite3.Connection) -> tuple[str, str]:
    row = db.execute("SELECT state FROM states WHERE name = ?", (_COUNT,)).fetchone()
    change, _, kept = bytes(row[0]).decode().partition(" ") if row else ("", "", "")
    return change, kept


class OwnIndex(StatefulIndex):
    """An index with a separate file.

    `form` is the form of its file; `counted` its table of entries, if their number is stored.
    """

    form: ClassVar[DatabaseForm]
    counted = ""

    def __init__(self, database: OwnDatabase, declared: IndexDeclaration) -> None:
        self.database = database
        self.declared = declared

    def is_made(self) -> bool:
        return self.database.path.exists()

    @abstractmethod
    def _count(self) -> int:
        """Return the number of entries of the index."""

    @abstractmethod
    def entries(self) -> Iterator[IndexEntry]:
        """Yield the entries, as in the mapping, in the order of their ids."""

    def stats(self) -> IndexStats:
        """Return the number of entries, and the bytes stored, states included."""
        return IndexStats(self._count(), self.database.stored_bytes())

    def put_state(self, name: str, state: bytes, *, derived: bool = False) -> None:
        with self.database.writing(derived=derived) as db:
            db.execute("INSERT OR REPLACE INTO states VALUES (?, ?)", (name, state))
            if self.counted:
                note_count(db, self.counted)

    def state(self, name: str) -> bytes | None:
        with self.database.reading() as db:
            command = "SELECT state FROM states WHERE name = ?"
            row = db.execute(command, (name,)).fetchone()
        return None if row is None else bytes(row[0])

    def states(self) -> list[str]:
        with self.database.reading() as db:
            found = db.execute("SELECT name FROM states ORDER BY name")
            return [name for (name,) in found if name != _COUNT]

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield the ids of damaged entries, "*" for several, each with a message."""
        with self.database.reading() as db:
            yield from self._row_faults(db)
            if self.counted:
                yield from self._miscounted(db)

    def _row_faults(self, db: sqlite3.Connection) -> Iterator[tuple[str, str]]:
        del db
        return iter(())

    def _miscounted(self, db: sqlite3.Connection) -> Iterator[tuple[str, str]]:
        change, kept = _kept_count(db)
        now, _, found = db.execute(_COUNTED.format(self.counted)).fetchone()[0].partition(" ")
        # Older versions change entries without updating the number.
        if change == now and kept != found:
            yield "*", f"{found} entries, {kept} were stored"
