"""What is known of documents beside their text, as arrays by the number of the id.

The arrays are those of one moment.
"""

import sqlite3
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from nwx.engine.embedded.database import DOCUMENT_FACETS, count_rows
from nwx.engine.embedded.dates.attached import Seen, merged_date_columns
from nwx.engine.embedded.documents.stored_columns import Ints, StoredColumns
from nwx.model import Collapse, IndexName

Bools = npt.NDArray[np.bool_]
_SPREAD = np.uint64(0x9E3779B97F4A7C15)
Others = Callable[[int, dict[str, int]], Sequence[Seen]]
"""What reads the dates of attached indices (`nwx.engine.embedded.dates.attached.Attached.read`)."""


class Sets:
    """A set of values for each number, where many numbers have the same set.

    `codes` tells the set of each number, and `spread` what is in the sets.
    """

    def __init__(self, nums: Ints, values: Ints, size: int) -> None:
        order = np.lexsort((values, nums))
        nums, values = nums[order], values[order]
        new = np.ones(len(nums), dtype=bool)
        new[1:] = (nums[1:] != nums[:-1]) | (values[1:] != values[:-1])
        nums = nums[new]
        starts = np.searchsorted(nums, np.arange(size + 1))
        # The sum of one mark a value stands for a set; marks are wide enough to tell sets apart.
        self._values, self._kinds = np.unique(values[new], return_inverse=True)
        kinds = len(self._values)
        marks = np.random.default_rng(0).integers(1, 2**64 - 1, size=kinds, dtype=np.uint64)
        sums = np.append(np.zeros(1, dtype=np.uint64), np.cumsum(marks[self._kinds]))
        _, first, self.codes = np.unique(
            sums[starts[1:]] - sums[starts[:-1]], return_index=True, return_inverse=True
        )
        self._starts: Ints = starts[first]
        self._lengths: Ints = starts[first + 1] - self._starts
        self.kinds = len(first)

    def spread(self, codes: Ints, counts: Ints) -> tuple[Ints, Ints]:
        """Return the values that are in sets, and how often, from the sets and how often."""
        lengths = self._lengths[codes]
        places = np.repeat(self._starts[codes] - np.cumsum(lengths) + lengths, lengths)
        kinds = self._kinds[places + np.arange(len(places))]
        sums = np.bincount(kinds, np.repeat(counts, lengths), minlength=len(self._values))
        found = np.flatnonzero(sums)
        return self._values[found], sums[found].astype(np.int64)


class Folds:
    """What folds documents into one hit: those of a group, of which most have one document."""

    def __init__(self, groups: Ints) -> None:
        self.groups = groups
        sizes = np.bincount(groups)
        self._single: Bools = sizes[groups] == 1

    def count(self, nums: Ints) -> int:
        """Return the number of groups that documents are in."""
        single = self._single[nums]
        alone = int(np.count_nonzero(single))
        if alone == len(nums):
            return alone
        return alone + len(np.unique(self.groups[nums[~single]]))

    def versions(self, shown: Sequence[int], nums: Ints) -> dict[int, int]:
        """Return how many of the documents are in the group of each that is shown."""
        several = [num for num in shown if not self._single[num]]
        if not several:
            return {}
        groups = self.groups[nums[~self._single[nums]]]
        kinds, counts = np.unique(groups, return_counts=True)
        places = np.searchsorted(kinds, self.groups[several])
        return dict(zip(several, counts[places].tolist(), strict=True))


