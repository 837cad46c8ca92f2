"""Merging of runs of captures, and packing of older archives' tables into runs."""

import os
import sqlite3
import time
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from typing import Any

from nwx.bulk.progress import ShowProgress, WorkProgress
from nwx.captures import DEFAULT_VALUES, VALUE_FIELDS
from nwx.engine.embedded.captures.block_lookups import BlockPart, FileNames
from nwx.engine.embedded.captures.blocks import NUMBER_FIELDS, STORED_FIELDS, BlockColumns
from nwx.engine.embedded.captures.capture_writer import RunWriter, all_steps
from nwx.engine.embedded.captures.cdx_order import CaptureChunk
from nwx.engine.embedded.captures.runs import (
    MERGED,
    ORDER_FIELDS,
    RUN_BITS,
    RUN_SCHEMA,
    CaptureConnection,
    CdxPlace,
    block_numbered,
    captures_behind,
    drop_runs,
    places_of,
)
from nwx.engine.embedded.database import CAPTURE_NUMBERS, count_rows
from nwx.engine.embedded.folder import MERGE_LOCK, MOST_PAUSE_SECONDS, Folder
from nwx.engine.sqlite_files import transaction
from nwx.errors import EngineBusyError
from nwx.model import IndexName

FEWEST, MOST = 4, 10
"""The number of runs of similar size that are merged, and the most runs of an archive."""

FEW_CAPTURES = 100_000
"""The most captures merged together with a commit."""

MERGED_AT_ONCE = 500
"""The fewest captures that a merge reads at once, some 500 KB."""

_MOST_MERGED_AT_ONCE = 50_000
_PARTS = 64
"""The most parts of a merge, until they are large; the look-ups of all are read together."""

TURN_SECONDS = 0.5
"""The time, plus one step, for which a merge keeps others from writing."""

_WAIT_SECONDS = 10.0
_DELETED_AT_ONCE = 2_000
_FREE_SHARE = 10
"""One page in this many may be free after long merges."""

_PAGES_AT_ONCE = 500
_DELETE = "DELETE FROM {0} WHERE id IN (SELECT id FROM {0} WHERE run = ? LIMIT {1})"

_FREE_RUNS = (
    "SELECT run, captures FROM runs AS one WHERE shown AND NOT EXISTS (SELECT 1 FROM runs"
    " WHERE NOT shown AND sources = ? AND one.first_batch >= first_batch"
    " AND one.last_batch <= last_batch) ORDER BY captures"
)


