"""The SQLite file of an archive: schema, connections, counters, checksum of dates, erasure."""

import sqlite3
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path

from nwx.engine.embedded.captures.block_lookups import FileNames
from nwx.engine.embedded.captures.runs import RUN_SCHEMA, RUN_TABLES, CaptureConnection
from nwx.engine.sqlite_files import connect_sqlite
from nwx.errors import EngineBusyError
from nwx.model import IndexName
from nwx.query.fields import FACET_FIELDS

DOCUMENT_FACETS = tuple(name for name in FACET_FIELDS if name not in ("collection", "year"))
"""Facets stored with a document; the others are computed from its dates."""


def facet_columns(db: sqlite3.Connection) -> dict[str, str]:
    """Return the column of each of DOCUMENT_FACETS, `0` if the table lacks it."""
    made = {row[1] for row in db.execute("PRAGMA table_info(documents)")}
    return {name: name if name in made else "0" for name in DOCUMENT_FACETS}


def add_enriched_facets(db: sqlite3.Connection) -> None:
    """Add the columns of enricher facets, which formats before 6 lack."""
    for name, column in facet_columns(db).items():
        if column != name:
            db.execute(f"ALTER TABLE documents ADD COLUMN {name} INTEGER NOT NULL DEFAULT 0")


_DATES_SCHEMA = """
-- Numbers of ids, used in joins; never reused.
CREATE TABLE ids (num INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE);
CREATE TABLE dates (num INTEGER PRIMARY KEY, key TEXT NOT NULL);
CREATE TABLE seen (
    rowid INTEGER PRIMARY KEY AUTOINCREMENT, num INTEGER NOT NULL,
    timestamp INTEGER NOT NULL, collection INTEGER NOT NULL,
    UNIQUE (num, timestamp, collection));
CREATE TABLE collections (code INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
-- Number of entries of each index; a change of `deletions` tells readers to drop their caches.
CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
"""
_SCHEMA = """
-- A replaced document gets a new seq, by which readers find new rows.
-- `id_start` is the first 63 bits of the id, in the same order as ids.
CREATE TABLE documents (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, num INTEGER NOT NULL UNIQUE,
    precedence INTEGER NOT NULL, id_start INTEGER NOT NULL,
    url_hash INTEGER NOT NULL, url_group INTEGER NOT NULL,
    text_hash INTEGER NOT NULL, text_group INTEGER NOT NULL, {facets});
CREATE INDEX documents_by_url ON documents (url_hash, url_group);
CREATE INDEX documents_by_text ON documents (text_hash, text_group);
CREATE TABLE facet_values (field TEXT, code INTEGER, value TEXT NOT NULL,
    PRIMARY KEY (field, code)) WITHOUT ROWID;
CREATE TABLE sources (code INTEGER PRIMARY KEY, collection TEXT NOT NULL, name TEXT NOT NULL,
    UNIQUE (collection, name));
CREATE TABLE files (collection TEXT, name TEXT, entry TEXT NOT NULL,
    PRIMARY KEY (collection, name)) WITHOUT ROWID;
"""
_ATTACHED = "CREATE TABLE IF NOT EXISTS attached (name TEXT PRIMARY KEY, address TEXT NOT NULL);"


CAPTURE_NUMBERS = "capture_numbers"
"""The counter with the number of the last batch of captures."""

SEEN_SUM = "seen_sum"
"""The counter that holds the checksum of the dates (SUM_OF_SEEN)."""

COLUMNS_SUM = "columns_sum"
"""The counter that holds the CRC-32 of the columns file, 0 if an older version wrote it."""

_COUNTERS = (
    *IndexName,
    "deletions",
    "unindexed",
    "stamp",
    CAPTURE_NUMBERS,
    SEEN_SUM,
    COLUMNS_SUM,
)


def _schema() -> str:
    facets = (f"{name} INTEGER NOT NULL" for name in DOCUMENT_FACETS)
    return _DATES_SCHEMA + _SCHEMA.format(facets=", ".join(facets)) + RUN_SCHEMA


TABLES: dict[IndexName, tuple[str, ...]] = {
    IndexName.DOCUMENTS: ("documents", "ids", "facet_values"),
    IndexName.DATES: ("dates", "seen", "collections"),
    IndexName.CAPTURES: ("sources", *RUN_TABLES),
    IndexName.FILES: ("files",),
}
"""The tables of each index, the one with its entries first."""


_READER_CACHE_KIB, _WRITER_CACHE_KIB = 64 << 10, 16 << 10


def connect(path: Path, *, read_only: bool, names: FileNames | None = None) -> sqlite3.Connection:
    """Return an autocommit connection to an archive's database.

    `names` caches the file names that readers have met, and is shared by readers.
    """
    is_new = not read_only and not (path.exists() and path.stat().st_size)
    db = connect_sqlite(path, read_only=read_only, factory=CaptureConnection)
    if is_new:
        db.execute("PRAGMA auto_vacuum = INCREMENTAL")
    if not read_only:
        db.execute("PRAGMA journal_mode = WAL")
    elif isinstance(db, CaptureConnection):
        db.names = FileNames() if names is None else names
    db.execute(f"PRAGMA query_only = {int(read_only)}")
    db.execute("PRAGMA synchronous = FULL")
    db.execute(f"PRAGMA cache_size = -{_READER_CACHE_KIB if read_only else _WRITER_CACHE_KIB}")
    db.execute("PRAGMA mmap_size = 268435456")
    db.execute("PRAGMA journal_size_limit = 67108864")
    return db


