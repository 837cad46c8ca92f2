"""A triple store on a SPARQL 1.1 server: Oxigraph, Fuseki, GraphDB and others."""

import json
import time
from collections.abc import Iterator, Sequence
from typing import IO, Any
from urllib.parse import urlsplit, urlunsplit

import requests
from pyoxigraph import NamedNode, RdfFormat, Triple, parse, serialize

from nwx.errors import ErrorText, QuestionTimeoutError
from nwx.steering.triples.capture_graphs import GRAPH_FORM, CaptureGraph
from nwx.steering.triples.terms import NWX_FORM
from nwx.steering.triples.triple_store import (
    QueryAnswer,
    QueryLimits,
    SparqlQuery,
    TripleQueryError,
    TripleStore,
    TripleStoreError,
    TripleWriter,
    check_remote_query,
)

_UPDATE_BYTES = 1 << 20
_ASKED_AT_ONCE = 200
_SECONDS = 60.0
_PAUSES = (0.5, 1.0, 2.0, 4.0)
_BUSY = frozenset((408, 429, 500, 502, 503, 504))
_RESULTS = "application/sparql-results+json, application/n-triples;q=0.9"
_CHUNK_BYTES = 1 << 16
_PAGE_GRAPHS = 200
_LONGEST_MESSAGE = 300


class RemoteTripleStore(TripleStore):
    """A store with one address for updates and one for queries."""

    def __init__(self, update_url: str, query_url: str) -> None:
        self._update, self._query = _Endpoint(update_url), _Endpoint(query_url)

    def writer(self, wait_seconds: float = 0.0) -> TripleWriter:
        """Return a writer; the server handles concurrent writers."""
        return _RemoteWriter(self._update, self)

    def answer(
        self, query: SparqlQuery, limits: QueryLimits, *, is_ours: bool = False
    ) -> QueryAnswer:
        """Send a query to the server; raises TripleQueryError for one that is not allowed."""
        if not is_ours:
            check_remote_query(query.text)
        fields = [
            ("query", query.text),
            *(("default-graph-uri", name) for name in query.default_graphs),
            *(("named-graph-uri", name) for name in query.named_graphs),
        ]
        media_type, data = self._query.post(fields, _RESULTS, limits.seconds, limits.bytes)
        if media_type.endswith("n-triples") or media_type == "text/plain":
            if data.count(b"\n") > limits.rows:
                raise _too_many(limits)
            return QueryAnswer("triples", data)
        found = _parsed(data)
        if "boolean" in found:
            return QueryAnswer("boolean", data)
        if len(found.get("results", {}).get("bindings", ())) > limits.rows:
            raise _too_many(limits)
        return QueryAnswer("solutions", data)

    def export(self, output: IO[bytes]) -> None:
        """Write the graphs of captures as N-Quads, graph by graph."""
        for name in self._names():
            text = f"CONSTRUCT {{ ?s ?p ?o }} WHERE {{ GRAPH {name} {{ ?s ?p ?o }} }}"
            answer = self.answer(SparqlQuery(text), _EXPORT_LIMITS, is_ours=True)
            for quad in parse(answer.data, format=RdfFormat.N_TRIPLES):
                output.write(f"{quad.triple} {name} .\n".encode())

    def _names(self) -> Iterator[NamedNode]:
        last = ""
        while True:
            text = (
                f"SELECT DISTINCT ?g WHERE {{ GRAPH ?g {{ ?g {NWX_FORM} ?form }} "
                f"FILTER(STR(?g) > {json.dumps(last)}) }} ORDER BY STR(?g) LIMIT {_PAGE_GRAPHS}"
            )
            rows = self.rows(text)
            for row in rows:
                last = row["g"]["value"]
                yield NamedNode(last)
            if len(rows) < _PAGE_GRAPHS:
                return

    def rows(self, text: str) -> list[dict[str, dict[str, str]]]:
        """Return the solutions of an internal query."""
        answer = self.answer(SparqlQuery(text), _EXPORT_LIMITS, is_ours=True)
        rows: list[dict[str, dict[str, str]]] = _parsed(answer.data)["results"]["bindings"]
        return rows

    def version(self) -> str:
        """Return "remote": the server reports no versions."""
        return "remote"


_EXPORT_LIMITS = QueryLimits(seconds=_SECONDS, rows=1_000_000, bytes=1 << 30)


def _too_many(limits: QueryLimits) -> TripleQueryError:
    return TripleQueryError.translated(
        "the answer has more than %(rows)s rows; add LIMIT", rows=limits.rows
    )


