"""Whether what facet questions are answered from agrees with the captures."""

from collections import Counter
from collections.abc import Iterator, Mapping

import numpy as np

from nwx.engine.arrays import Array
from nwx.engine.base import Engine
from nwx.engine.facet_store import CAPTURE_ROW_FIELDS
from nwx.facets import counting
from nwx.facets.criteria import (
    UNKNOWN,
    Criterion,
    depth_of,
    month_of,
    size_category,
    status_category,
    tld_of,
)
from nwx.facets.opened import Opened
from nwx.facets.question import STORED_FEATURES, Features
from nwx.facets.stored_build import fetched_build

COMPARED = 200
"""So many stored combinations are counted again."""

Problem = tuple[str, str]
"""What does not agree, and how."""

_PLAIN = (
    Criterion.STATUS,
    Criterion.MONTH,
    Criterion.TLD,
    Criterion.DEPTH,
    Criterion.COLLECTION,
)
"""Criteria that a capture shows by itself."""


def check_facets(engine: Engine) -> Iterator[Problem]:
    """Yield what of a build does not agree with the captures it was made from.

    Nothing where there is no build, or captures have come since: then
    questions are not answered from it alone.
    """
    store = engine.facet_store()
    stamp = store.stamp()
    build = fetched_build(store)
    if build is None or build.notes.stamp != stamp:
        return
    opened = Opened.of_build(build)
    counted = _counted(engine)
    if store.stamp() == stamp:
        yield from _totals(opened, counted)
        yield from _groupings(opened)


def _counted(engine: Engine) -> dict[Criterion, Counter[str]]:
    """Return how many captures have each value of the criteria, from the captures themselves."""
    counts: dict[Criterion, Counter[str]] = {criterion: Counter() for criterion in Criterion}
    for rows in engine.facet_store().capture_rows():
        for row in rows.rows:
            entry = dict(zip(CAPTURE_ROW_FIELDS, row, strict=True))
            counts[Criterion.STATUS][status_category(entry["status_code"])] += 1
            counts[Criterion.MONTH][month_of(entry["timestamp"] or "")] += 1
            counts[Criterion.TLD][tld_of(entry["public_suffix"] or "")] += 1
            counts[Criterion.DEPTH][depth_of(entry["hops"] or "")] += 1
            counts[Criterion.COLLECTION][entry["collection"]] += 1
            if entry["record_type"] != "revisit":
                counts[Criterion.TYPE][entry["content_type_norm"] or UNKNOWN] += 1
                counts[Criterion.SIZE][size_category(entry["content_length"])] += 1
    return counts


def _totals(opened: Opened, counted: Mapping[Criterion, Counter[str]]) -> Iterator[Problem]:
    """The values of each criterion add up to all captures, and are those of the captures."""
    total = counted[Criterion.STATUS].total()
    chosen = list(counting.choose(opened, {}))
    for criterion in Criterion:
        rows = counting.count_groups(opened, chosen, (criterion,)).rows(opened)
        found = {row.values[0]: row.features.captures for row in rows}
        if sum(found.values()) != total:
            yield criterion.value, f"{sum(found.values())} captures, {total} are in the index"
        for value, number in sorted(counted[criterion].items()):
            # Revisits may have added to the types and sizes.
            wrong = found.get(value, 0) != number
            if criterion not in _PLAIN:
                wrong = found.get(value, 0) < number
            if wrong:
                message = f"{found.get(value, 0)} captures, {number} are in the index"
                yield f"{criterion}={value}", message


def _groupings(opened: Opened) -> Iterator[Problem]:
    """Stored combinations add up to those they refine, and are what the columns say."""
    if not opened.groupings:
        return
    all_of = opened.groupings.get("", {})
    totals = dict(zip(all_of["status"].tolist(), all_of["captures"].tolist(), strict=True))
    for name, columns in opened.groupings.items():
        sums = np.bincount(columns["status"], columns["captures"]).astype(np.int64)
        for status, added in enumerate(sums.tolist()):
            if added > totals.get(status, 0) or (
                opened.least == 1 and added != totals.get(status, 0)
            ):
                message = f"{added} captures add up, {totals.get(status, 0)} have the status"
                yield f"{opened.labels(Criterion.STATUS)[status]} by {name or 'nothing'}", message
        yield from _recounted(opened, name, columns)


def _recounted(opened: Opened, name: str, columns: Mapping[str, Array]) -> Iterator[Problem]:
    """Count some combinations again, from the columns."""
    size = len(columns["status"])
    step = max(1, size * len(opened.groupings) // COMPARED)
    criteria = [Criterion.STATUS, *map(Criterion, filter(None, name.split(",")))]
    for row in range(0, size, step):
        allowed = {}
        for criterion in criteria:
            allowed[criterion] = np.zeros(len(opened.labels(criterion)), dtype=bool)
            allowed[criterion][columns[criterion][row]] = True
        stored = Features(**{feature: int(columns[feature][row]) for feature in STORED_FEATURES})
        found = counting.count_features(opened, list(counting.choose(opened, allowed)))
        if found != stored:
            values = [opened.labels(c)[columns[c][row]] for c in criteria]
            yield " ".join(map(str, values)), f"{stored} is stored, {found} is counted"
