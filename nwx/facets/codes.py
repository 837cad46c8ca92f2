"""Captures as numbers: codes of criteria, numbers of URLs and digests; payloads of revisits."""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from nwx.bulk.arrays import Array
from nwx.engine.facet_store import CAPTURE_ROW_FIELDS
from nwx.errors import EngineError
from nwx.facets.criteria import COLUMN_CRITERIA, Criterion, known_sizes
from nwx.facets.definitions import UNKNOWN, or_unknown
from nwx.facets.sites import Sites

ARCHIVE_FILE = "source"
"""The column of captures' archive files, as `<collection>/<file name>`."""

LABEL_TABLES = (*(criterion.value for criterion in COLUMN_CRITERIA), ARCHIVE_FILE)
"""The columns of codes."""

_INTEGERS = ("status_code", "content_length", "source_file_offset")
CAPTURE_SCHEMA = {
    name: pl.Int64() if name in _INTEGERS else pl.String() for name in CAPTURE_ROW_FIELDS
}
"""The columns of captures in bulk, with their types."""

Hashes = npt.NDArray[np.uint64]
"""64-bit hashes of texts; a text is identified by two hashes with different seeds."""

_Ints = npt.NDArray[np.int64]
_SMALLEST = 1 << 10
_FULL = 0.6
_MOST_BITS = 63
_AT_ONCE = 1 << 22


class Labels:
    """The values of all criteria, and the archive files, by their codes.

    `values` has the list of each of LABEL_TABLES; a code is a position in it. A code never changes.
    Criteria with fixed values have these first, in their order; for others UNKNOWN is first.
    """

    def __init__(self, known: Mapping[str, Sequence[str]] | None = None) -> None:
        self.values = {name: list((known or {}).get(name, _first(name))) for name in LABEL_TABLES}
        self._codes = {
            name: {value: code for code, value in enumerate(values)}
            for name, values in self.values.items()
        }

    def codes(self, name: str, values: Iterable[str]) -> list[int]:
        """Return the codes of values, assigning new ones to new values."""
        known, all_values = self._codes[name], self.values[name]
        found = []
        for value in values:
            code = known.get(value)
            if code is None:
                code = known[value] = len(all_values)
                all_values.append(value)
            found.append(code)
        return found

    def column(self, name: str, values: pl.Series) -> Array:
        """Return the codes of a column of texts (uint32), assigning new ones to new values."""
        different = values.unique()
        codes = self.codes(name, different.to_list())
        found = values.replace_strict(different, pl.Series(codes, dtype=pl.UInt32))
        return found.to_numpy()


def _first(name: str) -> tuple[str, ...]:
    fixed = () if name == ARCHIVE_FILE else Criterion.named(name).definition.values
    return fixed or (UNKNOWN,)


def packed(high: Array, low: Array, low_bits: int) -> Array:
    """Return pairs of numbers as one number each (uint64): `high << low_bits | low`.

    Raises EngineError if a pair does not fit into 63 bits, or its lower half not into `low_bits`.
    """
    check_bits(int(high.max(initial=0)).bit_length() + low_bits)
    if int(low.max(initial=0)).bit_length() > low_bits:
        check_bits(64)
    pairs = high.astype(np.uint64)
    pairs <<= np.uint64(low_bits)
    pairs |= low.astype(np.uint64, copy=False)
    return pairs


def check_bits(bits: int) -> None:
    """Raise EngineError if numbers of captures, URLs or groups need more than 63 bits."""
    if bits > _MOST_BITS:
        raise EngineError(
            "there are too many captures, URLs or values to count facets: their numbers need"
            f" more than {_MOST_BITS} bits; split the archive"
        )


@dataclass(frozen=True, slots=True)
class CaptureCodes:
    """Captures as arrays of equal length.

    `columns` are the codes of each of LABEL_TABLES (unsigned integers), `size_bytes` and `offset`
    (int64) and `revisit` (bool). Unknown sizes have 0 bytes and the category unknown. `url` and
    `digest` are two hashes each.
    """

    columns: dict[str, Array]
    url: tuple[Hashes, Hashes]
    digest: tuple[Hashes, Hashes]


def to_frame(rows: Sequence[tuple[Any, ...]]) -> pl.DataFrame:
    """Return rows of captures (CAPTURE_ROW_FIELDS) as a table (CAPTURE_SCHEMA)."""
    return pl.DataFrame(rows, schema=CAPTURE_SCHEMA, orient="row")


def encode(
    frame: pl.DataFrame, labels: Labels, sites: Sites | None, seeds: tuple[int, int]
) -> CaptureCodes:
    """Return captures (CAPTURE_SCHEMA) as codes; new values get new labels.

    `seeds` are for the hashes. `sites` names URLs.
    """
    sizes = np.maximum(known_sizes(frame["content_length"]), 0)
    columns: dict[str, Array] = {"size_bytes": sizes}
    for criterion in COLUMN_CRITERIA:
        definition = criterion.definition
        values = definition.of_series(frame[definition.capture_field])
        if criterion is Criterion.SITE and sites is not None:
            named = sites.names(frame["urlkey"].to_list(), values.to_list())
            values = pl.Series(named, dtype=pl.String)
        columns[criterion] = (
            values.to_numpy() if definition.values else labels.column(criterion, values)
        )
    files = or_unknown(frame["collection"] + "/" + frame["source_file"])
    columns[ARCHIVE_FILE] = labels.column(ARCHIVE_FILE, files)
    columns["revisit"] = (frame["record_type"] == "revisit").fill_null(False).to_numpy()
    columns["offset"] = frame["source_file_offset"].fill_null(0).to_numpy()
    return CaptureCodes(columns, _hashes(frame["url"], seeds), _digests(frame["digest"], seeds))


