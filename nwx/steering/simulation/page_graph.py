"""Pages with their scores and links as a simulated crawler learns of them, each analysed once."""

import math
from array import array
from collections.abc import Callable
from dataclasses import dataclass

UNSCORED = -1.0
"""The relevance of a link that was not scored."""

BLACKLISTED = math.nan
"""The relevance of a link that is never to be followed."""


@dataclass(frozen=True, slots=True)
class GraphPage:
    """What a crawler learns by fetching a page.

    `score` is its document score. `targets` are the numbers of the pages
    that it links to, in its order and each once; `relevances` are those of
    the links, in the same order.
    """

    score: float
    targets: "array[int]"
    relevances: "array[float]"


class PageGraph:
    """The pages of a web by their numbers, analysed when they are asked for first.

    `hosts` has the host of each page.
    """

    def __init__(
        self, hosts: list[str], analyse: Callable[[int], GraphPage], threshold: float
    ) -> None:
        self.hosts = hosts
        self._analyse = analyse
        self._threshold = threshold
        self._known: list[GraphPage | None] = [None] * len(hosts)

    def __len__(self) -> int:
        return len(self._known)

    def page(self, number: int) -> GraphPage:
        """Return a page."""
        known = self._known[number]
        if known is None:
            known = self._known[number] = self._analyse(number)
        return known

    def is_relevant(self, number: int) -> bool:
        """Return whether the score of a page reaches the threshold."""
        return self.page(number).score >= self._threshold
