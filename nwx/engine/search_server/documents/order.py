"""Sort orders by date that use all dates of a document, not only its own.

A document's own date is stored in its entry, additional ones only in dates indices. The first
`wanted` by own date, plus the first `wanted` of each index by its dates, contain the first
`wanted` overall: additional dates can only move a document to an earlier position.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from nwx.bulk.progress import batches
from nwx.engine.inlinks.anchor_scores import linking_counts
from nwx.engine.inlinks.anchor_table import AnchorTable, TargetNumbers
from nwx.engine.search_server import schema
from nwx.engine.search_server.date_indices import ServerDatesIndices
from nwx.engine.search_server.documents.compile import (
    NOTHING,
    Query,
    compile_node,
    digits_range,
)
from nwx.engine.search_server.documents.hidden_parts import NOTHING_HIDDEN, HiddenParts
from nwx.engine.search_server.documents.linked_search import most_linked, urls_query
from nwx.engine.search_server.pages import numbers as numbers_of
from nwx.engine.search_server.pages import pages, search_page, within
from nwx.engine.search_server.schema import NUMBER
from nwx.engine.search_server.server import Body, Server
from nwx.model import Sort
from nwx.query.tree import BELOW_PAGES

_DATED: Body = {
    "_source": False,
    "stored_fields": "_none_",
    "docvalue_fields": [NUMBER, {"field": "dates", "format": "uuuuMMddHHmmss"}],
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A document that may be among the first, with its sort date and fold value."""

    id: str
    number: int
    date: str
    fold: int


_NO_PAGE = compile_node(BELOW_PAGES, lambda *_: NOTHING)


