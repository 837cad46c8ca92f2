"""Revisits with the type and size of the payload that they refer to.

A revisit refers to what was captured of its digest and URL, else of its
digest. Where such captures do not agree, the largest known size counts, and
of several types with that size the first by name.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from nwx.engine.arrays import Array
from nwx.facets.criteria import SIZES, UNKNOWN

PayloadColumns = dict[str, Array]

ROWS = "rows-"
"""What the names of arrays begin with that list captures of documents of several sizes."""

_SIZE_UNKNOWN = SIZES.index(UNKNOWN)
_TAKEN = ("type", "size", "size_bytes")


@dataclass(frozen=True, slots=True)
class _Payloads:
    """Payloads in order, each key once; a key is digest and URL, or a digest."""

    keys: Array
    columns: PayloadColumns

    def find(self, keys: Array) -> tuple[Array, PayloadColumns]:
        """Tell which keys there are, and give what is known of those."""
        places = np.searchsorted(self.keys, keys)
        there = places < len(self.keys)
        there[there] = self.keys[places[there]] == keys[there]
        return there, {name: self.columns[name][places[there]] for name in _TAKEN}


def with_own(columns: PayloadColumns) -> PayloadColumns:
    """Return the columns of a month with what its revisits say of themselves kept beside."""
    revisits = np.flatnonzero(columns["revisit"])
    kept = {name: column for name, column in columns.items() if name != "revisit"}
    own = {f"own_{name}": columns[name][revisits] for name in _TAKEN}
    return kept | {"revisit_rows": revisits} | own


def resolve_revisits(
    months: Mapping[str, PayloadColumns], types: list[str]
) -> dict[str, PayloadColumns]:
    """Return the columns of those months whose revisits are to have another type or size.

    `types` are the values of the criterion by their codes.
    """
    by_both, by_digest = _payloads(months, types)
    changed = {}
    for month, columns in months.items():
        if len(columns["revisit_rows"]):
            resolved = _resolved(columns, by_both, by_digest)
            if any((resolved[name] != columns[name]).any() for name in _TAKEN):
                changed[month] = columns | resolved
    return changed


def _payloads(
    months: Mapping[str, PayloadColumns], types: list[str]
) -> tuple[_Payloads, _Payloads]:
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
        pieces.append({name: columns[name][rows] for name in ("digest", "url", *_TAKEN)})
    found = {name: np.concatenate([one[name] for one in pieces]) for name in pieces[0]}
    ranks = np.empty(len(types), dtype=np.int64)
    ranks[sorted(range(len(types)), key=lambda code: (types[code] == UNKNOWN, types[code]))] = (
        np.arange(len(types))
    )
    unknown = found["size"] == _SIZE_UNKNOWN
    order = np.lexsort((ranks[found["type"]], -found["size_bytes"].astype(np.int64), unknown))
    found = {name: column[order] for name, column in found.items()}
    return _first(_both(found), found), _first(found["digest"].astype(np.int64), found)


def _first(keys: Array, columns: PayloadColumns) -> _Payloads:
    different, first = np.unique(keys, return_index=True)
    return _Payloads(different, {name: columns[name][first] for name in _TAKEN})


def _both(columns: PayloadColumns) -> Array:
    return columns["digest"].astype(np.uint64) << np.uint64(32) | columns["url"].astype(np.uint64)


def _resolved(columns: PayloadColumns, by_both: _Payloads, by_digest: _Payloads) -> PayloadColumns:
    rows = columns["revisit_rows"]
    own = {name: columns[f"own_{name}"].astype(np.int64) for name in _TAKEN}
    keys = {name: columns[name][rows] for name in ("digest", "url")}
    for payloads, wanted in (
        (by_digest, keys["digest"].astype(np.int64)),
        (by_both, _both(keys)),
    ):
        there, found = payloads.find(wanted)
        _take(own, there, found)
    resolved = {}
    for name in _TAKEN:
        resolved[name] = columns[name].astype(np.int64)
        resolved[name][rows] = own[name]
    return resolved


def _take(own: PayloadColumns, there: Array, found: PayloadColumns) -> None:
    """Put what is known of payloads in the place of what revisits say of themselves."""
    typed = np.flatnonzero(there)[found["type"] != 0]
    own["type"][typed] = found["type"][found["type"] != 0]
    known = found["size"] != _SIZE_UNKNOWN
    sized = np.flatnonzero(there)[known]
    own["size"][sized] = found["size"][known]
    own["size_bytes"][sized] = found["size_bytes"][known]


def document_sizes(
    months: Mapping[str, PayloadColumns], documents: int
) -> tuple[Array, Array, dict[str, Array]]:
    """Return the bytes of each document, and where they differ from capture to capture.

    Documents that differ have 0 bytes there and are marked in the second;
    the third has the rows of their captures by month, where there are any.
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
