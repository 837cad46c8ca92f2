"""SPARQL 1.1 queries over HTTP: by the protocol for programs, and a form for people."""

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from flask import Blueprint, Response, make_response, render_template, request
from flask.typing import ResponseReturnValue
from flask_babel import gettext, lazy_gettext
from werkzeug.exceptions import (
    Forbidden,
    HTTPException,
    NotAcceptable,
    ServiceUnavailable,
    UnsupportedMediaType,
)

from nwx.errors import ErrorText, NotBuiltError, NwxError, UsageError
from webapp.site import parameters, responses
from webapp.site.context import archive
from webapp.site.question_limits import answer_facets
from webapp.site.words import error_text
from webapp.users.guards import open_to_all

if TYPE_CHECKING:
    from nwx.steering.triples.triple_store import QueryAnswer, SparqlQuery

blueprint = Blueprint("sparql", __name__, url_prefix="/sparql")

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
    """A value in a table: what is said of it, and where it leads."""

    text: str
    kind: str
    is_entity: bool = False


@blueprint.route("", methods=["GET", "POST"], endpoint="show")
@open_to_all
def answer_sparql() -> ResponseReturnValue:
    """Answer a query, or show the form for one."""
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
    """Return the query of a request, None where it has none; raises UsageError, HTTPException."""
    fields: Any = request.args
    text = ""
    if request.method == "POST":
        if request.mimetype == _UPDATE_TYPE or "update" in request.form:
            raise Forbidden(gettext("updates are not taken: this store can only be read"))
        if request.mimetype == _QUERY_TYPE:
            text = request.get_data(as_text=True)
        elif request.mimetype == _FORM_TYPE:
            fields = request.form
        else:
            raise UnsupportedMediaType(f"send a query as {_QUERY_TYPE} or {_FORM_TYPE}")
    elif "update" in fields:
        raise Forbidden(gettext("updates are not taken: this store can only be read"))
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
    except TripleQueryError as error:
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
    """Whether the request is that of a browser, which asks for pages first."""
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
    """Return the columns and rows of an answer, or the truth of a question."""
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
