"""Check of the stored facet build against the captures."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import compress
from typing import Any

import numpy as np

from nwx.bulk.arrays import Array
from nwx.engine.base import Engine
from nwx.engine.facet_store import CAPTURE_ROW_FIELDS
from nwx.facets.columns import FacetColumns
from nwx.facets.criteria import Criterion
from nwx.facets.feature_counts import count_features
from nwx.facets.groups import count_groups
from nwx.facets.question import STORED_FEATURES, FacetCondition, Features
from nwx.facets.stored_build import with_fetched

RECOUNTED = 200
"""About how many stored combinations are recounted."""

Problem = tuple[str, str]
"""The subject of a difference, and its description."""


def check_facets(engine: Engine) -> Iterator[Problem]:
    """Yield the differences between a build and the captures that it was made from.

    Yields nothing without a build, or if captures were added since: then questions are not
    answered from it alone.
    """
    store = engine.facet_store()
    stamp = store.stamp()
    found = with_fetched(store, lambda build: (build.notes, FacetColumns.of_build(build)))
    if found is None or found[0].stamp != stamp:
        return
    notes, columns = found
    if unknown := list(_unknown_values(columns)):
        yield from unknown  # nothing can be counted by them
        return
    # The name in a list of sites is not a field of captures.
    criteria = [one for one in Criterion if not (notes.sites and one is Criterion.SITE)]
    counted = _counted(engine, criteria)
    if store.stamp() == stamp:
        yield from _totals(columns, counted)
        yield from _groupings(columns)


def _unknown_values(columns: FacetColumns) -> Iterator[Problem]:
    """Yield the columns in which captures have codes without a value."""
    coded = [one for one in Criterion if one.source is one and one is not Criterion.MONTH]
    for criterion in coded:
        values = len(columns.labels(criterion))
        for month, captures in columns.months.items():
            if (highest := int(captures[criterion].max(initial=0))) >= values:
                yield f"{criterion} in {month}", f"code {highest}, {values} values are known"


def _counted(engine: Engine, criteria: Sequence[Criterion]) -> dict[Criterion, Counter[str]]:
    """Return the number of captures per value of the criteria, counted from the captures.

    Revisits are omitted if their value is that of a payload elsewhere.
    """
    counted: dict[Criterion, Counter[str]] = {criterion: Counter() for criterion in criteria}
    for part in engine.facet_store().capture_rows():
        fields = dict(zip(CAPTURE_ROW_FIELDS, zip(*part.rows, strict=True), strict=True))
        payloads = [kind != "revisit" for kind in fields["record_type"]]
        for criterion, counter in counted.items():
            definition = criterion.definition
            values: Iterable[Any] = fields[definition.capture_field]
            if definition.of_payload:
                values = compress(values, payloads)
            for value, number in Counter(values).items():
                counter[definition.of_value(value)] += number
    return counted


def _totals(columns: FacetColumns, counted: Mapping[Criterion, Counter[str]]) -> Iterator[Problem]:
    """Yield the criteria whose value counts differ from the captures'."""
    total = counted[Criterion.STATUS].total()
    selected = list(columns.select({}))
    for criterion in Criterion:
        rows = count_groups(columns, selected, (criterion,)).rows(columns)
        found = {row.values[0]: row.features.captures for row in rows}
        if sum(found.values()) != total:
            yield criterion.value, f"{sum(found.values())} captures, {total} are in the index"
        for value, number in sorted(counted.get(criterion, Counter()).items()):
            # Revisits may have added to the counts of payloads.
            wrong = found.get(value, 0) != number
            if criterion.definition.of_payload:
                wrong = found.get(value, 0) < number
            if wrong:
                message = f"{found.get(value, 0)} captures, {number} are in the index"
                yield f"{criterion}={value}", message


def _groupings(columns: FacetColumns) -> Iterator[Problem]:
    """Yield combinations that do not add up to the coarser ones, or have wrong features."""
    if not columns.groupings:
        return
    statuses = columns.labels(Criterion.STATUS)
    of_all = columns.groupings.get("", {})
    totals = dict(zip(of_all["status"].tolist(), of_all["captures"].tolist(), strict=True))
    for name, combinations in columns.groupings.items():
        sums = np.bincount(combinations["status"], combinations["captures"]).astype(np.int64)
        for status, added in enumerate(sums.tolist()):
            total = totals.get(status, 0)
            if added > total or (columns.min_captures == 1 and added != total):
                message = f"{added} captures add up, {total} have the status"
                yield f"{statuses[status]} by {name or 'nothing'}", message
        yield from _recounted(columns, name, combinations)


def _recounted(
    columns: FacetColumns, name: str, combinations: Mapping[str, Array]
) -> Iterator[Problem]:
    """Recount a sample of combinations from the columns; yield those with other features."""
    size = len(combinations["status"])
    step = max(1, size * len(columns.groupings) // RECOUNTED)
    criteria = [Criterion.STATUS, *map(Criterion.named, filter(None, name.split(",")))]
    for row in range(0, size, step):
        values = [columns.labels(one)[combinations[one][row]] for one in criteria]
        where = [FacetCondition(one, (v,)) for one, v in zip(criteria, values, strict=True)]
        known = {feature: int(combinations[feature][row]) for feature in STORED_FEATURES}
        stored = Features(**known)
        found = count_features(columns, list(columns.select(columns.allowed(where))))
        if found != stored:
            yield " ".join(values), f"{stored} is stored, {found} is counted"
