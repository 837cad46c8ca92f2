"""Hits by meaning, and their fusion with those by words, of any engine that searches words."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeVar

from nwx.engine.document_index import together
from nwx.engine.indices.vector_index import FoundPassage
from nwx.model import Collapse, Hit, SearchResult, Sort, Total
from nwx.query.question import Question
from nwx.query.rankings import SearchBy
from nwx.query.tree import Bool, Node, Term

if TYPE_CHECKING:
    from nwx.engine.document_index import DocumentIndex

NEAREST = 100
"""So many hits are found by meaning, and so many by words take part in the fusion."""

_MOST_IDS = 1_000
_DAMPING = 60
"""Of reciprocal rank fusion (Cormack, Clarke and Büttcher, 2009): 1 / (60 + rank)."""

_SNIPPET = 300
_Key = TypeVar("_Key", bound=Hashable)


class NearPassages(Protocol):
    """Passages near to a question, the nearest first, one of each document, hidden ones too."""

    def first(self) -> Sequence[FoundPassage]:
        """Return the nearest ones; called before `further`, once, maybe in another thread."""

    def further(self) -> Sequence[FoundPassage] | None:
        """Return more, for where less than NEAREST hits remain of the first; None without any."""


def fused_scores(*lists: Iterable[_Key]) -> dict[_Key, float]:
    """Return the sum of reciprocal ranks of each key in several lists."""
    scores: dict[_Key, float] = {}
    for listed in lists:
        for rank, key in enumerate(listed, 1):
            scores[key] = scores.get(key, 0.0) + 1 / (_DAMPING + rank)
    return scores


def passage_snippet(text: str, passage: FoundPassage) -> tuple[tuple[str, bool], ...]:
    """Return the beginning of a passage of a text as a snippet."""
    words = " ".join(text[slice(*passage.span)].split())
    if len(words) > _SNIPPET:
        words = f"{words[:_SNIPPET].rpartition(' ')[0]} …"
    return ((words, False),)


def ids_query(ids: Iterable[str]) -> Node:
    """Return the query of some documents."""
    return Bool(should=tuple(Term("id", id) for id in ids) or (Term("id", ""),))


def bare_question(question: Question) -> Question:
    """Return a question for documents, not for a page of them."""
    bare = replace(question, by=SearchBy.WORDS, facets=(), snippets=False, offset=0)
    return replace(bare, sort=Sort.NEWEST, collapse=Collapse.NONE)


def search_near_ids(
    engine: "DocumentIndex",
    question: Question,
    near: NearPassages,
) -> SearchResult:
    """Answer a question as `DocumentIndex.search_near` does, by searches of words and of ids."""
    by_words = None
    if question.by is SearchBy.BOTH:
        by_words, passages = together(partial(_first_by_words, engine, question), near.first)
    else:
        passages = near.first()
    result = _among(engine, question, passages)
    if result.total.value < NEAREST and (further := near.further()) is not None:
        passages = _visible(engine, question, further)
        result = _among(engine, question, passages)
    by_id = {one.document: one for one in passages}
    listed = sorted(result.hits, key=lambda hit: (-by_id[hit.id].score, hit.id))[:NEAREST]
    hits = [replace(hit, score=by_id[hit.id].score) for hit in listed]
    if by_words is not None:
        return _Fusion(engine, question, by_words, hits, by_id).answer()
    page = hits[question.offset : question.offset + question.limit]
    shown = _with_passages(engine, page, by_id) if question.snippets else tuple(page)
    return replace(result, total=Total(len(hits)), hits=shown)


def _first_by_words(engine: "DocumentIndex", question: Question) -> SearchResult:
    asked = replace(question, by=SearchBy.WORDS, offset=0, limit=NEAREST, snippets=False)
    return engine.search(asked)


def _among(
    engine: "DocumentIndex", question: Question, near: Sequence[FoundPassage]
) -> SearchResult:
    """Return all that a question without its words finds among the first of some documents."""
    ids = [one.document for one in near[:_MOST_IDS]]
    asked = replace(bare_question(question), collapse=question.collapse, facets=question.facets)
    return engine.search(replace(asked, query=ids_query(ids), limit=_MOST_IDS))


def _visible(
    engine: "DocumentIndex", question: Question, near: Sequence[FoundPassage]
) -> list[FoundPassage]:
    """Return the first passages whose documents a question may find."""
    found: list[FoundPassage] = []
    plain = replace(question, collapse=Collapse.NONE, facets=())
    for start in range(0, len(near), _MOST_IDS):
        some = near[start : start + _MOST_IDS]
        shown = {hit.id for hit in _among(engine, plain, some).hits}
        found += [one for one in some if one.document in shown]
        if len(found) >= _MOST_IDS:
            break
    return found


def _with_passages(
    engine: "DocumentIndex", hits: Sequence[Hit], passages: Mapping[str, FoundPassage]
) -> tuple[Hit, ...]:
    documents = engine.documents([hit.id for hit in hits if hit.id in passages])
    return tuple(
        replace(hit, snippet=passage_snippet(documents[hit.id].extract.content, passages[hit.id]))
        if hit.id in documents
        else hit
        for hit in hits
    )


@dataclass(frozen=True, slots=True)
class _Fusion:
    """The first hits by words and those by meaning, by reciprocal rank; then the other words."""

    engine: "DocumentIndex"
    question: Question
    by_words: SearchResult
    near: Sequence[Hit]
    passages: Mapping[str, FoundPassage]

    def answer(self) -> SearchResult:
        """Return a page of the fused hits."""
        # Imported here: whoever searches for words alone need not load the grammar.
        from nwx.query.parser import parse_query

        asked = replace(self.question, by=SearchBy.WORDS)
        words = parse_query(asked.text)
        by_words = self.by_words
        known = {hit.id: hit for hit in (*self.near, *by_words.hits)}
        scores = fused_scores(*([hit.id for hit in hits] for hits in (by_words.hits, self.near)))
        ranked = sorted(scores, key=lambda id: (-scores[id], id))
        fused = [replace(known[id], score=scores[id], score_parts=None) for id in ranked]
        first = {hit.id for hit in by_words.hits}
        further = self._found_further_down(words, set(scores) - first)
        page = fused[asked.offset : asked.offset + asked.limit]
        others = set(scores) - first - further
        if len(page) < asked.limit and by_words.total.value > NEAREST:
            page += self._after(asked, words, len(fused), len(page), further)
        total = replace(by_words.total, value=by_words.total.value + len(others))
        hits = self._with_snippets(page, words, others) if asked.snippets else tuple(page)
        return replace(by_words, total=total, hits=hits)

    def _found_further_down(self, words: Node, rest: set[str]) -> set[str]:
        """Return the hits by meaning that words find too, but after the first ones."""
        if self.by_words.total.value <= NEAREST or not rest:
            return set()
        asked = bare_question(self.question)
        tree = Bool(must=(words, ids_query(rest)))
        return {
            hit.id for hit in self.engine.search(replace(asked, query=tree, limit=NEAREST)).hits
        }

    def _after(
        self, asked: Question, words: Node, fused: int, listed: int, further: Iterable[str]
    ) -> list[Hit]:
        """Return the hits by words after the fused ones, as many as a page has place for."""
        known = tuple(Term("id", id) for id in further)
        rest = replace(
            asked,
            query=Bool(must=(words,), must_not=known),
            offset=NEAREST + max(0, asked.offset - fused),
            limit=asked.limit - listed,
            facets=(),
            snippets=False,
        )
        return list(self.engine.search(rest).hits)

    def _with_snippets(self, page: Sequence[Hit], words: Node, others: set[str]) -> tuple[Hit, ...]:
        """Return hits with the words that were found in them, else with a passage."""
        marked = [hit.id for hit in page if hit.id not in others]
        found = {}
        if marked:
            tree = Bool(must=(words, ids_query(marked)))
            asked = replace(bare_question(self.question), query=tree, snippets=True)
            hits = self.engine.search(replace(asked, limit=len(marked))).hits
            found = {hit.id: hit.snippet for hit in hits}
        shown = _with_passages(
            self.engine, [hit for hit in page if hit.id not in found], self.passages
        )
        passages = {hit.id: hit for hit in shown}
        return tuple(
            replace(hit, snippet=found[hit.id]) if hit.id in found else passages[hit.id]
            for hit in page
        )
