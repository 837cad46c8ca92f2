"""The vectors of passages in a folder: graphs of usearch in a SQLite file, in memory to search."""

import json
import sqlite3
import threading
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import numpy as np

from nwx.engine.embedded.entries.own_database import (
    CACHE_PRAGMA,
    FAST,
    JOURNAL_PRAGMA,
    STATES_TABLE,
    DatabaseForm,
    OwnDatabase,
    OwnIndex,
)
from nwx.engine.entries import IndexEntry
from nwx.engine.indices.declarations import IndexDeclaration
from nwx.engine.indices.vector_index import (
    DocumentPassages,
    FoundPassage,
    VectorIndex,
    Vectors,
    best_of_documents,
    cosines,
    packed_spans,
    passage_entries,
    unpacked_spans,
)
from nwx.engine.sqlite_files import among
from nwx.errors import EngineError, UsageError

GRAPH_PASSAGES = 1 << 17
"""A graph is read and written as a whole; searches ask each."""

_COMPARED = 1 << 16
"""So many passages are compared one by one: as fast as their graph, and exact."""

_NEIGHBOURS = 6
_EFFORT_ADDING, _EFFORT_SEARCHING = 192, 1_200
_LEAST_EFFORT = 512
"""What the graphs share of the effort, and each at least: the nearest ten are in several."""

_SCHEMA = f"""
CREATE TABLE IF NOT EXISTS documents (
    first INTEGER PRIMARY KEY, id BLOB NOT NULL UNIQUE, passages INTEGER NOT NULL,
    spans BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS graphs (
    number INTEGER PRIMARY KEY, change INTEGER NOT NULL, content BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS changes (number INTEGER NOT NULL);
INSERT INTO changes SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM changes);
{STATES_TABLE}"""
_COLUMNS = "first, id, passages, spans"
_LAST = "SELECT coalesce(max(first + passages), 0) FROM documents"
_OF_PASSAGES = """
    SELECT asked.value, first, documents.id, passages, spans
    FROM json_each(?) AS asked
    LEFT JOIN documents ON first = (SELECT max(first) FROM documents WHERE first <= asked.value)
    ORDER BY asked.key"""

_Row = tuple[int, bytes, int, bytes]


