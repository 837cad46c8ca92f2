"""The pages of entities, and what they and programs can ask."""

from flask import Blueprint, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext
from werkzeug.exceptions import NotFound

from nwx.steering.specifications.specification import EntityKind
from webapp.search.history import year_bars
from webapp.site import parameters
from webapp.site.context import archive
from webapp.site.openapi import Operation, Parameter
from webapp.site.question_limits import answer_facets

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
        raise NotFound(gettext("this archive knows no entity %(iri)s", iri=iri))
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
