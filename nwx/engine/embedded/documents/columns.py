"""Document columns other than text, as arrays indexed by document number.

The arrays are a snapshot.
"""

import sqlite3
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property, partial
from hashlib import blake2b
from pathlib import Path
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from cachetools import LRUCache

from nwx.bulk.arrays import narrow
from nwx.engine.document_dates import DateRows
from nwx.engine.embedded.database import DOCUMENT_FACETS, count_rows
from nwx.engine.embedded.documents.stored_columns import (
    Folds,
    Ints,
    Seen,
    Sets,
    StoredColumns,
    changed_numbers,
    merged_date_columns,
    save_columns_file,
)
from nwx.engine.embedded.documents.word_sets import (
    LEAST_DOCUMENTS,
    MOMENT,
    StoredSets,
    stored_sets,
)
from nwx.model import Collapse, IndexName
from nwx.query.question import DateCondition
from nwx.values.timestamps import Period, TrendPoint

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
_KEPT = 8
_ID_DIGITS = 16
"""The number of hexadecimal digits of an id from which `id_start` is made."""

_SPREAD = np.uint64(0x9E3779B97F4A7C15)
Others = Callable[[int, dict[str, int]], Sequence[Seen]]
"""Reads the dates of attached indices, as `attached_dates.Attached.read` does."""


def id_start_of(id: str) -> int:
    """Return the first 63 bits of an id, as in the column `id_start`."""
    return int(id[:_ID_DIGITS], 16) >> 1


