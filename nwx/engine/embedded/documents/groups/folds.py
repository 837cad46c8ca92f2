"""Documents that are folded into one hit, as the versions of a URL are."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from nwx.engine.embedded.documents.stored_columns import Ints

_SPARSE = 16


class Folds:
    """What folds documents into one hit: those of a group, of which most have one document."""

    def __init__(self, groups: Ints) -> None:
        self.groups = groups
        sizes = np.bincount(groups) if len(groups) else np.zeros(1, dtype=np.int64)
        sizes[0] = 0  # numbers that are no documents
        self._several: npt.NDArray[np.bool_] = sizes[groups] > 1

    def count(self, nums: Ints) -> int:
        """Return the number of groups that documents are in."""
        several = self._several[nums]
        folded = int(np.count_nonzero(several))
        if not folded:
            return len(nums)
        if folded * _SPARSE < len(self._by_group):
            return len(nums) - folded + len(np.unique(self.groups[nums[several]]))
        there = np.zeros(len(self.groups), dtype=bool)
        there[nums] = True
        found = np.logical_or.reduceat(there[self._by_group], self._starts)
        return len(nums) - folded + int(np.count_nonzero(found))

    def versions(self, shown: Sequence[int], nums: Ints) -> dict[int, int]:
        """Return how many of the documents, in order, are in the group of each that is shown."""
        found = {}
        for num in shown:
            if self._several[num]:
                group = self._members(int(self.groups[num]))
                places = np.minimum(np.searchsorted(nums, group), len(nums) - 1)
                found[num] = int(np.count_nonzero(nums[places] == group))
        return found

    @cached_property
    def _by_group(self) -> Ints:
        """The documents of the groups of several, group by group."""
        nums = np.flatnonzero(self._several)
        return nums[np.argsort(self.groups[nums], kind="stable")]

    @cached_property
    def _starts(self) -> Ints:
        """Where the groups begin there."""
        groups = self.groups[self._by_group]
        return np.flatnonzero(np.append(True, groups[1:] != groups[:-1]))

    @cached_property
    def _names(self) -> Ints:
        """The groups of several, in order."""
        names: Ints = self.groups[self._by_group[self._starts]]
        return names

    def _members(self, group: int) -> Ints:
        place = int(np.searchsorted(self._names, group))
        ends = np.append(self._starts[place : place + 2], len(self._by_group))
        return self._by_group[ends[0] : ends[1]]
