"""Suggestions while a query is typed, and spelling corrections."""

import re
from collections import Counter
from collections.abc import Iterator

from nwx.data_classes import dataclass
from nwx.engine.base import Engine
from nwx.errors import QueryError
from nwx.model import Collapse, IndexName
from nwx.query.fields import resolve_field
from nwx.query.question import Question
from nwx.query.tree import Bool, Node, Term, Wildcard
from nwx.query.words import LEAST_LETTERS

MOST_SUGGESTIONS = 6
"""The most titles, and the most hosts, suggested at once."""

_LEAST_LETTERS = 2
_MOST_LETTERS = 200
_MOST_SUGGESTED = 8
_WORD = re.compile(r"\w+")
_HOST = re.compile(r"[\w-]+(\.[\w-]+)*\.?")


@dataclass(frozen=True, slots=True)
class SuggestedTitle:
    """The title of a document, and its URL."""

    title: str
    url: str


@dataclass(frozen=True, slots=True)
class SuggestedHost:
    """A host, and the number of its documents."""

    host: str
    documents: int


@dataclass(frozen=True, slots=True)
class Suggestions:
    """Titles with the words of a text (the last as a prefix), and hosts that begin with it."""

    titles: tuple[SuggestedTitle, ...] = ()
    hosts: tuple[SuggestedHost, ...] = ()


def suggestions(engine: Engine, typed: str) -> Suggestions:
    """Return suggestions for a partly typed text; none for fewer than two letters."""
    typed = typed.strip()
    if not _LEAST_LETTERS <= len(typed) <= _MOST_LETTERS:
        return Suggestions()
    return Suggestions(_titles(engine, typed), _hosts(engine, typed))


def _titles(engine: Engine, typed: str) -> tuple[SuggestedTitle, ...]:
    words = _WORD.findall(typed)
    if not 0 < len(words) <= _MOST_SUGGESTED:
        return ()
    parts: list[Node] = [Term("title", word) for word in words[:-1]]
    parts.append(Wildcard("title", f"{words[-1]}*"))
    parts.append(Term("content_type_norm", "pages"))  # no error pages
    found = engine.search(
        Question(
            Bool(must=tuple(parts)),
            collapse=Collapse.URL,
            limit=2 * MOST_SUGGESTIONS,
            snippets=False,
        )
    )
    titles = {hit.title: SuggestedTitle(hit.title, hit.url) for hit in found.hits if hit.title}
    return tuple(titles.values())[:MOST_SUGGESTIONS]


def _hosts(engine: Engine, typed: str) -> tuple[SuggestedHost, ...]:
    if not _HOST.fullmatch(typed):
        return ()
    either = tuple(Wildcard("host", f"{begin}{typed.lower()}*") for begin in ("", "www."))
    question = Question(
        Bool(should=either),
        facets=("host",),
        facet_size=MOST_SUGGESTIONS,
        collapse=Collapse.NONE,
        limit=0,
        snippets=False,
    )
    counts = engine.search(question).facets["host"]
    return tuple(SuggestedHost(one.value, one.count) for one in counts)


FEW_RESULTS = 5
"""Queries with more results are not corrected."""

_MOST_WORDS = 10
_MOST_TRIED = 3
_MOST_CHARACTERS = 200_000
_TIMES = 5
"""A word is replaced by a similar one in more than this many times as many documents."""

_PIECE = re.compile(r'"[^"]*"|\[[^\]]*\]|\S+')
_PLAIN = re.compile(rf"[^\W\d_]{{{LEAST_LETTERS},40}}")
_OPERATORS = frozenset({"AND", "OR", "NOT"})
_LAST_FIELD = re.compile(r"(?<!\S)\w+:$")


def corrected_query(engine: Engine, query: str) -> str:
    """Return a query with rare words replaced by frequent similar ones, "" if unchanged.

    Replaces only plain words, not phrases, patterns, fields or operators. Operators in lower case
    become upper case, and a field without a value at the end matches any value (`*`). The returned
    query finds more documents than the original.
    """
    words = dict.fromkeys(match[0] for match in _plain_words(query))
    better = {
        word: other
        for word in list(words)[:_MOST_WORDS]
        if (other := _better_word(engine, word)) != word
    }
    better = {word: _as_written(engine, other) for word, other in better.items()}
    better |= {word.lower(): word for word in _OPERATORS}
    corrected = query
    for match in reversed(list(_PIECE.finditer(query))):
        other = better.get(match[0], match[0])
        if other in _OPERATORS and not 0 < match.start() < match.end() < len(query):
            continue
        corrected = corrected[: match.start()] + other + corrected[match.end() :]
    if _LAST_FIELD.search(corrected) and resolve_field(corrected.split()[-1][:-1]):
        corrected += "*"
    if corrected == query:
        return ""
    try:
        found, before = _count(engine, corrected), _count(engine, query)
    except QueryError:
        return ""
    return corrected if found > before else ""


def _plain_words(query: str) -> Iterator[re.Match[str]]:
    for match in _PIECE.finditer(query):
        if _PLAIN.fullmatch(match[0]) and match[0] not in _OPERATORS:
            yield match


def _better_word(engine: Engine, word: str) -> str:
    """Return a much more frequent similar word, or the word itself if there is none."""
    known = _count_word(engine, word)
    # With so few documents, no other word can be that much more frequent.
    if known > FEW_RESULTS or known * _TIMES >= engine.count(IndexName.DOCUMENTS):
        return word
    counts = {one: _count_word(engine, one) for one in engine.similar_words(word, _MOST_TRIED)}
    likely = (one for one, count in counts.items() if count > known * _TIMES)
    return next(likely, word)


def _as_written(engine: Engine, word: str) -> str:
    """Return a word of the index spelled with accents as in the best documents with it."""
    # Imported here: only corrections need it.
    from nwx.engine.analyzer import written_words

    question = Question(Term("", word), limit=_MOST_TRIED, snippets=False)
    forms: Counter[str] = Counter()
    for one in engine.texts([hit.id for hit in engine.search(question).hits]).values():
        text = " ".join((one.extract.title, *one.extract.headings, one.extract.content))
        forms.update(filter(None, [written_words(text[:_MOST_CHARACTERS]).get(word)]))
    return max(forms, key=lambda one: (forms[one], one), default=word)


def _count_word(engine: Engine, word: str) -> int:
    question = Question(Term("", word), collapse=Collapse.NONE, limit=0, snippets=False)
    return engine.search(question).total.value


def _count(engine: Engine, query: str) -> int:
    question = Question(query, collapse=Collapse.NONE, limit=0, snippets=False)
    return engine.search(question).total.value
