"""What a query that finds little may have meant."""

import re
from collections.abc import Iterator

from nwx.engine.base import Engine
from nwx.errors import QueryError
from nwx.model import Collapse, IndexName
from nwx.query.question import Question
from nwx.query.similar_words import LEAST_LETTERS
from nwx.query.tree import Term

FEW_RESULTS = 5
"""A query that finds more needs no other."""

_MOST_WORDS = 10
_MOST_TRIED = 3
_TIMES = 5
"""A word is taken for another that so many times as many documents have."""

_PIECE = re.compile(r'"[^"]*"|\[[^\]]*\]|\S+')
_PLAIN = re.compile(rf"[^\W\d_]{{{LEAST_LETTERS},40}}")
_OPERATORS = frozenset({"AND", "OR", "NOT"})


def corrected_query(engine: Engine, query: str) -> str:
    """Return a query with rare words replaced by frequent ones like them, "" where there is none.

    Only plain words are replaced: no phrases, patterns, fields or operators.
    What is returned finds more documents than the query does.
    """
    words = dict.fromkeys(match[0] for match in _plain_words(query))
    better = {
        word: other
        for word in list(words)[:_MOST_WORDS]
        if (other := _better_word(engine, word)) != word
    }
    if not better:
        return ""
    corrected = query
    for match in reversed(list(_plain_words(query))):
        if match[0] in better:
            corrected = corrected[: match.start()] + better[match[0]] + corrected[match.end() :]
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
    """Return the word that is meant by one: itself, where nothing like it is more frequent."""
    known = _count_word(engine, word)
    # No word can be that much more frequent where there are too few documents.
    if known > FEW_RESULTS or known * _TIMES >= engine.count(IndexName.DOCUMENTS):
        return word
    counts = {one: _count_word(engine, one) for one in engine.similar_words(word, _MOST_TRIED)}
    likely = (one for one, count in counts.items() if count > known * _TIMES)
    return next(likely, word)


def _count_word(engine: Engine, word: str) -> int:
    question = Question(Term("", word), collapse=Collapse.NONE, limit=0, snippets=False)
    return engine.search(question).total.value


def _count(engine: Engine, query: str) -> int:
    question = Question(query, collapse=Collapse.NONE, limit=0, snippets=False)
    return engine.search(question).total.value
