"""Hits by meaning, and their fusion with hits by words, for any engine that searches words."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from nwx.engine.indices.vector_index import FoundPassage, NearestPassages, Vectors
from nwx.model import Collapse, Sort
from nwx.query.question import Question
from nwx.query.rankings import SearchBy

NEAREST = 100
"""The number of hits found by meaning, and of hits by words that are fused with them."""

_DAMPING = 60
"""The constant of reciprocal rank fusion (Cormack, Clarke, Büttcher, 2009): 1 / (60 + rank)."""

_SNIPPET = 300
_Key = TypeVar("_Key", bound=Hashable)


Nearest = Callable[[Vectors, int], NearestPassages]
"""Finds the given number of passages nearest to a vector."""


class NearPassages(Protocol):
    """Passages near to a question, nearest first, one per document, hidden documents included."""

    def first(self, nearest: Nearest | None = None) -> Sequence[FoundPassage]:
        """Return the nearest passages, found by the index or `nearest`; called before `further`.

        `nearest` is called once, possibly in another thread, may find fewer, and may query more in
        the same request.
        """

    def further(self) -> Sequence[FoundPassage] | None:
        """Return more passages, for when fewer than NEAREST hits remain; None if there are none."""


def fused(
    words: Sequence[_Key], near: Sequence[_Key], tie: Callable[[_Key], Any]
) -> tuple[list[_Key], dict[_Key, float]]:
    """Return keys by their sums of reciprocal ranks, then other hits by words; and the sums."""
    scores: dict[_Key, float] = {}
    for listed in (words[:NEAREST], near):
        for rank, key in enumerate(listed, 1):
            scores[key] = scores.get(key, 0.0) + 1 / (_DAMPING + rank)
    ranked = sorted(sorted(scores, key=tie), key=scores.__getitem__, reverse=True)
    return [*ranked, *(key for key in words if key not in scores)], scores


@dataclass(frozen=True, slots=True)
class ShownPassage:
    """A passage as the snippet of a document."""

    passage: FoundPassage

    def snippet(self, text: str) -> tuple[tuple[str, bool], ...]:
        """Return the beginning of the passage in its document's text."""
        words = " ".join(text[slice(*self.passage.span)].split())
        if len(words) > _SNIPPET:
            words = f"{words[:_SNIPPET].rpartition(' ')[0]} …"
        return ((words, False),)


def bare_question(question: Question) -> Question:
    """Return a question for matching documents only, without facets, snippets or collapsing."""
    bare = replace(question, by=SearchBy.WORDS, facets=(), snippets=False, offset=0)
    return replace(bare, sort=Sort.NEWEST, collapse=Collapse.NONE)
