"""Captures looked up for one question, with the payloads that their revisits refer to."""

import secrets
from collections.abc import Iterator, Sequence

import numpy as np
import polars as pl

from nwx.engine.arrays import Array
from nwx.engine.selection import AllOf, Groups, LiveFilter, LiveSelection, Not, OneOf
from nwx.facets.criteria import Criterion
from nwx.facets.filters import REVISIT, filter_of
from nwx.facets.frames import SCHEMA, Encoded, encode
from nwx.facets.ids import Ids
from nwx.facets.labels import Labels
from nwx.facets.opened import Opened
from nwx.facets.payloads import PayloadColumns, document_sizes, resolve_revisits, with_own
from nwx.facets.question import FacetCondition
from nwx.facets.sites import Sites

MOST = 200_000
"""So many captures are looked up for one question at most."""

PLACES = ("timestamp", "source_file", "source_file_offset", "collection")
"""The fields that tell where captures are, and in which month."""

_COUNTED = ("url", "digest", "content_length", "record_type")
_FIELDS: dict[Criterion, tuple[str, ...]] = {
    Criterion.STATUS: ("status_code",),
    Criterion.MONTH: ("timestamp",),
    Criterion.SITE: ("domain",),
    Criterion.TYPE: ("content_type_norm",),
    Criterion.TLD: ("public_suffix",),
    Criterion.DEPTH: ("hops",),
    Criterion.COLLECTION: ("collection",),
}
_PAYLOAD = ("digest", "content_type_norm", "content_length", "record_type")
_AT_ONCE = 5_000
_LOOKED_UP = 8_000
"""Longer values are in no index; what has them is found in any case."""

_ORIGINALS = ""
"""The month of payloads that revisits refer to, which are not counted."""


def look_up(
    selection: LiveSelection,
    where: Sequence[FacetCondition],
    by: Sequence[Criterion],
    sites: Sites | None,
    also: Sequence[str] = (),
) -> Opened | None:
    """Return captures, all that meet the conditions among them; None of more than MOST.

    They have only the criteria of the conditions and of `by`, and the
    fields `also`.
    """
    wanted = filter_of(where, has_list=sites is not None)
    if selection.count(wanted) > MOST:
        return None
    criteria = {*by, *(condition.criterion for condition in where)}
    fields = _fields(criteria, sites, also)
    captures = _frame(selection.groups(wanted, fields), fields)
    originals = _originals(selection, captures)
    return _opened(captures, originals, sites)


def _fields(criteria: set[Criterion], sites: Sites | None, also: Sequence[str]) -> tuple[str, ...]:
    found = [name for criterion in sorted(criteria) for name in _FIELDS.get(criterion, ())]
    if sites is not None and Criterion.SITE in criteria:
        found.append("urlkey")
    return tuple(dict.fromkeys((*also, *found, *_COUNTED)))


def _frame(groups: Iterator[Groups], fields: Sequence[str]) -> pl.DataFrame:
    """Return groups as captures in bulk, each as often as it is there."""
    pieces = [_spread(found, fields) for found in groups]
    frame = pl.concat(pieces) if pieces else _spread(Groups((), ()), fields)
    missing = [
        pl.lit(None, kind).alias(name) for name, kind in SCHEMA.items() if name not in fields
    ]
    return (
        frame.with_columns(missing)
        .select(SCHEMA.keys())
        .with_columns(pl.col("collection").fill_null(""))
    )


def _spread(groups: Groups, fields: Sequence[str]) -> pl.DataFrame:
    schema = {name: SCHEMA[name] for name in fields}
    frame = pl.DataFrame(list(groups.values), schema=schema, orient="row")
    counts = np.array(groups.captures, dtype=np.int64)
    if int(counts.sum()) == len(counts):
        return frame
    return frame[np.repeat(np.arange(len(counts)), counts)]


def _originals(selection: LiveSelection, captures: pl.DataFrame) -> pl.DataFrame:
    """Return the payloads that revisits may refer to, by their digests, and by digests and URLs."""
    revisits = captures.filter(
        pl.col("record_type") == "revisit", pl.col("digest").is_not_null()
    ).select("digest", "url")
    by_both = revisits.unique().sort("digest", "url")
    found = [
        _payloads(selection, some, fields)
        for fields in (_PAYLOAD, ("url", *_PAYLOAD))
        for some in _keys(by_both, with_url="url" in fields)
    ]
    return pl.concat(found) if found else captures.clear()


def _keys(by_both: pl.DataFrame, *, with_url: bool) -> Iterator[LiveFilter]:
    names = ["digest", "url"] if with_url else ["digest"]
    short = [pl.col(name).str.len_chars() <= _LOOKED_UP for name in names]
    keys = by_both.select(names).unique(maintain_order=True).filter(short)
    for part in keys.iter_slices(_AT_ONCE):
        yield AllOf(tuple(OneOf(name, tuple(part[name].unique())) for name in names))


def _payloads(selection: LiveSelection, keys: LiveFilter, fields: Sequence[str]) -> pl.DataFrame:
    """Return payloads, each once however often it is there."""
    found = selection.groups(AllOf((keys, Not(REVISIT))), fields)
    once = (Groups(groups.values, [1] * len(groups.values)) for groups in found)
    # What cannot be looked up is found whatever it is.
    return _frame(once, fields).filter((pl.col("record_type") != "revisit").fill_null(True))


def _opened(captures: pl.DataFrame, originals: pl.DataFrame, sites: Sites | None) -> Opened:
    labels, ids = Labels(), {"url": Ids(), "digest": Ids()}
    seeds = secrets.randbits(64), secrets.randbits(64)
    encoded = encode(captures, labels, sites, seeds)
    columns = _numbered(encoded, ids)
    codes = columns.pop(Criterion.MONTH)
    names = labels.values[Criterion.MONTH]
    months = {
        names[code]: _part(columns, np.flatnonzero(codes == code)) for code in np.unique(codes)
    }
    months = dict(sorted(months.items()))
    if len(originals):
        payloads = _numbered(encode(originals, labels, None, seeds), ids)
        payloads.pop(Criterion.MONTH)
        resolved = resolve_revisits(
            months | {_ORIGINALS: with_own(payloads)}, labels.values[Criterion.TYPE]
        )
        months |= {name: found for name, found in resolved.items() if name != _ORIGINALS}
    sizes, _, varied = document_sizes(months, ids["digest"].count)
    return Opened(months, sizes, varied, ids["url"].count, labels.values.__getitem__, {})


def _numbered(encoded: Encoded, ids: dict[str, Ids]) -> PayloadColumns:
    return encoded.columns | {
        "url": ids["url"].assign(*encoded.url),
        "digest": ids["digest"].assign(*encoded.digest),
    }


def _part(columns: PayloadColumns, rows: Array) -> PayloadColumns:
    return with_own({name: column[rows] for name, column in columns.items()})
