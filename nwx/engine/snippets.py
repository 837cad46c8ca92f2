"""Snippets: the part of a text where a query matches, with the matches marked."""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence

from nwx.engine.analyzer import fold, query_tokens
from nwx.query.tree import Fuzzy, Node, Phrase, Term, Wildcard, is_any, text_leaves
from nwx.query.words import likeness, matcher, pattern_pieces

Piece = tuple[str, bool]
_Leaf = Term | Phrase | Wildcard | Fuzzy

SNIPPET_CHARACTERS = 300
_BEFORE = 80
_LONG_LINE = 40
_LONGEST_WORD = 80
"""A snippet ends within a longer word, so that texts without spaces are cut too."""
_ELLIPSIS = "…"
_WORD = re.compile(r"\w+")
_BLANKS = re.compile(r"\s+")
_LAST_WORD = re.compile(r"\s\S*\Z")
_SCANNED_CHARACTERS = 1_000_000
_PLACES = 16
_BEFORE_IDEOGRAPHS = "\u2e7f"
_KNOWN_WORDS = 100_000


class Highlighter:
    """Makes the snippets of a query."""

    def __init__(self, query: Node) -> None:
        leaves = list(text_leaves(query))
        self._words = sorted({word for leaf in leaves for word in _words(leaf)}, key=len)[::-1]
        self._looser = list(_looser(leaves))
        self._known: dict[str, bool] = {}

    def snippet(self, text: str) -> tuple[Piece, ...]:
        """Return the part of a text with the first matches, else its beginning.

        It begins and ends at words, with an ellipsis if the text continues.
        """
        text = text.strip()
        start = self._start(text[:_SCANNED_CHARACTERS])
        end = _end(text, start + SNIPPET_CHARACTERS)
        shown = " ".join(text[start:end].split())
        before = f"{_ELLIPSIS} " if start else ""
        after = f" {_ELLIPSIS}" if end < len(text) else ""
        folded = f"{before}{_aligned(shown)}{after}"
        return tuple(_pieces(f"{before}{shown}{after}", _merged(self._spans(folded))))

    def marked(self, text: str, most: int) -> tuple[Piece, ...]:
        """Return a whole text with the first `most` matches marked."""
        spans = self._spans(_aligned(text), most)
        return tuple(_pieces(text, _merged(spans)[:most]))

    def _start(self, text: str) -> int:
        """Return the start of the snippet, so that the best match is shown with preceding text."""
        folded = text.lower()
        # Folding takes much longer, and most words are in the text as in the query.
        if not text.isascii() and not self._finds_all(folded, len(text)):
            folded = _aligned(text)
        first = self._first(folded)
        if first is None:
            first = next((start for start, _ in self._looser_spans(folded)), 0)
        if first <= _BEFORE:
            return 0
        start = first - _BEFORE
        if _is_sentence(text, first) and (line := text.rfind("\n", start, first) + 1):
            return line
        blank = _BLANKS.search(text, start - 1, first)
        return blank.end() if blank else start

    def _finds_all(self, lower: str, length: int) -> bool:
        """Return whether a lower-cased text kept its length and contains all words."""
        plain = not self._looser and len(lower) == length
        return plain and all(word in lower for word in self._words)

    def _first(self, folded: str) -> int | None:
        """Return the start of the passage with the most, and the rarest, words.

        Sentences come before menus and headings unless these have far more of the words.
        """
        every = [found for word in self._words if (found := _places(folded, word, _PLACES))]
        weights = [1 / len(found) for found in every]
        weight, first = _heaviest(every, weights)
        if first is None or _is_sentence(folded, first):
            return first
        in_sentences = [[one for one in found if _is_sentence(folded, one)] for found in every]
        of_sentences, start = _heaviest(in_sentences, weights)
        return start if of_sentences > weight / 2 else first

    def _spans(self, folded: str, most: int = SNIPPET_CHARACTERS) -> list[tuple[int, int]]:
        spans = [
            (place, place + len(word))
            for word in self._words
            for place in _places(folded, word, most)
        ]
        return [*spans, *self._looser_spans(folded)]

    def _looser_spans(self, folded: str) -> Iterator[tuple[int, int]]:
        if not self._looser:
            return
        for found in _WORD.finditer(folded):
            if self._is_looser(found[0]):
                yield found.span()

    def _is_looser(self, word: str) -> bool:
        """Return whether a word matches a pattern or fuzzy term; cached, as words recur."""
        known = self._known.get(word)
        if known is None:
            if len(self._known) >= _KNOWN_WORDS:
                self._known.clear()
            known = self._known[word] = any(fits(word) for fits in self._looser)
        return known


