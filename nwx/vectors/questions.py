"""Searches by meaning: the nearest passages, and their fusion with what words find."""

import time
from dataclasses import replace
from functools import lru_cache, partial

from nwx.engine.base import Engine
from nwx.engine.document_index import check_window
from nwx.engine.indices.vector_index import (
    FoundPassage,
    Vectors,
    best_of_documents,
    quantised,
)
from nwx.engine.near_search import NearPassages, bare_question
from nwx.errors import UsageError
from nwx.model import SearchResult
from nwx.query.question import BY_SCORE, Question
from nwx.query.tree import All
from nwx.vectors.build import built_vectors, check_embedder
from nwx.vectors.embedders import Embedder

FEW_PASSAGES, _MOST_PASSAGES = 400, 10_000
"""The passages that a search looks at, and at most where filters leave few of them."""

_MOST_COMPARED = 5_000

kept_embedder = lru_cache(maxsize=1)(Embedder)
"""The embedder of a setting; its process is kept."""


def search_by_meaning(engine: Engine, question: Question, setting: str) -> SearchResult:
    """Answer a question by the meaning of its text, or by that and its words.

    A query without text is answered by words. Raises UsageError without vectors, and
    for orders other than by relevance.
    """
    if not question.text.strip():
        return engine.search(question)
    if question.sort not in BY_SCORE:
        raise UsageError.translated("results by meaning are ordered by relevance")
    started = time.perf_counter()
    check_window(question)
    vector = _vector(engine, question.text, setting)
    passages = engine.vector_index().nearest(vector, FEW_PASSAGES)
    further = None
    if len(passages) == FEW_PASSAGES:
        further = partial(_further, engine, question, vector)
    found = engine.search_near(question, NearPassages(best_of_documents(passages), further))
    return replace(found, took_ms=(time.perf_counter() - started) * 1000)


def _vector(engine: Engine, text: str, setting: str) -> Vectors:
    index = engine.vector_index()
    build = built_vectors(index)
    if build is None:
        raise UsageError.translated(
            "no vectors were built; run %(command)s", command="nwx build vectors"
        )
    check_embedder(build, setting)
    embedder = kept_embedder(setting, index.model_dimensions)
    found: Vectors = quantised(embedder.embed([text]))[0]
    return found


def _further(engine: Engine, question: Question, vector: Vectors) -> list[FoundPassage]:
    """Return the nearest passages where filters and rules leave few of the first ones.

    These are of all documents that filters leave, or as many as an engine can give at most.
    """
    index = engine.vector_index()
    every = replace(bare_question(question), query=All(), limit=0)
    if engine.search(every).documents.value <= _MOST_COMPARED:
        return index.among(vector, [hit.id for hit in engine.scroll(every)])
    return best_of_documents(index.nearest(vector, _MOST_PASSAGES))
