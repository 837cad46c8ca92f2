"""The pages of entities, and what they and programs can ask."""

from collections.abc import Callable
from threading import Lock
from typing import TYPE_CHECKING, TypeVar

from cachetools import TTLCache
from flask import Blueprint, Flask, current_app, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext
from werkzeug.exceptions import NotFound

from nwx.errors import SettingsError, UsageError
from nwx.settings import DEFAULT_SEARCH_SECONDS, Settings
from nwx.steering.specifications.specification import EntityKind
from webapp.search.history import year_bars
from webapp.site import parameters
from webapp.site.context import engine
from webapp.site.openapi import Operation, Parameter
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


_ERRORS = {
    "400": "the query is wrong, not allowed, or takes more than it may",
    "403": "an update, which is never taken",
    "404": "the archive has no triples yet",
    "406": "the answer does not come in an accepted type",
    "415": "a query is sent as application/sparql-query, or as a field of a form",
    "503": "too many questions are being answered, or the store is away",
}
_MEDIA_TYPES = (
    "application/sparql-results+json",
    "application/sparql-results+xml",
    "text/csv",
    "text/tab-separated-values",
    "text/turtle",
    "application/n-triples",
    "application/rdf+xml",
    "application/ld+json",
)
_PARAMETERS = (
    Parameter("query", "a SPARQL 1.1 query; without GRAPH and FROM it is about all graphs"),
    Parameter("default-graph-uri", "a graph that the query is about; may be repeated"),
    Parameter("named-graph-uri", "a graph that GRAPH can name; may be repeated"),
    Parameter("format", "json, xml, csv or tsv; of triples ttl, nt, rdf or json"),
)
ENTITY_OPERATIONS = (
    Operation(
        id="sparql",
        path="/sparql",
        summary="Query the facts that pages state, by the SPARQL 1.1 protocol.",
        parameters=_PARAMETERS,
        media_types=_MEDIA_TYPES,
        errors=_ERRORS,
        plain_errors=True,
        example="/sparql?query=ASK+%7B+%3Fs+%3Fp+%3Fo+%7D",
    ),
    Operation(
        id="sparqlByPost",
        path="/sparql",
        method="post",
        summary="The same, with the query in the body: as it is, or as a field of a form.",
        parameters=_PARAMETERS,
        media_types=_MEDIA_TYPES,
        errors=_ERRORS,
        plain_errors=True,
    ),
)


blueprint = Blueprint("entities", __name__, url_prefix="/entities")

ENTITIES_A_PAGE = 50
_MOST_PAGES = 1_000
_LONGEST_NAME = 200


@blueprint.get("", endpoint="show")
def show_entities() -> ResponseReturnValue:
    """List entities, those that most captures mention first; or show one."""
    if "iri" in request.args:
        return _entity(parameters.text(request.args, "iri", 2_000))
    text = parameters.text(request.args, "q", _LONGEST_NAME)
    kind = _kind(parameters.text(request.args, "kind", 50))
    page = parameters.number_parameter(request.args, "page", 1, 1, _MOST_PAGES)
    answers = triple_answers()
    store = answers.store()
    if store is None:
        return render_template("entities.html", rows=None)
    begin = (page - 1) * ENTITIES_A_PAGE
    rows = answers.ask(
        store, lambda ask: ask.entities(text, kind, limit=ENTITIES_A_PAGE + 1, offset=begin)
    )
    return render_template(
        "entities.html",
        rows=rows[:ENTITIES_A_PAGE],
        more=len(rows) > ENTITIES_A_PAGE,
        page=page,
        text=text,
        kind=kind,
        kinds=list(EntityKind),
    )


def _kind(name: str) -> EntityKind | None:
    if not name:
        return None
    if name not in set(EntityKind):
        raise UsageError(parameters.not_a_choice("kind", name, EntityKind))
    return EntityKind(name)


def _entity(iri: str) -> ResponseReturnValue:
    year = parameters.number_parameter(request.args, "year", 0, 0, 9999)
    page = parameters.number_parameter(request.args, "page", 1, 1, _MOST_PAGES)
    answers = triple_answers()
    store = answers.store()
    facts = answers.ask(store, lambda ask: ask.facts(iri)) if store else None
    if store is None or facts is None:
        raise NotFound(gettext("this archive knows no entity %(iri)s", iri=iri))
    begin = (page - 1) * ENTITIES_A_PAGE
    captures = answers.ask(
        store,
        lambda ask: ask.captures(
            iri, f"{year:04}" if year else "", limit=ENTITIES_A_PAGE + 1, offset=begin
        ),
    )
    bars = year_bars(
        dict(facts.years),
        lambda one: url_for(".show", iri=iri, year=None if int(one) == year else one),
        [f"{year:04}"],
    )
    return render_template(
        "entity.html",
        facts=facts,
        captures=captures[:ENTITIES_A_PAGE],
        more=len(captures) > ENTITIES_A_PAGE,
        page=page,
        year=year,
        bars=bars,
    )
