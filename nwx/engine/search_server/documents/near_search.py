"""Answers by documents near to a question, alone or fused with those that its words find.

Hits are listed by their numbers, ids and ranks; only those of the page that is shown are read.
"""

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

from nwx.engine import near_search
from nwx.engine.document_index import check_window, together
from nwx.engine.indices.vector_index import FoundPassage
from nwx.engine.near_search import NearPassages, ShownPassage, fused, ids_query
from nwx.engine.search_server.documents.aggregations import FOLDS
from nwx.engine.search_server.documents.join import Resolved
from nwx.engine.search_server.documents.search import SearchingByWords, ServerPlan
from nwx.engine.search_server.documents.store import to_hit
from nwx.engine.search_server.pages import Search, search_each
from nwx.engine.search_server.refusals import query_errors
from nwx.engine.search_server.schema import NUMBER
from nwx.engine.search_server.server import Body
from nwx.engine.snippets import Highlighter
from nwx.model import Collapse, Dates, FacetValue, Hit, SearchResult, Sort, Total
from nwx.query.question import Question
from nwx.query.rankings import SearchBy

_FEW_IDS, _MOST_IDS = 150, 1_000
_FOUND = "found"


@dataclass(frozen=True, slots=True)
class _ListedHit:
    """A document by its number, its id and what folds it, with its score."""

    number: int
    id: str
    fold: int
    score: float


@dataclass(frozen=True, slots=True)
class _Listed:
    """The first documents of a plan, and the answer that they are from."""

    plan: ServerPlan
    resolved: Resolved
    answer: Body
    hits: Sequence[_ListedHit]

    @property
    def documents(self) -> Total:
        """How many documents there are."""
        count = self.answer["hits"]["total"]["value"]
        return Total(count, "eq" if self.resolved.whole else "gte")

    @property
    def by_fold(self) -> dict[int, _ListedHit]:
        """The first document of each fold."""
        found: dict[int, _ListedHit] = {}
        for one in self.hits:
            found.setdefault(one.fold, one)
        return found


