"""Searches by meaning: the nearest passages, and their fusion with hits by words."""

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial

from nwx.engine.base import Engine
from nwx.engine.document_index import check_window, together
from nwx.engine.indices.vector_index import FoundPassage, Vectors, quantised
from nwx.engine.near_search import Nearest, NearPassages, bare_question
from nwx.errors import UsageError
from nwx.model import SearchResult
from nwx.query.question import BY_SCORE, Question
from nwx.query.tree import All
from nwx.vectors.build import built_vectors, check_embedder
from nwx.vectors.embedders import Embedder

FEW_PASSAGES, _MOST_PASSAGES = 400, 10_000
"""The number of passages that a search reads first, and at most if filters leave few of them."""

_MOST_COMPARED = 5_000

kept_embedder = lru_cache(maxsize=1)(Embedder)
"""The embedder of a setting, cached with its process."""


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
        return self._index.nearest(self._vector, _MOST_PASSAGES).passages
