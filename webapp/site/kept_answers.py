"""Answers that are kept for some time, for all who ask the same."""

from collections.abc import Callable, Hashable
from threading import Lock
from typing import Any, TypeVar

from cachetools import TLRUCache

_Answer = TypeVar("_Answer")
_MOST = 64
_SECONDS = 600.0


class KeptAnswers:
    """The answers made last, each for its seconds; threads share them."""

    def __init__(self) -> None:
        self._guard = Lock()
        self._kept: TLRUCache[Hashable, tuple[Any, float]] = TLRUCache(
            _MOST, lambda _, kept, now: now + kept[1]
        )

    def answer(
        self, key: Hashable, make: Callable[[], _Answer], seconds: float = _SECONDS
    ) -> _Answer:
        """Return the answer of a key, made where none is kept."""
        with self._guard:
            kept = self._kept.get(key)
        if kept is None:
            kept = make(), seconds
            with self._guard:
                self._kept[key] = kept
        found: _Answer = kept[0]
        return found