class DocumentColumns:
    """Documents and dates of one moment."""

    def __init__(
        self,
        db: sqlite3.Connection,
        stored: StoredColumns,
        before: "DocumentColumns | None" = None,
        others: Others | None = None,
    ) -> None:
        self.stored = stored
        self.size = stored.size
        self.entries = count_rows(db, IndexName.DOCUMENTS)
        self.collections = {name: code for code, name in db.execute("SELECT * FROM collections")}
        seen = Seen(stored.seen_nums, stored.timestamps, stored.collections)
        further = others(self.size, self.collections) if others is not None else ()
        self._seen = merged_date_columns([seen, *further]) if further else seen
        self.timestamps = self._seen.timestamps
        self.is_document: Bools = stored.documents["url_group"] > 0
        self._starts: Ints = np.searchsorted(self._seen.nums, np.arange(self.size + 1))
        self.labels = _labels(db, before)
        self._totals: dict[str, tuple[Ints, Ints]] = {}
        self._values: dict[str, Mapping[str, int]] = {}

    def folds(self, collapse: Collapse) -> Folds | None:
        """Return what folds documents, None where nothing is to be folded."""
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
        """What orders documents as their ids do."""
        return self.stored.documents["id_start"]

    def codes(self, facet: str) -> Ints:
        """Return the codes of a facet's values, or of sets of them."""
        sets = self.sets(facet)
        return self.stored.documents[facet] if sets is None else sets.codes

    def sets(self, facet: str) -> Sets | None:
        """Return the sets of a facet that looks at all dates, None of others."""
        if facet == "year":
            return self.years
        return self.seen_collections if facet == "collection" else None

    def kinds(self, facet: str) -> int:
        """Return how many codes a facet has."""
        sets = self.sets(facet)
        return len(self.labels[facet]) if sets is None else sets.kinds

    def has_value(self, facet: str, values: Collection[str], nums: Ints) -> Bools:
        """Tell of documents whether a facet that is their own has one of some values."""
        wanted = np.zeros(len(self.labels[facet]), dtype=bool)
        wanted[[code for value in values if (code := self._known_values(facet).get(value))]] = True
        return wanted[self.codes(facet)[nums]]

    def _known_values(self, facet: str) -> Mapping[str, int]:
        if facet not in self._values:
            self._values[facet] = {value: code for code, value in enumerate(self.labels[facet])}
        return self._values[facet]

    def totals(self, facet: str) -> tuple[Ints, Ints]:
        """Return the codes of the values that all documents have, and how often."""
        if facet not in self._totals:
            codes = self.codes(facet)[self.is_document]
            found, counts = np.unique(codes, return_counts=True)
            sets = self.sets(facet)
            self._totals[facet] = (found, counts) if sets is None else sets.spread(found, counts)
        return self._totals[facet]

    @cached_property
    def oldest(self) -> Ints:
        """The first date of each, a date after all others where there is none."""
        return self._edge(self._starts[:-1], 10**14)

    @cached_property
    def newest(self) -> Ints:
        """The last date of each, 0 where there is none."""
        return self._edge(self._starts[1:] - 1, 0)

    def _edge(self, places: Ints, missing: int) -> Ints:
        found = np.full(self.size, missing, dtype=np.int64)
        dated = self._starts[1:] > self._starts[:-1]
        found[dated] = self.timestamps[places[dated]]
        return found

    @cached_property
    def years(self) -> Sets:
        """The years of each."""
        return Sets(self._seen.nums, self.timestamps // 10**10, self.size)

    @cached_property
    def seen_collections(self) -> Sets:
        """The codes of the collections of each."""
        return Sets(self._seen.nums, self._seen.collections, self.size)

    def seen_in(
        self, spans: Collection[tuple[int, int]] | None, collections: Collection[str]
    ) -> Bools:
        """Tell of each number whether one date is in one of the spans and of a collection.

        None of the spans is any, and so is no collection.
        """
        fits = np.ones(len(self.timestamps), dtype=bool)
        if spans is not None:
            fits[:] = False
            for low, high in spans:
                fits |= (self.timestamps >= low) & (self.timestamps <= high)
        if collections:
            codes = [self.collections[name] for name in collections if name in self.collections]
            fits &= np.isin(self._seen.collections, codes)
        found = np.zeros(self.size, dtype=bool)
        found[self._seen.nums[fits]] = True
        return found

    def dates(self, num: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Return the timestamps and the collections of a document, each in order."""
        run = slice(self._starts[num], self._starts[num + 1])
        names = self.collection_names
        return (
            tuple(f"{number:014}" for number in dict.fromkeys(self.timestamps[run].tolist())),
            tuple(sorted({names[code] for code in self._seen.collections[run].tolist()})),
        )

    def seen(self, num: int) -> list[tuple[str, str]]:
        """Return the dates of a document, pairs of timestamp and collection."""
        run = slice(self._starts[num], self._starts[num + 1])
        names = self.collection_names
        times, codes = self.timestamps[run].tolist(), self._seen.collections[run].tolist()
        return sorted((f"{time:014}", names[code]) for time, code in zip(times, codes, strict=True))

    @cached_property
    def date_sums(self) -> npt.NDArray[np.uint64]:
        """A number for each that stands for all its dates: the same where these are the same."""
        hashes = np.zeros(max(self.collection_names, default=0) + 1, dtype=np.uint64)
        for name, code in self.collections.items():
            digest = blake2b(name.encode("utf-8", "surrogatepass"), digest_size=8).digest()
            hashes[code] = int.from_bytes(digest, "big")
        marks = self.timestamps.astype(np.uint64) * _SPREAD + hashes[self._seen.collections]
        marks = (marks ^ marks >> np.uint64(29)) * _SPREAD
        sums = np.append(np.zeros(1, dtype=np.uint64), np.cumsum(marks))
        found: npt.NDArray[np.uint64] = sums[self._starts[1:]] - sums[self._starts[:-1]]
        return found

    @cached_property
    def collection_names(self) -> Mapping[int, str]:
        """The names of the codes of collections."""
        return {code: name for name, code in self.collections.items()}


def _labels(db: sqlite3.Connection, before: "DocumentColumns | None") -> dict[str, list[str]]:
    labels = {name: list(before.labels[name]) if before else [""] for name in DOCUMENT_FACETS}
    for name, known in labels.items():
        new = db.execute(
            "SELECT value FROM facet_values WHERE field = ? AND code >= ? ORDER BY code",
            (name, len(known)),
        )
        known.extend(value for (value,) in new)
    return labels
