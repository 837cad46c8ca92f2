"""Dense numbers for texts that are known by 128 bits of their hash."""

import numpy as np
import numpy.typing as npt

Hashes = npt.NDArray[np.uint64]
Ints = npt.NDArray[np.int64]

_SMALLEST = 1 << 10
_FULL = 0.6
_AT_ONCE = 1 << 22


class Ids:
    """Numbers from 0 for pairs of hashes, in the order in which they came.

    A table with open addresses that is looked up for many at once. Two texts
    are taken for one where both hashes are equal, which happens by chance to
    one of 10**18 archives with 10**10 texts, and not on purpose where the
    seeds of the hashes are secret.
    """

    def __init__(self, first: Hashes | None = None, second: Hashes | None = None) -> None:
        self.count = 0
        self._make_room(0)
        if first is not None and second is not None:
            self.extend(first, second)

    def extend(self, first: Hashes, second: Hashes) -> None:
        """Give the next numbers to pairs that are all different and new, in their order."""
        if self.count + len(first) > _FULL * len(self._numbers):
            self._grow(self.count + len(first))
        for start in range(0, len(first), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            self._restore(first[part], second[part])

    def assign(self, first: Hashes, second: Hashes) -> Ints:
        """Return the numbers of pairs, new ones where they have none."""
        found = np.empty(len(first), dtype=np.int64)
        for start in range(0, len(first), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            found[part] = self._assign(first[part], second[part])
        return found

    def hashes(self, start: int) -> tuple[Hashes, Hashes]:
        """Return the pairs of the numbers from `start` on, in order."""
        slots = np.flatnonzero(self._numbers > start)
        slots = slots[np.argsort(self._numbers[slots])]
        return self._first[slots], self._second[slots]

    def _assign(self, first: Hashes, second: Hashes) -> Ints:
        if self.count + len(first) > _FULL * len(self._numbers):
            self._grow(self.count + len(first))
        mask = np.uint64(len(self._numbers) - 1)
        found = np.empty(len(first), dtype=np.int64)
        rows = np.arange(len(first))
        slots = (first & mask).astype(np.int64)
        while len(rows):
            self._claim(rows, slots, first, second)
            mine = (self._first[slots] == first[rows]) & (self._second[slots] == second[rows])
            found[rows[mine]] = self._numbers[slots[mine]] - 1
            rows, slots = rows[~mine], (slots[~mine] + 1) & int(mask)
        return found

    def _claim(self, rows: Ints, slots: Ints, first: Hashes, second: Hashes) -> None:
        """Give the empty ones of these slots to one of the rows that want them, each."""
        empty = self._numbers[slots] == 0
        rows, slots = rows[empty], slots[empty]
        self._numbers[slots] = -1 - rows
        won = self._numbers[slots] == -1 - rows
        rows, slots = rows[won], slots[won]
        self._first[slots], self._second[slots] = first[rows], second[rows]
        self._numbers[slots] = self.count + 1 + np.arange(len(rows))
        self.count += len(rows)

    def _grow(self, wanted: int) -> None:
        first, second = self.hashes(0)
        self.count = 0
        self._make_room(wanted)
        self.extend(first, second)

    def _restore(self, first: Hashes, second: Hashes) -> None:
        """Put in pairs that are all different, with the numbers of their order."""
        numbers = self.count + 1 + np.arange(len(first))
        mask = len(self._numbers) - 1
        rows = np.arange(len(first))
        slots = (first & np.uint64(mask)).astype(np.int64)
        while len(rows):
            empty = self._numbers[slots] == 0
            self._numbers[slots[empty]] = numbers[rows[empty]]
            won = self._numbers[slots] == numbers[rows]
            put, at = rows[won], slots[won]
            self._first[at], self._second[at] = first[put], second[put]
            rows, slots = rows[~won], (slots[~won] + 1) & mask
        self.count += len(first)

    def _make_room(self, wanted: int) -> None:
        size = _SMALLEST
        while wanted > _FULL * size:
            size *= 2
        self._first = np.zeros(size, dtype=np.uint64)
        self._second = np.zeros(size, dtype=np.uint64)
        self._numbers = np.zeros(size, dtype=np.int64)
