"""Vectors of passages in a folder: codes in chunks of a SQLite file, searched in memory."""

import sqlite3
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, AnyStr, overload

import numpy as np
import numpy.typing as npt

from nwx.engine.embedded.entries.own_database import (
    CACHE_PRAGMA,
    FAST,
    JOURNAL_PRAGMA,
    STATES_TABLE,
    DatabaseForm,
    OwnDatabase,
    OwnIndex,
    note_count,
)
from nwx.engine.entries import IndexEntry
from nwx.engine.indices.declarations import IndexDeclaration
from nwx.engine.indices.vector_index import (
    DocumentPassages,
    FoundPassage,
    NearestPassages,
    VectorIndex,
    Vectors,
    cosines,
    packed_spans,
    passage_entries,
    unpacked_spans,
)
from nwx.errors import EngineError, UsageError

Codes = npt.NDArray[np.uint8]
Signs = npt.NDArray[np.uint64]
PassageNumbers = npt.NDArray[np.int64]
Cosines = npt.NDArray[np.float32]
Counts = npt.NDArray[np.uint16]

_NONE: PassageNumbers = np.zeros(0, dtype=np.int64)
_NO_SCORES: Cosines = np.zeros(0, dtype=np.float32)
_WHOLE = 128
"""Vectors of at most this many dimensions are stored with 8 bits per number, others with 4."""

_CANDIDATES = 1_536
_LONG = 256
"""Shorter vectors have more candidates, as their signs are less distinctive."""

_SHARE = 256
"""One in this many passages is a candidate, if there are many."""

_SAMPLED = 16
_WEIGHED = 4
_LARGE = 0.8


