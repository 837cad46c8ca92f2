"""Conditions on all dates of a document, which the columns know and tantivy does not."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from nwx.errors import ErrorText, QueryError
from nwx.query.question import DocumentQuery
from nwx.query.tree import All, Bool, DateRange, Node

_Span = tuple[int, int]
_TIMESTAMP = re.compile(r"\d{14}", re.ASCII)
_FIRST, _LAST = "0" * 14, "9" * 14


@dataclass(frozen=True, slots=True)
class DateCondition:
    """One (timestamp, collection) of a document lies in a span, and is of a collection.

    None of the spans is any, and so is no collection. `wanted` is False
    where documents with such a one are ruled out.
    """

    spans: tuple[_Span, ...] | None = None
    collections: tuple[str, ...] = ()
    wanted: bool = True


def filter_condition(query: DocumentQuery) -> DateCondition | None:
    """Return the condition that filters and dates of a question make together, if any."""
    collections = query.filters.get("collection", ())
    years = query.filters.get("year", ())
    dated = bool(query.date_from or query.date_to)
    if not (collections or years or dated):
        return None
    whole = _span(query.date_from or _FIRST, query.date_to or _LAST)
    if years:
        return DateCondition(tuple(_parts(whole, years)), collections)
    return DateCondition((whole,) if dated else None, collections)


def range_condition(node: DateRange, *, wanted: bool = True) -> DateCondition:
    """Return the condition of a date range in a query."""
    return DateCondition((_span(node.low or _FIRST, node.high or _LAST),), wanted=wanted)


def without_conditions(node: Node) -> tuple[Node, tuple[DateCondition, ...]]:
    """Return a query without the date ranges that hold for every document of it, and those."""
    if isinstance(node, DateRange):
        return All(), (range_condition(node),)
    if not isinstance(node, Bool):
        return node, ()
    parts = [without_conditions(part) for part in node.must]
    ruled_out = [part for part in node.must_not if isinstance(part, DateRange)]
    conditions = [one for _, found in parts for one in found]
    conditions += [range_condition(part, wanted=False) for part in ruled_out]
    if not conditions:
        return node, ()
    must = tuple(part for part, found in parts if not (found and isinstance(part, All)))
    must_not = tuple(part for part in node.must_not if not isinstance(part, DateRange))
    # All keeps what is in `should` a matter of score, where something had to be met before.
    kept = must or ((All(),) if node.must else ())
    return Bool(kept, node.should, must_not), tuple(conditions)


def _parts(whole: _Span, years: tuple[str, ...]) -> Iterator[_Span]:
    """Give the parts of a span that lie in the years."""
    for year in years:
        low, high = _span(f"{year}0101000000", f"{year}1231235959")
        yield max(low, whole[0]), min(high, whole[1])


def _span(low: str, high: str) -> _Span:
    for digits in (low, high):
        if not _TIMESTAMP.fullmatch(digits):
            raise QueryError(
                ErrorText(
                    "%(digits)s is no timestamp; 14 digits are needed", digits=repr(digits[:40])
                )
            )
    return int(low), int(high)
