"""What a query may become while it is typed."""

import re
from dataclasses import dataclass

from nwx.engine.base import Engine
from nwx.model import Collapse
from nwx.query.question import Question
from nwx.query.tree import Bool, Node, Term, Wildcard

MOST_SUGGESTIONS = 6
"""The most titles, and the most hosts, that are suggested at once."""

_LEAST_LETTERS = 2
_MOST_LETTERS = 200
_MOST_WORDS = 8
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
    """Titles with the words of a text, the last of them begun, and hosts that begin with it."""

    titles: tuple[SuggestedTitle, ...] = ()
    hosts: tuple[SuggestedHost, ...] = ()


def suggestions(engine: Engine, typed: str) -> Suggestions:
    """Return what a text that is being typed may become; nothing for less than two letters."""
    typed = typed.strip()
    if not _LEAST_LETTERS <= len(typed) <= _MOST_LETTERS:
        return Suggestions()
    return Suggestions(_titles(engine, typed), _hosts(engine, typed))


def _titles(engine: Engine, typed: str) -> tuple[SuggestedTitle, ...]:
    words = _WORD.findall(typed)
    if not 0 < len(words) <= _MOST_WORDS:
        return ()
    parts: list[Node] = [Term("title", word) for word in words[:-1]]
    parts.append(Wildcard("title", f"{words[-1]}*"))
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
