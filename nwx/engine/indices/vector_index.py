"""Engine interface for vectors: passages of documents by their meaning, as small numbers."""

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
    """The passages of a document: first and last+1 character of each, and a vector of each."""

    id: str
    spans: tuple[tuple[int, int], ...]
    vectors: Vectors


class FoundPassage(NamedTuple):
    """A passage near to a vector; `score` is the cosine of both, 1 for the same meaning.

    It is one of the `spans` of a document, which are unpacked when they are needed, or has its own.
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
    """The passages nearest to a vector, one of each document; `is_all` where none are left out."""

    passages: Sequence[FoundPassage]
    is_all: bool


def packed_spans(spans: Sequence[tuple[int, int]]) -> bytes:
    """Return spans as the gaps and lengths of passages, in steps of 7 bits."""
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
    """Return the spans that were packed."""
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

    All its vectors have the same number of dimensions. Answers name passages of documents that are
    hidden from a viewer too: a search decides what is shown.
    """

    model_dimensions: ClassVar[int]
    """Of the vectors of the packaged model, so many of the 256 are kept."""

    @abstractmethod
    def put(self, documents: Sequence[DocumentPassages]) -> None:
        """Store the passages of documents that have none yet."""

    @abstractmethod
    def known(self, ids: Collection[str]) -> set[str]:
        """Return those of some documents that have passages."""

    @abstractmethod
    def nearest(self, vector: Vectors, most: int) -> NearestPassages:
        """Return about the nearest passages to a vector, the first of each document."""

    @abstractmethod
    def among(self, vector: Vectors, ids: Collection[str]) -> Sequence[FoundPassage]:
        """Return the nearest passage of each of some documents, the nearest first; exact."""

    def recent_state(self, name: str) -> bytes | None:
        """Return a state, maybe as it was a second ago where reading it takes a request."""
        return self.state(name)

    @abstractmethod
    def remove(self, ids: Collection[str]) -> int:
        """Remove the passages of documents; return how many there were."""

    @abstractmethod
    def clear(self) -> None:
        """Remove all passages and states."""


def quantised(vectors: npt.NDArray[Any]) -> Vectors:
    """Return vectors as whole numbers up to 127; only their lengths change."""
    wide = np.asarray(vectors, dtype=np.float32)
    scale = np.abs(wide).max(axis=-1, keepdims=True, initial=0)
    return np.rint(wide * (_LARGEST / np.where(scale > 0, scale, 1))).astype(np.int8)


def cosines(vector: Vectors, vectors: Vectors) -> npt.NDArray[np.float32]:
    """Return the cosine of a vector with each of others."""
    wide, one = vectors.astype(np.float32), vector.astype(np.float32)
    # Not `@` of all: the threads of BLAS wait for each other where processors are busy.
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
