"""Trends: the dates of a result's documents, counted by period on the server."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby, pairwise

from nwx.engine.document_index import current_work
from nwx.engine.search_server import schema
from nwx.engine.search_server.date_indices import ServerDatesIndices
from nwx.engine.search_server.documents.compile import (
    EVERYTHING,
    Query,
    dates_query,
    own_query,
    seen_query,
)
from nwx.engine.search_server.documents.date_entries import FIRST_ENTRIES, MANY, ONCE, document_of
from nwx.engine.search_server.documents.further_dates import FurtherDates, FurtherDatesReader
from nwx.engine.search_server.documents.hidden_parts import HiddenParts, span_condition
from nwx.engine.search_server.documents.join import Join
from nwx.engine.search_server.documents.linked_search import LinkedQuery
from nwx.engine.search_server.pages import (
    NAMED,
    Search,
    count_hits,
    numbers,
    pages,
    read_numbers,
    search_each,
    search_page,
    within,
)
from nwx.engine.search_server.schema import NUMBER, Schema, number_of
from nwx.engine.search_server.server import Body, Server
from nwx.model import IndexName
from nwx.query.question import DateCondition
from nwx.values.timestamps import Period, TrendPoint

_PART = 40_000
"""The average size of the parts of a large result: well below schema.MAX_IDS documents."""

_NUMBERS = 1 << 63
_BY_ID: list[Body] = [{"id": "asc"}]
_OWN = ["id", "timestamp", "collection"]
_FORMATS = {Period.YEAR: "uuuu", Period.MONTH: "uuuuMM"}


@dataclass(slots=True)
class _Sums:
    captures: Counter[str] = field(default_factory=Counter)
    documents: Counter[str] = field(default_factory=Counter)

    def add(self, periods: Iterable[str]) -> None:
        """Count a document with a capture in each of these periods, which may repeat."""
        counts = Counter(periods)
        self.captures.update(counts)
        self.documents.update(counts.keys())

    def add_counts(self, captures: Counter[str], documents: Counter[str]) -> None:
        self.captures.update(captures)
        self.documents.update(documents)

    def subtract(self, single: Counter[str]) -> None:
        """Subtract documents that were counted with a single date."""
        self.captures.subtract(single)
        self.documents.subtract(single)

    def points(self) -> list[TrendPoint]:
        return [
            TrendPoint(period, count, self.documents[period])
            for period, count in sorted(self.captures.items())
            if count
        ]


def _by_period(field: str, wanted: "TrendDates") -> Body:
    """Return the aggregation that counts entries by the period of a date field."""
    unit = {"calendar_interval": wanted.period, "format": _FORMATS[wanted.period]}
    return {"date_histogram": {"field": field, "min_doc_count": 1, **unit}}


def _counts(found: Body) -> Counter[str]:
    """Return the counts by period; OpenSearch 2 omits them if a filter matches nothing."""
    buckets = found.get("periods", {}).get("buckets", ())
    return Counter({bucket["key_as_string"]: bucket["doc_count"] for bucket in buckets})


@dataclass(frozen=True, slots=True)
class TrendDates:
    """The condition on the dates that a trend counts, hidden dates, and its period."""

    period: Period
    condition: DateCondition
    hidden: HiddenParts

    def of_one_date(self, query: Query) -> Query:
        """Return the query of entries with a single date that counts."""
        hidden = [dates_query(span_condition(one)) for one in self.hidden.rules.spans]
        return {"bool": {"filter": [seen_query(self.condition, query), ONCE], "must_not": hidden}}

    def own(self) -> Query:
        """Return the query of documents whose own date counts."""
        hidden = [own_query(span_condition(one)) for one in self.hidden.rules.spans]
        return {"bool": {"filter": [own_query(self.condition)], "must_not": hidden}}

    def own_period(self, own: Body) -> str | None:
        """Return the period of a document entry's own date, None if it does not count."""
        timestamp, collection = own["timestamp"], own.get("collection", "")
        spans = self.hidden.rules.spans
        if any(span.holds(timestamp, collection) for span in spans):
            return None
        return next(self._that_meet([(timestamp, collection)]), None)

    def alone(self) -> set[int]:
        """Return the numbers of documents with individually hidden dates, or exempt from spans."""
        return {number_of(id) for id in (*self.hidden.rules.apart, *self.hidden.rules.dates)}

    def counted(self, id: str, seen: Iterable[tuple[str, str]]) -> Iterator[str]:
        """Yield the periods of a document's dates that count."""
        return self._that_meet(self.hidden.seen(id, seen))

    def _that_meet(self, seen: Iterable[tuple[str, str]]) -> Iterator[str]:
        return (one[0][: self.period.digits] for one in seen if self.condition.is_met(*one))


