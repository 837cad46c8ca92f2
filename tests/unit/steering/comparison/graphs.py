"""Small webs for tests of simulated crawls."""

import math
from array import array
from collections.abc import Mapping

from nwx.steering.comparison.crawl_orders import GraphPage, PageGraph

Links = Mapping[int, float]
"""The relevance of the link to each page; `math.nan` stands for None, a blacklisted link."""

BLACKLISTED = math.nan


def graph(links: Mapping[int, Links], scores: Mapping[int, float], size: int = 0) -> PageGraph:
    """Return a graph of the given pages; those without a score have 0."""
    named = {*links, *scores, *(target for targets in links.values() for target in targets)}
    count = max(size, max(named, default=-1) + 1)

    def analyse(number: int) -> GraphPage:
        targets = links.get(number, {})
        return GraphPage(scores.get(number, 0.0), array("l", targets), array("d", targets.values()))

    return PageGraph([f"host{number % 2}" for number in range(count)], analyse, 0.5)
