"""Rankings: weights for the order of search results."""

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
    """How documents are searched: by words, by the meaning of their passages, or both."""

    WORDS = "words"
    MEANING = "meaning"
    BOTH = "both"


@dataclass(frozen=True)
class Ranking:
    """Weights of document fields, links, and adjacent words of a query.

    `anchors` and `inlinks` of None use the archive's settings (`RankingSettings`). The higher of
    the word score and the anchor score counts in full, the other one times `lower`. `phrase` is the
    weight of pairs of neighbouring query words (of the first few) that are adjacent in a text.
    Documents that are not pages (files, errors, redirects, soft 404s, mere navigation) keep the
    part `below_pages` of their score. If no document has all words of a query, documents with most
    of them are returned, unless `most_words` is 0.
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
        """The weights of the document fields searched for a word without a field."""
        return {
            "title": self.title,
            "headings": self.headings,
            "content": self.text,
            "url_text": self.url,
        }

    def links(self, usual: RankingSettings) -> RankingSettings:
        """Return the weights of links; `usual` has those that are None."""
        return RankingSettings(
            usual.anchor_weight if self.anchors is None else self.anchors,
            usual.inlink_weight if self.inlinks is None else self.inlinks,
            self.lower,
        )

    def weights(self) -> dict[str, float]:
        """Return the weights by name, without those left to the archive's settings (None)."""
        found = {name: value for name, value in asdict(self).items() if value is not None}
        del found["name"]
        return found

    def bonus(self, tree: Node) -> tuple[Node, ...]:
        """Return the nodes that raise the score of documents matching a resolved tree."""
        words = all_words(tree) if self.phrase else []
        if len(words) < 2:
            return ()
        phrases = [" ".join(pair) for pair in islice(pairwise(words), _MOST_PAIRS)]
        weight = self.phrase * self.text
        return tuple(Boost(Phrase("content", text), weight) for text in dict.fromkeys(phrases))


DEFAULT = Ranking()

OLDER = Ranking(url=1.0, lower=0.0, phrase=0.0, most_words=0.0, name="older")
"""The fixed weights from before rankings had names."""

BUILT_IN: Mapping[str, Ranking] = {"default": DEFAULT, "older": OLDER}
"""The rankings that every archive has."""


def ranking_of(weights: Mapping[str, float], called: str = "default") -> Ranking:
    """Return a ranking with weights by name, others as in DEFAULT; raises UsageError."""
    known = [one.name for one in fields(Ranking)][:-1]
    for name, value in weights.items():
        if name not in known:
            raise UsageError.translated(
                "there is no weight %(name)s; use %(known)s", name=name[:80], known=", ".join(known)
            )
        if not 0 <= value <= _MOST_WEIGHT:
            raise UsageError.translated(
                "the weight %(name)s is %(value)s; it must be 0 to %(most)s",
                name=name,
                value=value,
                most=f"{_MOST_WEIGHT:,.0f}",
            )
    return replace(DEFAULT, **weights, name=called)


def all_words(node: Node) -> list[str]:
    """Return the words of a tree of plain words that must all match, [] for any other tree."""
    parts = node.must if isinstance(node, Bool) and not node.should else (node,)
    words = list(map(word_of_address, parts))
    if not all(isinstance(word, Term) and not word.field for word in words):
        return []
    return [word.text for word in words if isinstance(word, Term)]


def most_words(node: Node) -> Node | None:
    """Return a tree that needs only most words of a tree of plain words, None for other trees."""
    words = tuple(dict.fromkeys(node.must)) if isinstance(node, Bool) and all_words(node) else ()
    if not isinstance(node, Bool) or len(words) < 2:
        return None
    least = len(words) - 1 - (len(words) - 1) // 3
    return Bool(should=words, must_not=node.must_not, least=least)
