"""Engine interface for vectors: passages by meaning, and their fusion with hits by words."""

from abc import abstractmethod
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from nwx.engine.entries import IndexEntry
from nwx.engine.indices.entry_store import StatefulIndex
from nwx.model import Collapse, Sort
from nwx.query.question import Question
from nwx.query.rankings import SearchBy

Vectors = npt.NDArray[np.int8]
_LARGEST = 127

NEAREST = 100
"""The number of hits found by meaning, and of hits by words that are fused with them."""

_DAMPING = 60
"""The constant of reciprocal rank fusion (Cormack, Clarke, Büttcher, 2009): 1 / (60 + rank)."""

_SNIPPET = 300
_Key = TypeVar("_Key", bound=Hashable)


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


Nearest = Callable[[Vectors, int], NearestPassages]
"""Finds the given number of passages nearest to a vector."""


class NearPassages(Protocol):
    """Passages near to a question, nearest first, one per document, hidden documents included."""

    def first(self, nearest: Nearest | None = None) -> Sequence[FoundPassage]:
        """Return the nearest passages, found by the index or `nearest`; called before `further`.

        `nearest` is called once, possibly in another thread, may find fewer, and may query more in
        the same request.
        """

    def further(self) -> Sequence[FoundPassage] | None:
        """Return more passages, for when fewer than NEAREST hits remain; None if there are none."""


def fused(
    words: Sequence[_Key], near: Sequence[_Key], tie: Callable[[_Key], Any]
) -> tuple[list[_Key], dict[_Key, float]]:
    """Return keys by their sums of reciprocal ranks, then other hits by words; and the sums."""
    scores: dict[_Key, float] = {}
    for listed in (words[:NEAREST], near):
        for rank, key in enumerate(listed, 1):
            scores[key] = scores.get(key, 0.0) + 1 / (_DAMPING + rank)
    ranked = sorted(sorted(scores, key=tie), key=scores.__getitem__, reverse=True)
    return [*ranked, *(key for key in words if key not in scores)], scores


@dataclass(frozen=True, slots=True)
class ShownPassage:
    """A passage as the snippet of a document."""

    passage: FoundPassage

    def snippet(self, text: str) -> tuple[tuple[str, bool], ...]:
        """Return the beginning of the passage in its document's text."""
        words = " ".join(text[slice(*self.passage.span)].split())
        if len(words) > _SNIPPET:
            words = f"{words[:_SNIPPET].rpartition(' ')[0]} …"
        return ((words, False),)


def bare_question(question: Question) -> Question:
    """Return a question for matching documents only, without facets, snippets or collapsing."""
    bare = replace(question, by=SearchBy.WORDS, facets=(), snippets=False, offset=0)
    return replace(bare, sort=Sort.NEWEST, collapse=Collapse.NONE)
