"""The two tables that captures are looked up in: by urlkey and timestamp, and by digest.

`cdx_lines` holds captures in the order of a CDX with nearly all that their
lines show, so that neither a row is looked up nor a text is put together for
each line of an answer. `digests` holds the end of each digest, 36 bits of it
and more, without revisits. Both are filled from the table of captures in
sorted runs, which writes each of their pages once a run.
"""

import sqlite3

from nwx.cdx.lines import REVISIT

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

_SCHEMA = (
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

LOOKUP_SCHEMA = "".join(f"{statement};\n" for statement in _SCHEMA)

_KNOWN = "SELECT 1 FROM main.sqlite_master WHERE name ="
_LINES = (
    f"SELECT urlkey, timestamp, num, {_HEAD} AS head, {REDIRECT} AS redirect,"
    f" {LENGTH} AS length, {OFFSET} AS place, source AS file FROM main.captures"
)
_DIGESTS = (
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
    """Make both tables for the captures that an archive of an older version has.

    The caller has begun a transaction. What is there already stays.
    """
    if not _has_lookups(db):
        for statement in _SCHEMA:
            db.execute(statement)
        fill_lookup_tables(db, 0)


def fill_lookup_tables(db: sqlite3.Connection, last: int) -> None:
    """Add the captures with higher numbers than `last`, none of which may be there."""
    db.execute(
        f"INSERT INTO cdx_lines {_LINES} WHERE num > ? ORDER BY urlkey, timestamp, num", (last,)
    )
    db.execute(f"INSERT INTO digests {_DIGESTS} AND num > ? ORDER BY ending, time, num", (last,))


def delete_lookups(db: sqlite3.Connection, nums: list[tuple[int]]) -> None:
    """Delete the entries of captures, before the captures themselves are deleted."""
    for command in _DELETE:
        db.executemany(command, nums)


def show_lookups(db: sqlite3.Connection) -> None:
    """Let those who read find the tables in an archive of an older version, made as they ask."""
    if not _has_lookups(db) and db.execute(f"{_KNOWN} 'captures'").fetchone():
        # What is temporary hides what is in the file, and is gone with the connection.
        db.execute(f"CREATE TEMP VIEW cdx_lines AS {_LINES}")
        db.execute(f"CREATE TEMP VIEW digests AS {_DIGESTS}")


def _has_lookups(db: sqlite3.Connection) -> bool:
    return db.execute(f"{_KNOWN} 'cdx_lines'").fetchone() is not None
