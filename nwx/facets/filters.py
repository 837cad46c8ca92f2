"""Conditions of facet questions as conditions on the fields of captures.

What meets a question meets its filter. Revisits meet all conditions on type
and size there: which they have is known once their payloads are found.
"""

import math
from collections.abc import Sequence
from itertools import groupby

from nwx.engine.selection import AllOf, AnyOf, Between, Ending, Like, LiveFilter, Not, OneOf, Unset
from nwx.facets.criteria import (
    DESCRIPTIONS,
    MAX_DEPTH,
    MAX_SIZE,
    SIZE_BOUNDS,
    SIZES,
    STATUSES,
    UNKNOWN,
    Criterion,
)
from nwx.facets.opened import in_span
from nwx.facets.question import FacetCondition

KNOWN_SIZE = Between("content_length", 0, MAX_SIZE + 1)
REVISIT = OneOf("record_type", ("revisit",))

_FIELDS = {
    Criterion.SITE: "domain",
    Criterion.TYPE: "content_type_norm",
    Criterion.COLLECTION: "collection",
}
_CLOSED_HOPS = Like("hops", r"[0-9]{1,4}\+.*")
_AFTER_DIGITS = "~"


def filter_of(conditions: Sequence[FacetCondition], *, has_list: bool) -> LiveFilter:
    """Return what all captures meet that meet all conditions.

    `has_list` tells that sites have names by a list, which no index knows.
    """
    looked_up = [one for one in conditions if not (has_list and one.criterion is Criterion.SITE)]
    return AllOf(
        tuple(
            AnyOf((REVISIT, own_filter(one)))
            if one.criterion in (Criterion.TYPE, Criterion.SIZE)
            else own_filter(one)
            for one in looked_up
        )
    )


def own_filter(condition: FacetCondition) -> LiveFilter:
    """Return what captures meet that meet a condition by what their own records say.

    Where hops were noted in short, more than these.
    """
    criterion = condition.criterion
    if criterion in _FIXED:
        values = DESCRIPTIONS[criterion].values
        return _FIXED[criterion](
            [place for place, one in enumerate(values) if fits(condition, one)]
        )
    found = _months(condition) if criterion is Criterion.MONTH else _values(condition)
    return Not(found) if condition.negated else found


def fits(condition: FacetCondition, value: str) -> bool:
    """Tell whether a value of the criterion meets a condition."""
    inside = in_span(value, condition) if condition.is_span else value in condition.values
    return inside != condition.negated


def _values(condition: FacetCondition) -> LiveFilter:
    values = condition.values
    if condition.criterion is Criterion.TLD:
        field = "public_suffix"
        found: list[LiveFilter] = [Ending(field, f".{value}") for value in values]
    else:
        field, found = _FIELDS[condition.criterion], []
    # Some are unknown by name.
    found.append(OneOf(field, values))
    return AnyOf((*found, Unset(field)) if UNKNOWN in values else tuple(found))


def _months(condition: FacetCondition) -> LiveFilter:
    """Return the filter of months; no index takes a capture without one."""
    if condition.is_span:
        low, high = condition.low.replace("-", ""), condition.high.replace("-", "")
        return Between("timestamp", low or None, high + _AFTER_DIGITS if high else None)
    months = sorted(value.replace("-", "") for value in condition.values if value != UNKNOWN)
    return AnyOf(tuple(Between("timestamp", one, one + _AFTER_DIGITS) for one in months))


def _statuses(places: Sequence[int]) -> LiveFilter:
    field, ignored = "status_code", STATUSES.index("ignored")
    found: list[LiveFilter] = [
        Between(field, 200 + 100 * place, 300 + 100 * place) for place in places if place < ignored
    ]
    if ignored in places:
        found += [Between(field, None, 200), Between(field, 600), Unset(field)]
    return AnyOf(tuple(found))


def _sizes(places: Sequence[int]) -> LiveFilter:
    ends = [0, *(math.ceil(bound) for bound in SIZE_BOUNDS), MAX_SIZE + 1]
    unknown = SIZES.index(UNKNOWN)
    found: list[LiveFilter] = [
        Between("content_length", ends[place], ends[place + 1])
        for place in places
        if place < unknown
    ]
    return AnyOf((*found, Not(KNOWN_SIZE)) if unknown in places else tuple(found))


def _depths(places: Sequence[int]) -> LiveFilter:
    known = [place for place in places if place <= MAX_DEPTH]
    found: list[LiveFilter] = [_CLOSED_HOPS] if known else []
    for _, run in groupby(enumerate(known), lambda item: item[1] - item[0]):
        depths = [depth for _, depth in run]
        highest = "" if depths[-1] == MAX_DEPTH else depths[-1]
        found.append(Like("hops", f"[^L]*(L[^L]*){{{depths[0]},{highest}}}"))
    return AnyOf((*found, Unset("hops")) if len(known) < len(places) else tuple(found))


_FIXED = {Criterion.STATUS: _statuses, Criterion.SIZE: _sizes, Criterion.DEPTH: _depths}