def runs_to_merge(db: sqlite3.Connection, most: int = 1 << 62) -> list[int]:
    """Return the runs to merge, of at most `most` captures in total; none if there are few.

    Runs of similar size are merged with all smaller ones, into one of at least four times the size:
    a capture is rewritten once per size in the archive. Runs that an unfinished merge is about to
    hide are left out.
    """
    found = db.execute(_FREE_RUNS, (MERGED,)).fetchall()
    sizes = [(captures.bit_length() - 1) // 2 for _, captures in found]
    many = [size for size, number in Counter(sizes).items() if number >= FEWEST]
    ends = [bisect_right(sizes, size) for size in many]
    if len(found) > MOST:
        ends.append(len(found) - FEWEST)
    fitting = [end for end in ends if sum(captures for _, captures in found[:end]) <= most]
    return [run for run, _ in found[: max(fitting, default=0)]]


def merge_few(db: sqlite3.Connection) -> None:
    """Merge runs within a transaction, if they are small."""
    if runs := runs_to_merge(db, FEW_CAPTURES):
        merge_runs(db, runs)


def merge_many(
    folder: Folder, db: sqlite3.Connection, *, is_locked: bool = False, wait_seconds: float = 0.0
) -> None:
    """Run long merges, unless another process does; others may write in between.

    With `is_locked` the caller holds the lock of the folder, and keeps it throughout.
    """
    if not runs_to_merge(db):
        return
    with suppress(EngineBusyError):  # the process that holds the lock merges them
        merging = folder.lock(wait_seconds, MERGE_LOCK)
        try:
            steps = _all_steps(db)
            while _goes_on(folder, db, steps, is_locked=is_locked):
                if not is_locked:
                    time.sleep(2 * MOST_PAUSE_SECONDS)  # so that waiting writers get the lock
        finally:
            os.close(merging)


def _goes_on(
    folder: Folder, db: sqlite3.Connection, steps: Iterator[None], *, is_locked: bool
) -> bool:
    """Take steps in a transaction for TURN_SECONDS; return whether there are more."""
    lock = None if is_locked else folder.lock(_WAIT_SECONDS)
    try:
        end = time.monotonic() + TURN_SECONDS
        with transaction(db):
            more = any(time.monotonic() >= end for _ in steps)
        db.execute("PRAGMA wal_checkpoint(PASSIVE)")
        return more
    finally:
        if lock is not None:
            os.close(lock)


def _all_steps(db: sqlite3.Connection) -> Iterator[None]:
    while runs := runs_to_merge(db):
        yield from _merge_steps(db, runs)
    yield from _free_pages_returned(db)


def _free_pages_returned(db: sqlite3.Connection) -> Iterator[None]:
    """Return free pages to the file system, step by step, if they are many.

    Archives made without auto_vacuum keep them for later data.
    """
    before = -1
    while (free := _number(db, "freelist_count")) != before:
        if free * _FREE_SHARE <= _number(db, "page_count"):
            return
        before = free
        for _ in range(_PAGES_AT_ONCE):
            db.execute("PRAGMA incremental_vacuum(1)")  # sqlite3 runs only one step of it
        yield


def _number(db: sqlite3.Connection, pragma: str) -> int:
    return int(db.execute(f"PRAGMA {pragma}").fetchone()[0])


def merge_runs(db: sqlite3.Connection, runs: Sequence[int]) -> None:
    """Merge runs within a transaction."""
    all_steps(_merge_steps(db, runs))


def _merge_steps(db: sqlite3.Connection, runs: Sequence[int]) -> Iterator[None]:
    """Merge runs step by step; the caller may commit between steps.

    Readers see the old runs until all is committed. Ends early if captures, and with them the
    merged run, were deleted meanwhile.
    """
    marks = ",".join(map(str, runs))
    command = f"SELECT min(first_batch), max(last_batch) FROM runs WHERE run IN ({marks})"
    writer = RunWriter(db, db.execute(command).fetchone(), is_merged=True)
    for _ in _fill(db, writer, runs):
        yield
        if not db.execute("SELECT 1 FROM runs WHERE run = ?", (writer.run,)).fetchone():
            return
    db.execute(
        "INSERT INTO months SELECT ?, month, sum(captures), max(last_batch) FROM months"
        f" WHERE run IN ({marks}) GROUP BY month",
        (writer.run,),
    )
    db.execute(f"UPDATE runs SET shown = 0, sources = {MERGED} WHERE run IN ({marks})")
    writer.show()
    for run in runs:
        for table in ("blocks", "lookups"):
            while db.execute(_DELETE.format(table, _DELETED_AT_ONCE), (run,)).rowcount:
                yield
    drop_runs(db, runs)


def _fill(db: sqlite3.Connection, writer: RunWriter, runs: Sequence[int]) -> Iterator[None]:
    number, most = 0, _merged_at_once(db, runs)
    with _names_kept(db):
        while some := _next_captures(db, runs, writer.last, most):
            number = yield from writer.append(CaptureChunk(some), number)
            yield
    yield from writer.finish()


def _merged_at_once(db: sqlite3.Connection, runs: Sequence[int]) -> int:
    marks = ",".join(map(str, runs))
    command = f"SELECT sum(captures) FROM runs WHERE run IN ({marks})"
    captures = int(db.execute(command).fetchone()[0])
    return max(MERGED_AT_ONCE, min(captures // _PARTS, _MOST_MERGED_AT_ONCE))


def _next_captures(
    db: sqlite3.Connection, runs: Sequence[int], last: CdxPlace, most: int
) -> BlockColumns:
    """Return the next captures of runs after a place, `most` or a few more."""
    found: BlockColumns = {}
    for piece in captures_behind(db, last, STORED_FIELDS, runs=runs):
        for name, values in piece.items():
            found.setdefault(name, []).extend(values)
        if len(found["urlkey"]) >= most:
            break
    return found


@contextmanager
def _names_kept(db: sqlite3.Connection) -> Iterator[None]:
    """Cache file names in the context only, as a writer may later roll back new names."""
    if not isinstance(db, CaptureConnection):
        yield
        return
    before, db.names = db.names, FileNames()
    try:
        yield
    finally:
        db.names = before


_AT_ONCE = 50_000
_FIELDS = tuple(dict.fromkeys((*ORDER_FIELDS, *STORED_FIELDS)))


def _has(db: sqlite3.Connection, table: str) -> bool:
    command = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?"
    return db.execute(command, (table,)).fetchone() is not None


def pack_older_captures(db: sqlite3.Connection, progress: ShowProgress) -> None:
    """Pack the captures not packed yet, in several transactions; none may be open."""
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
            number = all_steps(writer.append(CaptureChunk(columns), number))
        db.execute("PRAGMA wal_checkpoint(PASSIVE)")
        packed += len(rows)
        progress(WorkProgress("packing captures", packed, total))


def _begun(db: sqlite3.Connection) -> tuple[RunWriter, int]:
    """Return the writer of the run being packed, and the number of its next block."""
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
    """Yield the captures after a place, in order, many at a time."""
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
