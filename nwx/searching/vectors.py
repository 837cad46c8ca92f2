"""Search by meaning: the vectors of passages of documents, and their fusion with hits by words."""

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial

import msgspec

from nwx.bulk.progress import ShowProgress, WorkProgress, batches, no_progress
from nwx.engine.base import Engine
from nwx.engine.document_index import check_window, together
from nwx.engine.entries import id_of
from nwx.engine.indices.vector_index import (
    DocumentPassages,
    FoundPassage,
    Nearest,
    NearPassages,
    VectorIndex,
    Vectors,
    bare_question,
    quantised,
)
from nwx.errors import StaleMarkError, UsageError
from nwx.keys import makes_document
from nwx.model import Capture, Document, IndexName, SearchResult
from nwx.query.question import BY_SCORE, Question
from nwx.query.tree import All
from nwx.searching.embedders import Embedder, embedder_name

_STATE = "build"
_FORMAT = 1
_AT_ONCE = 2_000
_PASSAGE = 600
_MOST_PASSAGES = 64
"""The most passages of a document that are embedded: its first 38,400 characters."""

_LEAST = 20
_SUCCESS = (200, None)

FEW_PASSAGES, _MOST_READ = 400, 10_000
"""The number of passages that a search reads first, and at most if filters leave few of them."""

_MOST_COMPARED = 5_000

kept_embedder = lru_cache(maxsize=1)(Embedder)
"""The embedder of a setting, cached with its process."""


class VectorBuild(msgspec.Struct, frozen=True):
    """The embedder of a build, and the mark of its last captures; stored in the archive."""

    format: int = _FORMAT
    embedder: str = ""
    mark: str = ""


@dataclass(frozen=True, slots=True)
class VectorBuildReport:
    """The result of a build: captures read, new documents and new passages."""

    captures: int
    documents: int
    passages: int
    seconds: float


def built_vectors(index: VectorIndex, *, is_recent: bool = False) -> VectorBuild | None:
    """Return the build of vectors, None if of another format; up to a second old if `is_recent`."""
    state = index.recent_state(_STATE) if is_recent else index.state(_STATE)
    found = msgspec.json.decode(state, type=VectorBuild) if state else None
    return found if found and found.format == _FORMAT else None


def has_current_vectors(engine: Engine) -> bool:
    """Return whether vectors were built from all stored captures."""
    build = built_vectors(engine.vector_index())
    return build is not None and build.mark == engine.capture_mark()


def check_embedder(build: VectorBuild, setting: str) -> None:
    """Raise UsageError if vectors were built by an embedder other than `setting`."""
    if build.embedder != setting:
        raise UsageError.translated(
            "the vectors were built by %(built)s, not by %(embedder)s; set NWX_EMBEDDER to that, "
            "or build them with `nwx build vectors --anew`",
            built=embedder_name(build.embedder),
            embedder=embedder_name(setting),
        )


def build_vectors(
    engine: Engine, setting: str = "", *, anew: bool = False, progress: ShowProgress = no_progress
) -> VectorBuildReport:
    """Embed the passages of documents stored since the last build.

    With `anew`, the index is cleared first, unless the embedder fails. An interrupted build is
    resumed by the next one.
    """
    index = engine.vector_index()
    before = None if anew else built_vectors(index)
    if before is not None:
        check_embedder(before, setting)
    build = _Build(engine, index, Embedder(setting, index.model_dimensions), progress)
    try:
        if anew and index.is_made():
            build.embedder.embed([""])
            index.clear()
        try:
            return build.run(before.mark if before else "")
        except StaleMarkError:
            return build.run("")
    finally:
        build.embedder.close()


