"""Facets of a result, counted from the columns."""

from collections.abc import Mapping, Sequence

import numpy as np

from nwx.engine.embedded.columns import Columns
from nwx.engine.embedded.stored import Ints
from nwx.model import FacetValue

_SPARSE = 16


def tally(values: Ints, size: int) -> tuple[Ints, Ints]:
    """Return the values below `size` that there are, in order, and how often each is there."""
    if len(values) * _SPARSE < size:
        return np.unique(values, return_counts=True)
    counts = np.bincount(values, minlength=1)
    found = np.flatnonzero(counts)
    return found, counts[found]


def read_facets(
    columns: Columns, nums: Ints, facets: Sequence[str], size: int
) -> Mapping[str, tuple[FacetValue, ...]]:
    """Return the facets of documents: the most frequent values, ties by value; years in order."""
    return {facet: _facet(columns, nums, facet, size) for facet in facets}


def _facet(columns: Columns, nums: Ints, facet: str, size: int) -> tuple[FacetValue, ...]:
    if facet == "year":
        years, counts = tally(columns.years.of(nums), 10_000)
        return tuple(
            FacetValue(f"{year:04}", count)
            for year, count in zip(years.tolist(), counts.tolist(), strict=True)
        )
    if facet == "collection":
        labels: Mapping[int, str] | Sequence[str] = columns.collection_names
        codes, counts = tally(columns.seen_collections.of(nums), len(labels) + 1)
    else:
        labels = columns.labels[facet]
        codes, counts = tally(columns.codes(facet)[nums], len(labels))
    there = codes > 0
    return _most_frequent(codes[there], counts[there], labels, size)


def _most_frequent(
    codes: Ints, counts: Ints, labels: Mapping[int, str] | Sequence[str], size: int
) -> tuple[FacetValue, ...]:
    if size < len(counts):
        # All that are as frequent as the last one come along, to be told apart by value.
        least = np.partition(counts, len(counts) - size)[len(counts) - size] if size else None
        if least is None:
            return ()
        codes, counts = codes[counts >= least], counts[counts >= least]
    values = [
        FacetValue(labels[code], count)
        for code, count in zip(codes.tolist(), counts.tolist(), strict=True)
    ]
    values.sort(key=lambda one: (-one.count, one.value))
    return tuple(values[:size])
