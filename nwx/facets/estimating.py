"""Estimated answers, from what the records of captures say themselves."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from nwx.engine.selection import ALL, AllOf, Estimate, LiveFilter, LiveSelection, OneOf
from nwx.facets.criteria import (
    UNKNOWN,
    Criterion,
    depth_of,
    month_of,
    size_category,
    status_category,
    tld_of,
)
from nwx.facets.filters import KNOWN_SIZE, own_filter
from nwx.facets.question import FacetCondition, FacetQuestion, FacetRow, Features

MOST_ROWS = 1_000
"""So many rows of a list are estimated, those of the most captures."""

Values = tuple[str, ...]

_VALUES: dict[Criterion, tuple[str, Callable[[Any], str]]] = {
    Criterion.STATUS: ("status_code", status_category),
    Criterion.MONTH: ("timestamp", lambda value: month_of(value or "")),
    Criterion.SITE: ("domain", lambda value: value or UNKNOWN),
    Criterion.TYPE: ("content_type_norm", lambda value: value or UNKNOWN),
    Criterion.TLD: ("public_suffix", lambda value: tld_of(value or "")),
    Criterion.SIZE: ("content_length", size_category),
    Criterion.DEPTH: ("hops", lambda value: depth_of(value or "")),
    Criterion.COLLECTION: ("collection", lambda value: value or UNKNOWN),
}
"""The field of each criterion, and what its values are counted as."""


def estimate(
    selection: LiveSelection, question: FacetQuestion
) -> tuple[Features, list[FacetRow], int | None]:
    """Return features of a question and of the rows of its list, and how many rows there are.

    That is None where there are more than MOST_ROWS.
    """
    wanted = AllOf(tuple(map(own_filter, question.where)))
    (total,) = selection.estimates(wanted, [ALL], KNOWN_SIZE)
    counted, hops = _values(selection, wanted, question.by)
    values = [found for found, _ in counted.most_common(MOST_ROWS)]
    parts = [_part(question.by, found, hops) for found in values]
    rows = selection.estimates(wanted, parts, KNOWN_SIZE) if parts else []
    listed = [FacetRow(found, _features(row)) for found, row in zip(values, rows, strict=True)]
    return _features(total), listed, None if len(counted) > MOST_ROWS else len(counted)


def _values(
    selection: LiveSelection, wanted: LiveFilter, by: Sequence[Criterion]
) -> tuple[Counter[Values], dict[str, set[str]]]:
    """Return how many captures each row of a list has, and the hops of each depth."""
    fields = [_VALUES[name][0] for name in by]
    naming = [_VALUES[name][1] for name in by]
    counted: Counter[Values] = Counter()
    hops: dict[str, set[str]] = {}
    if not by:
        return counted, hops
    for groups in selection.groups(wanted, fields):
        for values, captures in zip(groups.values, groups.captures, strict=True):
            named = tuple(name(value) for name, value in zip(naming, values, strict=True))
            counted[named] += captures
            for name, depth, value in zip(by, named, values, strict=True):
                if name is Criterion.DEPTH and value:
                    hops.setdefault(depth, set()).add(value)
    return counted, hops


def _part(by: Sequence[Criterion], values: Values, hops: Mapping[str, set[str]]) -> LiveFilter:
    found: list[LiveFilter] = []
    for name, value in zip(by, values, strict=True):
        if name is Criterion.DEPTH and value in hops:
            found.append(OneOf("hops", tuple(hops[value])))
        else:
            found.append(own_filter(FacetCondition(name, (value,))))
    return AllOf(tuple(found))


def _features(found: Estimate) -> Features:
    """Return features; documents have the size of captures on the average."""
    average = found.size_bytes / found.sized if found.sized else 0
    return Features(
        captures=found.captures,
        unique_documents=found.documents,
        unique_urls=found.urls,
        bytes=found.size_bytes,
        unique_bytes=min(found.size_bytes, round(average * found.documents)),
    )
