"""Hits by meaning, and their fusion with those by words, of any engine that searches words."""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

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

_FEW_IDS, _MOST_IDS = 150, 1_000
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


def fused(
    words: Sequence[_Key], near: Sequence[_Key], tie: Callable[[_Key], Any]
) -> tuple[list[_Key], dict[_Key, float]]:
    """Return keys by the sum of their reciprocal ranks, then the others by words; and the sums."""
    scores: dict[_Key, float] = {}
    for listed in (words[:NEAREST], near):
        for rank, key in enumerate(listed, 1):
            scores[key] = scores.get(key, 0.0) + 1 / (_DAMPING + rank)
    ranked = sorted(scores, key=lambda key: (-scores[key], tie(key)))
    return [*ranked, *(key for key in words if key not in scores)], scores


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
    has_facets = by_words is None and bool(question.facets)
    result = _among(engine, question, passages if has_facets else passages[:_FEW_IDS])
    if not has_facets and result.total.value < NEAREST and len(passages) > _FEW_IDS:
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
    most = max(NEAREST, question.offset + question.limit)
    asked = replace(question, by=SearchBy.WORDS, offset=0, limit=most, snippets=False)
    return engine.search(asked)


def _fused_hit(hit: Hit, score: float | None) -> Hit:
    return hit if score is None else replace(hit, score=score, score_parts=None)


def _among(
    engine: "DocumentIndex", question: Question, near: Sequence[FoundPassage]
) -> SearchResult:
    """Return all that a question without its words finds among the first of some documents."""
    ids = [one.document for one in near[:_MOST_IDS]]
    facets = () if question.by is SearchBy.BOTH else question.facets
    asked = replace(bare_question(question), collapse=question.collapse, facets=facets)
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

        asked, by_words = self.question, self.by_words
        words = parse_query(asked.text)
        near = {hit.id: hit for hit in self.near}
        known = near | {hit.id: hit for hit in by_words.hits}
        ranked, scores = fused([hit.id for hit in by_words.hits], list(near), str)
        shown = ranked[asked.offset : asked.offset + asked.limit]
        page = [_fused_hit(known[id], scores.get(id)) for id in shown]
        others = near.keys() - {hit.id for hit in by_words.hits}
        if by_words.total.value > len(by_words.hits):
            others -= {hit.id for hit in self._with_words(words, others, snippets=False)}
        total = replace(by_words.total, value=by_words.total.value + len(others))
        hits = self._with_snippets(page, words, others) if asked.snippets else tuple(page)
        return replace(by_words, total=total, hits=hits)

    def _with_words(self, words: Node, ids: Collection[str], *, snippets: bool) -> Sequence[Hit]:
        """Return those of some documents that have the words."""
        if not ids:
            return ()
        tree = Bool(must=(words, ids_query(ids)))
        asked = replace(bare_question(self.question), query=tree, snippets=snippets)
        return self.engine.search(replace(asked, limit=len(ids))).hits

    def _with_snippets(self, page: Sequence[Hit], words: Node, others: set[str]) -> tuple[Hit, ...]:
        """Return hits with the words that were found in them, else with a passage."""
        marked = [hit.id for hit in page if hit.id not in others]
        found = {hit.id: hit.snippet for hit in self._with_words(words, marked, snippets=True)}
        shown = _with_passages(
            self.engine, [hit for hit in page if hit.id not in found], self.passages
        )
        passages = {hit.id: hit for hit in shown}
        return tuple(
            replace(hit, snippet=found[hit.id]) if hit.id in found else passages[hit.id]
            for hit in page
        )