def make_tables(db: sqlite3.Connection) -> None:
    """Create the missing tables of an archive."""
    _make(db, _schema() + _ATTACHED, _COUNTERS)


def add_missing(db: sqlite3.Connection) -> None:
    """Add the counters that an archive of an older version lacks."""
    names = [(name,) for name in _COUNTERS]
    db.executemany("INSERT OR IGNORE INTO counters VALUES (?, 0)", names)


def make_dates_tables(db: sqlite3.Connection) -> None:
    """Create the tables of a separate dates index, the same as the archive's own."""
    _make(db, _DATES_SCHEMA, (IndexName.DATES, "deletions", SEEN_SUM))


def _make(db: sqlite3.Connection, schema: str, counters: tuple[str, ...]) -> None:
    if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'counters'").fetchone():
        return
    values = ", ".join(f"('{name}', 0)" for name in counters)
    db.executescript(f"BEGIN; {schema} INSERT INTO counters VALUES {values}; COMMIT;")


def make_attached(db: sqlite3.Connection) -> None:
    """Create the table of attached dates indices, which the oldest archives lack."""
    db.execute(_ATTACHED)


def attached(db: sqlite3.Connection) -> dict[str, str]:
    """Return the addresses of an archive's attached dates indices, by name."""
    if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'attached'").fetchone():
        return {}
    return dict(db.execute("SELECT name, address FROM attached ORDER BY name"))


def count_rows(db: sqlite3.Connection, name: str) -> int:
    """Return the value of a counter, 0 if it is missing."""
    row = db.execute("SELECT value FROM counters WHERE name = ?", (str(name),)).fetchone()
    return 0 if row is None else int(row[0])


def add_rows(db: sqlite3.Connection, name: str, number: int) -> None:
    """Add `number` to a counter."""
    db.execute("UPDATE counters SET value = value + ? WHERE name = ?", (number, str(name)))


_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)

Opening = Callable[[], AbstractContextManager[sqlite3.Connection | None]]
"""Opens a connection to write, without a transaction; None if the file is missing."""


def erase_deleted(db: sqlite3.Connection, wait_seconds: float) -> bool:
    """Rewrite a database file without its deleted data, and empty its journal.

    Returns False if other connections use it for longer than `wait_seconds`. The connection must
    not be in a transaction.
    """
    (before,) = db.execute("PRAGMA busy_timeout").fetchone()
    db.execute(f"PRAGMA busy_timeout = {int(wait_seconds * 1_000)}")
    try:
        db.execute("VACUUM")
        (busy, _, _) = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF in _BUSY:
            return False
        raise
    finally:
        db.execute(f"PRAGMA busy_timeout = {before}")
    return not busy


def erased(opening: Opening, wait_seconds: float) -> bool:
    """Open a database and erase its deleted data; return True if the file is missing."""
    try:
        with opening() as db:
            return db is None or erase_deleted(db, wait_seconds)
    except EngineBusyError:
        return False


def erase_values(db: sqlite3.Connection) -> None:
    """Overwrite facet values that no document has any more, such as a deleted one's host.

    Their codes stay, as codes are never reused; readers do not use them.
    """
    for facet in DOCUMENT_FACETS:
        db.execute(
            "UPDATE facet_values SET value = '#' || code WHERE field = ?1 AND value != '#' || code"
            f" AND code NOT IN (SELECT {facet} FROM documents)",
            (facet,),
        )


SUM_OF_SEEN = (
    "SELECT coalesce(sum((num * 1000003 + timestamp + collection * 10007) % 2147483647), 0)"
    " FROM seen"
)
"""The query for the checksum of dates: a sum over their rows."""


@contextmanager
def seen_changing(db: sqlite3.Connection, nums: Collection[int]) -> Iterator[None]:
    """Update the checksum of dates for changes to the dates of these document numbers."""
    before = _sum_of_seen(db, nums)
    yield
    add_rows(db, SEEN_SUM, _sum_of_seen(db, nums) - before)


def _sum_of_seen(db: sqlite3.Connection, nums: Collection[int]) -> int:
    command = f"{SUM_OF_SEEN} WHERE num = ?"
    return sum(db.execute(command, (num,)).fetchone()[0] for num in set(nums))


@contextmanager
def seen_growing(db: sqlite3.Connection) -> Iterator[None]:
    """Update the checksum of dates for the dates inserted in the context."""
    (last,) = db.execute("SELECT coalesce(max(rowid), 0) FROM seen").fetchone()
    yield
    (new,) = db.execute(f"{SUM_OF_SEEN} WHERE rowid > ?", (last,)).fetchone()
    add_rows(db, SEEN_SUM, new)


def add_sums(db: sqlite3.Connection) -> None:
    """Add the checksum of dates to an archive of an older version."""
    db.execute(f"INSERT OR REPLACE INTO counters VALUES ('{SEEN_SUM}', ({SUM_OF_SEEN}))")
