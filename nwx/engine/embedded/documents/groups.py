"""Groups of documents: those folded into one hit, and those with the same set of values."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from nwx.bulk.arrays import narrow
from nwx.engine.embedded.documents.stored_columns import Ints

_FEW_FOLDED = 16


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


_ARRAYS = ("codes", "starts", "kinds", "values")
_SPARSE = 8


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
