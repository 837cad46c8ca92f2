"""Exploration: fetching URLs in the order found while the model predicts no relevant ones."""

from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

_Key = TypeVar("_Key", int, str)

EXPLORED = 0.6
"""The priority of explored URLs; links with a higher relevance come first."""

_PAGES = 4
_MOST_FOUND = 20_000


class Exploration(Generic[_Key]):
    """Chooses every fourth URL of a crawl while priorities are low: the one found first.

    So a crawl never falls far behind breadth-first order when the model is wrong.
    """

    def __init__(self) -> None:
        self._found: deque[_Key] = deque()
        self._pages, self._is_weak = 0, False

    def find(self, url: _Key) -> None:
        """Add a found URL; call once for each."""
        if len(self._found) < _MOST_FOUND:
            self._found.append(url)

    def fetch(self, priority: float) -> None:
        """Count a fetched page that had this priority in the queue."""
        self._pages += 1
        self._is_weak = priority < EXPLORED

    def next(self, is_waiting: Callable[[_Key], bool]) -> _Key | None:
        """Return the URL to explore now, None if none is due."""
        if self._pages < _PAGES or not self._is_weak:
            return None
        self._pages = 0
        while self._found:
            if is_waiting(url := self._found.popleft()):
                return url
        return None
