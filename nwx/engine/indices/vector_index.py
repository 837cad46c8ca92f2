"""Engine interface for vectors: passages of documents by meaning, as vectors of small numbers."""

from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from nwx.engine.entries import IndexEntry
from nwx.engine.indices.entry_store import StatefulIndex

Vectors = npt.NDArray[np.int8]
_LARGEST = 127


@dataclass(frozen=True, slots=True)
class DocumentPassages:
    """The passages of a document: for each, first and last+1 character, and a vector."""

    id: str
    spans: tuple[tuple[int, int], ...]
    vectors: Vectors


class FoundPassage(NamedTuple):
    """A passage near to a vector; `score` is the cosine of both, 1 for the same meaning.

    `spans` are those of the document, unpacked on demand, `number` its place; or a single span.
    """

    document: str
    score: float
    number: int
    spans: bytes | tuple[int, int]

    @property
    def span(self) -> tuple[int, int]:
        """The first and last+1 character."""
        own = self.spans
        return unpacked_spans(own)[self.number] if isinstance(own, bytes) else own


class NearestPassages(NamedTuple):
    """The passages nearest to a vector, one per document; `is_all` if none are left out."""

    passages: Sequence[FoundPassage]
    is_all: bool


def packed_spans(spans: Sequence[tuple[int, int]]) -> bytes:
    """Return spans packed as gaps and lengths of passages, varints of 7 bits per byte."""
    numbers, last = [], 0
    for start, end in spans:
        numbers += [start - last, end - start]
        last = end
    packed = bytearray()
    for number in numbers:
        while number >= 0x80:
            packed.append(number & 0x7F | 0x80)
            number >>= 7
        packed.append(number)
    return bytes(packed)


def unpacked_spans(packed: bytes) -> tuple[tuple[int, int], ...]:
    """Return the spans from their packed form."""
    numbers, number, shift = [], 0, 0
    for byte in packed:
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            numbers.append(number)
            number = shift = 0
    spans, last = [], 0
    for gap, length in zip(numbers[::2], numbers[1::2], strict=True):
        spans.append((last + gap, last + gap + length))
        last += gap + length
    return tuple(spans)


class VectorIndex(StatefulIndex):
    """The index vectors of an engine; it may be written to during an import.

    All its vectors have the same number of dimensions. Answers include passages of documents hidden
    from a viewer: the search decides which are shown.
    """

    model_dimensions: ClassVar[int]
    """The number of dimensions, of 256, that are kept of the packaged model's vectors."""

    @abstractmethod
    def put(self, documents: Sequence[DocumentPassages]) -> None:
        """Store the passages of documents that have none yet."""

    @abstractmethod
    def known(self, ids: Collection[str]) -> set[str]:
        """Return which of these documents have passages."""

    @abstractmethod
    def nearest(self, vector: Vectors, most: int) -> NearestPassages:
        """Return approximately the nearest passages to a vector, the first of each document."""

    @abstractmethod
    def among(self, vector: Vectors, ids: Collection[str]) -> Sequence[FoundPassage]:
        """Return the nearest passage of each of these documents, the nearest first; exact."""

    def recent_state(self, name: str) -> bytes | None:
        """Return a state, possibly a second old if reading it takes a request."""
        return self.state(name)

    @abstractmethod
    def remove(self, ids: Collection[str]) -> int:
        """Remove the passages of documents; return the number removed."""

    @abstractmethod
    def clear(self) -> None:
        """Remove all passages and states."""


def quantised(vectors: npt.NDArray[Any]) -> Vectors:
    """Return vectors scaled to whole numbers up to 127, keeping their directions."""
    wide = np.asarray(vectors, dtype=np.float32)
    scale = np.abs(wide).max(axis=-1, keepdims=True, initial=0)
    return np.rint(wide * (_LARGEST / np.where(scale > 0, scale, 1))).astype(np.int8)


def cosines(vector: Vectors, vectors: Vectors) -> npt.NDArray[np.float32]:
    """Return the cosine of a vector with each of `vectors`."""
    wide, one = vectors.astype(np.float32), vector.astype(np.float32)
    # Not one large `@`, as the threads of BLAS wait for each other on busy processors.
    lengths = np.sqrt(np.vecdot(wide, wide) * (one @ one))
    found: npt.NDArray[np.float32] = np.vecdot(wide, one) / np.maximum(lengths, np.float32(1))
    return found


def passage_entries(document: DocumentPassages) -> Iterator[IndexEntry]:
    """Yield the entries of a document's passages in the index vectors."""
    rows = zip(document.spans, document.vectors.tolist(), strict=True)
    for number, ((start, end), vector) in enumerate(rows):
        yield {
            "id": f"{document.id}-{number:04}",
            "document": document.id,
            "start": start,
            "end": end,
            "vector": vector,
        }


def best_of_documents(passages: Iterable[FoundPassage]) -> list[FoundPassage]:
    """Return the nearest passage of each document, the nearest first; ties by id."""
    best: dict[str, FoundPassage] = {}
    for one in sorted(passages, key=lambda one: (-one.score, one.document, one.number)):
        best.setdefault(one.document, one)
    return list(best.values())
