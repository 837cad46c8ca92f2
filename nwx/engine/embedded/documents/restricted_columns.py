"""The columns of documents without the documents hidden from a viewer."""

from collections.abc import Collection

import numpy as np

from nwx.engine.embedded.documents.columns import Bools, DocumentColumns
from nwx.engine.embedded.documents.stored_columns import Ints, Seen
from nwx.query.question import HiddenDocuments, SeenDate

_ID_DIGITS = 16
"""The hexadecimal digits of an id that `id_start` is made of."""


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
        # Documents without any date, which no archive of ours has, are told by their ids alone.
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
    dates = {_start(id): some for id, some in hidden.dates.items()}
    for num in _nums(columns, hidden.dates).tolist():
        _mark(found, columns, num, dates[int(columns.id_start[num])])
    return found


def _mark(found: Bools, columns: DocumentColumns, num: int, dates: Collection[SeenDate]) -> None:
    """Mark the dates of one document that are named."""
    seen = columns.seen
    low, high = np.searchsorted(seen.nums, [num, num + 1])
    for place in range(int(low), int(high)):
        name = columns.collection_names[int(seen.collections[place])]
        if (f"{int(seen.timestamps[place]):014}", name) in dates:
            found[place] = True


def _nums(columns: DocumentColumns, ids: Collection[str]) -> Ints:
    """Return the numbers of the documents that exist."""
    if not ids:
        return np.zeros(0, dtype=np.int64)
    starts = np.fromiter((_start(id) for id in ids), dtype=np.int64, count=len(ids))
    there = np.isin(columns.id_start, starts) & columns.is_document
    return np.flatnonzero(there)


def _start(id: str) -> int:
    return int(id[:_ID_DIGITS], 16) >> 1