class TrendCounts:
    """Counts the dates of documents by period."""

    def __init__(
        self, server: Server, schema: Schema, dates: ServerDatesIndices, join: Join
    ) -> None:
        self._server = server
        self._parallel = dates
        self._join = join
        self._further = FurtherDatesReader(server, schema, dates)
        self._documents = schema.name(IndexName.DOCUMENTS)
        self._dates = schema.name(IndexName.DATES)

    def trends(self, queries: Sequence[LinkedQuery], period: Period) -> list[list[TrendPoint]]:
        """Return the counts of captures and documents by period, for each query."""
        wanted = [
            TrendDates(period, one.date_condition() or DateCondition(), one.hidden)
            for one in queries
        ]
        found = self._by_table(queries, wanted)
        return [
            self._by_lists(query, dates) if sums is None else sums.points()
            for query, dates, sums in zip(queries, wanted, found, strict=True)
        ]

    def _by_table(
        self, queries: Sequence[LinkedQuery], wanted: Sequence[TrendDates]
    ) -> Sequence[_Sums | None]:
        """Return the sums of each query, None if too many documents have several dates.

        The server counts documents by the dates of their entries. For each query, it lists those
        found that may have more dates, or those not found.
        """
        # Dates that do not meet the filters are not counted, so documents need no filter.
        resolved = [
            self._join.resolve(one.without("year").without("collection"), _BY_ID, 0)
            for one in queries
        ]
        pairs = list(zip(resolved, wanted, strict=True))
        searches = [self._counting(one.query, dates) for one, dates in pairs]
        everything = Search(self._documents, {"size": 0, "track_total_hits": True})
        table, answers = self._further.table([*searches, everything])
        if table is None:
            return [None] * len(queries)
        *counted, every = answers
        total = every["hits"]["total"]["value"]
        parts = [
            _Part(one.query, dates, answer["hits"]["total"]["value"], total)
            for (one, dates), answer in zip(pairs, counted, strict=True)
        ]
        among = self._among(parts, table)
        return [
            self._sums(_counts(answer["aggregations"]["own"]), part, some, table)
            if one.whole and some is not None
            else None
            for one, answer, part, some in zip(resolved, counted, parts, among, strict=True)
        ]

    def _counting(self, query: Query, wanted: TrendDates) -> Search:
        """Return the search that counts the documents of a query by the dates of their entries."""
        periods = {"periods": _by_period("crawl_date", wanted)}
        own = {"own": {"filter": wanted.own(), "aggs": periods}}
        return Search(
            self._documents, {"query": query, "size": 0, "track_total_hits": True, "aggs": own}
        )

    def _among(self, parts: Sequence["_Part"], table: FurtherDates) -> list[set[int] | None]:
        """Return the numbers of the documents of each part that may have several dates.

        None if there are too many.
        """
        asked = [part.named(table) for part in parts]
        searches = [Search(self._documents, one) for one in asked if one]
        answers = iter(search_each(self._server, searches))
        found: list[set[int] | None] = []
        for part, one in zip(parts, asked, strict=True):
            numbers = set(read_numbers(next(answers)["aggregations"])) if one else set[int]()
            found.append(part.among(numbers, table) if one is not None else None)
        return found

    def _sums(
        self, own: Counter[str], part: "_Part", among: set[int], table: FurtherDates
    ) -> _Sums:
        wanted, sums = part.wanted, _Sums()
        sums.add_counts(own, own)
        singly = wanted.alone() & among
        spans = wanted.hidden.rules.spans
        together = list(among - singly)
        sums.add_counts(*table.beyond_own(together, wanted.period, wanted.condition, spans))
        self._count_singly(sorted(singly), wanted, sums, counted=True)
        return sums

    def _by_lists(self, query: LinkedQuery, wanted: TrendDates) -> list[TrendPoint]:
        resolved = self._join.resolve(query, _BY_ID, 0)
        return self._of_lists(
            self._lists(resolved.query) if resolved.whole else self._join.walk(query, _BY_ID),
            wanted,
        )

    def _of_lists(self, lists: Iterable[Sequence[int]], wanted: TrendDates) -> list[TrendPoint]:
        """Return the trend of documents, given in lists of at most schema.MAX_IDS numbers."""
        sums = _Sums()
        alone = wanted.alone()
        for some in lists:
            current_work().check()
            singly = alone.intersection(some).union(self._known_elsewhere(some))
            together = [number for number in some if number not in singly]
            self._count_once(together, wanted, sums)
            self._count_many(together, wanted, sums)
            self._count_singly(sorted(singly), wanted, sums)
        return sums.points()

    def _lists(self, query: Query) -> Iterator[list[int]]:
        """Yield lists of the numbers of a query's documents; large results by number range."""
        parts = max(1, -(-count_hits(self._server, self._documents, query) // _PART))
        ends = [part * _NUMBERS // parts for part in range(parts + 1)]
        for low, high in pairwise(ends):
            yield from self._between(query, low, high)

    def _between(self, query: Query, low: int, high: int) -> Iterator[list[int]]:
        """Yield lists of the numbers of a query's documents from `low` to below `high`."""
        current_work().check()
        part = {"range": {NUMBER: {"gte": low, "lte": high - 1}}}
        inside = {"bool": {"must": [query], "filter": [part]}}
        found = numbers(self._server, self._documents, inside)
        if found is not None:
            yield found
            return
        middle = (low + high) // 2
        yield from self._between(query, low, middle)
        yield from self._between(query, middle, high)

    def _known_elsewhere(self, some: Sequence[int]) -> set[int]:
        """Return the documents in `some` with dates in the additional indices."""
        inside = within(FIRST_ENTRIES, some)
        others = self._parallel.others() if some else ()
        return {one for index in others for one in numbers(self._server, index, inside) or ()}

    def _count_once(self, some: Sequence[int], wanted: TrendDates, sums: _Sums) -> None:
        """Count the documents in `some` with a single date, by an aggregation."""
        by_period = _by_period("dates", wanted)
        query = wanted.of_one_date(within(EVERYTHING, some))
        body: Body = {"query": query, "size": 0, "track_total_hits": False}
        found = search_page(self._server, self._dates, body | {"aggs": {"periods": by_period}})
        counts = _counts(found["aggregations"])
        sums.add_counts(counts, counts)

    def _count_many(self, some: Sequence[int], wanted: TrendDates, sums: _Sums) -> None:
        """Count the documents in `some` with several dates, by reading all dates."""
        body: Body = {"query": within(MANY, some), "_source": False}
        body["docvalue_fields"] = ["id", "seen"]
        sort = [{NUMBER: "asc"}, {"id": "asc"}]  # a document may have several entries
        found = pages(self._server, self._dates, body, sort, schema.PAGE)
        entries = (hit["fields"] for page in found for hit in page)
        for id, group in groupby(entries, lambda fields: document_of(fields["id"][0])):
            current_work().check()
            texts = chain.from_iterable(fields.get("seen", ()) for fields in group)
            pairs = (text.rpartition("/") for text in set(texts))
            seen = [(timestamp, collection) for collection, _, timestamp in pairs]
            sums.add(wanted.counted(id, seen))

    def _count_singly(
        self, some: Sequence[int], wanted: TrendDates, sums: _Sums, *, counted: bool = False
    ) -> None:
        """Count documents by all dates; own dates that are already `counted` are subtracted."""
        for start in range(0, len(some), schema.PAGE):
            current_work().check()
            inside = within(EVERYTHING, some[start : start + schema.PAGE])
            body = {"query": inside, "size": schema.PAGE, "_source": _OWN, "sort": ["_doc"]}
            hits = search_page(self._server, self._documents, body)["hits"]["hits"]
            own = {hit["_source"]["id"]: hit["_source"] for hit in hits}
            for id, dates in self._parallel.read(list(own)).items():
                sums.add(wanted.counted(id, dates.seen))
            if counted:
                sums.subtract(Counter(filter(None, map(wanted.own_period, own.values()))))


@dataclass(frozen=True, slots=True)
class _Part:
    """The documents of a query: `count` of `every` document in the index."""

    query: Query
    wanted: TrendDates
    count: int
    every: int

    def named(self, table: FurtherDates) -> Body | None:
        """Return the search for documents found, or else not found, that may have several dates.

        Empty if no search is needed, None if there are too many.
        """
        if not self.count or (self._is_most and self.count == self.every):
            return {}
        query = {"bool": {"must_not": [self.query]}} if self._is_most else self.query
        values: Body = {"field": NUMBER, "size": schema.MAX_IDS}
        if min(self.count, self.every - self.count) > schema.SHORT_LIST:
            further = self.wanted.alone().difference(table.numbers.tolist())
            if len(further) + len(table.numbers) > schema.MAX_IDS:
                return None
            listed = [*table.numbers.tolist(), *further] if further else table.included
            values["include"] = listed
        aggs = {NAMED: {"terms": values}}
        return {"query": query, "size": 0, "track_total_hits": False, "aggs": aggs}

    @property
    def _is_most(self) -> bool:
        return 2 * self.count > self.every

    def among(self, numbers: set[int], table: FurtherDates) -> set[int]:
        """Return the query's documents that may have several dates, given `named`'s numbers."""
        further = self.wanted.alone().union(table.numbers.tolist())
        if not self.count:
            return set()
        return further - numbers if self._is_most else further & numbers
