"""An archive as it is at one moment, and what keeps the moment up to date."""

import sqlite3
import threading
from collections.abc import Hashable, Sequence
from operator import itemgetter

import numpy as np
import numpy.typing as npt
import tantivy
from cachetools import LRUCache
from tantivy import Order, Query

from nwx.engine.embedded.database import connect
from nwx.engine.embedded.dates.attached import Attached
from nwx.engine.embedded.documents import tantivy_index
from nwx.engine.embedded.documents.columns import DocumentColumns
from nwx.engine.embedded.documents.searcher import DocumentSearcher, ReadIndex
from nwx.engine.embedded.documents.stored_columns import Ints, load_columns_file, read_columns
from nwx.engine.embedded.folder import Folder
from nwx.engine.work import current_work
from nwx.model import Dates

_KEPT = 64
_FEW = 8_192
"""Up to so many numbers are given one by one, more as sums of bits."""


class ArchiveView:
    """The documents of a moment: their texts, and what is known beside."""

    def __init__(self, searcher: DocumentSearcher, columns: DocumentColumns) -> None:
        self.searcher = searcher
        self.columns = columns
        self._large: LRUCache[Hashable, npt.NDArray[np.uint8]] = LRUCache(_KEPT)
        self._guard = threading.Lock()

    def remembered(self, key: Hashable, query: Query) -> Ints:
        """Return the numbers of all documents of a query, which `key` stands for, in order.

        Large results are kept for a while: pages and facets of them are asked for again.
        """
        with self._guard:
            kept = self._large.get(key)
        if kept is not None:
            return np.flatnonzero(np.unpackbits(kept))
        nums = self.nums(query)
        if len(nums) > _FEW:
            there = np.zeros(self.columns.size, dtype=bool)
            there[nums] = True
            with self._guard:
                self._large[key] = np.packbits(there)
        return nums

    def nums(self, query: Query) -> Ints:
        """Return the numbers of all documents of a query, in order."""
        found = self._search(query)
        total: int = found.count  # type: ignore[attr-defined]  # missing in its stub
        if total <= _FEW:
            return self.known(_numbers(found))
        if total >= self.searcher.num_docs - _FEW:
            others = _numbers(self._search(Query.all_query().and_must_not_match(query)))
            there = self.columns.is_document.copy()
            there[others[others < len(there)]] = False
            return np.flatnonzero(there)
        return self.known(self._many_nums(query))

    def _search(self, query: Query) -> tantivy.SearchResult:
        current_work().check()
        return self.searcher.search(query, _FEW, order_by_field=tantivy_index.NUM, order=Order.Asc)

    def all_nums(self) -> Ints:
        """Return the numbers of all documents, in order."""
        return np.flatnonzero(self.columns.is_document)

    def known(self, nums: Ints) -> Ints:
        """Return those of documents that SQLite knows: others a killed writer left behind."""
        columns = self.columns
        if self.searcher.num_docs == columns.entries:
            return nums
        nums = nums[nums < columns.size]
        return nums[columns.is_document[nums]]

    def _many_nums(self, query: Query) -> Ints:
        """Read numbers from sums: each is one bit of one slot, and no bit is added twice."""
        terms = {"field": tantivy_index.SLOT, "size": self.searcher.num_docs}
        current_work().check()
        asked = {"slots": {"terms": terms, "aggs": {"bits": {"sum": {"field": tantivy_index.BIT}}}}}
        slots = self.searcher.aggregate(query, asked)["slots"]["buckets"]
        keys = np.array([slot["key"] for slot in slots], dtype=np.int64)
        sums = np.array([slot["bits"]["value"] for slot in slots]).astype("<u8")
        bits = np.unpackbits(sums.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
        there = np.zeros((int(keys.max()) + 1, tantivy_index.BITS), dtype=bool)
        there[keys] = bits[:, : tantivy_index.BITS]
        return np.flatnonzero(there)


def _numbers(found: tantivy.SearchResult) -> Ints:
    return np.fromiter(map(itemgetter(0), found.hits), dtype=np.int64)


class ArchiveViews:
    """What gives the view of now; shared by threads."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._guard = threading.Lock()
        self._db: sqlite3.Connection | None = None
        self._index: ReadIndex | None = None
        self._version = -1
        self._view: ArchiveView | None = None
        self._attached = Attached(folder)

    def view(self) -> ArchiveView:
        """Return the view of the last commit."""
        with self._guard, self._folder.our_errors():
            db = self._connected()
            (version,) = db.execute("PRAGMA data_version").fetchone()
            view = self._view
            if view is None or version != self._version or self._attached.have_changed():
                view = self._view = self._read(db, view)
                self._version = version
            return view

    def further_dates(self, ids: Sequence[str]) -> list[dict[str, Dates]]:
        """Return the dates of ids in each index that is attached."""
        with self._guard, self._folder.our_errors():
            self._attached.look(self._connected())
            return self._attached.dates(ids)

    def _connected(self) -> sqlite3.Connection:
        if self._db is None:
            self._folder.check()
            self._db = connect(self._folder.database, read_only=True)
        return self._db

    def _read(self, db: sqlite3.Connection, before: ArchiveView | None) -> ArchiveView:
        # SQLite first: tantivy commits first, so that all documents SQLite knows are there.
        db.execute("BEGIN")
        try:
            known = before.columns.stored if before else load_columns_file(self._folder.columns, db)
            self._attached.look(db)
            columns = DocumentColumns(
                db, read_columns(db, known), before.columns if before else None, self._attached.read
            )
        finally:
            db.execute("COMMIT")
        if self._index is None:
            self._index = ReadIndex(tantivy_index.schema(), self._folder.documents)
        return ArchiveView(self._index.searcher(), columns)

    def close(self) -> None:
        """Let go of the files."""
        with self._guard:
            if self._db is not None:
                self._db.close()
            if self._index is not None:
                self._index.close()
            self._attached.close()
            self._db = self._index = self._view = None
