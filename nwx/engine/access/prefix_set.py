"""Beginnings of texts, looked up by the texts that have them."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator


class PrefixSet:
    """Sorted prefixes, each with the longest other prefix that it starts with.

    The candidate for a text is the prefix just before its insertion point, or a prefix of this
    candidate: everything sorted between a prefix and a text that starts with it starts with it too.
    """

    def __init__(self, prefixes: Iterable[str]) -> None:
        self._prefixes = sorted(prefixes)
        self._parents = _parents(self._prefixes)

    def of(self, text: str) -> Iterator[str]:
        """Yield the prefixes that a text has, the longest first."""
        place = bisect_right(self._prefixes, text) - 1
        while place >= 0:
            prefix = self._prefixes[place]
            if text.startswith(prefix):
                yield prefix
            place = self._parents[place]

    def holds(self, text: str) -> bool:
        """Return whether a text starts with any of the prefixes."""
        return any(True for _ in self.of(text))

    def reaches(self, start: str, end: str) -> bool:
        """Return whether any text from `start` up to, excluding, `end` has one of the prefixes."""
        place = bisect_left(self._prefixes, start)
        return start < end and (
            (place < len(self._prefixes) and self._prefixes[place] < end) or self.holds(start)
        )


def _parents(prefixes: list[str]) -> list[int]:
    """Return the place of the longest other that each of sorted prefixes begins with, or -1."""
    parents: list[int] = []
    open_places: list[int] = []
    for place, prefix in enumerate(prefixes):
        while open_places and not prefix.startswith(prefixes[open_places[-1]]):
            open_places.pop()
        parents.append(open_places[-1] if open_places else -1)
        open_places.append(place)
    return parents
