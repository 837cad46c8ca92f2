"""Search by meaning: documents near to a question, alone or fused with the hits of its words.

Hits are listed by number, id and rank; only those of the requested page are read.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import islice
from typing import NamedTuple

from nwx.engine.document_index import check_window, together
from nwx.engine.indices import vector_index
from nwx.engine.indices.vector_index import (
    FoundPassage,
    NearestPassages,
    NearPassages,
    ShownPassage,
    Vectors,
    fused,
)
from nwx.engine.search_server.documents.aggregations import FOLDS
from nwx.engine.search_server.documents.join import Resolved
from nwx.engine.search_server.documents.search import SearchingByWords, ServerPlan, page_body
from nwx.engine.search_server.documents.store import to_hit
from nwx.engine.search_server.entries.vector_index import ServerVectorIndex
from nwx.engine.search_server.pages import Search, search_each
from nwx.engine.search_server.refusals import query_errors
from nwx.engine.search_server.schema import NUMBER, number_of
from nwx.engine.search_server.server import Body
from nwx.engine.snippets import Highlighter
from nwx.model import Collapse, Dates, FacetValue, Hit, SearchResult, Sort, Total
from nwx.query.question import Question
from nwx.query.rankings import SearchBy
from nwx.query.tree import All

_FEW_IDS, _MOST_IDS = 150, 1_000
_FOUND = "found"


class _ListedHit(NamedTuple):
    """A document by number and id, with its fold value and score."""

    number: int
    id: str
    fold: int
    score: float


@dataclass(frozen=True, slots=True)
class _Listed:
    """The first documents of a plan, and the answer with them; `is_all` if there are no others."""

    plan: ServerPlan
    resolved: Resolved
    answer: Body
    hits: Sequence[_ListedHit]
    is_all: bool = False

    @property
    def documents(self) -> Total:
        """The number of documents."""
        count = self.answer["hits"]["total"]["value"]
        return Total(count, "eq" if self.resolved.whole else "gte")

    @property
    def by_fold(self) -> dict[int, _ListedHit]:
        """The first document of each fold."""
        found: dict[int, _ListedHit] = {}
        for one in self.hits:
            found.setdefault(one.fold, one)
        return found


@dataclass(slots=True)
class _Read:
    """Documents read so far by number, and their dates by id."""

    entries: dict[int, Body] = field(default_factory=dict)
    dates: dict[str, Dates] = field(default_factory=dict)

    def take(self, answers: Iterable[Body], dates: Mapping[str, Dates]) -> None:
        """Add the hits of searches, and dates."""
        for hit in (hit for answer in answers for hit in answer["hits"]["hits"]):
            self.entries[hit["fields"][NUMBER][0]] = hit
        self.dates.update(dates)


class Searching(SearchingByWords):
    """Answers questions, including those by meaning."""

    def search_near(
        self, question: Question, near: NearPassages, vectors: ServerVectorIndex
    ) -> SearchResult:
        """Answer a question by meaning, as in `Engine.search_near`."""
        check_window(question)
        with query_errors():
            if question.by is SearchBy.BOTH:
                return self._fused(question, near, vectors)
            return self._nearest(question, near, vectors)

    def _nearest(
        self, asked: Question, near: NearPassages, vectors: ServerVectorIndex
    ) -> SearchResult:
        first = near.first(None if asked.facets else partial(vectors.nearest, documents=_FEW_IDS))
        read = _Read()
        ahead = [one.document for one in first[asked.offset : asked.offset + asked.limit]]
        every, passages = self._near(asked, first, near, (read, ahead), asked.facets)
        listed = list(_first_near(every, passages).values())
        page = listed[asked.offset : asked.offset + asked.limit]
        self._read(asked, page, read)
        versions = Counter(one.fold for one in every.hits)
        return SearchResult(
            total=Total(len(listed)),
            documents=every.documents,
            hits=self._shown(page, every.plan, read, versions, passages),
            facets=self._facets_of(every),
            took_ms=0.0,
        )

    def _fused(
        self, asked: Question, near: NearPassages, vectors: ServerVectorIndex
    ) -> SearchResult:
        """Return a page of the nearest hits fused with the first by words, then others by words."""
        words, first = self._words_and_near(asked, near, vectors)
        read = _Read()
        shown = slice(asked.offset, asked.offset + asked.limit)
        # The likely page: exact if each URL has one version and filters drop none.
        nearest = [one.document for one in first[: vector_index.NEAREST]]
        ahead = fused([one.id for one in words.hits], nearest, str)[0][shown]
        every, passages = self._near(asked, first, near, (read, ahead))
        listed, by_words = _first_near(every, passages), words.by_fold
        known = listed | by_words
        ranked, scores = fused(list(by_words), list(listed), lambda fold: known[fold].id)
        hits = [known[one] for one in ranked[shown]]
        page = [one._replace(score=scores.get(one.fold, one.score)) for one in hits]
        others = [one for one in listed if one not in by_words]
        is_asked = others and not words.is_all
        searches = [_folds_search(words, self._documents, others)] if is_asked else []
        answers = self._read(asked, page, read, searches)
        having = {one["key"] for one in _buckets(answers)}
        others = [one for one in others if one not in having]
        entries = [read.entries[one.number] for one in page if one.number in read.entries]
        folded = self._folding.read(asked.collapse, words.resolved.query, words.answer, entries)
        shown_by = {listed[one].id: passages[listed[one].id] for one in others}
        total = folded.total if words.resolved.whole else replace(folded.total, relation="gte")
        return SearchResult(
            total=replace(total, value=total.value + len(others)),
            documents=replace(words.documents, value=words.documents.value + len(others)),
            hits=self._shown(page, words.plan, read, folded.versions, shown_by),
            facets=self._facets_of(words),
            took_ms=0.0,
        )

    def _words_and_near(
        self, asked: Question, near: NearPassages, vectors: ServerVectorIndex
    ) -> tuple[_Listed, Sequence[FoundPassage]]:
        """Return the first hits by words and the nearest passages, in one request."""
        most = max(vector_index.NEAREST, asked.offset + asked.limit)
        plain = replace(asked, by=SearchBy.WORDS, offset=0, limit=most)
        listed: list[_Listed] = []

        def nearest(vector: Vectors, most: int) -> NearestPassages:
            few = _FEW_IDS
            searches = [vectors.search(vector, most, few)] if vectors.is_made() else []
            words, answers = self._by_words(plain, searches)
            listed.append(words)
            found = [vectors.found(one, most, few) for one in answers]
            return found[0] if found else NearestPassages([], is_all=True)

        passages = near.first(nearest)
        return listed[0], passages

    def _by_words(
        self, asked: Question, further: Sequence[Search]
    ) -> tuple[_Listed, Sequence[Body]]:
        """Return the first hits by words, and the answers to additional searches."""
        plan = self._plan(asked)
        if plan.order is None:
            plan = replace(plan, listed=("id", plan.fold, "urlkey"))
        resolved, answer, answers = self._answers(plan, further)
        parts = self._page_scores(plan, resolved.query, answer)
        hits = answer["hits"]["hits"]
        is_all = plan.order is None and len(hits) < asked.limit
        if plan.order is not None:
            unread = replace(asked, snippets=False)
            hits = self._fetched(replace(plan, question=unread), list(parts))
        fields = {hit["fields"][NUMBER][0]: hit for hit in hits}
        listed = []
        for number, ranked in parts.items():
            if hit := fields.get(number):
                score = ranked.score if ranked else 1.0
                listed.append(_listed_hit(hit, plan.fold, score))
        return _Listed(plan, resolved, answer, listed, is_all), answers

    def _near(
        self,
        asked: Question,
        passages: Sequence[FoundPassage],
        near: NearPassages,
        ahead: tuple[_Read, Sequence[str]],
        facets: Sequence[str] = (),
    ) -> tuple[_Listed, Mapping[str, FoundPassage]]:
        """Return the documents of passages that pass a question's filters, and passages by id.

        The documents with the ids in `ahead` are read in the same request.
        """
        found = self._among(asked, passages, facets, ahead)
        while len(found.by_fold) < vector_index.NEAREST:
            further = near.further()
            if further is None:
                break
            passages = further if len(further) <= _MOST_IDS else self._visible(asked, further)
            found = self._among(asked, passages, facets)
        return found, {one.document: one for one in passages}

    def _among(
        self,
        asked: Question,
        near: Sequence[FoundPassage],
        facets: Sequence[str] = (),
        ahead: tuple[_Read, Sequence[str]] | None = None,
    ) -> _Listed:
        """Return the first of some documents, as far as a question without its words finds them."""
        ids = [one.document for one in near[:_MOST_IDS]]
        plain = replace(asked, query=All(), by=SearchBy.WORDS, sort=Sort.ALL_TYPES, facets=facets)
        plain = replace(plain, collapse=Collapse.NONE, offset=0, limit=_MOST_IDS)
        fold = FOLDS[asked.collapse]
        plan = replace(self._plan(plain), order=None, listed=(fold,))
        plan.links.look_among(ids)
        if ahead is None:
            resolved, answer = self._answer(plan)
        else:
            resolved, answer = self._ahead(asked, plan, *ahead)
        # Equally near documents are ordered newest first by own date, like equal scores.
        numbers = {number_of(id): id for id in ids}
        hits = [
            _ListedHit(fields[NUMBER][0], numbers[fields[NUMBER][0]], fields[fold][0], 0.0)
            for fields in (hit["fields"] for hit in answer["hits"]["hits"])
        ]
        return _Listed(plan, resolved, answer, hits)

    def _ahead(
        self, asked: Question, plan: ServerPlan, read: _Read, ids: Sequence[str]
    ) -> tuple[Resolved, Body]:
        """Return the answer to a plan; some documents and dates are read concurrently."""
        searches = [self._reading(asked, map(number_of, ids))] if ids else []
        (resolved, answer, answers), dates = together(
            partial(self._answers, plan, searches), partial(self._dates.read, ids)
        )
        read.take(answers, dates)
        return resolved, answer

    def _visible(self, asked: Question, near: Sequence[FoundPassage]) -> list[FoundPassage]:
        """Return the first passages whose documents pass a question's filters."""
        found: list[FoundPassage] = []
        for start in range(0, len(near), _MOST_IDS):
            some = near[start : start + _MOST_IDS]
            shown = {hit.id for hit in self._among(asked, some).hits}
            found += [one for one in some if one.document in shown]
            if len(found) >= _MOST_IDS:
                break
        return found

    def _reading(self, asked: Question, numbers: Iterable[int]) -> Search:
        listed = list(numbers)
        body: Body = {"query": {"terms": {NUMBER: listed}}, "size": len(listed)}
        return Search(self._documents, body | {"track_total_hits": False, **page_body(asked)})

    def _read(
        self,
        asked: Question,
        page: Sequence[_ListedHit],
        read: _Read,
        further: Sequence[Search] = (),
    ) -> list[Body]:
        """Read the documents of a page that are missing; return answers to additional searches."""
        missing = [one for one in page if one.number not in read.entries]
        if not missing:
            return search_each(self._server, further)
        searches = [*further, self._reading(asked, [one.number for one in missing])]
        (*answers, found), dates = together(
            partial(search_each, self._server, searches),
            partial(self._dates.read, [one.id for one in missing]),
        )
        read.take([found], dates)
        return answers

    def _shown(
        self,
        page: Sequence[_ListedHit],
        plan: ServerPlan,
        read: _Read,
        versions: Mapping[int, int],
        passages: Mapping[str, FoundPassage],
    ) -> tuple[Hit, ...]:
        """Return the hits of a page; hits found by a passage show it as their snippet."""
        hits = []
        for one in page:
            if entry := read.entries.get(one.number):
                marked: Highlighter | ShownPassage | None = plan.highlighter
                if marked and (passage := passages.get(one.id)):
                    marked = ShownPassage(passage)
                entry["_score"] = one.score
                count = versions.get(one.fold, 1)
                hits.append(to_hit(entry, read.dates, plan.links.query.hidden, count, marked))
        return tuple(hits)

    def _facets_of(self, listed: _Listed) -> Mapping[str, tuple[FacetValue, ...]]:
        counted = self._facet_values(listed.plan, listed.resolved, listed.answer)
        return {facet: counted[facet] for facet in listed.plan.facets}