def _hashes(values: pl.Series, seeds: tuple[int, int]) -> tuple[Hashes, Hashes]:
    return values.hash(seeds[0]).to_numpy(), values.hash(seeds[1]).to_numpy()


def _digests(digests: pl.Series, seeds: tuple[int, int]) -> tuple[Hashes, Hashes]:
    """Return the hashes of digests; a capture without a digest gets unique random hashes."""
    first, second = (found.copy() for found in _hashes(digests, seeds))
    missing = np.flatnonzero((digests.is_null() | (digests == "")).to_numpy())
    chance = np.frombuffer(os.urandom(16 * len(missing)), dtype=np.uint64).reshape(2, -1)
    first[missing], second[missing] = chance
    return first, second


class DenseNumbers:
    """Numbers from 0 (int64) for pairs of hashes, in order of first occurrence.

    An open-addressing hash table with bulk lookup. Two texts count as equal if both hashes are
    equal: by chance in one of 10**18 archives with 10**10 texts, and not on purpose if the seeds of
    the hashes are secret.
    """

    def __init__(self, first: Hashes | None = None, second: Hashes | None = None) -> None:
        self.count = 0
        self._make_room(0)
        if first is not None and second is not None:
            self.extend(first, second)

    def extend(self, first: Hashes, second: Hashes) -> None:
        """Assign the next numbers to distinct new pairs, in order."""
        if self.count + len(first) > _FULL * len(self._numbers):
            self._grow(self.count + len(first))
        for start in range(0, len(first), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            self._restore(first[part], second[part])

    def assign(self, first: Hashes, second: Hashes) -> _Ints:
        """Return the numbers of pairs, assigning new ones to new pairs."""
        found = np.empty(len(first), dtype=np.int64)
        for start in range(0, len(first), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            found[part] = self._assign(first[part], second[part])
        return found

    def hashes(self, start: int) -> tuple[Hashes, Hashes]:
        """Return the pairs of the numbers from `start` on, in order."""
        slots = np.flatnonzero(self._numbers > start)
        slots = slots[np.argsort(self._numbers[slots])]
        return self._first[slots], self._second[slots]

    def _assign(self, first: Hashes, second: Hashes) -> _Ints:
        if self.count + len(first) > _FULL * len(self._numbers):
            self._grow(self.count + len(first))
        mask = np.uint64(len(self._numbers) - 1)
        found = np.empty(len(first), dtype=np.int64)
        rows = np.arange(len(first))
        slots = (first & mask).astype(np.int64)
        while len(rows):
            self._claim(rows, slots, first, second)
            mine = (self._first[slots] == first[rows]) & (self._second[slots] == second[rows])
            found[rows[mine]] = self._numbers[slots[mine]] - 1
            rows, slots = rows[~mine], (slots[~mine] + 1) & int(mask)
        return found

    def _claim(self, rows: _Ints, slots: _Ints, first: Hashes, second: Hashes) -> None:
        """Assign each empty slot to one of the rows that hash to it."""
        empty = self._numbers[slots] == 0
        rows, slots = rows[empty], slots[empty]
        self._numbers[slots] = -1 - rows
        won = self._numbers[slots] == -1 - rows
        rows, slots = rows[won], slots[won]
        self._first[slots], self._second[slots] = first[rows], second[rows]
        self._numbers[slots] = self.count + 1 + np.arange(len(rows))
        self.count += len(rows)

    def _grow(self, wanted: int) -> None:
        first, second = self.hashes(0)
        self.count = 0
        self._make_room(wanted)
        self.extend(first, second)

    def _restore(self, first: Hashes, second: Hashes) -> None:
        """Insert distinct pairs, numbered in order."""
        numbers = self.count + 1 + np.arange(len(first))
        mask = len(self._numbers) - 1
        rows = np.arange(len(first))
        slots = (first & np.uint64(mask)).astype(np.int64)
        while len(rows):
            empty = self._numbers[slots] == 0
            self._numbers[slots[empty]] = numbers[rows[empty]]
            won = self._numbers[slots] == numbers[rows]
            put, at = rows[won], slots[won]
            self._first[at], self._second[at] = first[put], second[put]
            rows, slots = rows[~won], (slots[~won] + 1) & mask
        self.count += len(first)

    def _make_room(self, wanted: int) -> None:
        size = _SMALLEST
        while wanted > _FULL * size:
            size *= 2
        self._first = np.zeros(size, dtype=np.uint64)
        self._second = np.zeros(size, dtype=np.uint64)
        self._numbers = np.zeros(size, dtype=np.int64)


MonthColumns = dict[str, Array]
"""The captures of a month as arrays of equal length, one row per capture.

The columns are the codes of all criteria except the month, `source` (the code
of the archive file), `offset`, `size_bytes`, and the numbers `url` and
`digest`: all unsigned. For revisits only, whose rows are `revisit_rows`:
`own_type`, `own_size` and `own_size_bytes`, the values in their own records.
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
    """Payloads in the order of their distinct keys: digest and URL, or digest alone."""

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
    """Return the columns of months in which a revisit gets another type or size.

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
    """Return the payloads that revisits may refer to: by digest and URL, and by digest."""
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
    return _first_rows(_both(found), found), _first_rows(found["digest"].astype(np.int64), found)


def _ranks(types: list[str]) -> Array:
    """Return the rank of each type by name, unknown last."""
    ranks = np.empty(len(types), dtype=np.int64)
    order = Criterion.TYPE.definition.order
    ranks[sorted(range(len(types)), key=lambda code: order(types[code]))] = np.arange(len(types))
    return ranks


def _first_rows(keys: Array, columns: MonthColumns) -> _Payloads:
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
