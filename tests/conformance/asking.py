"""Short questions and short answers."""

from typing import Any

from nwx.engine.base import Engine
from nwx.model import Collapse, SearchResult, Total
from nwx.query.question import Question
from nwx.query.tree import Node

ALL = 1_000


def search(engine: Engine, query: Node, **request: Any) -> SearchResult:
    """Return an answer with all hits, without collapsing by default."""
    request = {"collapse": Collapse.NONE, "limit": ALL, "snippets": False} | request
    return engine.search(Question(query, **request))


def ask(engine: Engine, query: Node, **request: Any) -> set[str]:
    """Return the names of the hits: the last parts of their URLs.

    Also asserts that the totals match the hits, and streaming matches pages.
    """
    found = search(engine, query, **request)
    hits = {hit.id for hit in found.hits}
    assert found.total == found.documents == Total(len(found.hits)) == Total(len(hits))
    streamed = engine.scroll(Question(query, **request))
    assert sorted(hit.id for hit in streamed) == sorted(hits)
    return set(names(found))


def names(found: SearchResult) -> list[str]:
    """Return the last parts of the hits' URLs, in order."""
    return [hit.url.rpartition("/")[2] for hit in found.hits]


def facet(found: SearchResult, name: str) -> list[tuple[str, int]]:
    """Return the values of a facet and their counts."""
    return [(value.value, value.count) for value in found.facets[name]]
