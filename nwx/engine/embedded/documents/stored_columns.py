"""Columns of the archive's database as arrays, and the file that caches them.

The file is memory-mapped: columns that a question does not use are not read.
"""

import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from nwx.bulk.arrays import narrow, read_arrays, write_arrays
from nwx.bulk.whole_files import file_checksum
from nwx.data_classes import dataclass
from nwx.engine.embedded.database import (
    COLUMNS_SUM,
    DOCUMENT_FACETS,
    count_rows,
    facet_columns,
)
from nwx.errors import BlobError
from nwx.query.fields import ENRICHED_FACETS

Ints = npt.NDArray[np.int64]

_WIDE = ("url_group", "text_group", "id_start")
_COLUMNS = (*_WIDE, *DOCUMENT_FACETS)
_KEPT_NUMBERS = ("deletions", "seq", "seen", "stamp")
_WORTH_KEEPING = 0.1

Derive = Callable[
    [sqlite3.Connection, "StoredColumns", "StoredColumns | None"], Mapping[str, npt.NDArray[Any]]
]
"""Computes arrays from the database, its columns, and those of the previous file, if any."""


class Seen(NamedTuple):
    """Dates by document number, in the order of number and time."""

    nums: Ints
    timestamps: Ints
    collections: Ints


def merged_date_columns(parts: Sequence[Seen]) -> Seen:
    """Return the dates of several indices, each once."""
    nums, timestamps, collections = map(np.concatenate, zip(*parts, strict=True))
    order = np.lexsort((collections, timestamps, nums))
    found = Seen(nums[order], timestamps[order], collections[order])
    new = np.ones(len(order), dtype=bool)
    new[1:] = False
    for column in found:
        new[1:] |= column[1:] != column[:-1]
    return Seen(*(column[new] for column in found))


@dataclass(frozen=True, slots=True)
class StoredColumns:
    """Documents by number, and dates ordered by number and time.

    `seq` and `seen` are the last database rows included, valid while nothing has been deleted
    since. `stamp` is that of the file, 0 without one. `derived` has arrays computed from the dates
    and stored in the file, empty if rows were added since.
    """

    deletions: int
    seq: int
    seen: int
    stamp: int
    documents: dict[str, Ints]
    seen_nums: Ints
    timestamps: Ints
    collections: Ints
    derived: Mapping[str, npt.NDArray[Any]] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """The first number beyond the arrays."""
        return len(self.documents["url_group"])


def read_columns(db: sqlite3.Connection, before: StoredColumns | None) -> StoredColumns:
    """Return the current columns; only rows added since `before` are read."""
    deletions = count_rows(db, "deletions")
    if before is None or before.deletions != deletions:
        before = _nothing(deletions)
    (size,) = db.execute("SELECT coalesce(max(num), 0) + 1 FROM ids").fetchone()
    newest = db.execute("SELECT coalesce(max(seq), 0) FROM documents").fetchone()
    last = db.execute("SELECT coalesce(max(rowid), 0) FROM seen").fetchone()
    if (before.size, before.seq, before.seen) == (size, *newest, *last):
        return before
    seq, documents = _documents(db, before, size)
    rows = _rows(
        db, "SELECT rowid, num, timestamp, collection FROM seen WHERE rowid > ?", before.seen
    )
    nums, timestamps, collections = before.seen_nums, before.timestamps, before.collections
    if len(rows):
        nums = np.concatenate([nums, rows[:, 1]])
        timestamps = np.concatenate([timestamps, rows[:, 2]])
        order = np.lexsort((timestamps, nums))
        nums, timestamps = nums[order], timestamps[order]
        collections = np.concatenate([collections, rows[:, 3]])[order]
    seen = int(rows[:, 0].max()) if len(rows) else before.seen
    return StoredColumns(
        deletions, seq, seen, before.stamp, documents, nums, timestamps, collections
    )


