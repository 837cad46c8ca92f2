"""Documents and dates hidden from a viewer, as parts of queries of the documents index."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
from cachetools import LRUCache

from nwx.engine.document_dates import LAST_TIME, DateNumbers, DateRows, date_rows
from nwx.engine.search_server import schema
from nwx.engine.search_server.date_indices import ServerDatesIndices
from nwx.engine.search_server.documents.compile import (
    EVERYTHING,
    Query,
    any_of,
    dates_query,
    digits_range,
    own_query,
)
from nwx.engine.search_server.documents.date_entries import IN_CHUNKS, MANY
from nwx.engine.search_server.documents.id_lists import index_state
from nwx.engine.search_server.pages import pages, within
from nwx.engine.search_server.schema import NUMBER, Schema, number_of
from nwx.engine.search_server.server import Body, Server
from nwx.model import IndexName
from nwx.query.question import NONE_HIDDEN, DateCondition, HiddenDocuments, HiddenSpan, SeenDate
from nwx.values.timestamps import Period


@dataclass(frozen=True, slots=True)
class PartlyHidden:
    """A document by its number, with its visible and hidden dates.

    `own_is_hidden` is True if the capture of its entry is hidden.
    """

    number: int
    visible: Sequence[SeenDate]
    hidden: Sequence[SeenDate]
    own_is_hidden: bool


class PartlyHiddenDates:
    """The partly hidden documents, with their dates.

    A condition met only by hidden dates is not met: `unmet` returns those documents.
    """

    def __init__(self, documents: Iterable[PartlyHidden]) -> None:
        known = sorted(documents, key=lambda one: one.number)
        self.numbers: DateNumbers = np.array([one.number for one in known], dtype=np.int64)
        own = np.array([one.own_is_hidden for one in known], dtype=bool)
        self.own_hidden: DateNumbers = self.numbers[own] if len(known) else self.numbers
        self._lost: dict[str, Sequence[tuple[str, DateNumbers]]] = {}
        self._dates: dict[bool, DateNumbers] = {}
        self._orders: dict[bool, npt.NDArray[np.intp]] = {}
        self._codes: dict[str, int] = {}
        self._visible = date_rows([one.visible for one in known], self._codes)
        self._hidden = date_rows([one.hidden for one in known], self._codes)

    def unmet(self, one: DateCondition) -> DateNumbers:
        """Return the numbers of the documents that meet a condition only by hidden dates."""
        lost = self._hidden.meeting(one)
        return self.numbers[np.setdiff1d(lost, self._visible.meeting(one))]

    def lost_values(self, facet: str) -> Sequence[tuple[str, DateNumbers]]:
        """Return each value with the numbers of the documents that have it only by hidden dates.

        `facet` is `year` or `collection`.
        """
        if facet not in self._lost:
            self._lost[facet] = tuple(self._lost_values(facet))
        return self._lost[facet]

    def _lost_values(self, facet: str) -> Iterator[tuple[str, DateNumbers]]:
        values: Callable[[DateRows], DateNumbers]
        if facet == "year":
            labels = None
            values = _years
        else:
            labels = list(self._codes)
            values = _collections
        lost = _pairs(self._hidden.places, values(self._hidden))
        kept = _pairs(self._visible.places, values(self._visible))
        rest = np.array(sorted(lost - kept), dtype=np.int64).reshape(-1, 2)
        for value in np.unique(rest[:, 1]).tolist():
            label = f"{value:04}" if labels is None else labels[value]
            yield label, self.numbers[rest[rest[:, 1] == value, 0]]

    def in_order(self, *, newest: bool) -> tuple[DateNumbers, DateNumbers]:
        """Return document numbers sorted by newest or oldest visible date, and these dates."""
        dates = self._firsts(newest=newest)
        if newest not in self._orders:
            self._orders[newest] = np.argsort(-dates if newest else dates, kind="stable")
        order = self._orders[newest]
        return self.numbers[order], dates[order]

    def first_date(self, number: int, *, newest: bool) -> str:
        """Return a document's newest or oldest visible date, "" if it is not partly hidden."""
        place = int(np.searchsorted(self.numbers, number))
        if place == len(self.numbers) or self.numbers[place] != number:
            return ""
        return f"{self._firsts(newest=newest)[place]:014}"

    def _firsts(self, *, newest: bool) -> DateNumbers:
        if newest not in self._dates:
            dates = np.full(len(self.numbers), 0 if newest else LAST_TIME, dtype=np.int64)
            at = np.maximum.at if newest else np.minimum.at
            at(dates, self._visible.places, self._visible.times)
            self._dates[newest] = dates
        return self._dates[newest]


def _years(rows: DateRows) -> DateNumbers:
    return rows.periods(Period.YEAR)


def _collections(rows: DateRows) -> DateNumbers:
    return rows.collections


def _pairs(places: DateNumbers, values: DateNumbers) -> set[tuple[int, int]]:
    return set(zip(places.tolist(), values.tolist(), strict=True))


_FIRST, _LAST = "0" * 14, "9" * 14
_NO_DATES = PartlyHiddenDates(())


