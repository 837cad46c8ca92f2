"""Captures in bulk, as codes of their criteria and hashes of what they hold."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from nwx.engine.arrays import Array
from nwx.engine.facet_store import CAPTURE_ROW_FIELDS
from nwx.facets.criteria import (
    DEPTHS,
    MAX_DEPTH,
    MAX_SIZE,
    SIZE_BOUNDS,
    SIZES,
    STATUSES,
    UNKNOWN,
    Criterion,
)
from nwx.facets.ids import Hashes
from nwx.facets.labels import SOURCE, Labels
from nwx.facets.sites import Sites

_NUMBERS = ("status_code", "content_length", "source_file_offset")
SCHEMA = {name: pl.Int64() if name in _NUMBERS else pl.String() for name in CAPTURE_ROW_FIELDS}
_MONTH = r"^[0-9]{4}(?:0[1-9]|1[0-2])"
_IGNORED = STATUSES.index("ignored")

SIZE_UNKNOWN = SIZES.index(UNKNOWN)


@dataclass(frozen=True, slots=True)
class Encoded:
    """Captures as arrays: codes of the criteria, `size_bytes`, `revisit`, `source` and `offset`.

    Unknown sizes have 0 bytes, and the category of the unknown.
    """

    columns: dict[str, Array]
    url: tuple[Hashes, Hashes]
    digest: tuple[Hashes, Hashes]


def to_frame(rows: Sequence[tuple[Any, ...]]) -> pl.DataFrame:
    """Return captures in bulk from tuples."""
    return pl.DataFrame(rows, schema=SCHEMA, orient="row")


def encode(
    frame: pl.DataFrame, labels: Labels, sites: Sites | None, seeds: tuple[int, int]
) -> Encoded:
    """Return captures as codes, with new labels where they have new values."""
    sizes = frame["content_length"].fill_null(-1).to_numpy()
    known = np.where((sizes >= 0) & (sizes <= MAX_SIZE), sizes, -1)
    columns: dict[str, Array] = {
        Criterion.STATUS: _statuses(frame["status_code"]),
        Criterion.MONTH: _coded(labels, Criterion.MONTH, _months(frame["timestamp"])),
        Criterion.SITE: _coded(labels, Criterion.SITE, _sites(frame, sites)),
        Criterion.TYPE: _coded(labels, Criterion.TYPE, _or_unknown(frame["content_type_norm"])),
        Criterion.TLD: _coded(labels, Criterion.TLD, _tlds(frame["public_suffix"])),
        Criterion.SIZE: size_codes(known),
        Criterion.DEPTH: _depths(frame["hops"]),
        Criterion.COLLECTION: _coded(labels, Criterion.COLLECTION, frame["collection"]),
        "size_bytes": np.maximum(known, 0),
        "revisit": (frame["record_type"] == "revisit").fill_null(False).to_numpy(),
        SOURCE: _coded(
            labels, SOURCE, _or_unknown(frame["collection"] + "/" + frame["source_file"])
        ),
        "offset": frame["source_file_offset"].fill_null(0).to_numpy(),
    }
    return Encoded(columns, _hashes(frame["url"], seeds), _digests(frame["digest"], seeds))


def size_codes(sizes: Array) -> Array:
    """Return the codes of the categories of sizes, below 0 being unknown."""
    codes = np.searchsorted(np.ceil(SIZE_BOUNDS), sizes, side="right").astype(np.uint8)
    codes[sizes < 0] = SIZE_UNKNOWN
    return codes


def _statuses(status: pl.Series) -> Array:
    codes = status.fill_null(0).to_numpy() // 100 - 2
    return np.where((codes >= 0) & (codes < _IGNORED), codes, _IGNORED).astype(np.uint8)


def _months(timestamps: pl.Series) -> pl.Series:
    month = timestamps.str.slice(0, 4) + "-" + timestamps.str.slice(4, 2)
    valid = timestamps.str.contains(_MONTH).fill_null(False)
    return month.zip_with(valid, pl.Series([UNKNOWN], dtype=pl.String))


def _sites(frame: pl.DataFrame, sites: Sites | None) -> pl.Series:
    domains = _or_unknown(frame["domain"])
    if sites is None:
        return domains
    return pl.Series(sites.names(frame["urlkey"].to_list(), domains.to_list()), dtype=pl.String)


def _tlds(suffixes: pl.Series) -> pl.Series:
    return _or_unknown(suffixes.str.extract(r"([^.]*)$"))


def _depths(hops: pl.Series) -> Array:
    unknown = hops.is_null() | (hops == "")
    closed = hops.str.extract(r"^([0-9]{1,4})\+").cast(pl.Int64).fill_null(0)
    depths = (hops.str.count_matches("L").fill_null(0) + closed).clip(0, MAX_DEPTH)
    codes = depths.to_numpy().astype(np.uint8)
    return np.where(unknown.to_numpy(), np.uint8(len(DEPTHS) - 1), codes)


def _or_unknown(values: pl.Series) -> pl.Series:
    unknown = pl.Series([UNKNOWN], dtype=pl.String)
    return values.fill_null(UNKNOWN).zip_with((values != "").fill_null(True), unknown)


def _coded(labels: Labels, name: str, values: pl.Series) -> Array:
    different = values.unique()
    codes = labels.codes(name, different.to_list())
    found = values.replace_strict(different, pl.Series(codes, dtype=pl.UInt32))
    return found.to_numpy()


def _hashes(values: pl.Series, seeds: tuple[int, int]) -> tuple[Hashes, Hashes]:
    return values.hash(seeds[0]).to_numpy(), values.hash(seeds[1]).to_numpy()


def _digests(digests: pl.Series, seeds: tuple[int, int]) -> tuple[Hashes, Hashes]:
    """Return the hashes of digests; those of captures without one are like no others."""
    first, second = (found.copy() for found in _hashes(digests, seeds))
    missing = np.flatnonzero((digests.is_null() | (digests == "")).to_numpy())
    chance = np.frombuffer(os.urandom(16 * len(missing)), dtype=np.uint64).reshape(2, -1)
    first[missing], second[missing] = chance
    return first, second
