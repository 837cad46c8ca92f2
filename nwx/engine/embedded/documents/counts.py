"""Facets of a result, counted from the columns."""

from collections.abc import Mapping, Sequence

import numpy as np

from nwx.engine.embedded.documents.columns import DocumentColumns
from nwx.engine.embedded.documents.stored_columns import Ints
from nwx.model import FacetValue

_SPARSE = 16
_MOST = 0.6
"""From this share on the documents that are not in a result are counted, and taken off."""


def read_facets(
    columns: DocumentColumns, nums: Ints, facets: Sequence[str], size: int
) -> Mapping[str, tuple[FacetValue, ...]]:
    """Return the facets of documents: the most frequent values, ties by value; years in order."""
    others = None
    if facets and len(nums) > _MOST * columns.entries:
        rest = columns.is_document.copy()
        rest[nums] = False
        others = np.flatnonzero(rest)
    return {facet: _facet(columns, nums, others, facet, size) for facet in facets}


def _facet(
    columns: DocumentColumns, nums: Ints, others: Ints | None, facet: str, size: int
) -> tuple[FacetValue, ...]:
    codes, counts = _counts(columns, nums if others is None else others, facet)
    if others is not None:
        codes, counts = _taken_off(columns.totals(facet), codes, counts)
    if facet == "year":
        pairs = zip(codes.tolist(), counts.tolist(), strict=True)
        return tuple(FacetValue(f"{year:04}", count) for year, count in pairs)
    if facet == "collection":
        return _most_frequent(codes, counts, columns.collection_names, size)
    there = codes > 0
    return _most_frequent(codes[there], counts[there], columns.labels[facet], size)


def _counts(columns: DocumentColumns, nums: Ints, facet: str) -> tuple[Ints, Ints]:
    """Return the codes of the values that documents have, and how often."""
    codes = columns.codes(facet)[nums]
    if len(nums) * _SPARSE < columns.kinds(facet):
        found, counts = np.unique(codes, return_counts=True)
    else:
        every = np.bincount(codes, minlength=1)
        found = np.flatnonzero(every)
        counts = every[found]
    sets = columns.sets(facet)
    return (found, counts) if sets is None else sets.spread(found, counts)


def _taken_off(totals: tuple[Ints, Ints], codes: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Return the counts of all documents without those of some."""
    every, left = totals[0], totals[1].copy()
    left[np.searchsorted(every, codes)] -= counts
    there = left > 0
    return every[there], left[there]


def _most_frequent(
    codes: Ints, counts: Ints, labels: Mapping[int, str] | Sequence[str], size: int
) -> tuple[FacetValue, ...]:
    if not size:
        return ()
    if size < len(counts):
        # All that are as frequent as the last one come along, to be told apart by value.
        least = np.partition(counts, len(counts) - size)[len(counts) - size]
        codes, counts = codes[counts >= least], counts[counts >= least]
    values = [
        FacetValue(labels[code], count)
        for code, count in zip(codes.tolist(), counts.tolist(), strict=True)
    ]
    values.sort(key=lambda one: (-one.count, one.value))
    return tuple(values[:size])
