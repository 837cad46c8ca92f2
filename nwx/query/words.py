"""Word matching: proximity, similar spelling and patterns; queries for pictures."""

import re
import unicodedata
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import TypeVar

from nwx.data_classes import dataclass
from nwx.errors import ErrorText, QueryError
from nwx.query.fields import ALIASES
from nwx.query.tree import All, Bool, Boost, Node, Phrase, Term, Wildcard

Word = TypeVar("Word", bound=Hashable)


def stand_near(words: Sequence[Word], places: Mapping[Word, Sequence[int]], slop: int) -> bool:
    """Return whether words match as a phrase: each has a position of its own, within `slop`.

    Positions may be offset from those in the phrase; all offsets must be within `slop` of each
    other.
    """
    moves = {place - n for n, word in enumerate(words) for place in places[word]}
    return any(_fit(words, places, least, slop) for least in sorted(moves))


def _fit(
    words: Sequence[Word], places: Mapping[Word, Sequence[int]], least: int, slop: int
) -> bool:
    """Return whether all words fit with offsets from `least` to `least + slop`.

    Equal words take their positions from left to right: if that fails, every other assignment
    fails.
    """
    taken: dict[Word, int] = {}
    for n, word in enumerate(words):
        of_word = places[word]
        place = bisect_left(of_word, max(least + n, taken.get(word, -1) + 1))
        if place == len(of_word) or of_word[place] > least + n + slop:
            return False
        taken[word] = of_word[place]
    return True


LEAST_LETTERS = 4
"""The shortest word with similar words; shorter ones resemble too many others."""

_TWO_EDITS = 6


def most_edits(word: str) -> int:
    """Return the most edits between a word and its similar words, 0 if it is too short."""
    if len(word) < LEAST_LETTERS:
        return 0
    return 2 if len(word) >= _TWO_EDITS else 1


def nearest_words(word: str, found: Iterable[tuple[str, int]], most: int) -> list[str]:
    """Return similar words: the fewest edits first, then the most frequent.

    `found` has words with their number of documents; all words are in the folded form. Swapping
    neighbouring letters is one edit.
    """
    # Imported here: only a query with few results needs it.
    from rapidfuzz.distance import OSA

    edits = most_edits(word)
    if not edits:
        return []
    near: dict[str, tuple[int, int]] = {}
    for other, documents in found:
        distance = OSA.distance(word, other, score_cutoff=edits)
        if 0 < distance <= edits and documents:
            known = near.get(other, (distance, 0))
            near[other] = distance, min(known[1], -documents)
    return sorted(near, key=lambda other: (*near[other], other))[:most]


_PATTERN_PIECE = re.compile(r"\\.|[*?]|[^\\*?]+|\\", re.DOTALL)


def pattern_pieces(pattern: str, fold: Callable[[str], str] = str) -> Iterator[str]:
    """Yield the parts of a wildcard pattern: `*`, `?`, or `=` followed by folded literal text."""
    plain = ""
    for piece in _PATTERN_PIECE.findall(pattern):
        if piece in ("*", "?"):
            if plain:
                yield "=" + fold(plain)
            plain = ""
            yield piece
        else:
            plain += piece[1:] if piece[0] == "\\" and len(piece) == 2 else piece
    if plain:
        yield "=" + fold(plain)


def matcher(*patterns: Iterable[str]) -> Callable[[str], bool]:
    """Return a function that reports whether a text matches one of these patterns.

    Its time is linear in the length of the text.
    """
    # Imported here: few queries have patterns that tantivy does not support.
    import re2

    options = re2.Options()
    options.dot_nl = True
    options.never_capture = True
    fullmatch = re2.compile("|".join(map(_plain_expression, patterns)), options).fullmatch
    return lambda text: fullmatch(text) is not None


def _plain_expression(pieces: Iterable[str]) -> str:
    import re2

    wild = {"*": ".*", "?": "."}
    return "".join(wild.get(one) or re2.escape(one[1:]) for one in pieces)


def likeness(wanted: str, distance: int) -> Callable[[str], bool]:
    """Return a function that reports whether a word is within `distance` edits of `wanted`.

    Swapping neighbouring letters is one edit, as in the index.
    """
    # Imported here: only misspelt words (`~`) need it.
    from rapidfuzz.distance import OSA

    def is_like(word: str) -> bool:
        return OSA.distance(word, wanted, score_cutoff=distance) <= distance

    return is_like


PICTURE_FIELDS = ("host", "domain", "content_type")
"""Query fields of pictures, in addition to their words."""

