"""What programs can ask of the store of triples."""

from webapp.site.openapi import Operation, Parameter

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
