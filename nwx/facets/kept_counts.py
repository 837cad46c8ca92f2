"""Counts that are kept for questions about the same captures in another order or form."""

import threading
from collections.abc import Callable, Hashable, Sized
from typing import Any, TypeVar

from cachetools import LRUCache

_Counts = TypeVar("_Counts")

KEPT_GROUPS = 500_000
"""So many groups of lists are kept in all; each takes some 60 bytes."""


class KeptCounts:
    """The latest counts of columns, which do not change."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._kept: LRUCache[Hashable, Any] = LRUCache(KEPT_GROUPS, getsizeof=_groups)

    def get(self, key: Hashable, count: Callable[[], _Counts]) -> _Counts:
        """Return what is kept under a key, or else what `count` returns, which is kept then."""
        with self._guard:
            kept: _Counts | None = self._kept.get(key)
        if kept is not None:
            return kept
        counts = count()
        if _groups(counts) <= self._kept.maxsize:
            with self._guard:
                self._kept[key] = counts
        return counts


def _groups(counts: object) -> int:
    return max(1, len(counts)) if isinstance(counts, Sized) else 1