@dataclass(frozen=True, slots=True)
class HiddenParts:
    """The documents and dates to leave out of a search.

    `rules` are the hidden documents they were read for, `documents` the queries of fully hidden
    documents, `dates` the partly hidden documents. Spans do not apply to documents with the numbers
    `apart`. `own` are the documents whose own date is hidden, but not by a span.
    """

    rules: HiddenDocuments = NONE_HIDDEN
    documents: tuple[Query, ...] = ()
    dates: PartlyHiddenDates = field(default=_NO_DATES)
    apart: Sequence[int] = ()
    own: Sequence[int] = ()

    def shown(self, query: Query) -> Query:
        """Return the query restricted to visible documents."""
        if not self.documents:
            return query
        return {"bool": {"must": [query], "must_not": list(self.documents)}}

    def visibly_met(self, one: DateCondition, query: Query) -> Query:
        """Return the query of the documents that meet a condition by a visible date.

        `query` matches the documents that meet it by any date.
        """
        return without(query, self.dates.unmet(one))

    def own_shown(self, query: Query) -> Query:
        """Return the query restricted to documents whose entry's own capture is visible.

        `query` is on the location or time of that capture.
        """
        return without(query, self.dates.own_hidden)

    def by_own_date(self, query: Query) -> Query:
        """Return the query restricted to documents whose own date is visible.

        It uses spans where possible, and so is short even if they hide many documents.
        """
        hidden = [*self._in_spans(own_query(span_condition(one)) for one in self.rules.spans)]
        hidden += numbers_queries(self.own)
        return {"bool": {"must": [query], "must_not": hidden}} if hidden else query

    def entries(self, further: Query) -> Query:
        """Return the query of the dates entries in `further` without a date in a span."""
        hidden = [*self._in_spans(dates_query(span_condition(one)) for one in self.rules.spans)]
        return {"bool": {"filter": [further], "must_not": hidden}} if hidden else further

    def _in_spans(self, spans: Iterable[Query]) -> Iterator[Query]:
        if self.rules.spans:
            hidden: Query = {"bool": {"filter": [any_of(spans)]}}
            if self.apart:
                hidden["bool"]["must_not"] = numbers_queries(self.apart)
            yield hidden

    def seen(self, id: str, dates: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str]]:
        """Yield the visible dates of a document."""
        hides = self.rules.hides_date
        return (one for one in dates if not hides(id, *one))


NOTHING_HIDDEN = HiddenParts()


def without(query: Query, numbers: DateNumbers) -> Query:
    """Return the query restricted to documents without these numbers."""
    if not len(numbers):
        return query
    return {"bool": {"must": [query], "must_not": numbers_queries(numbers.tolist())}}


def numbers_queries(numbers: Sequence[int]) -> list[Query]:
    """Return queries of the documents with these numbers, at most schema.MAX_IDS per query."""
    size = schema.MAX_IDS
    return [
        {"terms": {NUMBER: list(numbers[begin : begin + size])}}
        for begin in range(0, len(numbers), size)
    ]


def hidden_queries(
    documents: Sequence[int], spans: Sequence[HiddenSpan], kept: Sequence[int]
) -> tuple[Query, ...]:
    """Return the queries of the fully hidden documents.

    These have the numbers `documents`, or an own date in one of the spans and not a number in
    `kept`.
    """
    queries = numbers_queries(documents)
    if spans:
        own: Query = {"bool": {"filter": [any_of(own_query(span_condition(one)) for one in spans)]}}
        if kept:
            own["bool"]["must_not"] = numbers_queries(kept)
        queries.append(own)
    return tuple(queries)


def span_condition(span: HiddenSpan) -> DateCondition:
    """Return the condition of dates in a span; its ends are "" where the span is unbounded."""
    low = span.first if span.first > _FIRST else ""
    high = span.last if span.last < _LAST else ""
    return DateCondition(((low, high),), (span.collection,) if span.collection else ())


def mixed_entries(further: Query, spans: Sequence[HiddenSpan]) -> Query:
    """Return the query of the dates entries in `further` that may be partly in spans.

    Entries whose dates are all in spans of all collections are left out, except for documents with
    chunks, of which another entry may have a date outside.
    """
    hidden = any_of(dates_query(span_condition(one)) for one in spans)
    shown = any_of([*(digits_range("dates", *gap) for gap in _gaps(spans)), *IN_CHUNKS])
    return {"bool": {"filter": [further, hidden, shown]}}


def _gaps(spans: Sequence[HiddenSpan]) -> Iterator[tuple[str, str]]:
    """Yield the intervals not covered by spans of all collections; they include the spans' ends."""
    whole = sorted((one.first, one.last) for one in spans if not one.collection)
    reached = ""
    for first, last in whole:
        if first > _FIRST and first >= reached:
            yield reached, first
        reached = max(reached, last)
    if reached < _LAST:
        yield reached, ""


_KEPT = 8
_DATED: Body = {"_source": False, "stored_fields": "_none_", "docvalue_fields": [NUMBER, "seen"]}
_OWN: Body = _DATED | {"docvalue_fields": ["id", NUMBER, "timestamp", "collection"]}
_Parts = tuple[object, HiddenParts]


