"""When the documents of a result were captured: their dates, counted by period on the server."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, groupby, pairwise

from nwx.engine.search_server import limits
from nwx.engine.search_server.dates.chunks import document_of
from nwx.engine.search_server.dates.entry_queries import FIRST_ENTRIES, MANY, ONCE
from nwx.engine.search_server.dates.indices import ServerDatesIndices
from nwx.engine.search_server.documents.compile import EVERYTHING, Query
from nwx.engine.search_server.documents.conditions import DateCondition, filter_condition
from nwx.engine.search_server.documents.hidden_parts import HiddenParts, span_condition
from nwx.engine.search_server.documents.join import Join
from nwx.engine.search_server.further_dates.reader import FurtherDatesReader
from nwx.engine.search_server.further_dates.table import FurtherDates
from nwx.engine.search_server.inlinks.linked_query import LinkedQuery
from nwx.engine.search_server.pages import (
    count_hits,
    numbers,
    numbers_aggregation,
    pages,
    read_numbers,
    search_page,
    within,
)
from nwx.engine.search_server.schema import NUMBER, Schema, number_of
from nwx.engine.search_server.server import Body, Server
from nwx.engine.work import current_work
from nwx.model import IndexName
from nwx.query.periods import Period, TrendPoint

_PART = 40_000
"""So many documents a part of a large result has on average: well below limits.MAX_IDS."""

_NUMBERS = 1 << 63
_BY_ID: list[Body] = [{"id": "asc"}]
_FORMATS = {Period.YEAR: "uuuu", Period.MONTH: "uuuuMM"}


@dataclass(slots=True)
class _Sums:
    captures: Counter[str] = field(default_factory=Counter)
    documents: Counter[str] = field(default_factory=Counter)

    def add(self, periods: Iterable[str]) -> None:
        """Count a document that was captured in these periods, each as often as it is named."""
        counts = Counter(periods)
        self.captures.update(counts)
        self.documents.update(counts.keys())

    def add_counts(self, captures: Counter[str], documents: Counter[str]) -> None:
        """Add counts by period."""
        self.captures.update(captures)
        self.documents.update(documents)

    def subtract(self, single: Counter[str]) -> None:
        """Leave out documents of a single date."""
        self.captures.subtract(single)
        self.documents.subtract(single)

    def points(self) -> list[TrendPoint]:
        return [
            TrendPoint(period, count, self.documents[period])
            for period, count in sorted(self.captures.items())
            if count
        ]


def _by_period(field: str, wanted: "TrendDates") -> Body:
    """Return the aggregation that counts entries by the periods of a date."""
    unit = {"calendar_interval": wanted.period, "format": _FORMATS[wanted.period]}
    return {"date_histogram": {"field": field, "min_doc_count": 1, **unit}}


def _counts(periods: Body) -> Counter[str]:
    buckets = periods.get("buckets", ())
    return Counter({bucket["key_as_string"]: bucket["doc_count"] for bucket in buckets})


@dataclass(frozen=True, slots=True)
class TrendDates:
    """Which dates of documents a trend counts, and by what period."""

    period: Period
    condition: DateCondition
    hidden: HiddenParts

    def of_one_date(self, query: Query) -> Query:
        """Return the query of entries of a single date, of those that count."""
        hidden = [span_condition(one).dates() for one in self.hidden.rules.spans]
        return {"bool": {"filter": [self.condition.seen(query), ONCE], "must_not": hidden}}

    def own(self) -> Query:
        """Return the query of documents whose own date counts."""
        hidden = [span_condition(one).own() for one in self.hidden.rules.spans]
        return {"bool": {"filter": [self.condition.own()], "must_not": hidden}}

    def alone(self) -> set[int]:
        """Return the documents that rules of their own hide dates of, or spans do not."""
        return {number_of(id) for id in (*self.hidden.rules.apart, *self.hidden.rules.dates)}

    def counted(self, id: str, seen: Iterable[tuple[str, str]]) -> Iterator[str]:
        """Give the periods of the dates of a document that count."""
        spans, collections = self._spans(), self.condition.collections
        for timestamp, collection in self.hidden.seen(id, seen):
            in_span = spans is None or any(low <= timestamp <= high for low, high in spans)
            if in_span and (not collections or collection in collections):
                yield timestamp[: self.period.digits]

    def _spans(self) -> list[list[str]] | None:
        if self.condition.spans is None:
            return None
        return [[low or "0" * 14, high or "9" * 14] for low, high in self.condition.spans]


class TrendCounts:
    """What counts the dates of documents."""

    def __init__(
        self, server: Server, schema: Schema, dates: ServerDatesIndices, join: Join
    ) -> None:
        self._server = server
        self._parallel = dates
        self._join = join
        self._further = FurtherDatesReader(server, schema, dates)
        self._documents = schema.name(IndexName.DOCUMENTS)
        self._dates = schema.name(IndexName.DATES)

    def trend(self, query: LinkedQuery, period: Period) -> list[TrendPoint]:
        """Return when the documents of a query were captured."""
        wanted = TrendDates(period, filter_condition(query) or DateCondition(), query.hidden)
        table = self._further.table()
        found = None if table is None else self._by_table(query, wanted, table)
        if found is not None:
            return found
        resolved = self._join.resolve(query, _BY_ID, 0)
        return self._of_lists(
            self._lists(resolved.query) if resolved.whole else self._join.walk(query, _BY_ID),
            wanted,
        )

    def _by_table(
        self, query: LinkedQuery, wanted: TrendDates, table: FurtherDates
    ) -> list[TrendPoint] | None:
        """Return the trend of a query, None where too many documents have several dates.

        The server counts documents by their own dates, and names those that
        have more: these are in the table.
        """
        alone = wanted.alone()
        further = alone.union(table.numbers.tolist())
        # Dates that do not meet the filters do not count: their documents need not be left out.
        resolved = self._join.resolve(query.without("year").without("collection"), _BY_ID, 0)
        if len(further) > limits.MAX_IDS or not resolved.whole:
            return None
        own, apart = self._by_own_date(resolved.query, wanted, sorted(further))
        sums, numbers = _Sums(), read_numbers(apart)
        sums.add_counts(own, own)
        if apart:
            sums.subtract(_counts(apart["own"]["periods"]))
        singly = alone.intersection(numbers)
        among = [number for number in numbers if number not in singly]
        spans = wanted.hidden.rules.spans
        sums.add_counts(*table.periods(among, wanted.period, wanted.condition, spans))
        self._count_singly(sorted(singly), wanted, sums)
        return sums.points()

    def _by_own_date(
        self, query: Query, wanted: TrendDates, further: Sequence[int]
    ) -> tuple[Counter[str], Body]:
        """Count the documents of a query by their own dates; apart, and named, are some of them."""
        periods = {"periods": _by_period("crawl_date", wanted)}
        own = {"own": {"filter": wanted.own(), "aggs": periods}}
        named = {"filter": {"terms": {NUMBER: further}}, "aggs": own | numbers_aggregation()}
        body: Body = {"query": query, "size": 0, "track_total_hits": False}
        body["aggs"] = own | ({"further": named} if further else {})
        found = search_page(self._server, self._documents, body)["aggregations"]
        return _counts(found["own"]["periods"]), found.get("further", {})

    def _of_lists(self, lists: Iterable[Sequence[int]], wanted: TrendDates) -> list[TrendPoint]:
        """Return the trend of documents, given by their numbers in lists of limits.MAX_IDS."""
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
        """Stream the numbers of the documents of a query; those of many in parts of their range."""
        parts = max(1, -(-count_hits(self._server, self._documents, query) // _PART))
        ends = [part * _NUMBERS // parts for part in range(parts + 1)]
        for low, high in pairwise(ends):
            yield from self._between(query, low, high)

    def _between(self, query: Query, low: int, high: int) -> Iterator[list[int]]:
        """Stream the numbers from `low` to below `high` of the documents of a query."""
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
        """Return those of documents that indices beside the main one know dates of."""
        inside = within(FIRST_ENTRIES, some)
        others = self._parallel.others() if some else ()
        return {one for index in others for one in numbers(self._server, index, inside) or ()}

    def _count_once(self, some: Sequence[int], wanted: TrendDates, sums: _Sums) -> None:
        """Count those of documents that have a single date: the server does."""
        by_period = _by_period("dates", wanted)
        query = wanted.of_one_date(within(EVERYTHING, some))
        body: Body = {"query": query, "size": 0, "track_total_hits": False}
        found = search_page(self._server, self._dates, body | {"aggs": {"periods": by_period}})
        counts = _counts(found["aggregations"]["periods"])
        sums.add_counts(counts, counts)

    def _count_many(self, some: Sequence[int], wanted: TrendDates, sums: _Sums) -> None:
        """Count those of documents that have several dates, all of which are read."""
        body: Body = {"query": within(MANY, some), "_source": False}
        body["docvalue_fields"] = ["id", "seen"]
        sort = [{NUMBER: "asc"}, {"id": "asc"}]  # a document may have several entries
        found = pages(self._server, self._dates, body, sort, limits.PAGE)
        entries = (hit["fields"] for page in found for hit in page)
        for id, group in groupby(entries, lambda fields: document_of(fields["id"][0])):
            current_work().check()
            texts = chain.from_iterable(fields.get("seen", ()) for fields in group)
            pairs = (text.rpartition("/") for text in set(texts))
            seen = [(timestamp, collection) for collection, _, timestamp in pairs]
            sums.add(wanted.counted(id, seen))

    def _count_singly(self, some: Sequence[int], wanted: TrendDates, sums: _Sums) -> None:
        for start in range(0, len(some), limits.PAGE):
            current_work().check()
            inside = within(EVERYTHING, some[start : start + limits.PAGE])
            body = {"query": inside, "size": limits.PAGE, "_source": ["id"], "sort": ["_doc"]}
            hits = search_page(self._server, self._documents, body)["hits"]["hits"]
            for id, dates in self._parallel.read([hit["_source"]["id"] for hit in hits]).items():
                sums.add(wanted.counted(id, dates.seen))
