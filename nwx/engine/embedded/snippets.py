"""Snippets: the place of a text where a query matches, and the matches in it."""

import re
from collections.abc import Iterator
from itertools import islice

from nwx.engine.embedded.analyzer import fold, tokens
from nwx.engine.embedded.compile import field_kind
from nwx.engine.embedded.patterns import follows, pattern_pieces
from nwx.query.tree import Bool, Boost, Fuzzy, Node, Phrase, Term, Wildcard

Piece = tuple[str, bool]

SNIPPET_CHARACTERS = 300
_BEFORE = 80
_TO_BLANK = 24
_WORD = re.compile(r"\w+")
_BLANKS = re.compile(r"\s+")
_SCANNED_CHARACTERS = 1_000_000
_PLACES = 30
_COMPARED = 12


class Highlighter:
    """What makes the snippets of a query."""

    def __init__(self, query: Node) -> None:
        leaves = list(_text_parts(query))
        self._words = sorted({word for leaf in leaves for word in _words(leaf)}, key=len)[::-1]
        self._patterns = [_pattern(leaf) for leaf in leaves if isinstance(leaf, Wildcard)]
        self._fuzzy = [
            (word, leaf.distance)
            for leaf in leaves
            if isinstance(leaf, Fuzzy)
            for word in tokens(leaf.text)
        ]

    def snippet(self, text: str) -> tuple[Piece, ...]:
        """Return the part of a text with the first matches, or else its beginning."""
        folded = _aligned(text[:_SCANNED_CHARACTERS])
        first = self._first(folded)
        start = 0 if first is None else _start(text, first)
        end = _end(text, start + SNIPPET_CHARACTERS)
        spans = _merged(self._spans(folded[start:end]))
        return tuple(_pieces(text[start:end], spans))

    def _first(self, folded: str) -> int | None:
        """Return the first place of the passage where the most, and the rarest, words meet."""
        places = {word: _some_places(folded, word) for word in self._words}
        every = sorted((place, word) for word, found in places.items() for place in found)
        best, first = 0.0, None
        for number, (start, _) in enumerate(every):
            near = {
                word
                for place, word in every[number : number + _COMPARED]
                if place < start + SNIPPET_CHARACTERS - _BEFORE
            }
            weight = sum(1 / len(places[word]) for word in near)
            if weight > best:
                best, first = weight, start
        if first is not None:
            return first
        return next((start for start, _ in self._looser_spans(folded)), None)

    def _spans(self, folded: str) -> Iterator[tuple[int, int]]:
        for word in self._words:
            for place in _word_places(folded, word):
                yield place, place + len(word)
        yield from self._looser_spans(folded)

    def _looser_spans(self, folded: str) -> Iterator[tuple[int, int]]:
        if not self._patterns and not self._fuzzy:
            return
        for found in _WORD.finditer(folded):
            word = found[0]
            if any(follows(pattern, word) for pattern in self._patterns) or any(
                _is_near(word, wanted, distance) for wanted, distance in self._fuzzy
            ):
                yield found.span()


def _text_parts(node: Node) -> Iterator[Term | Phrase | Wildcard | Fuzzy]:
    """Give the parts of a tree that look for words, apart from those ruled out."""
    match node:
        case Boost():
            yield from _text_parts(node.node)
        case Bool():
            for part in (*node.must, *node.should):
                yield from _text_parts(part)
        case Term() | Phrase() | Wildcard() | Fuzzy():
            if not node.field or field_kind(node.field) == "text":
                yield node


def _words(leaf: Term | Phrase | Wildcard | Fuzzy) -> list[str]:
    return tokens(leaf.text) if isinstance(leaf, Term | Phrase) else []


def _pattern(leaf: Wildcard) -> list[str]:
    return [fold(piece) for piece in pattern_pieces(leaf.pattern)]


class _Folds(dict[int, str]):
    """Each character as tokens have it, where that is one character too."""

    def __missing__(self, code: int) -> str:
        folded = fold(chr(code))
        self[code] = kept = folded if len(folded) == 1 else chr(code)
        return kept


_FOLDS = _Folds()


def _aligned(text: str) -> str:
    """Return a text folded character by character, so that places are kept."""
    return text.lower() if text.isascii() else text.translate(_FOLDS)


def _some_places(folded: str, word: str) -> list[int]:
    return list(islice(_word_places(folded, word), _PLACES))


def _word_places(folded: str, word: str) -> Iterator[int]:
    """Give the places where a word stands by itself."""
    place = folded.find(word)
    alone = len(word) == 1 and ord(word) > 0x2E7F  # an ideograph needs no blanks around it
    while place >= 0:
        end = place + len(word)
        before, after = folded[place - 1 : place], folded[end : end + 1]
        if alone or not (_is_letter(before) or _is_letter(after)):
            yield place
        place = folded.find(word, end)


def _is_letter(character: str) -> bool:
    return character.isalnum() and character < "\u2e80"


def _is_near(word: str, wanted: str, distance: int) -> bool:
    """Tell whether one word becomes the other by so few edits, swaps of neighbours included."""
    if abs(len(word) - len(wanted)) > distance:
        return False
    before: list[int] = []
    row = list(range(len(wanted) + 1))
    for i, one in enumerate(word, 1):
        older, before = before, row
        row = [i]
        for j, other in enumerate(wanted, 1):
            best = min(before[j] + 1, row[-1] + 1, before[j - 1] + (one != other))
            if i > 1 and j > 1 and one == wanted[j - 2] and word[i - 2] == other:
                best = min(best, older[j - 2] + 1)
            row.append(best)
        if min(row) > distance:
            return False
    return row[-1] <= distance


def _start(text: str, match: int) -> int:
    """Return where to begin, so that the match is shown with what stands before it."""
    if match <= _BEFORE:
        return 0
    start = match - _BEFORE
    blank = _BLANKS.search(text, start, start + _TO_BLANK)
    return blank.end() if blank else start


def _end(text: str, end: int) -> int:
    if end >= len(text):
        return len(text)
    blank = text.rfind(" ", end - _TO_BLANK, end)
    return blank if blank > 0 else end


def _merged(spans: Iterator[tuple[int, int]]) -> list[tuple[int, int]]:
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
            yield _blanked(text[done:start]), False
        yield _blanked(text[start:end]), True
        done = end
    if done < len(text):
        yield _blanked(text[done:]), False


def _blanked(text: str) -> str:
    return _BLANKS.sub(" ", text)