@dataclass(slots=True)
class _Found:
    """A document that was read: its id, the date of its entry, and all its dates."""

    id: str
    own: SeenDate
    dates: set[SeenDate] = field(default_factory=set)


class HiddenReader:
    """Reads hidden parts with a cache; threads may share it.

    They are reread when the hidden documents, or the dates of any document, change.
    """

    def __init__(self, server: Server, schema: Schema, dates: ServerDatesIndices) -> None:
        self._server = server
        self._documents = schema.name(IndexName.DOCUMENTS)
        self._dates = dates
        self._guard = threading.Lock()
        self._kept: LRUCache[str, _Parts] = LRUCache(_KEPT)

    def read(self, hidden: HiddenDocuments) -> HiddenParts:
        """Return the hidden documents and dates as parts of queries."""
        if not hidden:
            return NOTHING_HIDDEN
        state = self._state() if hidden.dates or hidden.spans else None
        with self._guard:
            known = self._kept.get(hidden.key)
        if known and known[0] == state:
            return known[1]
        parts = self._parts(hidden)
        with self._guard:
            self._kept[hidden.key] = state, parts
        return parts

    def _state(self) -> object:
        """Return a state that changes whenever dates are written."""
        indices = [index for index, _ in self._dates.further()]
        return [(index, index_state(self._server, index, EVERYTHING)) for index in indices]

    def _parts(self, hidden: HiddenDocuments) -> HiddenParts:
        wholly = [number_of(id) for id in hidden.documents]
        kept = [number_of(id) for id in hidden.apart]
        apart = sorted({*kept, *map(number_of, hidden.dates)})
        beside = frozenset(apart)
        partly: list[PartlyHidden] = []
        own: list[int] = []
        for number, one in self._dated(hidden).items():
            if one.id in hidden.documents:
                continue
            found = _parted(hidden, number, one)
            if not found.visible:
                wholly.append(number)
                continue
            if found.hidden:
                partly.append(found)
            in_span = any(span.holds(*one.own) for span in hidden.spans)
            if in_span:
                kept.append(number)
            if found.own_is_hidden and (not in_span or number in beside):
                own.append(number)
        documents = hidden_queries(sorted(wholly), hidden.spans, sorted(set(kept)))
        return HiddenParts(hidden, documents, PartlyHiddenDates(partly), apart, sorted(own))

    def _dated(self, hidden: HiddenDocuments) -> dict[int, _Found]:
        """Return the documents that may have hidden dates, with all their dates."""
        numbers = [number_of(id) for id in hidden.dates]
        if hidden.spans:
            numbers += self._mixed(hidden)
        found = dict(self._own(list(dict.fromkeys(numbers))))
        for index, further in self._dates.further():
            for number, dates in self._seen(index, further, list(found)):
                found[number].dates.update(dates)
        return found

    def _mixed(self, hidden: HiddenDocuments) -> Iterator[int]:
        """Yield the numbers of the dates entries that spans may partly hide."""
        for index, further in self._dates.further():
            # An attached index may have a document's only visible, or only hidden, date.
            query = mixed_entries(MANY, hidden.spans) if further == MANY else further
            body = {"query": query, **_DATED, "docvalue_fields": [NUMBER]}
            for page in pages(self._server, index, body, [{"id": "asc"}], size=schema.PAGE):
                for hit in page:
                    yield hit["fields"][NUMBER][0]

    def _own(self, numbers: Sequence[int]) -> Iterator[tuple[int, _Found]]:
        for fields in self._fields(self._documents, EVERYTHING, numbers, _OWN):
            own = fields["timestamp"][0], fields.get("collection", [""])[0]
            yield fields[NUMBER][0], _Found(fields["id"][0], own, {own})

    def _seen(
        self, index: str, further: Query, numbers: Sequence[int]
    ) -> Iterator[tuple[int, Iterable[SeenDate]]]:
        for fields in self._fields(index, further, numbers, _DATED):
            yield fields[NUMBER][0], map(_pair, fields.get("seen", ()))

    def _fields(
        self, index: str, query: Query, numbers: Sequence[int], wanted: Body
    ) -> Iterator[Body]:
        step = schema.PAGE - 1  # avoids a second page if each has one entry
        for begin in range(0, len(numbers), step):
            some = within(query, numbers[begin : begin + step])
            body = {"query": some, **wanted}
            for page in pages(self._server, index, body, [{"id": "asc"}], size=schema.PAGE):
                yield from (hit["fields"] for hit in page)


def _pair(seen: str) -> SeenDate:
    collection, _, timestamp = seen.rpartition("/")
    return timestamp, collection


def _parted(hidden: HiddenDocuments, number: int, one: _Found) -> PartlyHidden:
    """Return a document with its visible and hidden dates."""
    lost = [date for date in one.dates if hidden.hides_date(one.id, *date)]
    return PartlyHidden(number, sorted(one.dates.difference(lost)), lost, one.own in lost)
