"""Snapshots of an archive, the document numbers that queries find in them, and their renewal."""

import sqlite3
import threading
from collections.abc import Collection, Hashable, Sequence
from contextlib import closing
from functools import cached_property
from operator import itemgetter

import numpy as np
import numpy.typing as npt
from cachetools import LRUCache
from tantivy import FieldType, Occur, Order, Query

from nwx.engine.document_index import current_work
from nwx.engine.embedded.database import connect
from nwx.engine.embedded.documents.attached_dates import Attached
from nwx.engine.embedded.documents.columns import Bools, DocumentColumns, id_start_of
from nwx.engine.embedded.documents.compile import all_of, any_field_query, below_pages_query
from nwx.engine.embedded.documents.stored_columns import (
    Ints,
    Seen,
    changed_numbers,
    load_columns_file,
    read_columns,
)
from nwx.engine.embedded.documents.tantivy_index import (
    BIT,
    BITS,
    NUM,
    SLOT,
    WORDS,
    DocumentSearcher,
    ReadIndex,
    documents_by_num,
    head_of,
    nums_query,
    schema,
)
from nwx.engine.embedded.documents.word_sets import (
    FREQUENT,
    MOST_SETS,
    Bits,
    ChangedNumbers,
    StoredSets,
    Terms,
    WordSets,
    bits_of,
    numbers_of,
    stored_sets,
    words_in,
)
from nwx.engine.embedded.folder import Folder
from nwx.model import Dates
from nwx.query.question import HiddenDocuments, SeenDate
from nwx.query.tree import All, Node, joined_leaves


class RestrictedColumns(DocumentColumns):
    """Columns as if hidden documents and dates did not exist.

    Numbers are the same as in the full columns; hidden documents count as missing and have no
    dates. `partly_hidden` are the numbers of documents with both hidden and visible dates.
    """

    def __init__(self, columns: DocumentColumns, hidden: HiddenDocuments) -> None:
        seen = columns.seen
        hidden_dates = _hidden_dates(columns, hidden)
        super().__init__(columns.stored, columns.collections, columns.labels)
        self.take_dates(Seen(*(column[~hidden_dates] for column in seen)))
        # Documents without any date, which nwx never writes, are hidden by id alone.
        emptied = np.zeros(self.size, dtype=bool)
        emptied[seen.nums] = True
        emptied[self.seen.nums] = False
        self.is_document = columns.is_document & ~emptied
        self.is_document[_nums(columns, hidden.documents)] = False
        self.entries = int(np.count_nonzero(self.is_document))
        self.hidden = hidden
        some_hidden = np.zeros(self.size, dtype=bool)
        some_hidden[seen.nums[hidden_dates]] = True
        self.partly_hidden: Ints = np.flatnonzero(some_hidden & self.is_document)


def _hidden_dates(columns: DocumentColumns, hidden: HiddenDocuments) -> Bools:
    """Return for each date of the columns whether it is hidden."""
    seen = columns.seen
    found = columns.rows.within(hidden.spans)
    named = np.zeros(columns.size, dtype=bool)
    named[_nums(columns, [*hidden.apart, *hidden.dates])] = True
    found &= ~named[seen.nums]
    gone = np.zeros(columns.size, dtype=bool)
    gone[_nums(columns, hidden.documents)] = True
    found |= gone[seen.nums]
    dates = {id_start_of(id): some for id, some in hidden.dates.items()}
    for num in _nums(columns, hidden.dates).tolist():
        _mark(found, columns, num, dates[int(columns.id_start[num])])
    return found


def _mark(found: Bools, columns: DocumentColumns, num: int, dates: Collection[SeenDate]) -> None:
    """Mark the given dates of one document."""
    seen = columns.seen
    low, high = np.searchsorted(seen.nums, [num, num + 1])
    for place in range(int(low), int(high)):
        name = columns.collection_names[int(seen.collections[place])]
        if (f"{int(seen.timestamps[place]):014}", name) in dates:
            found[place] = True


def _nums(columns: DocumentColumns, ids: Collection[str]) -> Ints:
    """Return the numbers of the existing documents among `ids`."""
    if not ids:
        return np.zeros(0, dtype=np.int64)
    starts = np.fromiter((id_start_of(id) for id in ids), dtype=np.int64, count=len(ids))
    there = np.isin(columns.id_start, starts) & columns.is_document
    return np.flatnonzero(there)


_MOST_LISTED = 262_144
_SLOT_COST = 8
"""The number of documents whose reading one by one takes as long as the sum of a slot."""

_MOST_SLOTS = 60_000
"""tantivy refuses aggregations of more than 65,000 buckets."""


def listed_numbers(searcher: DocumentSearcher, query: Query, most: int) -> tuple[int, Ints]:
    """Return how many documents a query finds, and their `most` lowest numbers, in order."""
    current_work().check()
    found = searcher.search(query, most, order_by_field=NUM, order=Order.Asc)
    total: int = found.count  # type: ignore[attr-defined]  # missing in its stub
    return total, np.fromiter(map(itemgetter(0), found.hits), dtype=np.int64)


