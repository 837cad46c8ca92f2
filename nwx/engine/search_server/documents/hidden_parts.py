"""What a viewer may not see, as parts of queries of the documents index."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from nwx.engine.date_rows import LAST_TIME, DateNumbers, DateRows, date_rows
from nwx.engine.search_server import limits
from nwx.engine.search_server.dates.entries import IN_CHUNKS
from nwx.engine.search_server.documents.compile import (
    Query,
    any_of,
    dates_query,
    digits_range,
    own_query,
)
from nwx.engine.search_server.schema import NUMBER
from nwx.query.dates import Period
from nwx.query.question import NONE_HIDDEN, DateCondition, HiddenDocuments, HiddenSpan, SeenDate


@dataclass(frozen=True, slots=True)
class PartlyHidden:
    """A document by its number, with its visible and its hidden dates.

    `own_is_hidden` is True if the capture of its entry is hidden.
    """

    number: int
    visible: Sequence[SeenDate]
    hidden: Sequence[SeenDate]
    own_is_hidden: bool


class PartlyHiddenDates:
    """The partly hidden documents, with their dates.

    A condition met by a hidden date, but by no visible date, is not met: `unmet` returns those
    documents.
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
        """Return the numbers of the documents that only hidden dates let meet a condition."""
        lost = self._hidden.meeting(one)
        return self.numbers[np.setdiff1d(lost, self._visible.meeting(one))]

    def lost_values(self, facet: str) -> Sequence[tuple[str, DateNumbers]]:
        """Return each value with the documents that have it only by hidden dates.

        The facets are `year` and `collection`.
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
        """Return the documents by their newest or their oldest date that is seen, and those."""
        dates = self._firsts(newest=newest)
        if newest not in self._orders:
            self._orders[newest] = np.argsort(-dates if newest else dates, kind="stable")
        order = self._orders[newest]
        return self.numbers[order], dates[order]

    def first_date(self, number: int, *, newest: bool) -> str:
        """Return the newest or oldest date that is seen of a document, "" of all others."""
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

    `rules` are the rules they were read from, `documents` the queries of fully hidden documents,
    `dates` the partly hidden documents. Spans do not apply to documents with the numbers `apart`.
    `own` are the documents whose own date is hidden, and not by a span.
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

    def met(self, one: DateCondition, query: Query) -> Query:
        """Return the query of documents that meet a condition by a visible date.

        `query` matches the documents that meet it by any date.
        """
        return without(query, self.dates.unmet(one))

    def own_shown(self, query: Query) -> Query:
        """Return a query restricted to documents with a visible capture of their entry.

        `query` is on the location or the time of that capture.
        """
        return without(query, self.dates.own_hidden)

    def by_own_date(self, query: Query) -> Query:
        """Return the query restricted to documents whose own date is visible.

        It uses spans where possible, so it is short even if they hide many documents.
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
    """Return a query that finds none of the documents of these numbers."""
    if not len(numbers):
        return query
    return {"bool": {"must": [query], "must_not": numbers_queries(numbers.tolist())}}


def numbers_queries(numbers: Sequence[int]) -> list[Query]:
    """Return queries of the documents of these numbers, however many they are."""
    size = limits.MAX_IDS
    return [
        {"terms": {NUMBER: list(numbers[begin : begin + size])}}
        for begin in range(0, len(numbers), size)
    ]


def hidden_queries(
    documents: Sequence[int], spans: Sequence[HiddenSpan], kept: Sequence[int]
) -> tuple[Query, ...]:
    """Return the queries of the fully hidden documents.

    These are the numbers `documents`, and all documents whose own date is in one of the spans,
    except the numbers `kept`.
    """
    queries = numbers_queries(documents)
    if spans:
        own: Query = {"bool": {"filter": [any_of(own_query(span_condition(one)) for one in spans)]}}
        if kept:
            own["bool"]["must_not"] = numbers_queries(kept)
        queries.append(own)
    return tuple(queries)


def span_condition(span: HiddenSpan) -> DateCondition:
    """Return the condition that dates in a span meet; an end is "" where it reaches to all."""
    low = span.first if span.first > _FIRST else ""
    high = span.last if span.last < _LAST else ""
    return DateCondition(((low, high),), (span.collection,) if span.collection else ())


def mixed_entries(further: Query, spans: Sequence[HiddenSpan]) -> Query:
    """Return the query of the dates entries in `further` that may be partly in spans.

    Entries whose dates are all in spans of all collections are left out, except for documents with
    chunks: another entry may have a date outside of them.
    """
    hidden = any_of(dates_query(span_condition(one)) for one in spans)
    shown = any_of([*(digits_range("dates", *gap) for gap in _gaps(spans)), *IN_CHUNKS])
    return {"bool": {"filter": [further, hidden, shown]}}


def _gaps(spans: Sequence[HiddenSpan]) -> Iterator[tuple[str, str]]:
    """Give the times that no span of all collections covers, ends that spans have included."""
    whole = sorted((one.first, one.last) for one in spans if not one.collection)
    reached = ""
    for first, last in whole:
        if first > _FIRST and first >= reached:
            yield reached, first
        reached = max(reached, last)
    if reached < _LAST:
        yield reached, ""