class DateOrder:
    """Documents ordered by oldest or newest date; pages before all others if `pages_first`."""

    def __init__(
        self,
        server: Server,
        documents: str,
        dates: ServerDatesIndices,
        sort: Sort,
        hidden: HiddenParts = NOTHING_HIDDEN,
        *,
        pages_first: bool = False,
    ) -> None:
        self._server = server
        self._documents = documents
        self._further = dates.further()
        self._pages_first = pages_first
        self._newest = sort is Sort.NEWEST
        self._hidden = hidden

    def body(self, fold: str, wanted: int) -> Body:
        """Return the request body of the search whose answer `first` needs."""
        return {"size": max(wanted, schema.FEW), "sort": self.own_sort(), **_fields(fold)}

    def own_sort(self) -> list[Body]:
        """Return the sort by a document's own date."""
        return [{"crawl_date": "desc" if self._newest else "asc"}, {"id": "asc"}]

    def first(self, query: Query, fold: str, wanted: int, answer: Body) -> list[int]:
        """Return the numbers of the first `wanted` documents, one per fold."""
        if not self._pages_first:
            return [one.number for one in self._dated_first(query, fold, wanted, answer)]
        folds: dict[int, int] = {}
        for occur in ("must_not", "filter"):
            if len(folds) < wanted:
                part = {"bool": {"must": [query], occur: [_NO_PAGE]}}
                answer = self._answer(part, fold, wanted)
                for one in self._dated_first(part, fold, wanted, answer):
                    folds.setdefault(one.fold, one.number)
        return list(folds.values())[:wanted]

    def _answer(self, query: Query, fold: str, wanted: int) -> Body:
        body = {"query": query, "track_total_hits": True, **self.body(fold, wanted)}
        return search_page(self._server, self._documents, body)

    def _dated_first(self, query: Query, fold: str, wanted: int, answer: Body) -> list[Candidate]:
        """Return the first `wanted` documents by date, one per fold."""
        total = answer["hits"]["total"]["value"]
        partly = list(self._partly_hidden(query, fold, wanted, total))
        if partly:
            query = self._hidden.by_own_date(query)
            answer = self._answer(query, fold, wanted)
        best = self._by_own_date(query, fold, wanted, answer)
        candidates = {one.number: one for one in (*self._dated(best.candidates), *partly)}
        if not best.complete:
            for index, further in self._further:
                among = Among(index, self._hidden.entries(further), query, best.limit)
                for one in self._by_dates_of(among, fold, wanted):
                    known = candidates.get(one.number, one)
                    candidates[one.number] = replace(one, date=self._first((one.date, known.date)))
        return self._folded(candidates.values())[:wanted]

    def _partly_hidden(
        self, query: Query, fold: str, wanted: int, total: int
    ) -> Iterator[Candidate]:
        """Yield the first documents with hidden dates, ordered by visible date."""
        numbers, dates = self._hidden.dates.in_order(newest=self._newest)
        if len(numbers) and total <= schema.SHORT_LIST:
            found = np.isin(numbers, numbers_of(self._server, self._documents, query) or [])
            numbers, dates = numbers[found], dates[found]
        folds: set[int] = set()
        begin, size = 0, min(schema.STEP, schema.PAGE)
        while begin < len(numbers) and len(folds) < wanted:
            known = dict(
                zip(
                    numbers[begin : begin + size].tolist(),
                    dates[begin : begin + size].tolist(),
                    strict=True,
                )
            )
            for one in self._of_numbers(query, fold, known):
                folds.add(one.fold)
                yield replace(one, date=f"{known[one.number]:014}")
            begin, size = begin + size, schema.PAGE

    def _of_numbers(self, query: Query, fold: str, numbers: Collection[int]) -> Iterator[Candidate]:
        """Yield the documents of a query with these numbers."""
        body = {"query": within(query, list(numbers)), "size": schema.PAGE, **_fields(fold)}
        for hit in search_page(self._server, self._documents, body)["hits"]["hits"]:
            yield _candidate(hit, fold)

    def _by_own_date(self, query: Query, fold: str, wanted: int, answer: Body) -> "_Best":
        candidates = [_candidate(hit, fold) for hit in answer["hits"]["hits"]]
        total = answer["hits"]["total"]["value"]
        if total == len(candidates):
            return _Best(candidates, complete=True)
        body = {"query": query, **_fields(fold)}
        folds = self._folded(candidates)
        if len(folds) < wanted:
            body |= {"sort": self.own_sort()}
            folded = body | {"size": wanted, "collapse": {"field": fold}}
            hits = search_page(self._server, self._documents, folded)["hits"]["hits"]
            candidates += [_candidate(hit, fold) for hit in hits]
            folds = self._folded(candidates)
        if len(folds) >= wanted:
            return _Best(candidates, limit=folds[wanted - 1].date)
        if total <= schema.MAX_IDS:
            every = pages(self._server, self._documents, body, self.own_sort(), size=schema.PAGE)
            return _Best([_candidate(hit, fold) for page in every for hit in page], complete=True)
        return _Best(candidates)

    def _by_dates_of(self, among: "Among", fold: str, wanted: int) -> Iterator[Candidate]:
        """Yield the first documents with dates in an index, up to the limit."""
        mode = {"order": "desc", "mode": "max"} if self._newest else {"order": "asc", "mode": "min"}
        body = {"query": among.entries(newest=self._newest), **_DATED}
        folds: set[int] = set()
        sort = [{"dates": mode}, {"id": "asc"}]
        for page in pages(self._server, among.index, body, sort, size=schema.STEP):
            dates = self._dates_of(page)
            asked = {"size": schema.PAGE, "sort": ["_doc"], **_fields(fold)}
            asked["query"] = within(among.documents, list(dates))
            hits = search_page(self._server, self._documents, asked)["hits"]["hits"]
            for one in (_candidate(hit, fold) for hit in hits):
                if self._shown_date(one):
                    continue  # partly hidden documents are handled separately
                folds.add(one.fold)
                yield replace(one, date=self._first((one.date, dates[one.number])))
            if len(folds) >= wanted:
                return

    def _dated(self, candidates: list[Candidate]) -> Iterator[Candidate]:
        """Yield the candidates with the first of all their dates."""
        rest = []
        for one in candidates:
            if date := self._shown_date(one):
                yield replace(one, date=date)
            else:
                rest.append(one)
        for chunk in batches(rest, schema.PAGE):
            dates = {one.number: one.date for one in chunk}
            for index, further in self._further:
                query = within(further, list(dates))
                body = {"query": query, **_DATED}
                by_id = [{"id": "asc"}]
                for hits in pages(self._server, index, body, by_id, size=schema.PAGE):
                    for number, date in self._dates_of(hits).items():
                        dates[number] = self._first((date, dates[number]))
            for one in chunk:
                yield replace(one, date=dates[one.number])

    def _shown_date(self, one: Candidate) -> str:
        """Return the sort date of a partly hidden document, "" for others."""
        return self._hidden.dates.first_date(one.number, newest=self._newest)

    def _dates_of(self, hits: list[Body]) -> dict[int, str]:
        """Return the first date of each document; a document may have several entries."""
        found: dict[int, str] = {}
        for fields in (hit["fields"] for hit in hits):
            known = found.get(fields[NUMBER][0])
            dates = [*fields.get("dates", ()), *([known] if known else ())]
            if dates:
                found[fields[NUMBER][0]] = self._first(dates)
        return found

    def _first(self, dates: Iterable[str]) -> str:
        return max(dates) if self._newest else min(dates)

    def _folded(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """Return the sorted candidates, only the first per fold."""
        ordered = sorted(candidates, key=lambda one: one.id)
        ordered.sort(key=lambda one: one.date, reverse=self._newest)
        folds: dict[int, Candidate] = {}
        for one in ordered:
            folds.setdefault(one.fold, one)
        return list(folds.values())


@dataclass(frozen=True, slots=True)
class Among:
    """The documents of a query with an entry in an index that has a date up to a limit."""

    index: str
    further: Query
    documents: Query
    limit: str

    def entries(self, *, newest: bool) -> Query:
        """Return the query of these entries."""
        found = [self.further]
        if self.limit:
            span = (self.limit, "") if newest else ("", self.limit)
            found.append(digits_range("dates", *span))
        return {"bool": {"filter": found}}


@dataclass(frozen=True, slots=True)
class _Best:
    """The first candidates by own date: all if `complete`, else those up to the date `limit`."""

    candidates: list[Candidate]
    complete: bool = False
    limit: str = ""


def _fields(fold: str) -> Body:
    return {
        "_source": False,
        "stored_fields": "_none_",
        "docvalue_fields": list(dict.fromkeys(["id", NUMBER, "timestamp", fold])),
    }


def _candidate(hit: Body, fold: str) -> Candidate:
    fields = hit["fields"]
    return Candidate(fields["id"][0], fields[NUMBER][0], fields["timestamp"][0], fields[fold][0])


NewestFirst = Callable[[int], list[int]]
"""Returns the numbers of the first documents of a result, newest first."""

_STEP = 10_000


@dataclass(frozen=True, slots=True)
class _Linked:
    """A document of a result that has inlinks, and its number of linking pages."""

    number: int
    fold: int
    id: str
    date: str
    pages: int


class InlinkOrder:
    """Documents ordered by number of linking pages, then newest first, then by id."""

    def __init__(
        self,
        server: Server,
        documents: str,
        dates: ServerDatesIndices,
        table: AnchorTable,
        hidden: HiddenParts,
    ) -> None:
        self._server = server
        self._documents = documents
        self._dates = dates
        self._table = table
        self._hidden = hidden

    def first(
        self, query: Query, fold: str, wanted: int, total: int, newest: NewestFirst
    ) -> list[int]:
        """Return the first `wanted` numbers of a result with `total` documents, one per fold."""
        folds: dict[int, int] = {}
        linked: set[int] = set()
        for found in self._steps(query, fold, total):
            for one in self._ordered(found):
                linked.add(one.number)
                folds.setdefault(one.fold, one.number)
            if len(folds) >= wanted:
                return list(folds.values())[:wanted]
        numbers = list(folds.values())
        further = newest(min(wanted + len(linked), schema.PAGE))
        return [*numbers, *(one for one in further if one not in linked)][:wanted]

    def _steps(self, query: Query, fold: str, total: int) -> Iterator[list[_Linked]]:
        if total <= schema.MAX_IDS:
            yield list(self._found(query, fold))
            return
        for targets in most_linked(self._table, _STEP):
            urls = urls_query(self._table.keys.take(targets))
            yield list(self._found({"bool": {"must": [query], "filter": [urls]}}, fold))

    def _found(self, query: Query, fold: str) -> Iterator[_Linked]:
        fields = list(dict.fromkeys(["id", "urlkey", "timestamp", NUMBER, fold]))
        body: Body = {"query": query, "_source": False, "stored_fields": "_none_"}
        body["docvalue_fields"] = fields
        sort = [{"id": "asc"}]
        for page in pages(self._server, self._documents, body, sort, size=schema.PAGE):
            values = [hit["fields"] for hit in page]
            targets = self._table.targets([one.get("urlkey", [""])[0] for one in values])
            counts = self._counts(targets)
            for one, count in zip(values, counts, strict=True):
                if count:
                    date = one["timestamp"][0]
                    yield _Linked(one[NUMBER][0], one[fold][0], one["id"][0], date, count)

    def _counts(self, targets: TargetNumbers) -> list[int]:
        found: list[int] = linking_counts(self._table, "documents", targets).tolist()
        return found

    def _ordered(self, found: Iterable[_Linked]) -> list[_Linked]:
        found = list(found)
        dates = self._dates.read([one.id for one in found])
        newest = {
            one.id: max(
                (time for time, _ in self._hidden.seen(one.id, dates[one.id].seen)),
                default=one.date,
            )
            if one.id in dates
            else one.date
            for one in found
        }
        found.sort(key=lambda one: one.id)
        found.sort(key=lambda one: newest[one.id], reverse=True)
        found.sort(key=lambda one: one.pages, reverse=True)
        return found
