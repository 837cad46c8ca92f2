"""The interface of triple stores, checks of queries, and serialization of answers."""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Self

from pyoxigraph import QueryResultsFormat, RdfFormat, parse, parse_query_results, serialize

from nwx.errors import NwxError, UsageError

if TYPE_CHECKING:
    from pyoxigraph import NamedNode

    from nwx.steering.triples.capture_graphs import CaptureGraph


class TripleStoreError(NwxError):
    """A store of triples that cannot be reached, read or written."""


class TripleQueryError(UsageError):
    """A SPARQL query that is invalid, not allowed, or above its limits."""


@dataclass(frozen=True, slots=True)
class QueryLimits:
    """Limits of a query; `rows` are solutions or triples."""

    seconds: float = 10.0
    rows: int = 10_000
    bytes: int = 16 << 20
    memory_bytes: int = 1 << 30


@dataclass(frozen=True, slots=True)
class SparqlQuery:
    """A query and its graphs; by default the union of all, so that no GRAPH is needed."""

    text: str
    default_graphs: tuple[str, ...] = ()
    named_graphs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QueryAnswer:
    """The answer to a query.

    `kind` is `solutions` or `boolean` (SPARQL results in JSON), or `triples` (N-Triples).
    """

    kind: str
    data: bytes


class TripleWriter(ABC):
    """A store open for writing; others can read its earlier state."""

    @abstractmethod
    def held(self, names: "Sequence[NamedNode]") -> "set[NamedNode]":
        """Return the graphs among `names` that are stored in the current format."""

    @abstractmethod
    def put(self, graphs: "Sequence[CaptureGraph]") -> int:
        """Store graphs, replacing graphs of the same names; return the number of new triples.

        Storing the same graphs again changes nothing.
        """

    @abstractmethod
    def erase(self, names: "Sequence[NamedNode]") -> int:
        """Remove graphs, from the files of the store too; return how many existed."""

    @abstractmethod
    def close(self) -> None:
        """Make all that was written visible to readers."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class TripleStore(ABC):
    """A store of triples. Raises TripleStoreError if it cannot be used."""

    @abstractmethod
    def writer(self, wait_seconds: float = 0.0) -> TripleWriter:
        """Open the store for exclusive writing; wait up to `wait_seconds` for another writer."""

    @abstractmethod
    def answer(
        self, query: SparqlQuery, limits: QueryLimits, *, is_ours: bool = False
    ) -> QueryAnswer:
        """Answer a query; with `is_ours` it is known to query no other servers.

        Raises TripleQueryError if the query fails or is not allowed.
        """

    @abstractmethod
    def export(self, output: IO[bytes]) -> None:
        """Write all triples with their graphs as N-Quads."""

    @abstractmethod
    def version(self) -> str:
        """Return a text that changes with what readers see, "" if nothing was stored."""


LONGEST_QUERY = 100_000

_WORD = "service"
_STRING = r'''"""(?:[^"\\]|\\.|"(?!""))*"""|\'\'\'(?:[^'\\]|\\.|'(?!''))*\'\'\''''
_SHORT_STRING = r""""(?:[^"\\\n\r]|\\.)*"|'(?:[^'\\\n\r]|\\.)*\'"""
_IRI = r"<[^<>\"{}|^`\\\x00-\x20]*>"
_TOKEN = re.compile(rf"(?:{_STRING}|{_SHORT_STRING}|{_IRI})|(?P<comment>\#[^\n\r]*)", re.DOTALL)
_HIDDEN = re.compile(r"[sS](?=ervice)", re.IGNORECASE)
_FROM = re.compile(r"(?<![?$:\w.-])from\s*(?:<|named\b|[\w.-]*:)", re.IGNORECASE)
_CODE_POINT = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")


def harmless_query(text: str) -> str:
    """Return an equivalent query without the keyword `service`.

    In strings and IRIs a letter of the word is replaced by an escape. If the parser reads such a
    place as something else, the escape is a syntax error. Raises TripleQueryError if the word
    occurs anywhere else.
    """
    _check_length(text)
    escaped = _TOKEN.sub(_escaped, text)
    if _WORD in escaped.lower():
        raise TripleQueryError.translated(
            "SERVICE is not allowed, because nothing is fetched; rename variables and prefixed"
            " names that contain this word, or write <IRIs>"
        )
    return escaped


def names_graphs(text: str) -> bool:
    """Return whether a query selects its graphs with FROM."""
    return bool(_FROM.search(_TOKEN.sub("<>", text)))


def check_remote_query(text: str) -> None:
    """Raise TripleQueryError for a query that may query other servers, in any spelling."""
    _check_length(text)
    if _WORD in text.lower() or _WORD in _CODE_POINT.sub(_character, text).lower():
        raise TripleQueryError.translated(
            "SERVICE is not allowed, not even as part of something else"
        )


def _check_length(text: str) -> None:
    if len(text) > LONGEST_QUERY:
        raise TripleQueryError.translated(
            "the query has more than %(most)s characters", most=LONGEST_QUERY
        )
    if not text.strip():
        raise TripleQueryError.translated("the query is empty")


def _escaped(token: re.Match[str]) -> str:
    if token["comment"] is not None:
        return " "
    return _HIDDEN.sub(lambda letter: f"\\u{ord(letter[0]):04X}", token[0])


def _character(escape: re.Match[str]) -> str:
    number = int(escape[1] or escape[2], 16)
    return chr(number) if number < 0x110000 else "\ufffd"


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
_SYNONYMS = {
    "application/json": "json",
    "application/xml": "xml",
    "text/xml": "xml",
    "text/n3": "ttl",
    "text/plain": "nt",
}


@dataclass(frozen=True, slots=True)
class SerializedAnswer:
    """An answer in one format: its media type and bytes."""

    media_type: str
    data: bytes


def media_types(kind: str) -> dict[str, str]:
    """Return the media types of answers of a kind with their format names, default first."""
    forms: Mapping[str, tuple[str, object]] = _TRIPLES if kind == "triples" else _SOLUTIONS
    own = {media.partition(";")[0]: form for form, (media, _) in forms.items()}
    further = {media: form for media, form in _SYNONYMS.items() if form in forms}
    if kind == "boolean":  # CSV and TSV have no such answer
        own = {media: form for media, form in own.items() if form in ("json", "xml")}
        further = {media: form for media, form in further.items() if form in ("json", "xml")}
    return {**own, **further}


def forms_of(kind: str) -> Sequence[str]:
    """Return the names of the formats for answers of a kind."""
    return tuple(dict.fromkeys(media_types(kind).values()))


def serialized(answer: QueryAnswer, form: str) -> SerializedAnswer:
    """Return an answer in a format; raises UsageError if the format cannot express it."""
    if answer.kind == "triples":
        media, wanted = _TRIPLES[form]
        triples = (quad.triple for quad in parse(answer.data, format=RdfFormat.N_TRIPLES))
        try:
            return SerializedAnswer(media, serialize(triples, format=wanted) or b"")
        except OSError as error:
            raise UsageError.translated(
                "the answer cannot be written as %(form)s: %(reason)s", form=form, reason=error
            ) from error
    media, results = _SOLUTIONS[form]
    if form == "json":
        return SerializedAnswer(media, answer.data)
    found = parse_query_results(answer.data, format=QueryResultsFormat.JSON)
    return SerializedAnswer(media, found.serialize(format=results) or b"")
