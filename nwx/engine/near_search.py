"""Hits by meaning, and their fusion with those by words, of any engine that searches words."""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol, TypeVar

from nwx.engine.indices.vector_index import FoundPassage, NearestPassages, Vectors
from nwx.model import Collapse, Sort
from nwx.query.question import Question
from nwx.query.rankings import SearchBy

NEAREST = 100
"""So many hits are found by meaning, and so many by words take part in the fusion."""

_DAMPING = 60
"""Of reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009): 1 / (60 + rank)."""

_SNIPPET = 300
_Key = TypeVar("_Key", bound=Hashable)


Nearest = Callable[[Vectors, int], NearestPassages]
"""What finds so many passages, the nearest to a vector."""


class NearPassages(Protocol):
    """Passages near to a question, the nearest first, one of each document, hidden ones too."""

    def first(self, nearest: Nearest | None = None) -> Sequence[FoundPassage]:
        """Return the nearest ones, as the index or `nearest` finds them; called before `further`.

        `nearest` is called once, maybe in another thread, may find fewer, and may ask more by the
        same request.
        """

    def further(self) -> Sequence[FoundPassage] | None:
        """Return more, for where less than NEAREST hits remain of those before; None without."""


def fused(
    words: Sequence[_Key], near: Sequence[_Key], tie: Callable[[_Key], Any]
) -> tuple[list[_Key], dict[_Key, float]]:
    """Return keys by the sum of their reciprocal ranks, then the others by words; and the sums."""
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
        """Return the beginning of the passage of a text."""
        words = " ".join(text[slice(*self.passage.span)].split())
        if len(words) > _SNIPPET:
            words = f"{words[:_SNIPPET].rpartition(' ')[0]} …"
        return ((words, False),)


def bare_question(question: Question) -> Question:
    """Return a question for documents, not for a page of them."""
    bare = replace(question, by=SearchBy.WORDS, facets=(), snippets=False, offset=0)
    return replace(bare, sort=Sort.NEWEST, collapse=Collapse.NONE)
