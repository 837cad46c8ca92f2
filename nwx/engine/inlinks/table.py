"""The inlinks of one build, read from its blobs: all, or those visible to a viewer, recounted."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from nwx.bulk.arrays import Array, is_new, narrow, read_arrays
from nwx.engine.facet_store import BlobStore, StoredBuild
from nwx.engine.inlinks.counts import CellCounts, Texts, chosen_texts, count_linked_cells
from nwx.engine.inlinks.inlink_index import ADVICE, ID_BYTES, InlinkNotes
from nwx.errors import BlobError
from nwx.model import Dates, LinkCell
from nwx.query.question import HiddenDocuments, SeenDate

OWN_HOST, SELF = 1, 2
"""Flags of a link: from the same host, from the same URL."""


class TargetRange:
    """The targets of one range and their links, by position."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self.arrays = arrays
        self.keys = Texts(arrays, "key")
        self.anchors = Texts(arrays, "anchor")

    def links(self, place: int) -> slice:
        """Return the slice of the links of a target."""
        starts = self.arrays["link_starts"]
        return slice(int(starts[place]), int(starts[place + 1]))

    def targets(self) -> Array:
        """Return the position of the target of each link."""
        return np.repeat(np.arange(len(self.keys)), np.diff(self.arrays["link_starts"]))


class InlinkTable:
    """The inlinks of one build, with its blobs in a folder."""

    def __init__(self, folder: Path, stored: StoredBuild) -> None:
        self.folder = folder
        self.stored = stored
        self.notes = InlinkNotes.from_json(stored.notes, str(folder))
        self.cells = [LinkCell(year, collection) for year, collection in self.notes.cells]
        self.cell_codes = {cell: code for code, cell in enumerate(self.cells)}
        self.documents = self._arrays(self.notes.documents)
        self.sources = Texts(self.documents, "source")
        self.hosts = Texts(self.documents, "host")
        self.urls = Texts(self.documents, "url")
        # Opened at once, as a later build removes the files.
        self._ranges = [TargetRange(self._arrays(one.blob)) for one in self.notes.ranges]

    def _arrays(self, blob: str) -> dict[str, Array]:
        try:
            return read_arrays(self.folder / blob)
        except BlobError as error:
            raise BlobError.translated(
                "%(reason)s; %(advice)s", reason=error, advice=ADVICE
            ) from error

    def by_source(self, level: str) -> Array:
        """Return the number of the `host` or `domain` of each linking URL."""
        found: Array = np.zeros(len(self.sources), dtype=np.uint32)
        found[self.documents["source"]] = self.documents[level]
        return found

    def years(self) -> list[int]:
        """Return the years of captures with links."""
        return [one.year for one in self.cells if one.year is not None and not one.collection]

    def range(self, number: int) -> TargetRange:
        """Return a range by its number."""
        return self._ranges[number]

    def ranges(self, first: str = "", last: str | None = None) -> Iterator[int]:
        """Yield the numbers of the ranges that may have urlkeys from `first` up to `last`."""
        notes = self.notes.ranges
        for number, one in enumerate(notes):
            if last is not None and one.first.encode() > last.encode():
                return
            if number + 1 == len(notes) or notes[number + 1].first.encode() > first.encode():
                yield number

    def count(self) -> int:
        """Return the number of entries, without making them."""
        return sum(len(self.range(n).arrays["count_cell"]) for n in range(len(self.notes.ranges)))

    def place(self, urlkey: str) -> tuple[TargetRange, int] | None:
        """Return the range of a target and its position there, None if nothing links to it."""
        for number in self.ranges(urlkey, urlkey):
            found = self.range(number)
            place = found.keys.find(urlkey)
            if place is not None:
                return found, place
        return None

    def places(self, first: str, last: str) -> Iterator[tuple[TargetRange, int, int]]:
        """Yield the targets from a urlkey up to, excluding, another: range, begin and end."""
        for number in self.ranges(first, last):
            found = self.range(number)
            begin, end = found.keys.place(first), found.keys.place(last)
            if end > begin:
                yield found, begin, end


def inlink_table(store: BlobStore) -> InlinkTable | None:
    """Return the current build with its blobs on this machine, None without a build.

    If another build becomes current meanwhile, the new one is returned.
    """
    while True:
        version = store.version()
        stored = store.current()
        if stored is None:
            return None
        try:
            store.get(stored.blobs)
            return InlinkTable(store.folder, stored)
        except BlobError:
            if store.version() == version:
                raise


_LINK_COLUMNS = ("document", "anchor", "kind", "flags")
_COUNTS = CellCounts._fields


def visible_range(
    found: TargetRange,
    documents: Mapping[str, Array],
    changed: Array,
    hidden_targets: Array,
) -> TargetRange:
    """Return the visible part of a range of targets; the range itself if all is visible.

    `documents` are the linking documents; a document without a cell is hidden. `changed`
    (`bool[documents]`) marks documents whose cells differ from those counted in the range,
    `hidden_targets` (`bool[targets]`) the targets to exclude.
    """
    arrays = found.arrays
    target = found.targets()
    linking = arrays["document"].astype(np.int64)
    if not (hidden_targets.any() or changed[linking].any()):
        return found
    seen = np.diff(documents["cell_starts"]) > 0
    kept = np.flatnonzero(seen[linking] & ~hidden_targets[target])
    linked, numbers = np.unique(target[kept], return_inverse=True)
    columns = {name: arrays[name][kept] for name in _LINK_COLUMNS}
    counts = _counts(numbers, columns, documents)
    bounds = np.arange(len(linked) + 1)
    return TargetRange(
        {
            **arrays,
            **chosen_texts(arrays, linked, "key"),
            **columns,
            "link_starts": np.searchsorted(numbers, bounds),
            "count_starts": np.searchsorted(counts.target, bounds),
            **{f"count_{name}": narrow(getattr(counts, name)) for name in _COUNTS[1:]},
        }
    )


def _counts(
    target: Array, columns: Mapping[str, Array], documents: Mapping[str, Array]
) -> CellCounts:
    counting = (columns["flags"] & SELF) == 0
    target, linking = target[counting], columns["document"][counting].astype(np.int64)
    once = is_new(target) | is_new(linking)
    return count_linked_cells(target[once], linking[once], documents)


DatesOf = Callable[[Sequence[str]], dict[str, Dates]]
"""Returns the dates of documents by id."""

HiddenKeys = Callable[[Sequence[str]], set[str]]
"""Returns the hidden ones among sorted urlkeys."""

_AT_ONCE = 1_000


class VisibleTable(InlinkTable):
    """The links of visible documents to visible URLs.

    Ranges with links of hidden documents, or to hidden URLs, are recounted on the first read.
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
        used = set(np.unique(self.documents["cell_code"]).tolist())
        return [
            one.year
            for code, one in enumerate(self.cells)
            if code in used and one.year is not None and not one.collection
        ]

    def range(self, number: int) -> TargetRange:
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
    """Return the arrays of documents with their visible cells, and which documents changed."""
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
    """Yield the documents that have hidden dates, with their visible dates."""
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
            if code is not None:  # dates newer than the build may have no cell in it
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
