"""Answers from stored combinations, where they hold all that is asked."""

from collections.abc import Collection, Mapping, Sequence

import numpy as np

from nwx.engine.arrays import Array
from nwx.facets.criteria import CUBE, Criterion
from nwx.facets.opened import Opened
from nwx.facets.question import STORED_FEATURES, FacetQuestion, FacetRow, Feature, Features

_AT_MOST_CAPTURES = (Feature.CAPTURES, Feature.UNIQUE_DOCUMENTS, Feature.UNIQUE_URLS)
_AT_MOST_BYTES = (Feature.BYTES, Feature.UNIQUE_BYTES)

Allowed = Mapping[Criterion, Array]
Codes = dict[Criterion, int]


def single_codes(allowed: Allowed) -> Codes | None:
    """Return the one code that each criterion allows, None where stored combinations do not do."""
    found = {}
    for name, fits in allowed.items():
        codes = np.flatnonzero(fits)
        if len(codes) != 1:
            return None
        found[name] = int(codes[0])
    if Criterion.STATUS not in found or Criterion.COLLECTION in found:
        return None
    return found


def stored_total(opened: Opened, allowed: Allowed) -> Features | None:
    """Return the features of a combination, None where it is not stored."""
    codes = single_codes(allowed)
    if codes is None:
        return None
    columns = opened.groupings.get(_grouping(codes))
    if columns is None:
        return None
    rows = _matching(columns, codes)
    return _features(columns, int(rows[0])) if len(rows) else None


def stored_rows(
    opened: Opened, question: FacetQuestion, allowed: Allowed
) -> tuple[list[FacetRow], int | None] | None:
    """Return the first rows of a list, and how many there are, where that is known.

    None where they may not be the first ones: what is not stored has few
    captures, but may come before what is.
    """
    by = question.by
    codes = single_codes({name: fits for name, fits in allowed.items() if name not in by})
    parent = stored_total(opened, {n: f for n, f in allowed.items() if n not in by})
    if codes is None or parent is None or not set(by) <= set(CUBE):
        return None
    columns = opened.groupings.get(_grouping({*codes, *by}))
    if columns is None:
        return None
    rows = _matching(columns, codes)
    lacking = parent.captures - int(columns["captures"][rows].sum(dtype=np.int64))
    lacking_bytes = parent.bytes - int(columns["bytes"][rows].sum(dtype=np.int64))
    for name in by:
        if name in allowed:
            rows = rows[allowed[name][columns[name][rows]]]
    if lacking and not _are_first(opened, question, columns, rows, lacking_bytes):
        return None
    found = None if lacking else len(rows)
    return _rows(opened, by, columns, cut(question, columns, rows)), found


def _are_first(
    opened: Opened,
    question: FacetQuestion,
    columns: Mapping[str, Array],
    rows: Array,
    lacking_bytes: int,
) -> bool:
    """Tell whether nothing that is not stored can be among the first rows."""
    if question.limit is None or question.reverse or len(rows) < question.limit:
        return False
    if question.sort in _AT_MOST_CAPTURES:
        highest = opened.least - 1
    elif question.sort in _AT_MOST_BYTES:
        highest = lacking_bytes
    else:
        return False
    values = np.sort(columns[question.sort][rows])
    return question.limit == 0 or int(values[-question.limit]) > highest


def cut(question: FacetQuestion, columns: Mapping[str, Array], rows: Array) -> Array:
    """Leave out what cannot be among the first rows, where these are many."""
    limit, sort = question.limit, question.sort
    if (
        limit is None
        or sort is None
        or sort not in STORED_FEATURES
        or len(rows) <= limit
        or not limit
    ):
        return rows
    values = columns[sort][rows].astype(np.int64)
    edge = np.partition(values, limit - 1 if question.reverse else -limit)
    fits = values <= edge[limit - 1] if question.reverse else values >= edge[-limit]
    kept: Array = rows[fits]
    return kept


def _grouping(criteria: Collection[Criterion]) -> str:
    return ",".join(name for name in CUBE if name in criteria)


def _matching(columns: Mapping[str, Array], codes: Codes) -> Array:
    mask = np.ones(len(columns["status"]), dtype=bool)
    for name, code in codes.items():
        mask &= columns[name] == code
    return np.flatnonzero(mask)


def _features(columns: Mapping[str, Array], row: int) -> Features:
    return Features(**{name: int(columns[name][row]) for name in STORED_FEATURES})


def _rows(
    opened: Opened, by: Sequence[Criterion], columns: Mapping[str, Array], rows: Array
) -> list[FacetRow]:
    labels = [opened.labels(name) for name in by]
    codes = [columns[name][rows].tolist() for name in by]
    return [
        FacetRow(
            tuple(names[code[place]] for names, code in zip(labels, codes, strict=True)),
            _features(columns, int(row)),
        )
        for place, row in enumerate(rows)
    ]