class DocumentColumns:
    """A snapshot of documents and dates."""

    entries: int
    seen: Seen
    timestamps: Ints
    rows: DateRows

    def __init__(
        self,
        stored: StoredColumns,
        collections: dict[str, int],
        labels: Mapping[str, list[str]],
    ) -> None:
        self.stored = stored
        self.size = stored.size
        self.collections = collections
        self.is_document: Bools = stored.documents["url_group"] > 0
        self.labels = labels
        self._totals: dict[str, tuple[Ints, Ints]] = {}
        self._values: dict[str, Mapping[str, int]] = {}
        self._combined: LRUCache[tuple[str, ...], Ints] = LRUCache(_KEPT)
        self._guard = threading.Lock()

    @classmethod
    def read(
        cls,
        db: sqlite3.Connection,
        stored: StoredColumns,
        before: "DocumentColumns | None" = None,
        others: Others | None = None,
    ) -> Self:
        """Return the columns of an archive; data already in `before` is not read again."""
        collections = {name: code for code, name in db.execute("SELECT * FROM collections")}
        columns = cls(stored, collections, _labels(db, before))
        columns.entries = count_rows(db, IndexName.DOCUMENTS)
        seen = Seen(stored.seen_nums, stored.timestamps, stored.collections)
        further = others(columns.size, collections) if others is not None else ()
        if further:
            columns.take_dates(merged_date_columns([seen, *further]))
        else:
            columns.take_dates(seen, stored.derived)
        return columns

    def take_dates(self, seen: Seen, derived: Mapping[str, Any] | None = None) -> None:
        """Set the dates, and the arrays already computed from them."""
        self.seen = seen
        self.timestamps = seen.timestamps
        self.rows = DateRows(*seen, self.collections)
        self._derived: Mapping[str, Any] = derived or {}

    def folds(self, collapse: Collapse) -> Folds | None:
        """Return the folds of documents, None if nothing is collapsed."""
        if collapse is Collapse.NONE:
            return None
        return self._url_folds if collapse is Collapse.URL else self._text_folds

    @cached_property
    def _url_folds(self) -> Folds:
        return Folds(self.stored.documents["url_group"])

    @cached_property
    def _text_folds(self) -> Folds:
        return Folds(self.stored.documents["text_group"])

    @property
    def id_start(self) -> Ints:
        """The first 63 bits of each id, which sort as the ids do."""
        return self.stored.documents["id_start"]

    @cached_property
    def _by_id(self) -> Ints:
        return np.argsort(self.id_start, kind="stable")

    def nums_of(self, ids: Sequence[str]) -> Ints:
        """Return the numbers of documents by id, -1 for missing ones."""
        written = "".join(id[:_ID_DIGITS] for id in ids)
        return self.nums_of_starts(np.frombuffer(bytes.fromhex(written), ">u8"))

    def nums_of_starts(self, first: npt.NDArray[np.uint64]) -> Ints:
        """Return the numbers of documents by the first 64 bits of their ids, -1 if missing."""
        if not len(first) or not self.size:
            return np.full(len(first), -1, dtype=np.int64)
        starts = (first >> np.uint64(1)).astype(np.int64)
        places = np.searchsorted(self.id_start, starts, side="right", sorter=self._by_id) - 1
        nums: Ints = self._by_id[places]
        return np.where((self.id_start[nums] == starts) & self.is_document[nums], nums, -1)

    def codes(self, facet: str) -> Ints:
        """Return for each document the code of its facet value, or of its set of values."""
        sets = self.sets(facet)
        return self.stored.documents[facet] if sets is None else sets.codes

    def sets(self, facet: str) -> Sets | None:
        """Return the sets of a facet computed from all dates, None for other facets."""
        if facet == "year":
            return self.years
        return self.seen_collections if facet == "collection" else None

    def kinds(self, facet: str) -> int:
        """Return the number of codes of a facet."""
        sets = self.sets(facet)
        return len(self.labels[facet]) if sets is None else sets.count

    def combined_codes(self, facets: tuple[str, ...]) -> Ints:
        """Return for each document one code for several facets, the last facet varying fastest."""
        with self._guard:
            known = self._combined.get(facets)
        if known is None:
            known = self.codes(facets[0]).astype(np.int64)
            for facet in facets[1:]:
                known = known * self.kinds(facet) + self.codes(facet)
            known = narrow(known)
            with self._guard:
                self._combined[facets] = known
        return known

    def has_value(self, facet: str, values: Collection[str], nums: Ints) -> Bools:
        """Return for each document whether it has one of the values; for DOCUMENT_FACETS only."""
        wanted = np.zeros(len(self.labels[facet]), dtype=bool)
        wanted[[code for value in values if (code := self._known_values(facet).get(value))]] = True
        return wanted[self.codes(facet)[nums]]

    def _known_values(self, facet: str) -> Mapping[str, int]:
        if facet not in self._values:
            self._values[facet] = {value: code for code, value in enumerate(self.labels[facet])}
        return self._values[facet]

    def totals(self, facet: str) -> tuple[Ints, Ints]:
        """Return the codes of a facet's values over all documents, and their counts."""
        if facet not in self._totals:
            every = np.bincount(self.codes(facet)[self.is_document], minlength=1)
            found = np.flatnonzero(every)
            counts = every[found]
            sets = self.sets(facet)
            self._totals[facet] = (found, counts) if sets is None else sets.spread(found, counts)
        return self._totals[facet]

    @cached_property
    def _starts(self) -> Ints:
        """The position at which the dates of each number begin."""
        starts: Ints | None = self._derived.get("starts")
        if starts is None:
            sizes = np.bincount(self.seen.nums, minlength=self.size)
            starts = np.append(0, np.cumsum(sizes))
        return starts

    @cached_property
    def oldest(self) -> Ints:
        """The first date of each number; later than all others if it has no dates."""
        return self._edge("oldest", self._starts[:-1], 10**14)

    @cached_property
    def newest(self) -> Ints:
        """The last date of each number; 0 if it has no dates."""
        return self._edge("newest", self._starts[1:] - 1, 0)

    def _edge(self, name: str, places: Ints, missing: int) -> Ints:
        known: Ints | None = self._derived.get(name)
        if known is not None:
            return known
        found = np.full(self.size, missing, dtype=np.int64)
        dated = self._starts[1:] > self._starts[:-1]
        found[dated] = self.timestamps[places[dated]]
        return found

    @cached_property
    def years(self) -> Sets:
        """The years of each number."""
        if self._derived:
            return Sets.from_arrays(self._derived, "years")
        return Sets.from_pairs(self.seen.nums, self.timestamps // 10**10, self.size)

    @cached_property
    def seen_collections(self) -> Sets:
        """The codes of the collections of each number."""
        if self._derived:
            return Sets.from_arrays(self._derived, "collections")
        return Sets.from_pairs(self.seen.nums, self.seen.collections, self.size)

    def derived(self) -> dict[str, npt.NDArray[Any]]:
        """Return the arrays computed from the dates of the main index, for the columns file."""
        edges = {"starts": self._starts, "oldest": self.oldest, "newest": self.newest}
        return edges | self.years.arrays("years") | self.seen_collections.arrays("collections")

    def seen_in(self, condition: DateCondition) -> Bools:
        """Return for each number whether one of its dates meets a condition."""
        found = np.zeros(self.size, dtype=bool)
        found[self.seen.nums[self.rows.that_meet(condition)]] = True
        return found

    def trend(self, nums: Ints, period: Period, condition: DateCondition) -> list[TrendPoint]:
        """Return the counts by period of the documents' dates that meet a condition."""
        chosen = np.zeros(self.size, dtype=bool)
        chosen[nums] = True
        fits = self.rows.that_meet(condition) & chosen[self.seen.nums]
        found, periods = self.seen.nums[fits], self.rows.periods(period)[fits]
        if not len(found):
            return []
        values, places, captures = np.unique(periods, return_inverse=True, return_counts=True)
        # Dates are in the order of document and time: those of one period are adjacent.
        is_first = np.append(True, (found[1:] != found[:-1]) | (periods[1:] != periods[:-1]))
        documents = np.bincount(places[is_first], minlength=len(values))
        rows = zip(values.tolist(), captures.tolist(), documents.tolist(), strict=True)
        return [TrendPoint(f"{value:0{period.digits}}", *counts) for value, *counts in rows]

    def dates(self, num: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the distinct timestamps and collections of a document, each in order."""
        run = slice(self._starts[num], self._starts[num + 1])
        names = self.collection_names
        return (
            tuple(f"{number:014}" for number in dict.fromkeys(self.timestamps[run].tolist())),
            tuple(sorted({names[code] for code in self.seen.collections[run].tolist()})),
        )

    def seen_pairs(self, num: int) -> list[tuple[str, str]]:
        """Return the dates of a document, pairs of timestamp and collection."""
        run = slice(self._starts[num], self._starts[num + 1])
        names = self.collection_names
        times, codes = self.timestamps[run].tolist(), self.seen.collections[run].tolist()
        return sorted((f"{time:014}", names[code]) for time, code in zip(times, codes, strict=True))

    @cached_property
    def date_sums(self) -> npt.NDArray[np.uint64]:
        """A checksum of all dates per number: equal for equal dates."""
        hashes = np.zeros(max(self.collection_names, default=0) + 1, dtype=np.uint64)
        for name, code in self.collections.items():
            digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            hashes[code] = int.from_bytes(digest, "big")
        marks = self.timestamps.astype(np.uint64) * _SPREAD + hashes[self.seen.collections]
        marks = (marks ^ marks >> np.uint64(29)) * _SPREAD
        sums = np.append(np.zeros(1, dtype=np.uint64), np.cumsum(marks))
        found: npt.NDArray[np.uint64] = sums[self._starts[1:]] - sums[self._starts[:-1]]
        return found

    @cached_property
    def collection_names(self) -> Mapping[int, str]:
        """The names of collections by code."""
        return {code: name for name, code in self.collections.items()}


ReadFrequent = Callable[[DocumentColumns, StoredSets | None, Ints], StoredSets]
"""Reads the sets of frequent words.

Its arguments are the columns, the sets of an earlier moment, if any, and the documents written
since.
"""


def keep_columns(file: Path, db: sqlite3.Connection, frequent: ReadFrequent | None = None) -> None:
    """Update an archive's columns file if enough has changed.

    The stored sets of words stay unchanged if `frequent` is None.
    """
    is_large = frequent is not None and count_rows(db, IndexName.DOCUMENTS) >= LEAST_DOCUMENTS
    save_columns_file(file, db, partial(_derived, frequent), MOMENT if is_large else None)


def _derived(
    frequent: ReadFrequent | None,
    db: sqlite3.Connection,
    stored: StoredColumns,
    before: StoredColumns | None,
) -> dict[str, npt.NDArray[Any]]:
    columns = DocumentColumns.read(db, stored)
    earlier, changed = None, np.zeros(0, dtype=np.int64)
    if before is not None and (known := stored_sets(before.derived)):
        since = changed_numbers(db, before, known.seq)
        if since is not None:
            earlier, changed = known, since
    if frequent is not None and columns.entries >= LEAST_DOCUMENTS:
        earlier = frequent(columns, earlier, changed)
    return columns.derived() | (earlier.arrays() if earlier else {})


def _labels(db: sqlite3.Connection, before: "DocumentColumns | None") -> dict[str, list[str]]:
    labels = {name: list(before.labels[name]) if before else [""] for name in DOCUMENT_FACETS}
    for name, known in labels.items():
        new = db.execute(
            "SELECT value FROM facet_values WHERE field = ? AND code >= ? ORDER BY code",
            (name, len(known)),
        )
        known.extend(value for (value,) in new)
    return labels