def changed_numbers(
    db: sqlite3.Connection, before: StoredColumns, seq: int | None = None
) -> Ints | None:
    """Return the numbers of the documents written since `before`, None if any was deleted.

    `seq` is the last row of documents, if it differs from the one in `before`.
    """
    if count_rows(db, "deletions") != before.deletions:
        return None
    last = before.seq if seq is None else seq
    return _rows(db, "SELECT num FROM documents WHERE seq > ?", last)[:, 0]


def _nothing(deletions: int) -> StoredColumns:
    none = np.zeros(0, dtype=np.int64)
    return StoredColumns(deletions, 0, 0, 0, dict.fromkeys(_COLUMNS, none), none, none, none)


def _documents(
    db: sqlite3.Connection, before: StoredColumns, size: int
) -> tuple[int, dict[str, Ints]]:
    columns = ", ".join((*_WIDE, *facet_columns(db).values()))
    command = f"SELECT seq, num, {columns} FROM documents WHERE seq > ?"
    rows = _rows(db, command, before.seq)
    documents: dict[str, Ints] = {}
    for place, name in enumerate(_COLUMNS, 2):
        column: npt.NDArray[Any] = np.zeros(size, dtype=np.int64 if name in _WIDE else np.int32)
        column[: before.size] = before.documents[name]
        column[rows[:, 1]] = rows[:, place]
        documents[name] = column
    return (int(rows[:, 0].max()) if len(rows) else before.seq), documents


def _rows(db: sqlite3.Connection, command: str, last: int) -> Ints:
    cursor = db.execute(command, (last,))
    width = len(cursor.description)
    return np.fromiter(chain.from_iterable(cursor), dtype=np.int64).reshape(-1, width)


def load_columns_file(file: Path, db: sqlite3.Connection) -> StoredColumns | None:
    """Return the columns of a file, None if it is unreadable or not of this database's state."""
    try:
        arrays = read_arrays(file)
        kept = dict(zip(_KEPT_NUMBERS, arrays.pop("kept").tolist(), strict=True))
        dates = [arrays.pop(name) for name in ("seen_nums", "timestamps", "collections")]
        none = np.zeros(len(arrays["url_group"]), dtype=np.int8)  # for a file older than enrichers
        documents = {
            name: arrays.pop(name, none) if name in ENRICHED_FACETS else arrays.pop(name)
            for name in _COLUMNS
        }
    except (BlobError, ValueError, KeyError):
        return None
    if kept["stamp"] != count_rows(db, "stamp"):
        return None
    return StoredColumns(
        **kept,
        documents=documents,
        seen_nums=dates[0],
        timestamps=dates[1],
        collections=dates[2],
        derived=arrays,
    )


def save_columns_file(
    file: Path, db: sqlite3.Connection, derive: Derive, needed: str | None = None
) -> None:
    """Write the columns to a file, if enough has changed since the last write.

    `derive` returns the arrays stored with them. A file without an array that is `needed` is also
    rewritten.
    """
    before = load_columns_file(file, db)
    known = before.seq + before.seen if before is not None else 0
    (all_rows,) = db.execute(
        "SELECT (SELECT coalesce(max(seq), 0) FROM documents)"
        " + (SELECT coalesce(max(rowid), 0) FROM seen)"
    ).fetchone()
    is_complete = needed is None or (before is not None and needed in before.derived)
    if is_complete and all_rows - known <= _WORTH_KEEPING * all_rows:
        return
    stored = read_columns(db, before)
    # Readers use the file only if its stamp is the database's.
    stamp = int.from_bytes(os.urandom(7), "big") or 1
    numbers = np.array([stored.deletions, stored.seq, stored.seen, stamp], dtype=np.int64)
    arrays: dict[str, npt.NDArray[Any]] = {
        "seen_nums": stored.seen_nums,
        "collections": stored.collections,
        **stored.documents,
    }
    arrays = {name: narrow(array) for name, array in arrays.items()}
    arrays |= {"kept": numbers, "timestamps": stored.timestamps, **derive(db, stored, before)}
    new = file.with_name(f"{file.name}.new")
    write_arrays(new, arrays)
    counters = ((stamp, "stamp"), (file_checksum(new), COLUMNS_SUM))
    new.rename(file)
    db.executemany("UPDATE counters SET value = ? WHERE name = ?", counters)
