"""Runs of captures merged, so that look-ups ask few of them."""

import sqlite3
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Sequence

from nwx.engine.embedded.captures.blocks import STORED_FIELDS, BlockColumns
from nwx.engine.embedded.captures.capture_writer import RunWriter
from nwx.engine.embedded.captures.runs import CdxPlace, captures_behind, drop_runs
from nwx.engine.sqlite_files import transaction

FEWEST, MOST = 4, 10
"""So many runs of about one size are merged, and so many there are at most."""

FEW_CAPTURES = 100_000
"""So many captures at most are merged along with a commit."""

MERGED_AT_ONCE = 50_000


def runs_to_merge(db: sqlite3.Connection) -> tuple[list[int], int]:
    """Return the runs that are to be merged, none if they are few, and all their captures.

    Runs of about one size are merged with all smaller ones, into one of four times the size at
    least: so often a capture is written again as the archive has such sizes.
    """
    found = db.execute("SELECT run, captures FROM runs WHERE shown ORDER BY captures").fetchall()
    sizes = [(captures.bit_length() - 1) // 2 for _, captures in found]
    many = [size for size, number in Counter(sizes).items() if number >= FEWEST]
    end = len(found) - FEWEST if len(found) > MOST else 0
    if many:
        end = max(end, bisect_right(sizes, max(many)))
    return [run for run, _ in found[:end]], sum(captures for _, captures in found[:end])


def merge_few(db: sqlite3.Connection) -> None:
    """Merge runs within a transaction, if that is quickly done."""
    runs, captures = runs_to_merge(db)
    if captures <= FEW_CAPTURES and runs:
        merge_runs(db, runs)


def merge_many(db: sqlite3.Connection) -> None:
    """Merge runs that take longer, some captures a transaction."""

    def pause() -> None:
        db.execute("COMMIT")
        db.execute("PRAGMA wal_checkpoint(PASSIVE)")
        db.execute("BEGIN IMMEDIATE")

    while runs := runs_to_merge(db)[0]:
        with transaction(db):
            merge_runs(db, runs, pause)


def merge_runs(
    db: sqlite3.Connection, runs: Sequence[int], pause: Callable[[], object] = lambda: None
) -> None:
    """Merge runs in a transaction, which `pause` may commit, beginning another.

    Readers see the runs as they were until all is committed.
    """
    marks = ",".join(map(str, runs))
    command = f"SELECT min(first_batch), max(last_batch) FROM runs WHERE run IN ({marks})"
    writer = RunWriter(db, db.execute(command).fetchone())
    number = 0
    while some := _next_captures(db, runs, writer.last):
        number = writer.append(some, number)
        pause()
    writer.finish()
    db.execute(
        "INSERT INTO months SELECT ?, month, sum(captures), max(last_batch) FROM months"
        f" WHERE run IN ({marks}) GROUP BY month",
        (writer.run,),
    )
    drop_runs(db, runs)
    writer.show()


def _next_captures(db: sqlite3.Connection, runs: Sequence[int], last: CdxPlace) -> BlockColumns:
    """Return the captures of runs behind a place, MERGED_AT_ONCE or some more of them."""
    found: BlockColumns = {}
    for piece in captures_behind(db, last, STORED_FIELDS, runs=runs):
        for name, values in piece.items():
            found.setdefault(name, []).extend(values)
        if len(found["urlkey"]) >= MERGED_AT_ONCE:
            break
    return found
