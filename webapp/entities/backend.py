"""The store of triples of the running application."""

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from cachetools import TTLCache
from flask import Flask, current_app

from nwx.errors import SettingsError
from nwx.settings import DEFAULT_SEARCH_SECONDS, Settings
from webapp.site.context import engine
from webapp.site.question_limits import answer_facets

if TYPE_CHECKING:
    from nwx.steering.triples.entity_questions import EntityQuestions
    from nwx.steering.triples.triple_store import QueryAnswer, QueryLimits, SparqlQuery, TripleStore

_EXTENSION = "nwx-triples"
_KEPT_ANSWERS, _KEPT_SECONDS = 200, 60.0
_Answer = TypeVar("_Answer")


class TripleAnswers:
    """Answers from the store, so many at once; `settings` are those of the archive, if known."""

    def __init__(self, settings: Settings | None) -> None:
        self._settings = settings
        self._known: TTLCache[tuple[str, str], bytes] = TTLCache(_KEPT_ANSWERS, _KEPT_SECONDS)
        self._lock = Lock()

    def store(self) -> "TripleStore | None":
        """Return what the viewer may see of the store, None where nothing was stored yet."""
        # Imported here: few who serve an archive have triples.
        from nwx.steering.triples.visible_store import visible_triples

        if self._settings is None:
            return None
        try:
            found = visible_triples(self._settings, engine())
        except SettingsError:
            return None
        return found if found.version() else None

    def answer(self, store: "TripleStore", query: "SparqlQuery") -> "QueryAnswer":
        """Return the answer to a query of a reader."""
        limits = self._limits()
        return answer_facets(lambda: store.answer(query, limits))

    def ask(
        self, store: "TripleStore", question: "Callable[[EntityQuestions], _Answer]"
    ) -> _Answer:
        """Return the answer to a question about entities."""
        from nwx.steering.triples.entity_questions import EntityQuestions

        with self._lock:
            before = dict(self._known)
        known = dict(before)
        questions = EntityQuestions(store, self._limits(), known)
        answer = answer_facets(lambda: question(questions))
        with self._lock:
            self._known.update((key, known[key]) for key in known.keys() - before.keys())
        return answer

    def _limits(self) -> "QueryLimits":
        from nwx.steering.triples.triple_store import QueryLimits

        seconds = self._settings.search_seconds if self._settings else DEFAULT_SEARCH_SECONDS
        return QueryLimits(seconds=seconds)


def prepare_triples(app: Flask, settings: Settings | None) -> None:
    """Give an application the store of an archive."""
    app.extensions[_EXTENSION] = TripleAnswers(settings)


def triple_answers() -> TripleAnswers:
    """Return what answers from the store of the running application."""
    found: TripleAnswers = current_app.extensions[_EXTENSION]
    return found
