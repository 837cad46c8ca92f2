"""Answers of queries in the formats of the SPARQL 1.1 protocol."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyoxigraph import QueryResultsFormat, RdfFormat, parse, parse_query_results, serialize

from nwx.errors import ErrorText, UsageError
from nwx.steering.triples.triple_store import QueryAnswer

_SOLUTIONS: Mapping[str, tuple[str, QueryResultsFormat]] = {
    "json": ("application/sparql-results+json", QueryResultsFormat.JSON),
    "xml": ("application/sparql-results+xml", QueryResultsFormat.XML),
    "csv": ("text/csv; charset=utf-8", QueryResultsFormat.CSV),
    "tsv": ("text/tab-separated-values; charset=utf-8", QueryResultsFormat.TSV),
}
_TRIPLES: Mapping[str, tuple[str, RdfFormat]] = {
    "ttl": ("text/turtle; charset=utf-8", RdfFormat.TURTLE),
    "nt": ("application/n-triples", RdfFormat.N_TRIPLES),
    "rdf": ("application/rdf+xml", RdfFormat.RDF_XML),
    "json": ("application/ld+json", RdfFormat.JSON_LD),
}
RESULT_FORMS = tuple(dict.fromkeys((*_SOLUTIONS, *_TRIPLES)))
"""The names of all forms; `json` is that of solutions and of triples."""

_SYNONYMS = {
    "application/json": "json",
    "application/xml": "xml",
    "text/xml": "xml",
    "text/n3": "ttl",
    "text/plain": "nt",
}


@dataclass(frozen=True, slots=True)
class SerializedAnswer:
    """An answer in a form: its media type and bytes."""

    media_type: str
    data: bytes


def media_types(kind: str) -> dict[str, str]:
    """Return the media types that answers of a kind come in, and the names of the forms.

    The first is the usual one.
    """
    forms: Mapping[str, tuple[str, object]] = _TRIPLES if kind == "triples" else _SOLUTIONS
    own = {media.partition(";")[0]: form for form, (media, _) in forms.items()}
    further = {media: form for media, form in _SYNONYMS.items() if form in forms}
    if kind == "boolean":  # CSV and TSV have no such answer
        own = {media: form for media, form in own.items() if form in ("json", "xml")}
        further = {media: form for media, form in further.items() if form in ("json", "xml")}
    return {**own, **further}


def forms_of(kind: str) -> Sequence[str]:
    """Return the names of the forms that answers of a kind come in."""
    return tuple(dict.fromkeys(media_types(kind).values()))


def serialized(answer: QueryAnswer, form: str) -> SerializedAnswer:
    """Return an answer in one of its forms; raises UsageError where that cannot express it."""
    if answer.kind == "triples":
        media, wanted = _TRIPLES[form]
        triples = (quad.triple for quad in parse(answer.data, format=RdfFormat.N_TRIPLES))
        try:
            return SerializedAnswer(media, serialize(triples, format=wanted) or b"")
        except OSError as error:
            raise UsageError(
                ErrorText(
                    "the answer cannot be written as %(form)s: %(reason)s", form=form, reason=error
                )
            ) from error
    media, results = _SOLUTIONS[form]
    if form == "json":
        return SerializedAnswer(media, answer.data)
    found = parse_query_results(answer.data, format=QueryResultsFormat.JSON)
    return SerializedAnswer(media, found.serialize(format=results) or b"")