def _heaviest(
    places: Sequence[Sequence[int]], weights: Sequence[float]
) -> tuple[float, int | None]:
    """Return the weight of the words in the best passage, and its start; None without places."""
    best, first = 0.0, None
    for start in sorted(place for found in places for place in found):
        end = start + SNIPPET_CHARACTERS - _BEFORE
        weight = 0.0
        for found, own in zip(places, weights, strict=True):
            nearest = bisect_left(found, start)
            if nearest < len(found) and found[nearest] < end:
                weight += own
        if weight > best:
            best, first = weight, start
    return best, first


def _is_sentence(text: str, place: int) -> bool:
    """Return whether a place is in a long line, as menus and headings are not."""
    start = text.rfind("\n", max(place - _LONG_LINE, 0), place) + 1
    if not start and place >= _LONG_LINE:
        return True
    end = start + _LONG_LINE
    return end <= len(text) and text.find("\n", place, end) < 0


def _looser(leaves: Iterable[_Leaf]) -> Iterator[Callable[[str], bool]]:
    leaves = list(leaves)
    if patterns := [
        _pattern(leaf) for leaf in leaves if isinstance(leaf, Wildcard) and not is_any(leaf)
    ]:
        yield matcher(*patterns)
    for leaf in leaves:
        if isinstance(leaf, Fuzzy):
            yield from (likeness(word, leaf.distance) for word in query_tokens(leaf.text))


def _words(leaf: _Leaf) -> list[str]:
    """Return the tokens of a leaf, with adjacent ideographs joined."""
    if not isinstance(leaf, Term | Phrase):
        return []
    if leaf.text.isascii() or (isinstance(leaf, Phrase) and leaf.slop):
        return list(query_tokens(leaf.text))
    text, words = _aligned(leaf.text), [""]
    for token in query_tokens(leaf.text):
        if words[-1][-1:] > _BEFORE_IDEOGRAPHS < token and words[-1] + token in text:
            words[-1] += token
        else:
            words.append(token)
    return words[1:]


def _pattern(leaf: Wildcard) -> list[str]:
    return list(pattern_pieces(leaf.pattern, fold))


class _Folds(dict[int, str]):
    """Maps each character to its folded form, if that is a single character."""

    def __missing__(self, code: int) -> str:
        folded = fold(chr(code))
        self[code] = kept = folded if len(folded) == 1 else chr(code)
        return kept


_FOLDS = _Folds()


def _aligned(text: str) -> str:
    """Return a text folded character by character, so that positions stay the same."""
    return text.lower() if text.isascii() else text.translate(_FOLDS)


def _places(folded: str, word: str, most: int) -> list[int]:
    """Return the first positions of a word as a whole word, at most `most`."""
    found: list[int] = []
    place = folded.find(word)
    alone = len(word) == 1 and ord(word) > 0x2E7F  # an ideograph needs no spaces around it
    while place >= 0 and len(found) < most:
        end = place + len(word)
        if alone or not (
            _is_letter(folded[place - 1 : place]) or _is_letter(folded[end : end + 1])
        ):
            found.append(place)
        place = folded.find(word, end)
    return found


def _is_letter(character: str) -> bool:
    return character.isalnum() and character < "\u2e80"


def _end(text: str, end: int) -> int:
    if end >= len(text):
        return len(text)
    blank = _LAST_WORD.search(text, end - _LONGEST_WORD, end + 1)
    return blank.start() if blank else end


def _merged(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _pieces(text: str, spans: list[tuple[int, int]]) -> Iterator[Piece]:
    done = 0
    for start, end in spans:
        if start > done:
            yield text[done:start], False
        yield text[start:end], True
        done = end
    if done < len(text):
        yield text[done:], False