_TEXT_FIELDS = ("", "title", "headings", "content", "url_text", "anchor", "description")
_WORD = re.compile(r"[^\W_]+")
_LONGEST_WORD = 100
_MARK = "Mn"
_MEANING = ErrorText("pictures are found by words, phrases, and beginnings of words such as flow*")


def picture_words(text: str) -> list[str]:
    """Return the words of a text: lower case, without accents, CJK characters one by one."""
    if not text.isascii():
        plain = unicodedata.normalize("NFKD", text).casefold()
        text = "".join(sign for sign in plain if unicodedata.category(sign) != _MARK)
        text = _unspaced().sub(r" \1 ", text)
    return [word[:_LONGEST_WORD] for word in _WORD.findall(text.lower())]


@cache
def _unspaced() -> re.Pattern[str]:
    """Return the pattern of characters of scripts without spaces, which takes long to compile.

    Each of these characters is a word, and words are phrases of them.
    """
    return re.compile(
        "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
        "\uf900-\ufaff\U00020000-\U0003ffff])"
    )


@dataclass(frozen=True, slots=True)
class FieldCondition:
    """A value that a field of PICTURE_FIELDS must have, or with `is_not` must not."""

    field: str
    value: str
    is_not: bool = False


@dataclass(frozen=True, slots=True)
class PictureQuery:
    """A picture query: words, None for all pictures, and required field values.

    `words` has only All, Phrase (words separated by spaces), Wildcard (one word and `*`) and Bool
    nodes, all about the words of a picture.
    """

    words: Node | None
    conditions: tuple[FieldCondition, ...] = ()


def resolve_picture_query(query: str) -> PictureQuery:
    """Return the picture query of a query text.

    Raises QueryError on a syntax error, and on conditions that exist only for documents.
    """
    # Imported here: counting pictures does not need it.
    from nwx.query.parser import parse_query

    parts = _parts(parse_query(query))
    conditions = tuple(part for part in parts if isinstance(part, FieldCondition))
    words = [_words(part) for part in parts if not isinstance(part, FieldCondition)]
    wanted = tuple(word for word in words if not isinstance(word, All))
    if not wanted:
        return PictureQuery(None, conditions)
    return PictureQuery(wanted[0] if len(wanted) == 1 else Bool(must=wanted), conditions)


def _parts(node: Node) -> list[Node | FieldCondition]:
    """Return the required nodes, with conditions on fields separated."""
    if isinstance(node, Bool) and not node.should:
        wanted = [found for part in node.must for found in _parts(part)]
        return wanted + [_refused(part) for part in node.must_not]
    if isinstance(node, Term | Phrase) and node.field in PICTURE_FIELDS:
        return [FieldCondition(node.field, node.text)]
    return [node]


def _refused(node: Node) -> Node | FieldCondition:
    if isinstance(node, Term | Phrase) and node.field in PICTURE_FIELDS:
        return FieldCondition(node.field, node.text, is_not=True)
    return Bool(must_not=(node,))


def _words(node: Node) -> Node:
    match node:
        case All():
            return node
        case Boost():
            return _words(node.node)
        case Bool():
            return Bool(
                tuple(map(_words, node.must)),
                tuple(map(_words, node.should)),
                tuple(map(_words, node.must_not)),
            )
        case Term() | Phrase() if node.field in _TEXT_FIELDS:
            words = picture_words(node.text)
            return Phrase("", " ".join(words)) if words else All()
        case Wildcard() if node.field in _TEXT_FIELDS:
            return _beginning(node)
        case _:
            raise _refusal(node)


def _beginning(node: Wildcard) -> Node:
    words = picture_words(node.pattern)
    is_beginning = node.pattern.endswith("*") and not set("*?\\") & set(node.pattern[:-1])
    if len(words) != 1 or not is_beginning:
        raise QueryError.translated(
            "%(pattern)s is not supported for pictures: %(meaning)s",
            pattern=repr(node.pattern[:80]),
            meaning=_MEANING,
        )
    return Wildcard("", words[0] + "*")


def _refusal(node: Node) -> QueryError:
    field = getattr(node, "field", "date")
    if field in PICTURE_FIELDS:
        return QueryError.translated(
            "%(field)s can be used for pictures only where all parts must match", field=field
        )
    if field not in _TEXT_FIELDS:
        fields = ", ".join(PICTURE_FIELDS)
        return QueryError.translated(
            "the field %(field)s cannot be used for pictures; use %(fields)s",
            field=next((name for name, of in ALIASES.items() if of == field), field),
            fields=fields,
        )
    return QueryError.translated(
        "this is not supported for pictures: %(meaning)s", meaning=_MEANING
    )