class EmbeddedVectorIndex(OwnIndex, VectorIndex):
    """Passages are numbered; a graph holds the vectors of GRAPH_PASSAGES numbers."""

    form = DatabaseForm(
        "vectors.db", _SCHEMA, (FAST, CACHE_PRAGMA, JOURNAL_PRAGMA), keeps_reader=True
    )

    def __init__(self, database: OwnDatabase, declared: IndexDeclaration) -> None:
        super().__init__(database, declared)
        self._guard = threading.Lock()
        self._graphs: dict[int, tuple[int, Any]] = {}

    def put(self, documents: Sequence[DocumentPassages]) -> None:
        with self._guard, self.database.writing() as db:
            (number,) = db.execute(_LAST).fetchone()
            numbers = []
            for one in documents:
                row = (number, bytes.fromhex(one.id), len(one.spans), packed_spans(one.spans))
                db.execute("INSERT INTO documents VALUES (?, ?, ?, ?)", row)
                numbers.append(np.arange(number, number + len(one.spans), dtype=np.uint64))
                number += len(one.spans)
            if numbers:
                vectors = np.concatenate([one.vectors for one in documents])
                self._add(db, np.concatenate(numbers), vectors)

    def _add(self, db: sqlite3.Connection, numbers: Any, vectors: Vectors) -> None:
        change = _next_change(db)
        for graph in np.unique(numbers // GRAPH_PASSAGES).tolist():
            chosen = numbers // GRAPH_PASSAGES == graph
            index = self._graph(db, graph)
            if index is None:
                index = _new_graph(vectors.shape[1])
            elif index.ndim != vectors.shape[1]:
                raise UsageError("vectors of other lengths are stored; build them with --anew")
            index.add(numbers[chosen], vectors[chosen])
            self._keep(db, graph, change, index)

    def _keep(self, db: sqlite3.Connection, number: int, change: int, index: Any) -> None:
        # A change that fails later leaves no graph in memory that the file does not have.
        self._graphs.pop(number, None)
        row = (number, change, bytes(index.save(None)))
        # Replacing in one statement takes new pages before it frees the old ones.
        db.execute("DELETE FROM graphs WHERE number = ?", (number,))
        db.execute("INSERT INTO graphs VALUES (?, ?, ?)", row)

    def _graph(self, db: sqlite3.Connection, number: int) -> Any:
        """Return a graph as the file has it now, None where there is none."""
        row = db.execute("SELECT change FROM graphs WHERE number = ?", (number,)).fetchone()
        if row is None:
            return None
        kept = self._graphs.get(number)
        if kept is None or kept[0] != row[0]:
            command = "SELECT content FROM graphs WHERE number = ?"
            (content,) = db.execute(command, (number,)).fetchone()
            kept = self._graphs[number] = row[0], _read_graph(content)
        return kept[1]

    def known(self, ids: Collection[str]) -> set[str]:
        with self.database.reading() as db:
            return {id.hex() for _, id, _, _ in _rows(db, ids)}

    def nearest(self, vector: Vectors, most: int) -> list[FoundPassage]:
        with self._guard, self.database.reading() as db:
            found: list[tuple[float, int]] = []
            numbers = db.execute("SELECT number FROM graphs ORDER BY number").fetchall()
            for (number,) in numbers:
                index = self._graph(db, number)
                if index is None or index.ndim != len(vector):
                    continue
                index.expansion_search = max(_LEAST_EFFORT, _EFFORT_SEARCHING // len(numbers))
                is_exact, wanted = len(index) <= _COMPARED, min(most, len(index))
                near = index.search(vector, wanted, threads=1, exact=is_exact)
                found += zip(near.distances.tolist(), near.keys.tolist(), strict=True)
            return list(_passages(db, sorted(found)[:most]))

    def among(self, vector: Vectors, ids: Collection[str]) -> list[FoundPassage]:
        with self._guard, self.database.reading() as db:
            found = []
            for row in _rows(db, ids):
                document = self._document(db, row)
                scores = cosines(vector, document.vectors).tolist()
                for number, score in enumerate(scores):
                    found.append(FoundPassage(document.id, score, number, row[3]))
            return best_of_documents(found)

    def _document(self, db: sqlite3.Connection, row: _Row) -> DocumentPassages:
        first, id, passages, spans = row
        graphs = {n // GRAPH_PASSAGES for n in (first, first + passages - 1)}
        parts = []
        for number in sorted(graphs):
            low, high = number * GRAPH_PASSAGES, (number + 1) * GRAPH_PASSAGES
            keys = np.arange(max(first, low), min(first + passages, high), dtype=np.uint64)
            index = self._graph(db, number)
            vectors = None if index is None else index.get(keys)
            if vectors is None or any(one is None for one in vectors):
                raise EngineError.translated(
                    "%(path)s is damaged (%(reason)s); restore it from a copy",
                    path=self.database.path,
                    reason="vectors are missing",
                )
            parts.append(np.asarray(vectors, dtype=np.int8).reshape(len(keys), -1))
        return DocumentPassages(id.hex(), unpacked_spans(spans), np.concatenate(parts))

    def remove(self, ids: Collection[str]) -> int:
        if not self.is_made():
            return 0
        with self._guard, self.database.writing() as db:
            gone = {
                number
                for first, _, passages, _ in _rows(db, ids)
                for number in range(first, first + passages)
            }
            change = _next_change(db)
            for graph in sorted({number // GRAPH_PASSAGES for number in gone}):
                self._without(db, graph, gone, change)
            rows = [(bytes.fromhex(id),) for id in ids]
            db.executemany("DELETE FROM documents WHERE id = ?", rows)
        return len(gone)

    def _without(self, db: sqlite3.Connection, number: int, gone: set[int], change: int) -> None:
        """Write a graph anew: usearch leaves the vectors of removed keys where they are."""
        index = self._graph(db, number)
        if index is None:
            return
        keys = np.array([key for key in index.keys if key not in gone], dtype=np.uint64)
        if not len(keys):
            self._graphs.pop(number, None)
            db.execute("DELETE FROM graphs WHERE number = ?", (number,))
            return
        rest = _new_graph(index.ndim)
        rest.add(keys, np.asarray(index.get(keys), dtype=np.int8))
        self._keep(db, number, change, rest)

    def clear(self) -> None:
        if self.is_made():
            with self._guard, self.database.writing() as db:
                _next_change(db)
                self._graphs.clear()
                for table in ("documents", "graphs", "states"):
                    db.execute(f"DELETE FROM {table}")

    def entries(self) -> Iterator[IndexEntry]:
        with self.database.streaming() as db:
            for row in db.execute(f"SELECT {_COLUMNS} FROM documents ORDER BY id").fetchall():
                with self._guard:
                    document = self._document(db, row)
                yield from passage_entries(document)

    def _count(self) -> int:
        with self.database.reading() as db:
            command = "SELECT coalesce(sum(passages), 0) FROM documents"
            return int(db.execute(command).fetchone()[0])

    def _row_faults(self, db: sqlite3.Connection) -> Iterator[tuple[str, str]]:
        held: dict[int, int] = {}
        for first, _, passages, _ in db.execute(f"SELECT {_COLUMNS} FROM documents"):
            for number in range(first, first + passages):
                held[number // GRAPH_PASSAGES] = held.get(number // GRAPH_PASSAGES, 0) + 1
        for (number,) in db.execute("SELECT number FROM graphs").fetchall():
            held.setdefault(number, 0)
        for number, expected in held.items():
            with self._guard:
                index = self._graph(db, number)
            found = 0 if index is None else len(index)
            if found != expected:
                yield "*", f"graph {number} holds {found:,} vectors of {expected:,}"


def _new_graph(dimensions: int) -> Any:
    # Imported here, as below: archives without vectors need no usearch.
    from usearch.index import Index

    return Index(
        ndim=dimensions,
        metric="cos",
        dtype="i8",
        connectivity=_NEIGHBOURS,
        expansion_add=_EFFORT_ADDING,
    )


def _read_graph(content: bytes) -> Any:
    try:
        from usearch.index import Index
    except ImportError as error:
        raise UsageError.translated(
            "vectors need packages that are not installed; run pip install 'nwx[vectors]'"
        ) from error
    index: Any = Index.restore(content)
    if index is None:
        raise ValueError("a graph cannot be read")
    index.expansion_add = _EFFORT_ADDING
    return index


def _next_change(db: sqlite3.Connection) -> int:
    db.execute("UPDATE changes SET number = number + 1")
    return int(db.execute("SELECT number FROM changes").fetchone()[0])


def _rows(db: sqlite3.Connection, ids: Collection[str]) -> Iterator[_Row]:
    command = f"SELECT {_COLUMNS} FROM documents WHERE id IN ({{}})"
    yield from among(db, command, map(bytes.fromhex, ids))


def _passages(db: sqlite3.Connection, near: Sequence[tuple[float, int]]) -> Iterator[FoundPassage]:
    """Yield the passages of distances and numbers, with one look-up for all of them."""
    rows = db.execute(_OF_PASSAGES, (json.dumps([number for _, number in near]),))
    for (distance, _), (number, first, id, passages, spans) in zip(near, rows, strict=True):
        if first is not None and number < first + passages:
            yield FoundPassage(id.hex(), 1.0 - distance, number - first, spans)
