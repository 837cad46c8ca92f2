"""Orders by date, where a document is as old and as new as all its dates say.

A document's own date stands in its entry, further ones in dates only. The
first `wanted` by own date, and the first `wanted` of those with several
dates by all of them, hold between them the first `wanted` of all: no date
of a document can put it behind the place that one of its dates gives it.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from nwx.engine.elastic import limits
from nwx.engine.elastic.compile import Query, digits_range
from nwx.engine.elastic.paging import pages, search, within
from nwx.engine.elastic.schema import NUMBER, Schema
from nwx.engine.elastic.server import Body, Server
from nwx.model import IndexName, Sort

_MANY: Query = {"range": {"count": {"gte": 2}}}
_DATED: Body = {
    "_source": False,
    "stored_fields": "_none_",
    "docvalue_fields": [NUMBER, {"field": "dates", "format": "uuuuMMddHHmmss"}],
}


@dataclass(frozen=True, slots=True)
class Candidate:
    """A document that may be among the first, the date it is ordered by, and what folds it."""

    id: str
    number: int
    date: str
    fold: int


class Order:
    """Documents by their oldest or their newest date."""

    def __init__(self, server: Server, schema: Schema, sort: Sort) -> None:
        self._server = server
        self._documents = schema.name(IndexName.DOCUMENTS)
        self._dates = schema.name(IndexName.DATES)
        self._newest = sort is Sort.NEWEST

    def body(self, fold: str, wanted: int) -> Body:
        """Return the part of a search that `first` goes on from."""
        return {"size": max(wanted, limits.FEW), "sort": self.own_sort(), **_fields(fold)}

    def own_sort(self) -> list[Body]:
        """Return the sort by a document's own date."""
        return [{"crawl_date": "desc" if self._newest else "asc"}, {"id": "asc"}]

    def first(self, query: Query, fold: str, wanted: int, answer: Body) -> list[int]:
        """Return the numbers of the first `wanted` documents, one of each fold."""
        best = self._by_own_date(query, fold, wanted, answer)
        candidates = {one.number: one for one in self._dated(best.candidates)}
        if not best.complete:
            for one in self._by_all_dates(query, fold, wanted, best.limit):
                candidates[one.number] = one
        return [one.number for one in self._folded(candidates.values())][:wanted]

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
            hits = search(self._server, self._documents, folded)["hits"]["hits"]
            candidates += [_candidate(hit, fold) for hit in hits]
            folds = self._folded(candidates)
        if len(folds) >= wanted:
            return _Best(candidates, limit=folds[wanted - 1].date)
        if total <= limits.MAX_IDS:
            every = pages(self._server, self._documents, body, self.own_sort(), size=limits.PAGE)
            return _Best([_candidate(hit, fold) for page in every for hit in page], complete=True)
        return _Best(candidates)

    def _by_all_dates(
        self, query: Query, fold: str, wanted: int, limit: str
    ) -> Iterator[Candidate]:
        """Give the first of those with several dates, in order; none beyond `limit` is needed."""
        span = ("",) if not limit else (limit, "") if self._newest else ("", limit)
        among: list[Query] = [_MANY]
        if limit:
            among.append(digits_range("dates", *span))
        mode = {"order": "desc", "mode": "max"} if self._newest else {"order": "asc", "mode": "min"}
        body = {"query": {"bool": {"filter": among}}, **_DATED}
        folds: set[int] = set()
        sort = [{"dates": mode}, {"id": "asc"}]
        for page in pages(self._server, self._dates, body, sort, size=limits.STEP):
            dates = self._dates_of(page)
            asked = {"query": within(query, list(dates)), "size": limits.PAGE, "sort": ["_doc"]}
            hits = search(self._server, self._documents, asked | _fields(fold))["hits"]["hits"]
            for one in (_candidate(hit, fold) for hit in hits):
                folds.add(one.fold)
                yield replace(one, date=dates[one.number])
            if len(folds) >= wanted:
                return

    def _dated(self, candidates: list[Candidate]) -> Iterator[Candidate]:
        """Give the candidates with all their dates looked at."""
        for start in range(0, len(candidates), limits.PAGE):
            chunk = candidates[start : start + limits.PAGE]
            query = within(_MANY, [one.number for one in chunk])
            body = {"query": query, "size": limits.PAGE, "sort": ["_doc"], **_DATED}
            dates = self._dates_of(search(self._server, self._dates, body)["hits"]["hits"])
            for one in chunk:
                yield replace(one, date=dates.get(one.number, one.date))

    def _dates_of(self, hits: list[Body]) -> dict[int, str]:
        return {hit["fields"][NUMBER][0]: self._date(hit["fields"]["dates"]) for hit in hits}

    def _date(self, dates: list[str]) -> str:
        return max(dates) if self._newest else min(dates)

    def _folded(self, candidates: Iterable[Candidate]) -> list[Candidate]:
        """Return the candidates in order, the first of each fold only."""
        ordered = sorted(candidates, key=lambda one: one.id)
        ordered.sort(key=lambda one: one.date, reverse=self._newest)
        folds: dict[int, Candidate] = {}
        for one in ordered:
            folds.setdefault(one.fold, one)
        return list(folds.values())


@dataclass(frozen=True, slots=True)
class _Best:
    """The first by own date: all there are, or those up to a date that is their limit."""

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
