"""The inlinks of a build without what a viewer may not see."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np

from nwx.bulk.arrays import Array
from nwx.engine.inlinks.inlink_index import ID_BYTES
from nwx.engine.inlinks.table import InlinkTable, TargetRange
from nwx.engine.inlinks.visible_ranges import visible_range
from nwx.model import Dates, LinkCell
from nwx.query.hidden import HiddenDocuments, SeenDate

DatesOf = Callable[[Sequence[str]], dict[str, Dates]]
"""Gives the dates of documents by their ids."""

HiddenKeys = Callable[[Sequence[str]], set[str]]
"""Gives those of urlkeys, which are in order, that may not be shown."""

_AT_ONCE = 1_000


class VisibleTable(InlinkTable):
    """The links of visible documents to visible URLs.

    Ranges with links of hidden documents, or to hidden URLs, are counted
    again when they are first read.
    """

    def __init__(
        self,
        whole: InlinkTable,
        hidden: HiddenDocuments,
        dates_of: DatesOf,
        hidden_keys: HiddenKeys = lambda keys: set(),
    ) -> None:
        self._whole, self._hidden_keys = whole, hidden_keys
        self.folder, self.stored, self.notes = whole.folder, whole.stored, whole.notes
        self.cells, self.cell_codes = whole.cells, whole.cell_codes
        self.sources, self.hosts, self.urls = whole.sources, whole.hosts, whole.urls
        self.documents, self.changed = _visible_cells(whole, dates_of, hidden)
        self._known: dict[int, TargetRange] = {}

    def years(self) -> list[int]:
        """Return the years of visible captures that have links."""
        used = set(np.unique(self.documents["cell_code"]).tolist())
        return [
            one.year
            for code, one in enumerate(self.cells)
            if code in used and one.year is not None and not one.collection
        ]

    def range(self, number: int) -> TargetRange:
        """Return what is visible of a range by its number."""
        if number not in self._known:
            found = self._whole.range(number)
            self._known[number] = visible_range(
                found, self.documents, self.changed, self._hidden_targets(found)
            )
        return self._known[number]

    def _hidden_targets(self, found: TargetRange) -> Array:
        keys = found.keys.all()
        hidden = self._hidden_keys(keys)
        if not hidden:
            return np.zeros(len(keys), dtype=bool)
        return np.fromiter((key in hidden for key in keys), bool, len(keys))


def _visible_cells(
    table: InlinkTable, dates_of: DatesOf, hidden: HiddenDocuments
) -> tuple[dict[str, Array], Array]:
    """Return the arrays of documents with the cells that are visible, and which have others."""
    arrays = dict(table.documents)
    numbers = _numbers(arrays["id"], hidden)
    changed = np.zeros(len(arrays["cell_starts"]) - 1, dtype=bool)
    fresh: dict[int, list[tuple[int, int, int]]] = {}
    for number, seen in _visible_dates(dates_of, hidden, numbers):
        changed[number] = True
        fresh[number] = _cells(table, seen)
    if not fresh:
        return arrays, changed
    return arrays | _with_cells(arrays, changed, fresh), changed


def _numbers(ids: Array, hidden: HiddenDocuments) -> dict[str, int]:
    """Return the numbers of the documents that may have hidden dates, by id."""
    whole = ids.tobytes()
    known = (
        (whole[at : at + ID_BYTES].hex(), at // ID_BYTES) for at in range(0, len(whole), ID_BYTES)
    )
    if hidden.spans:
        return {id: number for id, number in known if id not in hidden.apart}
    return {id: number for id, number in known if id in hidden.documents or id in hidden.dates}


def _visible_dates(
    dates_of: DatesOf, hidden: HiddenDocuments, numbers: dict[str, int]
) -> Iterator[tuple[int, Sequence[SeenDate]]]:
    """Yield the documents that have hidden dates, with those that are visible."""
    ids = list(numbers)
    for begin in range(0, len(ids), _AT_ONCE):
        some = ids[begin : begin + _AT_ONCE]
        known = dates_of([id for id in some if id not in hidden.documents])
        for id in some:
            if id in hidden.documents:
                yield numbers[id], ()
            elif id in known:
                seen = [one for one in known[id].seen if not hidden.hides_date(id, *one)]
                if len(seen) < len(known[id].seen):
                    yield numbers[id], seen


def _cells(table: InlinkTable, seen: Sequence[SeenDate]) -> list[tuple[int, int, int]]:
    """Return the codes of the cells of dates, with the first and the last date in each."""
    found: dict[int, tuple[int, int]] = {}
    for timestamp, collection in seen:
        year, date = int(timestamp[:4]), int(timestamp)
        for cell in (
            LinkCell(),
            LinkCell(year),
            LinkCell(None, collection),
            LinkCell(year, collection),
        ):
            code = table.cell_codes.get(cell)
            if code is not None:  # dates that came after the build are in no cell of it
                first, last = found.get(code, (date, date))
                found[code] = min(first, date), max(last, date)
    return [(code, *dates) for code, dates in sorted(found.items())]


def _with_cells(
    arrays: dict[str, Array], changed: Array, fresh: dict[int, list[tuple[int, int, int]]]
) -> dict[str, Array]:
    lengths = np.diff(arrays["cell_starts"])
    owners = np.repeat(np.arange(len(lengths)), lengths)
    kept = ~changed[owners]
    rows = [(number, *row) for number, cells in fresh.items() for row in cells]
    added = np.array(rows, dtype=np.int64).reshape(-1, 4)
    owner = np.concatenate([owners[kept], added[:, 0]])
    order = np.argsort(owner, kind="stable")
    columns = {
        name: np.concatenate([arrays[name][kept], added[:, place].astype(arrays[name].dtype)])[
            order
        ]
        for place, name in enumerate(("cell_code", "cell_first", "cell_last"), start=1)
    }
    bounds = np.arange(len(lengths) + 1)
    return columns | {"cell_starts": np.searchsorted(owner[order], bounds)}