def all_numbers(searcher: DocumentSearcher, query: Query, total: int, size: int) -> Ints:
    """Return the numbers, all below `size`, of all `total` documents of a query, in order."""
    slots = size // BITS + 1
    if total <= min(_SLOT_COST * slots, _MOST_LISTED):
        return listed_numbers(searcher, query, max(total, 1))[1]
    there = np.zeros((slots, BITS), dtype=bool)
    for first in range(0, slots, _MOST_SLOTS):
        whole = slots <= _MOST_SLOTS and searcher.num_docs <= size
        part = query if whole else _within(query, first)
        _read_sums(searcher, part, there)
    return np.flatnonzero(there)


def _within(query: Query, first: int) -> Query:
    """Return a query restricted to the _MOST_SLOTS slots from `first` on."""
    low, high = first * BITS, (first + _MOST_SLOTS) * BITS - 1
    span = Query.range_query(schema(), NUM, FieldType.Unsigned, low, high)
    return all_of([query, Query.const_score_query(span, 0.0)])


def _read_sums(searcher: DocumentSearcher, query: Query, there: npt.NDArray[np.bool_]) -> None:
    current_work().check()
    terms = {"field": SLOT, "size": _MOST_SLOTS}
    asked = {"slots": {"terms": terms, "aggs": {"bits": {"sum": {"field": BIT}}}}}
    slots = searcher.aggregate(query, asked)["slots"]["buckets"]
    keys = np.array([slot["key"] for slot in slots], dtype=np.int64)
    sums = np.array([slot["bits"]["value"] for slot in slots]).astype("<u8")
    bits = np.unpackbits(sums.view(np.uint8).reshape(-1, 8), axis=1, bitorder="little")
    inside = keys < len(there)
    there[keys[inside]] = bits[inside, :BITS]


_KEPT = 64
_VIEWERS = 8
"""The number of viewer classes with cached columns."""

_FEW = 16_384
"""The most numbers that are listed by the search that counts them."""


