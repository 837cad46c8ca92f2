"""Columns of captures without those that a viewer may not see."""

from array import array
from collections.abc import Mapping

import numpy as np

from nwx.bulk.arrays import Array
from nwx.facets.codes import ARCHIVE_FILE
from nwx.facets.columns import FacetColumns
from nwx.facets.revisits import MonthColumns

OffsetsByFile = Mapping[str, "array[int]"]
"""Offsets of captures by `<collection>/<file name>`."""

_OFFSET = "offset"
_REVISIT_ROWS = "revisit_rows"
_OWN = "own_"


def visible_columns(columns: FacetColumns, hidden: OffsetsByFile) -> FacetColumns:
    """Return columns without the captures at hidden places, and without stored combinations.

    Numbers of documents and URLs, and what is known of the payloads of
    revisits, stay as they are. Months without hidden captures are shared.
    """
    offsets = {
        code: np.sort(np.frombuffer(hidden[name], dtype=np.int64))
        for code, name in enumerate(columns.labels(ARCHIVE_FILE))
        if name in hidden
    }
    months, varied = {}, {}
    for month, part in columns.months.items():
        hidden_rows = _hidden_rows(part, offsets)
        rows = columns.varied_rows(month)
        if not hidden_rows.any():
            months[month], varied[month] = part, rows
        elif not hidden_rows.all():
            kept = ~hidden_rows
            months[month], varied[month] = _kept_rows(part, kept), _moved(rows, kept)
    return FacetColumns(months, columns.sizes, varied, columns.urls, columns.labels)


def _hidden_rows(part: MonthColumns, offsets: Mapping[int, Array]) -> Array:
    """Tell which rows of a month are of hidden captures."""
    files, places = part[ARCHIVE_FILE], part[_OFFSET]
    found = np.zeros(len(files), dtype=bool)
    rows = np.flatnonzero(np.isin(files, list(offsets)))
    rows = rows[np.argsort(files[rows], kind="stable")]
    codes, starts = np.unique(files[rows], return_index=True)
    for code, some in zip(codes.tolist(), np.split(rows, starts[1:]), strict=False):
        found[some] = np.isin(places[some], offsets[code])
    return found


def _kept_rows(part: MonthColumns, kept: Array) -> MonthColumns:
    revisits = part[_REVISIT_ROWS]
    of_revisits = kept[revisits]
    columns = {}
    for name, column in part.items():
        if name == _REVISIT_ROWS:
            columns[name] = _moved(revisits, kept)
        else:
            columns[name] = column[of_revisits if name.startswith(_OWN) else kept]
    return columns


def _moved(rows: Array, kept: Array) -> Array:
    """Return where rows are once only those are left that are kept."""
    places = np.cumsum(kept) - 1
    found: Array = places[rows[kept[rows]]]
    return found