def _first_near(every: _Listed, passages: Mapping[str, FoundPassage]) -> dict[int, _ListedHit]:
    """Return the nearest documents by fold, one each."""
    scored = (one._replace(score=passages[one.id].score) for one in every.hits)
    ranked = replace(every, hits=sorted(scored, key=lambda one: -one.score)).by_fold
    return dict(islice(ranked.items(), vector_index.NEAREST))


def _listed_hit(hit: Body, fold: str, score: float) -> _ListedHit:
    fields = hit["fields"]
    id = fields["id"][0] if "id" in fields else hit["_source"]["id"]
    return _ListedHit(fields[NUMBER][0], id, fields[fold][0], score)


def _folds_search(words: _Listed, index: str, folds: Sequence[int]) -> Search:
    """Return the search for the folds, among those given, that the words of a query find."""
    inside = {"terms": {words.plan.fold: list(folds)}}
    values = {_FOUND: {"terms": {"field": words.plan.fold, "size": len(folds)}}}
    query = {"bool": {"filter": [words.resolved.query, inside]}}
    return Search(index, {"query": query, "size": 0, "track_total_hits": False, "aggs": values})


def _buckets(answers: Sequence[Body]) -> list[Body]:
    return [one for answer in answers for one in answer["aggregations"][_FOUND]["buckets"]]
