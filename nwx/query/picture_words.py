"""Words about pictures, and queries of them: in the same form for every engine."""

import re
import unicodedata
from dataclasses import dataclass

from nwx.errors import ErrorText, QueryError
from nwx.query.tree import All, Bool, Boost, Node, Phrase, Term, Wildcard

PICTURE_FIELDS = ("host", "domain", "content_type")
"""Fields of a query that pictures have beside their words."""

_TEXT_FIELDS = ("", "title", "headings", "content", "url_text", "anchor", "description")
_WORD = re.compile(r"[^\W_]+")
# Scripts that are written without blanks: each sign is a word, and words are phrases of them.
_SIGNS = re.compile(
    "([\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff])"
)
_LONGEST_WORD = 100
_MARK = "Mn"
_MEANING = ErrorText("pictures are found by words, phrases, and beginnings of words such as flow*")


def picture_words(text: str) -> list[str]:
    """Return the words of a text: lower case, without accents, signs of CJK one by one."""
    if not text.isascii():
        plain = unicodedata.normalize("NFKD", text).casefold()
        text = "".join(sign for sign in plain if unicodedata.category(sign) != _MARK)
        text = _SIGNS.sub(r" \1 ", text)
    return [word[:_LONGEST_WORD] for word in _WORD.findall(text.lower())]


@dataclass(frozen=True, slots=True)
class FieldCondition:
    """A value that a field of PICTURE_FIELDS must have, or with `is_not` must not."""

    field: str
    value: str
    is_not: bool = False


@dataclass(frozen=True, slots=True)
class PictureQuery:
    """A query of images: words, None for all images, and required field values.

    `words` has only All, Phrase (words separated by spaces), Wildcard (one word and `*`) and Bool
    nodes, all about the words of an image.
    """

    words: Node | None
    conditions: tuple[FieldCondition, ...] = ()


def resolve_picture_query(query: str) -> PictureQuery:
    """Return the image query of a query text.

    Raises QueryError on a syntax error, and on conditions that exist only for documents.
    """
    # Imported here: pictures are counted without.
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
            "%(pattern)s cannot be asked of pictures: %(meaning)s",
            pattern=repr(node.pattern[:80]),
            meaning=_MEANING,
        )
    return Wildcard("", words[0] + "*")


def _refusal(node: Node) -> QueryError:
    field = getattr(node, "field", "date")
    if field in PICTURE_FIELDS:
        return QueryError.translated(
            "%(field)s can only be asked of pictures where all parts must match", field=field
        )
    if field not in _TEXT_FIELDS:
        fields = ", ".join(PICTURE_FIELDS)
        return QueryError.translated(
            "the field %(field)s cannot be asked of pictures; they have %(fields)s",
            field=field,
            fields=fields,
        )
    return QueryError.translated("this cannot be asked of pictures: %(meaning)s", meaning=_MEANING)
