"""Conditions on the dates of a document, which its entry in documents knows one of."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from nwx.engine.search_server.documents.compile import NOTHING, Query, digits_range
from nwx.query.question import DocumentQuery

_Span = tuple[str, str]


@dataclass(frozen=True, slots=True)
class DateCondition:
    """One (timestamp, collection) of a document lies in a span, and is of a collection.

    None of the spans is any, and so is no collection.
    """

    spans: tuple[_Span, ...] | None = None
    collections: tuple[str, ...] = ()

    def own(self) -> Query:
        """Return the query of documents whose own capture is such a one."""
        parts: list[Query] = []
        if self.spans is not None:
            parts.append(any_of(digits_range("crawl_date", *span) for span in self.spans))
        if self.collections:
            parts.append({"terms": {"collection": list(self.collections)}})
        return {"bool": {"filter": parts}}

    def seen(self, among: Query) -> Query:
        """Return the query of those of some entries of dates that have such a one."""
        return {"bool": {"filter": [among, self.dates()]}}

    def dates(self) -> Query:
        """Return the query of entries of dates that have such a one."""
        spans = (("", ""),) if self.spans is None else self.spans
        if not self.collections:
            return any_of(digits_range("dates", *span) for span in spans)
        return any_of(
            {
                "range": {
                    "seen": {"gte": f"{name}/{low or '0'}", "lte": f"{name}/{high or '9' * 14}"}
                }
            }
            for name in self.collections
            for low, high in spans
        )


def filter_condition(query: DocumentQuery) -> DateCondition | None:
    """Return the condition that filters and dates of a question make together, if any."""
    collections = query.filters.get("collection", ())
    years = query.filters.get("year", ())
    if not (collections or years or query.date_from or query.date_to):
        return None
    spans: tuple[_Span, ...] | None = None
    if query.date_from or query.date_to:
        spans = ((query.date_from, query.date_to),)
    if years:
        spans = tuple(_parts(spans[0] if spans else ("", ""), years))
    return DateCondition(spans, collections)


def _parts(whole: _Span, years: Iterable[str]) -> Iterator[_Span]:
    """Give the parts of a span that lie in the years."""
    for year in years:
        low = max(whole[0], f"{year}0101000000")
        high = min(whole[1] or "9" * 14, f"{year}1231235959")
        if low <= high:
            yield low, high


def any_of(queries: Iterable[Query]) -> Query:
    """Return the query of what one of some queries finds."""
    parts = list(queries)
    if not parts:
        return NOTHING
    return parts[0] if len(parts) == 1 else {"bool": {"should": parts, "minimum_should_match": 1}}
