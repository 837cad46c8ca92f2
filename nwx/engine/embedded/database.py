"""The SQLite file of an archive: its tables, look-up tables, connections, erasing of values."""

import sqlite3
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from nwx import mappings
from nwx.captures import VALUE_FIELDS
from nwx.cdx.rows import REVISIT
from nwx.engine.sqlite_files import connect_sqlite
from nwx.errors import EngineBusyError
from nwx.model import IndexName
from nwx.query.fields import FACET_FIELDS

LOOKUP_TABLES = ("cdx_lines", "digests")

MIME = (
    f"CASE WHEN record_type = 'revisit' THEN '{REVISIT}'"
    " ELSE coalesce(nullif(content_type, ''), 'unk') END"
)
STATUS = "coalesce(CAST(status_code AS TEXT), '-')"
REDIRECT = "coalesce(nullif(redirect_to, ''), '-')"
LENGTH = "coalesce(CAST(record_length AS TEXT), '-')"
OFFSET = "CAST(source_file_offset AS TEXT)"
BARE_DIGEST = "coalesce(nullif(substr(digest, instr(digest, ':') + 1), ''), '-')"
"""Fields of a CDX out of the columns of a capture."""

MARK = (
    "CASE WHEN url GLOB 'http*' AND (record_type = 'revisit'"
    " OR (instr(content_type, 'warc') = 0 AND NOT content_type GLOB 'arc/*'))"
    " THEN '' ELSE char(31) END"
)
"""A control character for what may be no capture, so that its block of lines is not plain."""
_HEAD = f"url || ' ' || {MIME} || ' ' || {STATUS} || ' ' || {BARE_DIGEST} || {MARK}"
_ENDING = "substr({}, -9)"
_TIME = "CAST(timestamp AS INTEGER)"

ENDING_OF_DIGEST = _ENDING.format(":digest")
"""The end of a digest that is asked for."""

_LOOKUP_SCHEMA = (
    # `head` is URL, MIME type, status and bare digest, with a control character behind them
    # where the record may be no capture; `file` is the code of a source.
    "CREATE TABLE IF NOT EXISTS cdx_lines ("
    "urlkey TEXT NOT NULL, timestamp TEXT NOT NULL, num INTEGER NOT NULL, head TEXT NOT NULL,"
    " redirect TEXT NOT NULL, length TEXT NOT NULL, place TEXT NOT NULL, file INTEGER NOT NULL,"
    " PRIMARY KEY (urlkey, timestamp, num)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS digests ("
    "ending TEXT NOT NULL, time INTEGER NOT NULL, num INTEGER NOT NULL,"
    " PRIMARY KEY (ending, time, num)) WITHOUT ROWID",
)

LOOKUP_SCHEMA = "".join(f"{statement};\n" for statement in _LOOKUP_SCHEMA)

_KNOWN = "SELECT 1 FROM main.sqlite_master WHERE name ="
LINES = (
    f"SELECT urlkey, timestamp, num, {_HEAD} AS head, {REDIRECT} AS redirect,"
    f" {LENGTH} AS length, {OFFSET} AS place, source AS file FROM main.captures"
)
DIGESTS = (
    f"SELECT {_ENDING.format('digest')} AS ending, {_TIME} AS time, num"
    " FROM main.captures WHERE record_type <> 'revisit'"
)
_DELETE = (
    "DELETE FROM cdx_lines WHERE (urlkey, timestamp, num) IN"
    " (SELECT urlkey, timestamp, num FROM captures WHERE num = ?)",
    "DELETE FROM digests WHERE (ending, time, num) IN"
    f" (SELECT {_ENDING.format('digest')}, {_TIME}, num FROM captures WHERE num = ?)",
)


def make_lookup_tables(db: sqlite3.Connection) -> None:
    """Create both lookup tables for the captures in an archive of an older version.

    The caller has begun a transaction. Existing tables stay.
    """
    if not _has_lookups(db):
        for statement in _LOOKUP_SCHEMA:
            db.execute(statement)
        fill_lookup_tables(db, 0)


def fill_lookup_tables(db: sqlite3.Connection, last: int) -> None:
    """Add the captures with numbers above `last`, none of which may be present."""
    db.execute(
        f"INSERT INTO cdx_lines {LINES} WHERE num > ? ORDER BY urlkey, timestamp, num", (last,)
    )
    db.execute(f"INSERT INTO digests {DIGESTS} AND num > ? ORDER BY ending, time, num", (last,))