def code_bytes(dimensions: int) -> int:
    """Return the length in bytes of a vector's code."""
    return dimensions if dimensions <= _WHOLE else -(-dimensions // 2)


def codes_of(vectors: Vectors) -> Codes:
    """Return the code of each vector: its numbers, or their upper 4 bits if it is long."""
    plain = np.ascontiguousarray(vectors).view(np.uint8)
    if vectors.shape[1] <= _WHOLE:
        return plain
    upper, lower = np.split(np.pad(plain, ((0, 0), (0, vectors.shape[1] % 2))), 2, axis=1)
    return np.asarray(upper & 0xF0 | lower >> 4, dtype=np.uint8)


def vectors_of(codes: Codes, dimensions: int) -> Vectors:
    """Return the vectors of codes; dropped bits are set to the middle of their range."""
    if dimensions <= _WHOLE:
        return codes.view(np.int8)
    count, width = codes.shape
    # The halves are filled in place, without additional memory.
    numbers = np.empty((count, 2 * width), dtype=np.uint8)
    np.bitwise_and(codes, 0xF0, out=numbers[:, :width])
    np.multiply(codes, 16, out=numbers[:, width:])  # takes half the time of a shift
    numbers |= 8
    return numbers[:, :dimensions].view(np.int8)


def signs_of(codes: Codes, dimensions: int) -> Signs:
    """Return the sign bits of vectors: each row has the bits of 64 numbers of every vector."""
    tops = (0x80,) if dimensions <= _WHOLE else (0x80, 0x08)
    packed = np.concatenate([np.packbits(codes & top, axis=1) for top in tops], axis=1)
    whole = np.pad(packed, ((0, 0), (0, -packed.shape[1] % 8)))
    return np.ascontiguousarray(whole.view(np.uint64).T)


def nearest_codes(
    vector: Vectors, codes: Codes, signs: Signs, most: int
) -> tuple[PassageNumbers, Cosines]:
    """Return the numbers and cosines of the codes nearest to a vector, the nearest first.

    Only codes that share the most signs with the vector are compared.
    """
    few = _CANDIDATES * max(_LONG // len(vector), 1) ** 2
    wanted = max(few, len(codes) // _SHARE, 2 * most)
    is_few = len(codes) <= wanted
    numbers = np.arange(len(codes)) if is_few else _candidates(vector, signs, wanted)
    scores = cosines(vector, vectors_of(codes[numbers], len(vector)))
    first = np.argsort(-scores, kind="stable")[:most]
    return numbers[first], scores[first]


def _candidates(vector: Vectors, signs: Signs, wanted: int) -> PassageNumbers:
    """Return about `wanted` passages whose signs differ the least, in order.

    First only the large components of the vector count, as small ones contribute little, whatever
    their sign. For passages that differ little, all components are weighed.
    """
    sizes = np.abs(vector.astype(np.int16))
    large = sizes >= _LARGE * np.sqrt(np.mean(sizes * sizes.astype(np.int32)))
    masks = [vector < 0, large, *(sizes & weight > 0 for weight in (64, 32, 16))]
    own, counted, *weighed = signs_of(codes_of(-np.stack(masks).astype(np.int8)), len(vector)).T
    numbers = _least(_differing(signs, own, [counted]), _WEIGHED * wanted)
    few = np.ascontiguousarray(signs[:, numbers])
    return np.sort(numbers[_least(_differing(few, own, weighed), wanted)])


def _differing(signs: Signs, own: Signs, masks: Sequence[Signs]) -> Counts:
    """Return weighted counts of differing signs: 1 for the last mask, 2 for the one before …"""
    differing = np.zeros(signs.shape[1], dtype=np.uint16)
    bits, count = np.empty_like(signs[0]), np.empty(signs.shape[1], dtype=np.uint8)
    for counted in masks:
        differing <<= 1
        for word, one, mask in zip(signs, own, counted, strict=True):
            np.bitwise_xor(word, one, out=bits)
            np.bitwise_and(bits, mask, out=bits)
            differing += np.bitwise_count(bits, out=count)
    return differing


def _least(counts: Counts, most: int) -> PassageNumbers:
    """Return the positions of about the `most` least counts; of equal ones the first."""
    if len(counts) <= most:
        return np.arange(len(counts))
    place = most // _SAMPLED
    limit = np.partition(counts[::_SAMPLED], place)[place]
    found = np.flatnonzero(counts <= limit)
    is_equal = counts[found] == limit
    less = found[~is_equal]
    return np.append(less, found[is_equal][: max(most - len(less), 0)])


_CHUNKS = """
CREATE TABLE IF NOT EXISTS chunks (
    number INTEGER PRIMARY KEY, dimensions INTEGER NOT NULL, ids BLOB NOT NULL,
    passages BLOB NOT NULL, spans BLOB NOT NULL, codes BLOB NOT NULL);"""
_SCHEMA = f"""{_CHUNKS}
CREATE TABLE IF NOT EXISTS changes (number INTEGER NOT NULL);
INSERT INTO changes SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM changes);
{STATES_TABLE}"""
_CHUNKS_IN_ORDER = "SELECT dimensions, ids, passages, spans, codes FROM chunks ORDER BY number"
_CHUNK = "SELECT dimensions, ids, passages, spans, codes FROM chunks WHERE number = ?"
_ID_BYTES = 16
_COUNT = np.dtype("<u2")


def _drop_graphs(db: sqlite3.Connection) -> None:
    """Drop the passages of format 1; without a state they are built again."""
    db.execute("DROP TABLE documents")
    db.execute("DROP TABLE graphs")
    db.execute("DELETE FROM states")
    db.execute(_CHUNKS)


class EmbeddedVectorIndex(OwnIndex, VectorIndex):
    """Passages in chunks; a chunk has the documents stored by one `put`."""

    form = DatabaseForm(
        "vectors.db",
        _SCHEMA,
        (FAST, CACHE_PRAGMA, JOURNAL_PRAGMA),
        keeps_reader=True,
        format=2,
        steps=(_drop_graphs,),
    )
    counted = "chunks"
    model_dimensions = 256

    def __init__(self, database: OwnDatabase, declared: IndexDeclaration) -> None:
        super().__init__(database, declared)
        self._kept: _Passages | None = None

    def put(self, documents: Sequence[DocumentPassages]) -> None:
        with self.database.writing() as db:
            known = {id for _, held in _holding(db, [one.id for one in documents]) for id in held}
            new = [one for one in documents if one.id not in known]
            if not new:
                return
            dimensions = new[0].vectors.shape[1]
            row = db.execute("SELECT dimensions FROM chunks").fetchone()
            if row and row[0] != dimensions:
                raise UsageError("vectors of another length are stored; build them anew")
            row = None, dimensions, *_parts(new)
            db.execute("INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?)", row)
            _note_change(db, 1)

    def known(self, ids: Collection[str]) -> set[str]:
        with self.database.reading() as db:
            return {id for _, held in _holding(db, ids) for id in held}

    def nearest(self, vector: Vectors, most: int) -> NearestPassages:
        held = self._held()
        if held.dimensions != len(vector):
            return NearestPassages(held.found(_NONE, _NO_SCORES), is_all=True)
        found = nearest_codes(vector, held.codes, held.signs, most)
        return NearestPassages(held.found(*found), is_all=most >= len(held.codes))

    def among(self, vector: Vectors, ids: Collection[str]) -> "FoundPassages":
        held = self._held()
        places = [held.places[id] for id in ids if id in held.places]
        if not places:
            return held.found(_NONE, _NO_SCORES)
        numbers = np.concatenate([np.arange(*held.starts[n : n + 2]) for n in sorted(places)])
        scores = cosines(vector, vectors_of(held.codes[numbers], held.dimensions))
        order = np.argsort(-scores, kind="stable")
        return held.found(numbers[order], scores[order])

    def _held(self) -> "_Passages":
        """Return all passages currently in the file, cached until it changes."""
        with self.database.reading() as db:
            (change,) = db.execute("SELECT number FROM changes").fetchone()
            if self._kept is None or self._kept.change != change:
                self._kept = None  # two copies would need twice the memory
                try:
                    self._kept = _Passages(change, db.execute(_CHUNKS_IN_ORDER).fetchall())
                except ValueError as error:
                    raise EngineError.translated(
                        "%(path)s is damaged (%(reason)s); restore it from a copy",
                        path=self.database.path,
                        reason=error,
                    ) from error
            return self._kept

    def remove(self, ids: Collection[str]) -> int:
        if not self.is_made():
            return 0
        removed = 0
        with self.database.writing() as db:
            for number, gone in list(_holding(db, ids)):
                rows = db.execute(_CHUNK, (number,)).fetchall()
                held = _Passages(0, rows)
                rest = [held.document(n) for id, n in held.places.items() if id not in gone]
                db.execute("DELETE FROM chunks WHERE number = ?", (number,))
                if rest:
                    row = number, held.dimensions, *_parts(rest)
                    db.execute("INSERT INTO chunks VALUES (?, ?, ?, ?, ?, ?)", row)
                removed += len(held.codes) - sum(len(one.spans) for one in rest)
            _note_change(db)
        return removed

    def clear(self) -> None:
        if self.is_made():
            with self.database.writing() as db:
                _note_change(db)
                for table in ("chunks", "states"):
                    db.execute(f"DELETE FROM {table}")

    def entries(self) -> Iterator[IndexEntry]:
        held = self._held()
        for _, place in sorted(held.places.items()):
            yield from passage_entries(held.document(place))

    def _count(self) -> int:
        with self.database.reading() as db:
            rows = db.execute("SELECT dimensions, length(codes) FROM chunks")
            return sum(size // code_bytes(dimensions) for dimensions, size in rows)

    def _row_faults(self, db: sqlite3.Connection) -> Iterator[tuple[str, str]]:
        for number, *chunk in db.execute("SELECT * FROM chunks"):
            try:
                _Passages(0, [tuple(chunk)])
            except ValueError as error:
                yield "*", f"chunk {number}: {error}"


class _Passages:
    """Passages of documents in memory, numbered in the order of their chunks."""

    def __init__(self, change: int, chunks: Sequence[tuple[Any, ...]]) -> None:
        self.change = change
        self.dimensions = chunks[0][0] if chunks else 1
        columns = [b"".join(one[n] for one in chunks) for n in range(1, 5)]
        self._ids, passages, self._spans, codes = columns
        counts = np.frombuffer(passages, dtype=_COUNT)
        self.starts = np.append(0, np.cumsum(counts, dtype=np.int64))
        ends = np.append(-1, np.flatnonzero(np.frombuffer(self._spans, dtype=np.uint8) < 0x80))
        width, total = code_bytes(self.dimensions), int(self.starts[-1])
        lengths = len(self._ids), len(ends) - 1, len(codes)
        if lengths != (_ID_BYTES * len(counts), 2 * total, width * total):
            raise ValueError("ids, spans and codes do not belong to the same passages")
        self.codes = np.frombuffer(codes, dtype=np.uint8).reshape(-1, width)
        self._span_starts = ends[2 * self.starts] + 1

    @cached_property
    def signs(self) -> Signs:
        """The signs of all vectors."""
        return signs_of(self.codes, self.dimensions)

    @cached_property
    def places(self) -> dict[str, int]:
        """The positions of documents by id."""
        return {id.hex(): place for place, id in enumerate(_split(self._ids, _ID_BYTES))}

    def document(self, place: int) -> DocumentPassages:
        """Return a document by its position."""
        first, end = self.starts[place : place + 2]
        vectors = vectors_of(self.codes[first:end], self.dimensions)
        spans = unpacked_spans(self._spans_of(place))
        return DocumentPassages(self._id(place), spans, vectors)

    def found(self, numbers: PassageNumbers, scores: Cosines) -> "FoundPassages":
        """Return the first passage of each document among `numbers`, which are in order."""
        places = np.searchsorted(self.starts, numbers, side="right") - 1
        first = np.sort(np.unique(places, return_index=True)[1])
        within = (numbers - self.starts[places])[first]
        return FoundPassages(self, places[first], within, scores[first])

    def id_starts(self, places: PassageNumbers) -> npt.NDArray[np.uint64]:
        """Return the first 64 bits of the ids of documents by position."""
        return np.frombuffer(self._ids, dtype=">u8")[2 * places]

    def passage(self, place: int, number: int, score: float) -> FoundPassage:
        """Return a passage of a document by its position and the passage's number."""
        return FoundPassage(self._id(place), score, number, self._spans_of(place))

    def _id(self, place: int) -> str:
        return self._ids[place * _ID_BYTES : (place + 1) * _ID_BYTES].hex()

    def _spans_of(self, place: int) -> bytes:
        return self._spans[slice(*self._span_starts[place : place + 2])]


@dataclass(frozen=True, slots=True)
class FoundPassages(Sequence[FoundPassage]):
    """Found passages, one per document, created on access."""

    _held: _Passages
    _places: PassageNumbers
    _within: PassageNumbers
    scores: Cosines

    @property
    def id_starts(self) -> npt.NDArray[np.uint64]:
        """The first 64 bits of the ids of the documents."""
        return self._held.id_starts(self._places)

    def __len__(self) -> int:
        return len(self._places)

    @overload
    def __getitem__(self, place: int) -> FoundPassage: ...
    @overload
    def __getitem__(self, place: slice) -> list[FoundPassage]: ...
    def __getitem__(self, place: int | slice) -> FoundPassage | list[FoundPassage]:
        if isinstance(place, slice):
            return [self[one] for one in range(*place.indices(len(self)))]
        parts = (one[place].item() for one in (self._places, self._within, self.scores))
        return self._held.passage(*parts)


def _parts(documents: Sequence[DocumentPassages]) -> tuple[bytes, ...]:
    """Return the packed ids, passage counts, spans and codes of documents."""
    counts = np.array([len(one.spans) for one in documents], dtype=_COUNT)
    return (
        bytes.fromhex("".join(one.id for one in documents)),
        counts.tobytes(),
        b"".join(packed_spans(one.spans) for one in documents),
        codes_of(np.concatenate([one.vectors for one in documents])).tobytes(),
    )


def _split(ids: AnyStr, length: int) -> list[AnyStr]:
    return [ids[start : start + length] for start in range(0, len(ids), length)]


def _holding(db: sqlite3.Connection, ids: Collection[str]) -> Iterator[tuple[int, set[str]]]:
    """Yield the numbers of chunks that have any of these documents, with their ids."""
    wanted = {bytes.fromhex(id) for id in ids}
    for number, listed in db.execute("SELECT number, ids FROM chunks"):
        if held := wanted.intersection(_split(listed, _ID_BYTES)):
            yield number, {id.hex() for id in held}


def _note_change(db: sqlite3.Connection, added: int | None = None) -> None:
    db.execute("UPDATE changes SET number = number + 1")
    note_count(db, "chunks", added)