class _RemoteWriter(TripleWriter):
    def __init__(self, endpoint: "_Endpoint", store: RemoteTripleStore) -> None:
        self._endpoint, self._store = endpoint, store

    def held(self, names: Sequence[NamedNode]) -> set[NamedNode]:
        found: set[NamedNode] = set()
        for begin in range(0, len(names), _ASKED_AT_ONCE):
            asked = " ".join(map(str, names[begin : begin + _ASKED_AT_ONCE]))
            pattern = f"VALUES ?g {{ {asked} }} GRAPH ?g {{ ?g {NWX_FORM} {GRAPH_FORM} }}"
            rows = self._store.rows(f"SELECT ?g WHERE {{ {pattern} }}")
            found.update(NamedNode(row["g"]["value"]) for row in rows)
        return found

    def put(self, graphs: Sequence[CaptureGraph]) -> int:
        """Store graphs, replacing graphs of the same names; return their number of triples."""
        for text in _updates(graphs):
            self._endpoint.update(text)
        return sum(len(graph.triples) for graph in graphs)

    def erase(self, names: Sequence[NamedNode]) -> int:
        """Remove graphs; the server decides what remains of them in its files."""
        held = self.held(names)
        self.put([CaptureGraph(name, ()) for name in names])
        return len(held)

    def close(self) -> None:
        """Do nothing: the server has stored all."""


def _updates(graphs: Sequence[CaptureGraph]) -> Iterator[str]:
    """Yield requests that replace graphs, of about a megabyte."""
    parts: list[str] = []
    size = 0
    for name, triples in graphs:
        lines = _lines(triples)
        parts.append(f"DROP SILENT GRAPH {name} ;\nINSERT DATA {{ GRAPH {name} {{\n{lines}}} }}")
        size += len(parts[-1])
        if size >= _UPDATE_BYTES:
            yield " ;\n".join(parts)
            parts, size = [], 0
    if parts:
        yield " ;\n".join(parts)


def _lines(triples: Sequence[Triple]) -> str:
    return (serialize(triples, format=RdfFormat.N_TRIPLES) or b"").decode()


class _Endpoint:
    """The address of a SPARQL server; messages never show its user and password."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._auth = (parts.username, parts.password or "") if parts.username else None
        bare = parts._replace(netloc=parts.netloc.rpartition("@")[2])
        self.address = urlunsplit(bare)

    def update(self, text: str) -> None:
        """Send an update; retry while the server is briefly unavailable."""
        headers = {"Content-Type": "application/sparql-update; charset=utf-8"}
        for pause in (*_PAUSES, None):
            try:
                response = requests.post(
                    self.address,
                    text.encode(),
                    headers=headers,
                    auth=self._auth,
                    timeout=_SECONDS,
                    allow_redirects=False,
                )
            except requests.RequestException as error:
                problem = _unanswered(self.address, error)
            else:
                if response.ok and not response.is_redirect:
                    return
                problem = _refusal(self.address, response.status_code, response.text)
                if response.status_code not in _BUSY:
                    raise TripleStoreError(problem)
            if pause is None:
                raise TripleStoreError(problem)
            time.sleep(pause)

    def post(
        self, fields: Sequence[tuple[str, str]], accept: str, seconds: float, most: int
    ) -> tuple[str, bytes]:
        """Send a query; return media type and content of the answer."""
        until = time.monotonic() + seconds
        data = bytearray()
        try:
            with requests.post(
                self.address,
                list(fields),
                headers={"Accept": accept},
                auth=self._auth,
                timeout=seconds,
                stream=True,
                allow_redirects=False,
            ) as response:
                for piece in response.iter_content(_CHUNK_BYTES):
                    data += piece
                    if len(data) > most:
                        raise TripleQueryError.translated(
                            "the answer has more than %(most)s MiB", most=most >> 20
                        )
                    if time.monotonic() > until:
                        raise _too_slow(seconds)
        except requests.Timeout as error:
            raise _too_slow(seconds) from error
        except requests.RequestException as error:
            raise TripleStoreError(_unanswered(self.address, error)) from error
        text = bytes(data)
        if response.status_code == requests.codes.bad_request:
            raise TripleQueryError.translated(
                "the query is wrong: %(reason)s", reason=_shown(text.decode("utf-8", "replace"))
            )
        if not response.ok or response.is_redirect:
            shown = text.decode("utf-8", "replace")
            raise TripleStoreError(_refusal(self.address, response.status_code, shown))
        media_type = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        return media_type, text


def _too_slow(seconds: float) -> QuestionTimeoutError:
    return QuestionTimeoutError.translated(
        "the query took longer than %(seconds)s s", seconds=seconds
    )


def _unanswered(address: str, error: Exception) -> ErrorText:
    return ErrorText(
        "%(address)s does not answer: %(reason)s", address=address, reason=type(error).__name__
    )


def _refusal(address: str, status: int, text: str) -> ErrorText:
    return ErrorText(
        "%(address)s answered with status %(status)s: %(reason)s",
        address=address,
        status=status,
        reason=_shown(text),
    )


def _shown(text: str) -> str:
    line = " ".join(text[: 4 * _LONGEST_MESSAGE].split())
    return "".join(sign if sign.isprintable() else "?" for sign in line)[:_LONGEST_MESSAGE]


def _parsed(data: bytes) -> Any:
    try:
        return json.loads(data)
    except ValueError as error:
        raise TripleStoreError.translated(
            "the server's answer is not a SPARQL result in JSON"
        ) from error