def delete_lookups(db: sqlite3.Connection, nums: list[tuple[int]]) -> None:
    """Delete the entries of captures, before the captures themselves are deleted."""
    for command in _DELETE:
        db.executemany(command, nums)


def show_lookups(db: sqlite3.Connection) -> None:
    """Give readers of an archive of an older version the lookup tables, computed on demand."""
    if not _has_lookups(db) and db.execute(f"{_KNOWN} 'captures'").fetchone():
        # What is temporary hides what is in the file, and is gone with the connection.
        db.execute(f"CREATE TEMP VIEW cdx_lines AS {LINES}")
        db.execute(f"CREATE TEMP VIEW digests AS {DIGESTS}")


def _has_lookups(db: sqlite3.Connection) -> bool:
    return db.execute(f"{_KNOWN} 'cdx_lines'").fetchone() is not None


DOCUMENT_FACETS = tuple(name for name in FACET_FIELDS if name not in ("collection", "year"))
"""Facets of a document itself; the others look at its dates."""

_SQL_TYPES = {"keyword": "TEXT", "date": "TEXT"}
_OF_SOURCES = ("collection", "source_file")
CAPTURE_COLUMNS = VALUE_FIELDS[len(_OF_SOURCES) :]
"""The columns of captures; their sources have a table of their own."""

_DATES_SCHEMA = """
-- Numbers of ids, for all that is joined; they are never given anew.
CREATE TABLE ids (num INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE);
CREATE TABLE dates (num INTEGER PRIMARY KEY, key TEXT NOT NULL);
CREATE TABLE seen (
    rowid INTEGER PRIMARY KEY AUTOINCREMENT, num INTEGER NOT NULL,
    timestamp INTEGER NOT NULL, collection INTEGER NOT NULL,
    UNIQUE (num, timestamp, collection));
CREATE TABLE collections (code INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
-- Entries of each index; `deletions` tells readers to forget what they know.
CREATE TABLE counters (name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
"""
_SCHEMA = """
-- A document that is replaced gets a new seq: readers look at what is new by it.
-- `id_start` is the first 63 bits of the id, which order as the id does.
CREATE TABLE documents (
    seq INTEGER PRIMARY KEY AUTOINCREMENT, num INTEGER NOT NULL UNIQUE,
    precedence INTEGER NOT NULL, id_start INTEGER NOT NULL,
    url_hash INTEGER NOT NULL, url_group INTEGER NOT NULL,
    text_hash INTEGER NOT NULL, text_group INTEGER NOT NULL, {facets});
CREATE INDEX documents_by_url ON documents (url_hash, url_group);
CREATE INDEX documents_by_text ON documents (text_hash, text_group);
CREATE TABLE facet_values (field TEXT, code INTEGER, value TEXT NOT NULL,
    PRIMARY KEY (field, code)) WITHOUT ROWID;
-- `sum` adds up the checksums of the captures of a file, NULL if they were loaded from a CDX.
CREATE TABLE sources (code INTEGER PRIMARY KEY, collection TEXT NOT NULL, name TEXT NOT NULL,
    sum INTEGER, UNIQUE (collection, name));
CREATE TABLE captures (num INTEGER PRIMARY KEY, source INTEGER NOT NULL, {captures},
    UNIQUE (source, source_file_offset));
CREATE TABLE files (collection TEXT, name TEXT, entry TEXT NOT NULL,
    PRIMARY KEY (collection, name)) WITHOUT ROWID;
"""
_ATTACHED = "CREATE TABLE IF NOT EXISTS attached (name TEXT PRIMARY KEY, address TEXT NOT NULL);"


_UNKNOWN = {"TEXT": "''", "INTEGER": "NULL"}
"""What a capture has in a column that was not there when it was stored."""

CAPTURE_NUMBERS = "capture_numbers"
"""The counter with the highest number that a deleted capture may have had; none is given twice."""

SEEN_SUM = "seen_sum"
"""The counter that adds up the dates."""

COLUMNS_SUM = "columns_sum"
"""The counter with the CRC-32 of the file of columns, 0 of one that an older version wrote."""

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
    own = _SCHEMA.format(captures=", ".join(_capture_columns()), facets=", ".join(facets))
    return _DATES_SCHEMA + own + LOOKUP_SCHEMA


TABLES: dict[IndexName, tuple[str, ...]] = {
    IndexName.DOCUMENTS: ("documents", "ids", "facet_values"),
    IndexName.DATES: ("dates", "seen", "collections"),
    IndexName.CAPTURES: ("captures", "sources", *LOOKUP_TABLES),
    IndexName.FILES: ("files",),
}
"""The tables that hold an index, the one with its entries first."""