class Searching(SearchingByWords):
    """What answers questions, those by meaning too."""

    def search_near(self, question: Question, near: NearPassages) -> SearchResult:
        """Answer a question by meaning, as `Engine.search_near` does."""
        started = time.perf_counter()
        check_window(question)
        with query_errors():
            is_fused = question.by is SearchBy.BOTH
            found = self._fused(question, near) if is_fused else self._nearest(question, near)
        return replace(found, took_ms=(time.perf_counter() - started) * 1000)

    def _nearest(self, asked: Question, near: NearPassages) -> SearchResult:
        every, passages = self._near(asked, near.first(), near, asked.facets)
        listed = list(_first_near(every, passages).values())
        page = listed[asked.offset : asked.offset + asked.limit]
        read, dates, _ = self._read(page, every.plan)
        versions = Counter(one.fold for one in every.hits)
        return SearchResult(
            total=Total(len(listed)),
            documents=every.documents,
            hits=self._shown(page, every.plan, read, dates, versions, passages),
            facets=self._facets_of(every),
            took_ms=0.0,
        )

    def _fused(self, asked: Question, near: NearPassages) -> SearchResult:
        """Return a page of the nearest hits and the first by words, then of the others by words."""
        most = max(near_search.NEAREST, asked.offset + asked.limit)
        plain = replace(asked, by=SearchBy.WORDS, offset=0, limit=most)
        words, first = together(partial(self._by_words, plain), near.first)
        every, passages = self._near(asked, first, near)
        listed, by_words = _first_near(every, passages), words.by_fold
        known = listed | by_words
        ranked, scores = fused(list(by_words), list(listed), lambda fold: known[fold].id)
        shown = ranked[asked.offset : asked.offset + asked.limit]
        page = [replace(known[one], score=scores.get(one, known[one].score)) for one in shown]
        others = [one for one in listed if one not in by_words]
        searches = [_folds_search(words, self._documents, others)] if others else []
        read, dates, answers = self._read(page, words.plan, searches)
        having = {one["key"] for one in _buckets(answers)}
        others = [one for one in others if one not in having]
        folded = self._folding.read(asked.collapse, words.resolved.query, words.answer, read)
        shown_by = {listed[one].id: passages[listed[one].id] for one in others}
        total = folded.total if words.resolved.whole else replace(folded.total, relation="gte")
        return SearchResult(
            total=replace(total, value=total.value + len(others)),
            documents=replace(words.documents, value=words.documents.value + len(others)),
            hits=self._shown(page, words.plan, read, dates, folded.versions, shown_by),
            facets=self._facets_of(words),
            took_ms=0.0,
        )

    def _by_words(self, asked: Question) -> _Listed:
        """Return the first hits by words."""
        plan = self._plan(asked)
        if plan.order is None:
            plan = replace(plan, listed=("id", plan.fold))
        resolved, answer = self._answer(plan)
        parts = self._page_scores(plan, resolved.query, answer)
        hits = answer["hits"]["hits"]
        if plan.order is not None:
            hits = self._fetched(replace(plan, highlighter=None), list(parts))
        fields = {hit["fields"][NUMBER][0]: hit for hit in hits}
        listed = []
        for number, ranked in parts.items():
            if hit := fields.get(number):
                score = ranked.score if ranked else 1.0
                listed.append(_listed_hit(hit, plan.fold, score))
        return _Listed(plan, resolved, answer, listed)

    def _near(
        self,
        asked: Question,
        passages: Sequence[FoundPassage],
        near: NearPassages,
        facets: Sequence[str] = (),
    ) -> tuple[_Listed, Mapping[str, FoundPassage]]:
        """Return the documents of passages that a question may find, and the passages by id."""
        few = passages if facets else passages[:_FEW_IDS]
        found = self._among(asked, few, facets)
        if len(found.by_fold) < near_search.NEAREST and len(few) < len(passages):
            found = self._among(asked, passages, facets)
        if len(found.by_fold) < near_search.NEAREST and (further := near.further()) is not None:
            passages = self._visible(asked, further)
            found = self._among(asked, passages, facets)
        return found, {one.document: one for one in passages}

    def _among(
        self, asked: Question, near: Sequence[FoundPassage], facets: Sequence[str] = ()
    ) -> _Listed:
        """Return all that a question without its words finds among the first of some documents."""
        query = ids_query(one.document for one in near[:_MOST_IDS])
        plain = replace(asked, query=query, by=SearchBy.WORDS, sort=Sort.ALL_TYPES, facets=facets)
        plain = replace(plain, collapse=Collapse.NONE, offset=0, limit=_MOST_IDS)
        fold = FOLDS[asked.collapse]
        plan = replace(self._plan(plain), order=None, listed=("id", fold))
        resolved, answer = self._answer(plan)
        # Of equal nearness the newest by its own date is first, as among equal scores.
        hits = [_listed_hit(hit, fold, 0.0) for hit in answer["hits"]["hits"]]
        return _Listed(plan, resolved, answer, hits)

    def _visible(self, asked: Question, near: Sequence[FoundPassage]) -> list[FoundPassage]:
        """Return the first passages whose documents a question may find."""
        found: list[FoundPassage] = []
        for start in range(0, len(near), _MOST_IDS):
            some = near[start : start + _MOST_IDS]
            shown = {hit.id for hit in self._among(asked, some).hits}
            found += [one for one in some if one.document in shown]
            if len(found) >= _MOST_IDS:
                break
        return found

    def _read(
        self, page: Sequence[_ListedHit], plan: ServerPlan, further: Sequence[Search] = ()
    ) -> tuple[list[Body], Mapping[str, Dates], list[Body]]:
        """Return the entries and dates of a page, and the answers of further searches."""
        body: Body = {"query": {"terms": {NUMBER: [one.number for one in page]}}}
        body |= {"size": len(page), "track_total_hits": False, **self._page(plan)}
        searches = [Search(self._documents, body), *further]
        (read, *answers), dates = together(
            partial(search_each, self._server, searches),
            partial(self._dates.read, [one.id for one in page]),
        )
        return read["hits"]["hits"], dates, answers

    def _shown(
        self,
        page: Sequence[_ListedHit],
        plan: ServerPlan,
        read: Sequence[Body],
        dates: Mapping[str, Dates],
        versions: Mapping[int, int],
        passages: Mapping[str, FoundPassage],
    ) -> tuple[Hit, ...]:
        """Return the hits of a page; those found by passages show these."""
        entries = {hit["fields"][NUMBER][0]: hit for hit in read}
        hits = []
        for one in page:
            if entry := entries.get(one.number):
                marked: Highlighter | ShownPassage | None = plan.highlighter
                if marked and (passage := passages.get(one.id)):
                    marked = ShownPassage(passage)
                entry["_score"] = one.score
                count = versions.get(one.fold, 1)
                hits.append(to_hit(entry, dates, plan.links.query.hidden, count, marked))
        return tuple(hits)

    def _facets_of(self, listed: _Listed) -> Mapping[str, tuple[FacetValue, ...]]:
        counted = self._facet_values(listed.plan, listed.resolved, listed.answer)
        return {facet: counted[facet] for facet in listed.plan.facets}


def _first_near(every: _Listed, passages: Mapping[str, FoundPassage]) -> dict[int, _ListedHit]:
    """Return the nearest documents, one of each fold."""
    hits = [replace(one, score=passages[one.id].score) for one in every.hits]
    ranked = replace(every, hits=sorted(hits, key=lambda one: -one.score)).by_fold
    return dict(islice(ranked.items(), near_search.NEAREST))


def _listed_hit(hit: Body, fold: str, score: float) -> _ListedHit:
    fields = hit["fields"]
    id = fields["id"][0] if "id" in fields else hit["_source"]["id"]
    return _ListedHit(fields[NUMBER][0], id, fields[fold][0], score)


def _folds_search(words: _Listed, index: str, folds: Sequence[int]) -> Search:
    """Return the search for those of some folds that a query of words finds."""
    inside = {"terms": {words.plan.fold: list(folds)}}
    values = {_FOUND: {"terms": {"field": words.plan.fold, "size": len(folds)}}}
    query = {"bool": {"filter": [words.resolved.query, inside]}}
    return Search(index, {"query": query, "size": 0, "track_total_hits": False, "aggs": values})


def _buckets(answers: Sequence[Body]) -> list[Body]:
    return [one for answer in answers for one in answer["aggregations"][_FOUND]["buckets"]]
