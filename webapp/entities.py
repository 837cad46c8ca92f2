"""Pages of entities, and the SPARQL endpoint for browsers and programs."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flask import Blueprint, Response, make_response, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext, lazy_gettext
from werkzeug.exceptions import (
    Forbidden,
    HTTPException,
    NotAcceptable,
    NotFound,
    ServiceUnavailable,
    UnsupportedMediaType,
)

from nwx.errors import ErrorText, NotBuiltError, NwxError, QuestionTimeoutError, UsageError
from nwx.steering.specifications.specification import EntityKind
from webapp.login_page import open_to_all
from webapp.search.history import year_bars
from webapp.site import parameters, responses
from webapp.site.context import archive
from webapp.site.openapi import Operation, Parameter
from webapp.site.question_limits import answer_facets
from webapp.site.words import error_text

if TYPE_CHECKING:
    from nwx.steering.triples.triple_store import QueryAnswer, SparqlQuery


_ERRORS = {
    "400": "the query is invalid, not allowed, or exceeds a limit",
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
        summary="Query the facts that pages state, by the SPARQL 1.1 protocol",
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
        summary="The same, with the query in the body: as plain text, or as a field of a form",
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
    """List entities, by number of captures that mention them, descending; or show one."""
    if "iri" in request.args:
        return _entity(parameters.text(request.args, "iri", 2_000))
    text = parameters.text(request.args, "q", _LONGEST_NAME)
    kind = parameters.optional_choice(request.args, "kind", EntityKind)
    page = parameters.list_page(request.args, ENTITIES_A_PAGE, _MOST_PAGES)
    found = archive().entities()
    if found is None:
        return render_template("entities.html", rows=None)
    rows = answer_facets(
        lambda: found.entities(text, kind, limit=ENTITIES_A_PAGE + 1, offset=page.begin)
    )
    return render_template(
        "entities.html", **page.shown(rows), text=text, kind=kind, kinds=list(EntityKind)
    )


def _entity(iri: str) -> ResponseReturnValue:
    year = parameters.number_parameter(request.args, "year", 0, 0, 9999)
    page = parameters.list_page(request.args, ENTITIES_A_PAGE, _MOST_PAGES)
    found = archive().entities()
    facts = answer_facets(lambda: found.facts(iri)) if found else None
    if found is None or facts is None:
        raise NotFound(gettext("this archive has no entity %(iri)s", iri=iri))
    of_year = f"{year:04}" if year else ""
    captures = answer_facets(
        lambda: found.captures(iri, of_year, limit=ENTITIES_A_PAGE + 1, offset=page.begin)
    )
    bars = year_bars(
        dict(facts.years),
        lambda one: url_for(".show", iri=iri, year=None if int(one) == year else one),
        [of_year],
    )
    return render_template("entity.html", facts=facts, **page.shown(captures), year=year, bars=bars)


sparql_blueprint = Blueprint("sparql", __name__, url_prefix="/sparql")

LONGEST_SPARQL = 100_000
SPARQL_ROWS_SHOWN = 200
_MOST_GRAPHS = 50
_QUERY_TYPE = "application/sparql-query"
_UPDATE_TYPE = "application/sparql-update"
_FORM_TYPE = "application/x-www-form-urlencoded"
_HTML = "text/html"
_EXAMPLES = {
    lazy_gettext("Titles"): "PREFIX og: <http://ogp.me/ns#>\n"
    "SELECT ?page ?title WHERE { ?page og:title ?title } LIMIT 50",
    lazy_gettext("Entities that most captures mention"): "PREFIX schema: <https://schema.org/>\n"
    "PREFIX rdfs: <http://www.w3.org/2000/01/rdf-schema#>\n"
    "SELECT ?name (COUNT(DISTINCT ?capture) AS ?captures)\n"
    "WHERE { ?capture schema:mentions ?entity . ?entity rdfs:label ?name }\n"
    "GROUP BY ?name ORDER BY DESC(?captures) LIMIT 50",
    lazy_gettext(
        "Facts with their sources and dates"
    ): "PREFIX dcterms: <http://purl.org/dc/terms/>\n"
    "SELECT ?subject ?property ?value ?source ?date\n"
    "WHERE { GRAPH ?g { ?subject ?property ?value .\n"
    "                   ?capture dcterms:source ?source ; dcterms:date ?date } } LIMIT 50",
}


@dataclass(frozen=True, slots=True)
class ShownCell:
    """A value in a result table: its text, its kind and whether it links to an entity page."""

    text: str
    kind: str
    is_entity: bool = False


@sparql_blueprint.route("", methods=["GET", "POST"], endpoint="show")
@open_to_all
def answer_sparql() -> ResponseReturnValue:
    """Answer a query, or show the query form."""
    try:
        query = _read_query()
        if query is None:
            return _form("")
        return _answered(query)
    except HTTPException as error:
        return _refusal(error.code or 400, str(error.description))
    except NwxError as error:
        answered = make_response(_refusal(responses.status_of(error), error_text(error)))
        if answered.status_code == ServiceUnavailable.code:
            answered.headers["Retry-After"] = str(responses.RETRY_SECONDS)
        return answered


def _read_query() -> "SparqlQuery | None":
    """Return the query of a request, or None; raises UsageError or HTTPException."""
    fields: Any = request.args
    text = ""
    if request.method == "POST":
        if request.mimetype == _UPDATE_TYPE or "update" in request.form:
            raise Forbidden(gettext("updates are not accepted: this store is read-only"))
        if request.mimetype == _QUERY_TYPE:
            text = request.get_data(as_text=True)
        elif request.mimetype == _FORM_TYPE:
            fields = request.form
        else:
            raise UnsupportedMediaType(f"send a query as {_QUERY_TYPE} or {_FORM_TYPE}")
    elif "update" in fields:
        raise Forbidden(gettext("updates are not accepted: this store is read-only"))
    if len(fields.getlist("query")) > 1:
        raise UsageError(ErrorText("there are several queries; send one"))
    text = text or fields.get("query", "")
    if not text.strip():
        return None
    from nwx.steering.triples.triple_store import SparqlQuery

    default, named = (
        tuple(fields.getlist(name)) or tuple(request.args.getlist(name))
        for name in ("default-graph-uri", "named-graph-uri")
    )
    if len(default) + len(named) > _MOST_GRAPHS:
        raise UsageError(ErrorText("there are more than %(most)s graphs", most=_MOST_GRAPHS))
    return SparqlQuery(text, default, named)


def _answered(query: "SparqlQuery") -> ResponseReturnValue:
    from nwx.steering.triples.triple_store import (
        TripleQueryError,
        TripleStoreError,
        forms_of,
        media_types,
        serialized,
    )

    wanted = parameters.text(request.values, "format", 20)
    shown = archive()
    try:
        answer = answer_facets(lambda: shown.sparql(query))
    except NotBuiltError as error:
        return _refusal(404, error_text(error))
    except (TripleQueryError, QuestionTimeoutError) as error:
        return _refusal(400, error_text(error), query.text)
    except TripleStoreError as error:
        return _refusal(503, error_text(error), query.text)
    if not wanted and _is_for_people():
        return _form(query.text, answer)
    if wanted:
        parameters.one_of_these("format", wanted, forms_of(answer.kind))
    media = media_types(answer.kind)
    best = request.accept_mimetypes.best_match(media)
    if not wanted and request.accept_mimetypes and best is None:
        raise NotAcceptable(f"answers come as {', '.join(media)}")
    found = serialized(answer, wanted or media[best or next(iter(media))])
    response = Response(found.data, content_type=found.media_type)
    response.vary.add("Accept")
    return response


def _is_for_people() -> bool:
    """Return whether the request comes from a browser, which prefers HTML to JSON."""
    accepted = request.accept_mimetypes
    return bool(accepted) and accepted.quality(_HTML) > accepted.quality("application/json")


def _refusal(status: int, message: str, query: str = "") -> ResponseReturnValue:
    if _is_for_people():
        return _form(query or request.values.get("query", ""), problem=message), status
    return Response(f"{message}\n", status, mimetype="text/plain")


def _form(text: str, answer: "QueryAnswer | None" = None, problem: str = "") -> Response:
    table = _table(answer) if answer else None
    response = make_response(
        render_template(
            "sparql.html",
            query=text[:LONGEST_SPARQL],
            answer=answer,
            table=table,
            triples=_lines(answer),
            rows_shown=SPARQL_ROWS_SHOWN,
            forms=_forms(answer),
            problem=problem,
            examples=_EXAMPLES,
            has_triples=archive().triples() is not None,
            longest=LONGEST_SPARQL,
        )
    )
    response.vary.add("Accept")
    return response


def _forms(answer: "QueryAnswer | None") -> tuple[str, ...]:
    if answer is None:
        return ()
    from nwx.steering.triples.triple_store import forms_of

    return tuple(forms_of(answer.kind))


def _lines(answer: "QueryAnswer | None") -> list[str]:
    if answer is None or answer.kind != "triples":
        return []
    text = answer.data.decode("utf-8", "replace")
    return text.removesuffix("\n").split("\n") if text else []


def _table(answer: "QueryAnswer") -> dict[str, Any]:
    """Return the columns and rows of a SELECT answer, or the truth value of an ASK answer."""
    if answer.kind == "triples":
        return {}
    found: Any = json.loads(answer.data)
    if answer.kind == "boolean":
        return {"truth": found["boolean"]}
    names: list[str] = found["head"]["vars"]
    rows = [[_cell(row.get(name)) for name in names] for row in found["results"]["bindings"]]
    return {"columns": names, "rows": rows}


def _cell(term: dict[str, str] | None) -> ShownCell:
    if term is None:
        return ShownCell("", "")
    is_entity = term["value"].startswith("urn:nwx:entity:")
    return ShownCell(term["value"], term["type"], is_entity)