_READER_CACHE_KIB, _WRITER_CACHE_KIB = 64 << 10, 16 << 10


def connect(path: Path, *, read_only: bool) -> sqlite3.Connection:
    """Return a connection that begins no transactions of its own accord."""
    db = connect_sqlite(path, read_only=read_only)
    db.create_function("crc32", 1, zlib.crc32, deterministic=True)
    if not read_only:
        db.execute("PRAGMA journal_mode = WAL")
    else:
        _show_missing(db)
        show_lookups(db)
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
    """Add the columns of captures and the counters that an archive of an older version lacks."""
    for name, kind in _missing_columns(db).items():
        db.execute(f"ALTER TABLE captures ADD COLUMN {name} {kind} DEFAULT {_UNKNOWN[kind]}")
    names = [(name,) for name in _COUNTERS]
    db.executemany("INSERT OR IGNORE INTO counters VALUES (?, 0)", names)


def _show_missing(db: sqlite3.Connection) -> None:
    """Give readers the columns that an archive of an older version lacks."""
    if missing := _missing_columns(db):
        shown = ", ".join(f"{_UNKNOWN[kind]} AS {name}" for name, kind in missing.items())
        # What is temporary hides what is in the file, and is gone with the connection.
        db.execute(f"CREATE TEMP VIEW captures AS SELECT *, {shown} FROM main.captures")


def _missing_columns(db: sqlite3.Connection) -> dict[str, str]:
    """Return the columns of captures that an archive lacks, and their types."""
    known = {name for _, name, *_ in db.execute("PRAGMA main.table_info(captures)")}
    wanted = (definition.partition(" ") for definition in _capture_columns())
    return {name: kind for name, _, kind in wanted if known and name not in known}


def _capture_columns() -> list[str]:
    kinds = mappings.properties(IndexName.CAPTURES)
    return [f"{name} {_SQL_TYPES.get(kinds[name]['type'], 'INTEGER')}" for name in CAPTURE_COLUMNS]


def make_dates_tables(db: sqlite3.Connection) -> None:
    """Create the tables of a separate dates index, the same as the archive's own."""
    _make(db, _DATES_SCHEMA, (IndexName.DATES, "deletions", SEEN_SUM))


def _make(db: sqlite3.Connection, schema: str, counters: tuple[str, ...]) -> None:
    if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'counters'").fetchone():
        return
    values = ", ".join(f"('{name}', 0)" for name in counters)
    db.executescript(f"BEGIN; {schema} INSERT INTO counters VALUES {values}; COMMIT;")


def make_attached(db: sqlite3.Connection) -> None:
    """Create the table of attached indices, which the first archives did not have."""
    db.execute(_ATTACHED)


def attached(db: sqlite3.Connection) -> dict[str, str]:
    """Return the addresses of the dates indices that are attached to an archive, by name."""
    if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'attached'").fetchone():
        return {}
    return dict(db.execute("SELECT name, address FROM attached ORDER BY name"))


def count_rows(db: sqlite3.Connection, name: str) -> int:
    """Return a counter."""
    row = db.execute("SELECT value FROM counters WHERE name = ?", (str(name),)).fetchone()
    return 0 if row is None else int(row[0])


def add_rows(db: sqlite3.Connection, name: str, number: int) -> None:
    """Add to a counter."""
    db.execute("UPDATE counters SET value = value + ? WHERE name = ?", (number, str(name)))


_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)

Opening = Callable[[], AbstractContextManager[sqlite3.Connection | None]]
"""Gives a connection to write without a transaction, None where there is no file."""


def erase_deleted(db: sqlite3.Connection, wait_seconds: float) -> bool:
    """Rewrite a file without deleted data, and empty its journal.

    Returns False if others read or write it for longer than `wait_seconds`. The connection must not
    be in a transaction.
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
    """Do the same to a file that has to be opened; one that is not there holds nothing."""
    try:
        with opening() as db:
            return db is None or erase_deleted(db, wait_seconds)
    except EngineBusyError:
        return False


def erase_values(db: sqlite3.Connection) -> None:
    """Overwrite the values of facets that no document has any more, such as its host.

    Their codes are kept, as no code is reused; readers use none of these.
    """
    for facet in DOCUMENT_FACETS:
        # No host, type or language has a `#` in front.
        db.execute(
            "UPDATE facet_values SET value = '#' || code WHERE field = ?1 AND substr(value, 1, 1)"
            f" != '#' AND code NOT IN (SELECT {facet} FROM documents)",
            (facet,),
        )