class ArchiveView:
    """A snapshot of the documents: their texts, and their columns."""

    def __init__(self, searcher: DocumentSearcher, columns: DocumentColumns) -> None:
        self.searcher = searcher
        self.columns = columns
        self._large: LRUCache[Hashable, Bits] = LRUCache(_KEPT)
        self._guard = threading.Lock()
        self._words = WordSets(self._having, self.all_nums(), columns.size)
        self._restricted: LRUCache[str, ArchiveView] = LRUCache(_VIEWERS)

    def without(self, hidden: HiddenDocuments) -> "ArchiveView":
        """Return the view as if hidden documents and dates did not exist."""
        if not hidden:
            return self
        with self._guard:
            found = self._restricted.get(hidden.key)
            if found is None:
                found = ArchiveView(self.searcher, RestrictedColumns(self.columns, hidden))
                self._restricted[hidden.key] = found
            return found

    @cached_property
    def below_pages(self) -> Bools:
        """Whether each document ranks below pages."""
        found = np.zeros(self.columns.size, dtype=bool)
        found[self.nums(below_pages_query(Terms(self.searcher)))] = True
        return found

    @cached_property
    def own_hidden(self) -> Ints:
        """The numbers of the documents whose text is from a hidden capture."""
        if not isinstance(self.columns, RestrictedColumns):
            return np.zeros(0, dtype=np.int64)
        hides, found = self.columns.hidden.hides_date, []
        for num, document in documents_by_num(self.searcher, self.columns.partly_hidden.tolist()):
            current_work().check()
            head = head_of(document)
            if hides(head["id"], head["timestamp"], head.get("collection", "")):
                found.append(num)
        return np.array(found, dtype=np.int64)

    def take_words(self, before: "ArchiveView", changed: Ints) -> None:
        """Reuse the word sets of an earlier view; `changed` were written since, none deleted."""
        self._words.take_earlier(before._words, changed, self._having_of_changed)

    def take_stored_words(self, stored: StoredSets, changed: Ints) -> None:
        """Reuse word sets stored in a file; `changed` were written since."""
        changes = ChangedNumbers(stored.size, changed[changed < stored.size])
        self._words.take_stored(stored.sets, changes, self._having_of_changed)

    def frequent_words(self) -> StoredSets:
        """Return the sets of the most frequent words."""
        least = FREQUENT * self.columns.entries
        listed = self.searcher.terms_with_prefix(WORDS, "", limit=MOST_SETS)
        sets = {word: self._words.bits(word) for word, count in listed if count >= least}
        return StoredSets(sets, self.columns.size, self.columns.stored.seq)

    def remembered(self, key: Hashable, query: Query) -> Ints:
        """Return the numbers of all documents of a query, in order, cached by `key`.

        Only large results are cached, as their pages and facets are requested again.
        """
        with self._guard:
            kept = self._large.get(key)
        if kept is not None:
            return numbers_of(kept)
        nums = self.nums(query)
        if len(nums) > _FEW:
            with self._guard:
                self._large[key] = bits_of(nums, self.columns.size)
        return nums

    def matching(self, node: Node, query: Query) -> Ints:
        """Return the numbers of all documents of a tree, given with its query, in order.

        Large results of words are combined from word sets. Results that depend on links are not
        cached: they may change at any time.
        """
        if isinstance(node, All):
            return self.all_nums()
        if joined_leaves(node):
            return self.nums(query)
        words = words_in(node)
        if words is None:
            return self.remembered(node, query)
        if self._words.has(words):
            return self._words.matching(node)
        total, nums = listed_numbers(self.searcher, query, _FEW)
        if total <= _FEW:
            return self.known(nums)
        if self._words.are_worth_reading(words):
            return self._words.matching(node)
        return self._large_result(query, total)

    def nums(self, query: Query) -> Ints:
        """Return the numbers of all documents of a query, in order."""
        total, nums = listed_numbers(self.searcher, query, _FEW)
        return self.known(nums) if total <= _FEW else self._large_result(query, total)

    def _large_result(self, query: Query, total: int) -> Ints:
        rest = self.searcher.num_docs - total
        if rest >= total:
            return self.known(all_numbers(self.searcher, query, total, self.columns.size))
        without = Query.all_query().and_must_not_match(query)
        others = all_numbers(self.searcher, without, rest, self.columns.size)
        there = self.columns.is_document.copy()
        there[others[others < len(there)]] = False
        return np.flatnonzero(there)

    def all_nums(self) -> Ints:
        """Return the numbers of all documents, in order."""
        return np.flatnonzero(self.columns.is_document)

    def known(self, nums: Ints) -> Ints:
        """Return the documents that SQLite has; a killed writer may have left others."""
        columns = self.columns
        if self.searcher.num_docs == columns.entries:
            return nums
        nums = nums[nums < columns.size]
        return nums[columns.is_document[nums]]

    def _having(self, word: str) -> Ints:
        """Return the numbers of the documents that have a word in a default field."""
        return self.nums(any_field_query(word))

    def _having_of_changed(self, word: str, changes: ChangedNumbers) -> Ints:
        """Return the changed documents that have a word, possibly with others."""
        last = max(changes.since, self.columns.size)
        new = Query.range_query(schema(), NUM, FieldType.Unsigned, changes.since, last)
        replaced = nums_query(changes.replaced.tolist())
        either = Query.boolean_query([(Occur.Should, new), (Occur.Should, replaced)])
        query = all_of([any_field_query(word), Query.const_score_query(either, 0.0)])
        return self.nums(query)


def frequent_words(
    folder: Folder, columns: DocumentColumns, earlier: StoredSets | None, changed: Ints
) -> StoredSets:
    """Return the sets of the most frequent words, for the writer of an archive.

    `earlier` sets are updated; the documents `changed` were written since.
    """
    with closing(ReadIndex(schema(), folder.documents)) as index:
        view = ArchiveView(index.searcher(), columns)
        if earlier is not None:
            view.take_stored_words(earlier, changed)
        return view.frequent_words()


class ArchiveViews:
    """Provides the current view; thread-safe."""

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
        """Return the dates of ids in each attached index."""
        with self._guard, self._folder.our_errors():
            self._attached.look(self._connected())
            return self._attached.dates(ids)

    def _connected(self) -> sqlite3.Connection:
        if self._db is None:
            self._folder.check()
            self._db = connect(self._folder.database, read_only=True)
        return self._db

    def _read(self, db: sqlite3.Connection, before: ArchiveView | None) -> ArchiveView:
        # SQLite is read first: as tantivy commits first, it has all documents of SQLite.
        db.execute("BEGIN")
        try:
            known = before.columns.stored if before else load_columns_file(self._folder.columns, db)
            self._attached.look(db)
            words = stored_sets(known.derived) if before is None and known else None
            changed = (
                None if known is None else changed_numbers(db, known, words.seq if words else None)
            )
            columns = DocumentColumns.read(
                db, read_columns(db, known), before.columns if before else None, self._attached.read
            )
        finally:
            db.execute("COMMIT")
        if self._index is None:
            self._index = ReadIndex(schema(), self._folder.documents)
        view = ArchiveView(self._index.searcher(), columns)
        if before is not None and changed is not None:
            view.take_words(before, changed)
        elif words is not None and changed is not None:
            view.take_stored_words(words, changed)
        return view

    def close(self) -> None:
        """Close the files."""
        with self._guard:
            if self._db is not None:
                self._db.close()
            if self._index is not None:
                self._index.close()
            self._attached.close()
            self._db = self._index = self._view = None
