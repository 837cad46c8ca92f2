"""Type and size of the payloads that revisits refer to, and sizes of documents.

A revisit refers to the captures of its digest and URL, else of its digest. If these captures
differ, the largest known size is used, and of several types with that size the first by name.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from nwx.bulk.arrays import Array
from nwx.facets.codes import packed
from nwx.facets.criteria import Criterion
from nwx.facets.definitions import UNKNOWN

MonthColumns = dict[str, Array]
"""The captures of a month as arrays of one length, a row a capture.

Codes of the criteria but the month, `source` (the code of the archive file),
`offset`, `size_bytes`, and the numbers `url` and `digest`: all unsigned. And
of the revisits alone, whose rows are `revisit_rows`: `own_type`, `own_size`
and `own_size_bytes`, what their own records say.
"""

_SIZE_UNKNOWN = Criterion.SIZE.definition.values.index(UNKNOWN)
_TYPE_UNKNOWN = 0
_OF_PAYLOAD = (
    *(one.value for one in Criterion if one.definition.of_payload),
    "size_bytes",
)
_URL_BITS = 32


@dataclass(frozen=True, slots=True)
class _Payloads:
    """Payloads in order, each key once; a key is digest and URL, or a digest."""

    keys: Array
    columns: MonthColumns

    def find(self, keys: Array) -> tuple[Array, MonthColumns]:
        """Return which keys exist (bool), and the payload columns of these."""
        places = np.searchsorted(self.keys, keys)
        there = places < len(self.keys)
        there[there] = self.keys[places[there]] == keys[there]
        return there, {name: self.columns[name][places[there]] for name in _OF_PAYLOAD}


def with_own(columns: MonthColumns) -> MonthColumns:
    """Return the columns of a month with the own values of its revisits as extra columns.

    `columns` have `revisit` (bool) instead of `revisit_rows`.
    """
    revisits = np.flatnonzero(columns["revisit"])
    kept = {name: column for name, column in columns.items() if name != "revisit"}
    own = {f"own_{name}": columns[name][revisits] for name in _OF_PAYLOAD}
    return kept | {"revisit_rows": revisits} | own


def resolve_revisits(
    months: Mapping[str, MonthColumns], types: list[str]
) -> dict[str, MonthColumns]:
    """Return the columns of the months whose revisits get another type or size.

    `types` are the values of the criterion by their codes. Raises EngineError on more than 2**32
    URLs or 2**31 documents.
    """
    by_both, by_digest = _payloads(months, types)
    changed = {}
    for month, columns in months.items():
        if len(columns["revisit_rows"]):
            resolved = _resolved(columns, by_both, by_digest)
            if any((resolved[name] != columns[name]).any() for name in _OF_PAYLOAD):
                changed[month] = columns | resolved
    return changed


def _payloads(months: Mapping[str, MonthColumns], types: list[str]) -> tuple[_Payloads, _Payloads]:
    """Return the payloads that revisits may refer to, by digest and URL and by digest."""
    size = 1 + max((int(one["digest"].max()) for one in months.values()), default=0)
    wanted = np.zeros(size, dtype=bool)
    for columns in months.values():
        wanted[columns["digest"][columns["revisit_rows"]]] = True
    pieces = []
    for columns in months.values():
        fits = wanted[columns["digest"]]
        fits[columns["revisit_rows"]] = False
        rows = np.flatnonzero(fits)
        pieces.append({name: columns[name][rows] for name in ("digest", "url", *_OF_PAYLOAD)})
    found = {name: np.concatenate([one[name] for one in pieces]) for name in pieces[0]}
    unknown = found["size"] == _SIZE_UNKNOWN
    ranks = _ranks(types)[found["type"]]
    order = np.lexsort((ranks, -found["size_bytes"].astype(np.int64), unknown))
    found = {name: column[order] for name, column in found.items()}
    return _first(_both(found), found), _first(found["digest"].astype(np.int64), found)


def _ranks(types: list[str]) -> Array:
    """Return the place of each type by name, the unknown last."""
    ranks = np.empty(len(types), dtype=np.int64)
    order = Criterion.TYPE.definition.order
    ranks[sorted(range(len(types)), key=lambda code: order(types[code]))] = np.arange(len(types))
    return ranks


def _first(keys: Array, columns: MonthColumns) -> _Payloads:
    different, first = np.unique(keys, return_index=True)
    return _Payloads(different, {name: columns[name][first] for name in _OF_PAYLOAD})


def _both(columns: MonthColumns) -> Array:
    return packed(columns["digest"], columns["url"], _URL_BITS)


def _resolved(columns: MonthColumns, by_both: _Payloads, by_digest: _Payloads) -> MonthColumns:
    rows = columns["revisit_rows"]
    own = {name: columns[f"own_{name}"].astype(np.int64) for name in _OF_PAYLOAD}
    keys = {name: columns[name][rows] for name in ("digest", "url")}
    for payloads, wanted in (
        (by_digest, keys["digest"].astype(np.int64)),
        (by_both, _both(keys)),
    ):
        there, found = payloads.find(wanted)
        _take(own, there, found)
    resolved = {}
    for name in _OF_PAYLOAD:
        resolved[name] = columns[name].astype(np.int64)
        resolved[name][rows] = own[name]
    return resolved


def _take(own: MonthColumns, there: Array, found: MonthColumns) -> None:
    """Replace the own values of revisits with the known values of their payloads."""
    known = found["type"] != _TYPE_UNKNOWN
    own["type"][np.flatnonzero(there)[known]] = found["type"][known]
    known = found["size"] != _SIZE_UNKNOWN
    sized = np.flatnonzero(there)[known]
    own["size"][sized] = found["size"][known]
    own["size_bytes"][sized] = found["size_bytes"][known]


def document_sizes(
    months: Mapping[str, MonthColumns], documents: int
) -> tuple[Array, Array, dict[str, Array]]:
    """Return the bytes of each document, and which documents differ between captures.

    The first is int64[documents], the second bool[documents]: documents whose captures differ have
    0 bytes and are marked. The third has the rows of their captures (int64), by the months that
    have any.
    """
    sizes = np.zeros(documents, dtype=np.int64)
    varied = np.zeros(documents, dtype=bool)
    for columns in months.values():
        sizes[columns["digest"]] = columns["size_bytes"]
    for columns in months.values():
        differs = sizes[columns["digest"]] != columns["size_bytes"]
        varied[columns["digest"][differs]] = True
    sizes[varied] = 0
    rows = {name: np.flatnonzero(varied[columns["digest"]]) for name, columns in months.items()}
    return sizes, varied, {name: found for name, found in rows.items() if len(found)}
