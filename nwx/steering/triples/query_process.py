"""SPARQL queries in a separate process, with limits of time and memory.

A query of a hundred characters can ask for more rows than there are atoms, and pyoxigraph
cannot be interrupted; a process can be killed.
"""

import json
import os
from dataclasses import asdict
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

import pyoxigraph
from pyoxigraph import NamedNode

from nwx.bulk.child_processes import ChildProcess, Death, requests
from nwx.bulk.process_limits import limit_memory, set_deadline
from nwx.errors import ErrorText, QuestionTimeoutError
from nwx.steering.triples.triple_store import (
    QueryAnswer,
    QueryLimits,
    SparqlQuery,
    TripleQueryError,
    TripleStoreError,
    names_graphs,
)

_FILES_GONE = "gone"
_REFUSED = "refused"
_MIB = 1 << 20
_GRACE_SECONDS = 1.0
_LONGEST_MESSAGE = 500


class StoreGoneError(TripleStoreError):
    """Files of a store that vanished while it was opened, replaced by another version."""


def run_query(folder: Path, query: SparqlQuery, limits: QueryLimits) -> QueryAnswer:
    """Return the answer of the store in a folder; nothing may write to it meanwhile.

    Raises TripleQueryError if the query is invalid or its answer too large, QuestionTimeoutError
    if it takes too long, and StoreGoneError if the store no longer exists.
    """
    task = {"folder": str(folder), "query": asdict(query), "limits": asdict(limits)}
    process = ChildProcess(serve_query)
    try:
        data = process.ask(json.dumps(task).encode(), seconds=limits.seconds + _GRACE_SECONDS)
    finally:
        process.end()
    if isinstance(data, Death):
        raise (
            _too_long(limits)
            if data.was_late
            else TripleQueryError.translated(
                "the query could not be answered; at most %(most)s MiB of memory are allowed",
                most=limits.memory_bytes // _MIB,
            )
        )
    head, _, body = data.partition(b"\n")
    answer = json.loads(head)
    if answer["kind"] == _FILES_GONE:
        raise StoreGoneError(answer["message"])
    if answer["kind"] == _REFUSED:
        raise TripleQueryError(ErrorText.from_json(answer["text"]))
    return QueryAnswer(answer["kind"], body)


def _too_long(limits: QueryLimits) -> QuestionTimeoutError:
    return QuestionTimeoutError.translated(
        "the query took longer than %(seconds)s s; ask for less, or add LIMIT",
        seconds=limits.seconds,
    )


def serve_query(connection: "Connection[bytes, bytes]") -> None:
    """Answer one query received over a connection, and end."""
    for message in requests(connection):
        task = json.loads(message)
        query, limits = SparqlQuery(**task["query"]), QueryLimits(**task["limits"])
        limit_memory(limits.memory_bytes)
        set_deadline(limits.seconds)  # in case the caller is gone
        answer, data = _answered(task["folder"], query, limits)
        connection.send_bytes(json.dumps(answer).encode() + b"\n" + data)
        os._exit(0)  # without waiting for the threads of the store


def _answered(folder: str, query: SparqlQuery, limits: QueryLimits) -> tuple[dict[str, Any], bytes]:
    try:
        store = pyoxigraph.Store.read_only(folder)
    except OSError as error:
        return {"kind": _FILES_GONE, "message": str(error)[:_LONGEST_MESSAGE]}, b""
    try:
        found = store.query(query.text, **_graphs(query))
        if isinstance(found, pyoxigraph.QueryBoolean):
            truth = json.dumps({"head": {}, "boolean": bool(found)})
            return {"kind": "boolean"}, truth.encode()
        if isinstance(found, pyoxigraph.QueryTriples):
            return {"kind": "triples"}, _triples(found, limits)
        return {"kind": "solutions"}, _solutions(found, limits)
    except TripleQueryError as error:
        text = error.text
    except (SyntaxError, ValueError) as error:
        text = ErrorText("the query is wrong: %(reason)s", reason=_shown(error))
    except (OSError, RuntimeError) as error:
        text = ErrorText("the query cannot be answered: %(reason)s", reason=_shown(error))
    except MemoryError:
        text = ErrorText(
            "the query needs more than %(most)s MiB of memory", most=limits.memory_bytes // _MIB
        )
    return {"kind": _REFUSED, "text": text.to_json()}, b""


def _shown(error: Exception) -> str:
    return str(error)[:_LONGEST_MESSAGE]


def _graphs(query: SparqlQuery) -> dict[str, Any]:
    chosen: dict[str, Any] = {}
    if query.default_graphs:
        chosen["default_graph"] = [NamedNode(name) for name in query.default_graphs]
    if query.named_graphs:
        chosen["named_graphs"] = [NamedNode(name) for name in query.named_graphs]
        chosen.setdefault("default_graph", [])
    if chosen or names_graphs(query.text):
        return chosen
    return {"use_default_graph_as_union": True}


def _triples(found: Any, limits: QueryLimits) -> bytes:
    lines: list[bytes] = []
    size = 0
    for triple in found:
        line = f"{triple} .\n".encode()
        size += len(line)
        _check(len(lines) + 1, size, limits)
        lines.append(line)
    return b"".join(lines)


def _solutions(found: Any, limits: QueryLimits) -> bytes:
    """Return solutions as SPARQL results in JSON."""
    names = [variable.value for variable in found.variables]
    rows: list[str] = []
    size = 0
    for solution in found:
        bound = {name: _term(solution[name]) for name in names if solution[name] is not None}
        row = json.dumps(bound, ensure_ascii=False)
        size += len(row.encode())
        _check(len(rows) + 1, size, limits)
        rows.append(row)
    head = json.dumps({"vars": names}, ensure_ascii=False)
    return f'{{"head":{head},"results":{{"bindings":[{",".join(rows)}]}}}}'.encode()


def _check(rows: int, size: int, limits: QueryLimits) -> None:
    if rows > limits.rows:
        raise TripleQueryError.translated(
            "the answer has more than %(rows)s rows; add LIMIT", rows=limits.rows
        )
    if size > limits.bytes:
        raise TripleQueryError.translated(
            "the answer has more than %(bytes)s MiB; add LIMIT", bytes=limits.bytes // _MIB
        )


def _term(term: Any) -> dict[str, Any]:
    if isinstance(term, pyoxigraph.NamedNode):
        return {"type": "uri", "value": term.value}
    if isinstance(term, pyoxigraph.BlankNode):
        return {"type": "bnode", "value": term.value}
    if isinstance(term, pyoxigraph.Literal):
        more = {"xml:lang": term.language} if term.language else {}
        if not term.language and not term.datatype.value.endswith("#string"):
            more = {"datatype": term.datatype.value}
        return {"type": "literal", "value": term.value, **more}
    raise TripleQueryError.translated("the answer has triples as values, which are not supported")
