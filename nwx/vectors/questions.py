"""Searches by meaning: the nearest passages, and their fusion with what words find."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from nwx.engine.base import Engine
from nwx.engine.document_index import check_window
from nwx.engine.indices.vector_index import (
    FoundPassage,
    Vectors,
    best_of_documents,
    quantised,
)
from nwx.errors import UsageError
from nwx.model import Collapse, Document, Hit, SearchResult, Sort, Total
from nwx.query.parser import parse_query
from nwx.query.question import BY_SCORE, Question
from nwx.query.rankings import SearchBy
from nwx.query.tree import All, Bool, Node, Term
from nwx.vectors.build import built_vectors, check_embedder
from nwx.vectors.embedders import Embedder

NEAREST = 100
"""So many hits are found by meaning, and so many by words take part in the fusion."""

FEW_PASSAGES, _MOST_PASSAGES = 400, 10_000
"""The passages that a search looks at, and at most where filters leave few of them."""

_MOST_COMPARED = 5_000
_IDS_AT_ONCE = 1_000
_DAMPING = 60
"""Of reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009): 1 / (60 + rank)."""

_SNIPPET = 300

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
    near = _nearest(engine, question, _vector(engine, question.text, setting))
    is_fused = question.by is SearchBy.BOTH
    found = _Fusion(engine, question, near).answer() if is_fused else near.answer(question)
    return replace(found, took_ms=(time.perf_counter() - started) * 1000)


def _vector(engine: Engine, text: str, setting: str) -> Vectors:
    build = built_vectors(engine.vector_index())
    if build is None:
        raise UsageError.translated(
            "no vectors were built; run %(command)s", command="nwx build vectors"
        )
    check_embedder(build, setting)
    found: Vectors = quantised(kept_embedder(setting).embed([text]))[0]
    return found


@dataclass(frozen=True, slots=True)
class _Near:
    """What meaning finds: an answer of the engine, its hits by nearness, their passages."""

    engine: Engine
    result: SearchResult
    hits: Sequence[Hit]
    passages: dict[str, FoundPassage]

    def answer(self, question: Question) -> SearchResult:
        """Return a page of the hits."""
        page = self.hits[question.offset : question.offset + question.limit]
        shown = self.with_passages(page) if question.snippets else tuple(page)
        return replace(self.result, total=Total(len(self.hits)), hits=shown)

    def with_passages(self, hits: Sequence[Hit]) -> tuple[Hit, ...]:
        """Return hits with the passages that they were found by."""
        documents = self.engine.documents([hit.id for hit in hits if hit.id in self.passages])
        return tuple(
            replace(hit, snippet=((self._words(documents[hit.id], hit.id), False),))
            if hit.id in documents
            else hit
            for hit in hits
        )

    def _words(self, document: Document, id: str) -> str:
        passage = self.passages[id]
        text = " ".join(document.extract.content[passage.start : passage.end].split())
        return text if len(text) <= _SNIPPET else f"{text[:_SNIPPET].rpartition(' ')[0]} …"


def _nearest(engine: Engine, question: Question, vector: Vectors) -> _Near:
    """Return what a viewer may see of the documents nearest to a vector.

    Where filters and rules leave few of the nearest, further ones are looked at: all documents that
    filters leave, or the passages that an engine can give at most.
    """
    index = engine.vector_index()
    passages = index.nearest(vector, FEW_PASSAGES)
    best = best_of_documents(passages)
    result = _among(engine, question, [one.document for one in best])
    if result.total.value < NEAREST and len(passages) == FEW_PASSAGES:
        every = replace(_bare(question), query=All(), limit=0)
        if engine.search(every).documents.value <= _MOST_COMPARED:
            best = index.among(vector, [hit.id for hit in engine.scroll(every)])
        else:
            best = best_of_documents(index.nearest(vector, _MOST_PASSAGES))
            best = _visible(engine, question, best)
        result = _among(engine, question, [one.document for one in best])
    by_id = {one.document: one for one in best}
    listed = sorted(result.hits, key=lambda hit: (-by_id[hit.id].score, hit.id))[:NEAREST]
    hits = [replace(hit, score=by_id[hit.id].score) for hit in listed]
    return _Near(engine, result, hits, by_id)


def _visible(
    engine: Engine, question: Question, best: Sequence[FoundPassage]
) -> list[FoundPassage]:
    """Return the first passages whose documents a question may find."""
    found: list[FoundPassage] = []
    for start in range(0, len(best), _IDS_AT_ONCE):
        some = best[start : start + _IDS_AT_ONCE]
        shown = _ids_among(engine, question, [one.document for one in some])
        found += [one for one in some if one.document in shown]
        if len(found) >= _IDS_AT_ONCE:
            break
    return found


def _among(engine: Engine, question: Question, ids: Sequence[str]) -> SearchResult:
    """Return all that a question without its words finds among the first of some documents."""
    asked = replace(_bare(question), collapse=question.collapse, facets=question.facets)
    asked = replace(asked, query=_any_of(ids[:_IDS_AT_ONCE]), limit=_IDS_AT_ONCE)
    return engine.search(asked)


def _ids_among(
    engine: Engine, question: Question, ids: Sequence[str], words: Node | None = None
) -> set[str]:
    """Return those of some documents that a question finds, by its filters and these words."""
    if not ids:
        return set()
    tree = _any_of(ids) if words is None else Bool(must=(words, _any_of(ids)))
    asked = replace(_bare(question), query=tree, limit=_IDS_AT_ONCE)
    return {hit.id for hit in engine.search(asked).hits}


def _bare(question: Question) -> Question:
    """Return a question for documents, not for a page of them."""
    bare = replace(question, by=SearchBy.WORDS, facets=(), snippets=False, offset=0)
    return replace(bare, sort=Sort.NEWEST, collapse=Collapse.NONE)


def _any_of(ids: Iterable[str]) -> Node:
    return Bool(should=tuple(Term("id", id) for id in ids) or (Term("id", ""),))


class _Fusion:
    """The first hits by words and those by meaning, by reciprocal rank; then the other words."""

    def __init__(self, engine: Engine, question: Question, near: _Near) -> None:
        self._engine, self._near = engine, near
        self._question = replace(question, by=SearchBy.WORDS)
        self._words = parse_query(question.text)

    def answer(self) -> SearchResult:
        """Return a page of the fused hits."""
        asked = self._question
        first = replace(asked, offset=0, limit=NEAREST, snippets=False)
        by_words = self._engine.search(first)
        fused = self._fused(by_words.hits)
        further = self._found_further_down(by_words)
        page = fused[asked.offset : asked.offset + asked.limit]
        others = {hit.id for hit in fused} - {hit.id for hit in by_words.hits} - further
        if len(page) < asked.limit and by_words.total.value > NEAREST:
            page += self._after(len(fused), len(page), further)
        total = replace(by_words.total, value=by_words.total.value + len(others))
        hits = self._with_snippets(page, others) if asked.snippets else tuple(page)
        return replace(by_words, total=total, hits=hits)

    def _fused(self, by_words: Sequence[Hit]) -> list[Hit]:
        scores: dict[str, float] = {}
        known: dict[str, Hit] = {}
        for hits in (by_words, self._near.hits):
            for rank, hit in enumerate(hits, 1):
                scores[hit.id] = scores.get(hit.id, 0.0) + 1 / (_DAMPING + rank)
                known.setdefault(hit.id, hit)
        ranked = sorted(scores, key=lambda id: (-scores[id], id))
        return [replace(known[id], score=scores[id], score_parts=None) for id in ranked]

    def _found_further_down(self, by_words: SearchResult) -> set[str]:
        """Return the hits by meaning that words find too, but after the first ones."""
        if by_words.total.value <= NEAREST:
            return set()
        first = {hit.id for hit in by_words.hits}
        rest = [hit.id for hit in self._near.hits if hit.id not in first]
        return _ids_among(self._engine, self._question, rest, self._words)

    def _after(self, fused: int, listed: int, further: Iterable[str]) -> list[Hit]:
        """Return the hits by words after the fused ones, as many as a page has place for."""
        asked = self._question
        known = tuple(Term("id", id) for id in further)
        rest = replace(
            asked,
            query=Bool(must=(self._words,), must_not=known),
            offset=NEAREST + max(0, asked.offset - fused),
            limit=asked.limit - listed,
            facets=(),
            snippets=False,
        )
        return list(self._engine.search(rest).hits)

    def _with_snippets(self, page: Sequence[Hit], others: set[str]) -> tuple[Hit, ...]:
        """Return hits with the words that were found in them, else with a passage."""
        marked = [hit.id for hit in page if hit.id not in others]
        asked = replace(_bare(self._question), query=Bool(must=(self._words, _any_of(marked))))
        snippets = {}
        if marked:
            asked = replace(asked, snippets=True, limit=len(marked))
            snippets = {hit.id: hit.snippet for hit in self._engine.search(asked).hits}
        shown = self._near.with_passages([hit for hit in page if hit.id not in snippets])
        passages = {hit.id: hit for hit in shown}
        return tuple(
            replace(hit, snippet=snippets[hit.id]) if hit.id in snippets else passages[hit.id]
            for hit in page
        )
