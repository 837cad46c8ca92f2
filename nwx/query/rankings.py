"""Rankings: the weights that order the results of a search."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from functools import cached_property
from itertools import islice, pairwise

from nwx.errors import UsageError
from nwx.query.tree import Bool, Boost, Node, Phrase, Term, word_of_address
from nwx.settings import RankingSettings

_MOST_WEIGHT = 1_000.0
_MOST_PAIRS = 3


class SearchBy(StrEnum):
    """What documents are found by: their words, the meaning of their passages, or both."""

    WORDS = "words"
    MEANING = "meaning"
    BOTH = "both"


@dataclass(frozen=True)
class Ranking:
    """Weights of the fields of a word, of links, and of words that stand next to each other.

    `anchors` and `inlinks` of None are the settings of the archive (`RankingSettings`). Of the
    scores of words and of anchors the higher counts, and the part `lower` of the other. `phrase`
    weighs the first words of a query where two neighbours stand together in a text. What is no page
    (files, errors, redirects, soft 404s, navigation alone) keeps `below_pages` of its score. Where
    no document has all words of a query, those with most of them are found, unless `most_words` is
    0.
    """

    title: float = 3.0
    headings: float = 1.5
    text: float = 1.0
    url: float = 3.0
    anchors: float | None = None
    inlinks: float | None = None
    lower: float = 0.5
    phrase: float = 0.5
    below_pages: float = 0.01
    most_words: float = 1.0
    name: str = field(default="default", compare=False)

    @cached_property
    def fields(self) -> Mapping[str, float]:
        """The weights of the fields of documents that a word without a field is looked up in."""
        return {
            "title": self.title,
            "headings": self.headings,
            "content": self.text,
            "url_text": self.url,
        }

    def links(self, usual: RankingSettings) -> RankingSettings:
        """Return the weights of links."""
        return RankingSettings(
            usual.anchor_weight if self.anchors is None else self.anchors,
            usual.inlink_weight if self.inlinks is None else self.inlinks,
            self.lower,
        )

    def weights(self) -> dict[str, float]:
        """Return the weights by name, without those that are the archive's settings."""
        found = {name: value for name, value in asdict(self).items() if value is not None}
        del found["name"]
        return found

    def bonus(self, tree: Node) -> tuple[Node, ...]:
        """Return what adds to the score of documents that a resolved tree finds."""
        words = all_words(tree) if self.phrase else []
        if len(words) < 2:
            return ()
        phrases = [" ".join(pair) for pair in islice(pairwise(words), _MOST_PAIRS)]
        weight = self.phrase * self.text
        return tuple(Boost(Phrase("content", text), weight) for text in dict.fromkeys(phrases))


DEFAULT = Ranking()

OLDER = Ranking(url=1.0, lower=0.0, phrase=0.0, most_words=0.0, name="older")
"""The weights that were fixed before rankings had names."""

BUILT_IN: Mapping[str, Ranking] = {"default": DEFAULT, "older": OLDER}
"""The rankings that every archive has."""


def ranking_of(weights: Mapping[str, float], called: str = "default") -> Ranking:
    """Return the ranking of weights by name, others as by default; raises UsageError."""
    known = [one.name for one in fields(Ranking)][:-1]
    for name, value in weights.items():
        if name not in known:
            raise UsageError.translated(
                "there is no weight %(name)s; use %(known)s", name=name[:80], known=", ".join(known)
            )
        if not 0 <= value <= _MOST_WEIGHT:
            raise UsageError.translated(
                "the weight %(name)s is %(value)s; it takes 0 to %(most)s",
                name=name,
                value=value,
                most=f"{_MOST_WEIGHT:,.0f}",
            )
    return replace(DEFAULT, **weights, name=called)


def all_words(node: Node) -> list[str]:
    """Return the words of a tree that consists of words that must all match, else nothing."""
    parts = node.must if isinstance(node, Bool) and not node.should else (node,)
    words = list(map(word_of_address, parts))
    if not all(isinstance(word, Term) and not word.field for word in words):
        return []
    return [word.text for word in words if isinstance(word, Term)]


def most_words(node: Node) -> Node | None:
    """Return the tree of documents with most of the words that must all match, None of others."""
    words = tuple(dict.fromkeys(node.must)) if isinstance(node, Bool) and all_words(node) else ()
    if not isinstance(node, Bool) or len(words) < 2:
        return None
    least = len(words) - 1 - (len(words) - 1) // 3
    return Bool(should=words, must_not=node.must_not, least=least)