class _Build:
    def __init__(
        self, engine: Engine, index: VectorIndex, embedder: Embedder, progress: ShowProgress
    ) -> None:
        self.embedder = embedder
        self._engine, self._index, self._progress = engine, index, progress
        self._counts: Counter[str] = Counter()
        self._begun = time.monotonic()

    def run(self, mark: str) -> VectorBuildReport:
        """Embed the documents of all captures stored after a mark."""
        until = self._engine.capture_mark()
        total = 0 if mark else self._engine.count(IndexName.CAPTURES)
        for some in batches(self._engine.captures_since(mark, until), _AT_ONCE):
            self._take([capture for capture, _ in some])
            self._keep(some[-1][1])
            self._counts["captures"] += len(some)
            counts = {name: self._counts[f"{name}s"] for name in ("document", "passage")}
            done = self._counts["captures"]
            self._progress(WorkProgress("building vectors", done, total, counts=counts))
        self._keep(until)
        counted = {name: self._counts[name] for name in ("captures", "documents", "passages")}
        return VectorBuildReport(**counted, seconds=time.monotonic() - self._begun)

    def _keep(self, mark: str) -> None:
        build = VectorBuild(embedder=self.embedder.setting, mark=mark)
        self._index.put_state(_STATE, msgspec.json.encode(build))

    def _take(self, captures: Sequence[Capture]) -> None:
        wanted = {id_of(one) for one in captures if makes_document(one) and _is_shown(one)}
        new = wanted - self._index.known(wanted)
        documents = self._engine.documents(sorted(new))
        spans = {id: tuple(passage_spans(one.extract.content)) for id, one in documents.items()}
        texts = [text for id, one in documents.items() for text in passage_texts(one, spans[id])]
        if not texts:
            return
        vectors = quantised(self.embedder.embed(texts))
        stored, start = [], 0
        for id, listed in spans.items():
            if listed:
                own = vectors[start : start + len(listed)]
                stored.append(DocumentPassages(id, listed, own))
                start += len(listed)
        self._index.put(stored)
        self._counts["documents"] += len(stored)
        self._counts["passages"] += len(texts)


def _is_shown(capture: Capture) -> bool:
    return capture.status_code in _SUCCESS


def passage_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the start and end offsets of a text's passages, which are about equally long."""
    text = text[: _PASSAGE * _MOST_PASSAGES]
    if len(text.strip()) < _LEAST:
        return
    number = min(-(-len(text) // _PASSAGE), _MOST_PASSAGES)
    start = 0
    for left in range(number, 0, -1):
        end = start + -(-(len(text) - start) // left)
        if left > 1:
            blank = max(text.rfind(sign, start + 1, end) for sign in " \n")
            end = blank if blank > (start + end) // 2 else end
        yield start, end
        start = end


def passage_texts(document: Document, spans: Sequence[tuple[int, int]]) -> Iterator[str]:
    """Yield the texts of passages to embed; the first one includes the title."""
    extract = document.extract
    for start, end in spans:
        text = extract.content[start:end].strip()
        yield text if start or not extract.title else f"{extract.title}\n{text}"


def search_by_meaning(engine: Engine, question: Question, setting: str) -> SearchResult:
    """Answer a question by the meaning of its text, or by meaning and words.

    A question without text is answered by words. Raises UsageError without vectors, and for sort
    orders other than by relevance.
    """
    if not question.text.strip():
        return engine.search(question)
    if question.sort not in BY_SCORE:
        raise UsageError.translated("results by meaning are ordered by relevance")
    started = time.perf_counter()
    check_window(question)
    found = engine.search_near(question, _Near(engine, question, setting))
    return replace(found, took_ms=(time.perf_counter() - started) * 1000)


class _Near(NearPassages):
    def __init__(self, engine: Engine, question: Question, setting: str) -> None:
        self._engine, self._question, self._setting = engine, question, setting

    def first(self, nearest: Nearest | None = None) -> Sequence[FoundPassage]:
        self._index = self._engine.vector_index()
        self._is_whole = nearest is None
        ask = partial(self._nearest, nearest or self._index.nearest)
        is_remote = not self._engine.traits.is_local
        _, passages = together(self._check, ask, in_parallel=is_remote)
        return passages

    def _check(self) -> None:
        build = built_vectors(self._index, is_recent=True)
        if build is None:
            raise UsageError.translated(
                "no vectors were built; run %(command)s", command="nwx build vectors"
            )
        check_embedder(build, self._setting)

    def _nearest(self, nearest: Nearest) -> Sequence[FoundPassage]:
        embedder = kept_embedder(self._setting, self._index.model_dimensions)
        self._vector: Vectors = quantised(embedder.embed([self._question.text]))[0]
        passages, self._is_all = nearest(self._vector, FEW_PASSAGES)
        return passages

    def further(self) -> Sequence[FoundPassage] | None:
        """Return the passages of all documents that pass the filters, or as many as possible."""
        if self._is_all:
            return None
        if not self._is_whole:
            self._is_whole = True
            passages, self._is_all = self._index.nearest(self._vector, FEW_PASSAGES)
            return passages
        self._is_all = True
        every = replace(bare_question(self._question), query=All(), limit=0)
        if self._engine.search(every).documents.value <= _MOST_COMPARED:
            ids = [hit.id for hit in self._engine.scroll(every)]
            return self._index.among(self._vector, ids)
        return self._index.nearest(self._vector, _MOST_READ).passages
