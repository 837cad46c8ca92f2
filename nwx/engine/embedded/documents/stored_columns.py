"""Columns of the archive's database as arrays, groups and sets of their values, and their file.

The file caches columns and sets. It is memory-mapped: columns that a question does not use are not
read.
"""

import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import cached_property
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from nwx.bulk.arrays import narrow, read_arrays, write_arrays
from nwx.bulk.whole_files import file_checksum
from nwx.data_classes import dataclass
from nwx.engine.embedded.database import COLUMNS_SUM, DOCUMENT_FACETS, count_rows, facet_columns
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

_FEW_FOLDED = 16
_ARRAYS = ("codes", "starts", "kinds", "values")
_SPARSE = 8


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


class Folds:
    """Folds the documents of a group into one hit; most groups have one document."""

    def __init__(self, groups: Ints) -> None:
        self.groups = groups
        sizes = np.bincount(groups) if len(groups) else np.zeros(1, dtype=np.int64)
        sizes[0] = 0  # numbers without a document
        self._several: npt.NDArray[np.bool_] = sizes[groups] > 1

    def count(self, nums: Ints) -> int:
        """Return the number of groups of documents."""
        several = self._several[nums]
        folded = int(np.count_nonzero(several))
        if not folded:
            return len(nums)
        if folded * _FEW_FOLDED < len(self._by_group):
            return len(nums) - folded + len(np.unique(self.groups[nums[several]]))
        there = np.zeros(len(self.groups), dtype=bool)
        there[nums] = True
        found = np.logical_or.reduceat(there[self._by_group], self._starts)
        return len(nums) - folded + int(np.count_nonzero(found))

    def versions(self, shown: Sequence[int], nums: Ints) -> dict[int, int]:
        """Return, by shown document in a group of several, how many of sorted `nums` are in it."""
        found = {}
        for num in shown:
            if self._several[num]:
                group = self._members(int(self.groups[num]))
                places = np.minimum(np.searchsorted(nums, group), len(nums) - 1)
                found[num] = int(np.count_nonzero(nums[places] == group))
        return found

    @cached_property
    def _by_group(self) -> Ints:
        """The documents of groups with several, group by group."""
        nums = np.flatnonzero(self._several)
        return nums[np.argsort(self.groups[nums], kind="stable")]

    @cached_property
    def _starts(self) -> Ints:
        """The positions at which groups begin in `_by_group`."""
        groups = self.groups[self._by_group]
        return np.flatnonzero(np.append(True, groups[1:] != groups[:-1]))

    @cached_property
    def _names(self) -> Ints:
        """The groups with several documents, in order."""
        names: Ints = self.groups[self._by_group[self._starts]]
        return names

    def _members(self, group: int) -> Ints:
        place = int(np.searchsorted(self._names, group))
        ends = np.append(self._starts[place : place + 2], len(self._by_group))
        return self._by_group[ends[0] : ends[1]]


class Sets:
    """A set of values for each number; equal sets are stored once.

    `codes` is the set of each number. Set 0 is empty, then come the sets of one value each, then
    the others.
    """

    def __init__(self, codes: Ints, starts: Ints, kinds: Ints, values: Ints) -> None:
        self.codes = codes
        self._starts = starts
        self._kinds = kinds
        self._values = values

    @classmethod
    def from_pairs(cls, nums: Ints, values: Ints, size: int) -> Self:
        """Return the sets of the numbers below `size`, from pairs of `nums` and `values`."""
        found, kinds = _numbered(values)
        if len(nums) and not _in_order(nums, kinds):
            order = np.lexsort((kinds, nums))
            nums, kinds = nums[order], kinds[order]
        new = np.ones(len(nums), dtype=bool)
        new[1:] = (nums[1:] != nums[:-1]) | (kinds[1:] != kinds[:-1])
        nums, kinds = nums[new], kinds[new]
        lengths = np.bincount(nums, minlength=size)
        starts = np.append(0, np.cumsum(lengths))
        codes = np.zeros(size, dtype=np.int64)
        single = np.flatnonzero(lengths == 1)
        codes[single] = kinds[starts[single]] + 1
        several = np.flatnonzero(lengths > 1)
        first, codes[several] = _distinct(several, starts, kinds, len(found))
        places = _runs(starts[first], lengths[first])
        own = np.concatenate([np.arange(len(found)), kinds[places]])
        sizes = np.concatenate([[0], np.ones(len(found), dtype=np.int64), lengths[first]])
        return cls(narrow(codes), np.append(0, np.cumsum(sizes)), narrow(own), found)

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, npt.NDArray[Any]], name: str) -> Self:
        """Return the sets stored under a name."""
        return cls(*(arrays[f"{name}.{part}"] for part in _ARRAYS))

    def arrays(self, name: str) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays to store under a name."""
        parts = (self.codes, self._starts, self._kinds, self._values)
        return {f"{name}.{part}": array for part, array in zip(_ARRAYS, parts, strict=True)}

    @property
    def count(self) -> int:
        """The number of sets."""
        return len(self._starts) - 1

    def spread(self, codes: Ints, counts: Ints) -> tuple[Ints, Ints]:
        """Return values and their counts, from codes of sets and their counts."""
        if _SPARSE * len(codes) > self.count:
            every = np.zeros(self.count, dtype=np.int64)
            every[codes] = counts
            sums = np.add.reduceat(every[self._sets_of_values], self._value_starts)
        else:
            lengths = self._starts[codes + 1] - self._starts[codes]
            kinds = self._kinds[_runs(self._starts[codes], lengths)]
            weights = np.repeat(counts, lengths)
            sums = np.bincount(kinds, weights, minlength=len(self._values)).astype(np.int64)
        found = np.flatnonzero(sums)
        return self._values[found], sums[found]

    @cached_property
    def _sets_of_values(self) -> Ints:
        """The sets that contain each value, value by value."""
        sets = np.repeat(np.arange(self.count), np.diff(self._starts))
        return sets[np.argsort(self._kinds, kind="stable")]

    @cached_property
    def _value_starts(self) -> Ints:
        sizes = np.bincount(self._kinds, minlength=len(self._values))
        return np.append(0, np.cumsum(sizes))[:-1]


def _numbered(values: Ints) -> tuple[Ints, Ints]:
    """Return the distinct values, and the index of each value among them."""
    if not len(values):
        return values.astype(np.int64), values.astype(np.int64)
    lowest = int(values.min())
    there = np.bincount(values - lowest) > 0
    return np.flatnonzero(there) + lowest, (np.cumsum(there) - 1)[values - lowest]


def _in_order(nums: Ints, kinds: Ints) -> bool:
    same = nums[1:] == nums[:-1]
    return bool((nums[1:] >= nums[:-1]).all() and (kinds[1:] >= kinds[:-1])[same].all())


def _distinct(several: Ints, starts: Ints, kinds: Ints, values: int) -> tuple[Ints, Ints]:
    """Return a number with each distinct set of several values, and the codes of all numbers."""
    # A set is identified by a sum of random marks, one per value, wide enough not to collide.
    marks = np.random.default_rng(0).integers(1, 2**64 - 1, size=values, dtype=np.uint64)
    sums = np.append(np.zeros(1, dtype=np.uint64), np.cumsum(marks[kinds]))
    own = sums[starts[several + 1]] - sums[starts[several]]
    _, first, codes = np.unique(own, return_index=True, return_inverse=True)
    return several[first], codes + values + 1


def _runs(starts: Ints, lengths: Ints) -> Ints:
    """Return the positions of consecutive runs, concatenated."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if len(ends) else 0
    return np.repeat(starts - ends + lengths, lengths) + np.arange(total)
