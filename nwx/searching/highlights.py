"""The words of a query in a text."""

import re
from collections.abc import Callable, Iterator
from fnmatch import translate
from functools import lru_cache
from itertools import islice

from nwx.model import FoundByLinks, Hit
from nwx.query.tree import Fuzzy, Node, Wildcard, text_leaves
from nwx.query.words import edits_between, folded_word

_WORD = re.compile(r"\w+")
_MOST_MARKS = 2_000
_KEPT_WORDS = 50_000


def highlighted(tree: Node, text: str) -> tuple[tuple[str, bool], ...]:
    """Return a text in pieces, each with whether it is a word of a query.

    Case and accents are ignored. Each word of a phrase counts. At most 2,000 words are marked.
    """
    is_meant = _matcher(tree)
    pieces: list[tuple[str, bool]] = []
    end = 0
    for match in islice(_meant_words(text, is_meant), _MOST_MARKS):
        if match.start() > end:
            pieces.append((text[end : match.start()], False))
        pieces.append((match[0], True))
        end = match.end()
    return (*pieces, (text[end:], False)) if end < len(text) else tuple(pieces)


def _meant_words(text: str, is_meant: Callable[[str], bool]) -> Iterator[re.Match[str]]:
    return (match for match in _WORD.finditer(text) if is_meant(match[0]))


def _matcher(tree: Node) -> Callable[[str], bool]:
    """Return a function that reports whether a word matches a query."""
    words: set[str] = set()
    patterns: list[re.Pattern[str]] = []
    likenesses: list[tuple[str, int]] = []
    for leaf in text_leaves(tree):
        if isinstance(leaf, Wildcard):
            # A lone asterisk asks for any word: nothing stands out.
            if leaf.pattern.strip("*"):
                patterns.append(re.compile(translate(_without_sets(folded_word(leaf.pattern)))))
        elif isinstance(leaf, Fuzzy):
            likenesses.append((folded_word(leaf.text), leaf.distance))
        else:
            words.update(map(folded_word, _WORD.findall(leaf.text)))

    @lru_cache(_KEPT_WORDS)
    def is_meant(word: str) -> bool:
        folded = folded_word(word)
        return (
            folded in words
            or any(pattern.match(folded) for pattern in patterns)
            or any(edits_between(folded, like) <= most for like, most in likenesses)
        )

    return is_meant


def _without_sets(pattern: str) -> str:
    """Return a pattern with brackets escaped."""
    return pattern.replace("[", "[[]")


def found_by_words(found: FoundByLinks) -> str:
    """Return which anchor text a document was found by, and how many hosts link with it."""
    hosts = "1 host" if found.hosts == 1 else f"{found.hosts:,} hosts"
    return f"found by links: “{found.anchor}” from {hosts}"


def score_words(hit: Hit) -> str:
    """Return the parts of the score of a hit as text, "" if it has no relevance score."""
    parts = hit.score_parts
    if parts is None:
        return ""
    one = parts.linking_domains == 1
    domains = f"{parts.linking_domains:,} linking {'domain' if one else 'domains'}"
    return (
        f"score {hit.score:.2f} = the higher of text {parts.text:.2f} and anchors "
        f"{parts.anchor:.2f}, × {parts.inlink_factor:.3f} for {domains}"
    )
