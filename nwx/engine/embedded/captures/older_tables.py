"""Captures of an archive before format 5, a row each, packed into the blocks of a run.

The run is not shown before all are in it: what was stopped goes on where it was.
"""

import sqlite3
from collections.abc import Iterator
from itertools import groupby
from typing import Any

from nwx.bulk.progress import ShowProgress, WorkProgress
from nwx.captures import DEFAULT_VALUES, VALUE_FIELDS
from nwx.engine.embedded.captures.block_parts import BlockPart
from nwx.engine.embedded.captures.blocks import NUMBER_FIELDS, STORED_FIELDS
from nwx.engine.embedded.captures.capture_writer import RunWriter, all_steps
from nwx.engine.embedded.captures.runs import (
    ORDER_FIELDS,
    RUN_BITS,
    RUN_SCHEMA,
    CdxPlace,
    block_numbered,
    places_of,
)
from nwx.engine.embedded.database import CAPTURE_NUMBERS, count_rows
from nwx.engine.sqlite_files import transaction
from nwx.model import IndexName

_AT_ONCE = 50_000
_FIELDS = tuple(dict.fromkeys((*ORDER_FIELDS, *STORED_FIELDS)))


def _has(db: sqlite3.Connection, table: str) -> bool:
    command = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    return db.execute(command, (table,)).fetchone() is not None


def pack_older_captures(db: sqlite3.Connection, progress: ShowProgress) -> None:
    """Pack the captures that are not packed yet, some at a time; no transaction is open."""
    if not _has(db, "captures"):
        return
    with transaction(db):
        if not _has(db, "runs"):
            for statement in RUN_SCHEMA.split(";\n"):
                db.execute(statement)
        writer, number = _begun(db)
        command = "SELECT captures FROM runs WHERE run = ?"
        (packed,) = db.execute(command, (writer.run,)).fetchone()
    total = count_rows(db, IndexName.CAPTURES)
    for rows in _chunks(db, writer.last):
        columns = dict(zip(_FIELDS, map(list, zip(*rows, strict=True)), strict=True))
        with transaction(db):
            number = all_steps(writer.append(columns, number))
        db.execute("PRAGMA wal_checkpoint(PASSIVE)")
        packed += len(rows)
        progress(WorkProgress("packing captures", packed, total))


def _begun(db: sqlite3.Connection) -> tuple[RunWriter, int]:
    """Return the writer of the run, and the number of its next block."""
    batch = _last_number(db)
    row = db.execute("SELECT run FROM runs WHERE NOT shown").fetchone()
    writer = RunWriter(db, (batch, batch), row[0] if row else 0)
    (last,) = db.execute("SELECT max(id) FROM blocks WHERE run = ?", (writer.run,)).fetchone()
    if last is None:
        return writer, 0
    number = last - (writer.run << RUN_BITS)
    block = block_numbered(db, writer.run, number)
    if block is not None:
        piece = BlockPart(db, block)
        writer.last = places_of({name: piece[name] for name in ORDER_FIELDS})[-1]
    return writer, number + 1


def _last_number(db: sqlite3.Connection) -> int:
    (highest,) = db.execute("SELECT coalesce(max(num), 0) FROM captures").fetchone()
    return max(int(highest), count_rows(db, CAPTURE_NUMBERS))


def _chunks(db: sqlite3.Connection, last: CdxPlace) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the captures behind a place, in order, some at a time."""
    names = {name for _, name, *_ in db.execute("PRAGMA table_info(captures)")}
    told = {"collection": "collection", "source_file": "name", "source": "source"}
    told["batch"] = str(_last_number(db))
    for name in VALUE_FIELDS[2:]:
        missing = "NULL" if name in NUMBER_FIELDS else f"'{DEFAULT_VALUES.get(name, '')}'"
        told[name] = f"coalesce({name}, {missing})" if name in names else missing
    lines = "cdx_lines CROSS JOIN captures USING (num, urlkey, timestamp)"
    command = (
        f"SELECT {', '.join(told[name] for name in _FIELDS)} FROM"
        f" {lines if _has(db, 'cdx_lines') else 'captures'}"
        " CROSS JOIN sources ON sources.code = source"
        " WHERE (urlkey, timestamp) >= (?, ?) ORDER BY urlkey, timestamp"
    )
    while True:
        rows: list[tuple[Any, ...]] = []
        found = db.execute(command, last[:2])
        for _, group in groupby(found, key=lambda row: row[:2]):
            rows += sorted(row for row in group if row[:5] > last)
            if len(rows) >= _AT_ONCE:
                break
        del found
        if not rows:
            return
        yield rows
        last = rows[-1][:5]


def finish_older_captures(db: sqlite3.Connection) -> None:
    """Show the packed captures and drop the tables of rows, within a transaction."""
    if not _has(db, "captures"):
        return
    writer, _ = _begun(db)
    all_steps(writer.finish())
    batch = _last_number(db)
    db.execute(
        "INSERT INTO months SELECT ?, substr(timestamp, 1, 6), count(*), ? FROM captures"
        " GROUP BY 2",
        (writer.run, batch),
    )
    db.execute("INSERT OR REPLACE INTO counters VALUES (?, ?)", (CAPTURE_NUMBERS, batch))
    writer.show()
    db.execute("DELETE FROM runs WHERE NOT captures")
    for table in ("captures", "cdx_lines", "digests"):
        db.execute(f"DROP TABLE IF EXISTS {table}")
