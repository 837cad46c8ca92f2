"""Captures looked up by an engine for one question: counted exactly, or estimated."""

import secrets
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np
import polars as pl

from nwx.bulk.arrays import Array
from nwx.engine.document_index import current_work
from nwx.engine.facet_store import (
    ALL,
    AllOf,
    AnyOf,
    Estimate,
    Groups,
    LiveFilter,
    LiveSelection,
    Not,
    OneOf,
)
from nwx.facets.codes import (
    CAPTURE_SCHEMA,
    CaptureCodes,
    DenseNumbers,
    Labels,
    MonthColumns,
    document_sizes,
    encode,
    resolve_revisits,
    with_own,
)
from nwx.facets.columns import FacetColumns
from nwx.facets.criteria import KNOWN_SIZE, Criterion
from nwx.facets.question import FacetCondition, FacetQuestion, FacetRow, Features
from nwx.facets.sites import Sites

MOST_LOOKED_UP = 200_000
"""The most captures that are looked up for one question."""

MOST_ESTIMATED_ROWS = 1_000
"""The most rows of a list that are estimated: those with most captures."""

PLACE_FIELDS = ("timestamp", "source_file", "source_file_offset", "collection")
"""The fields for the place of a capture and its month."""

_IS_REVISIT = OneOf("record_type", ("revisit",))
_COUNTED = ("url", "digest", "content_length", "record_type")
_PAYLOAD = ("digest", "content_type_norm", "content_length", "record_type")
_AT_ONCE = 5_000
_LONGEST_KEY = 8_000
"""Longer values are not indexed; payloads with such values are always found."""

_ORIGINALS = ""
"""The pseudo-month of payloads that revisits refer to; these are not counted."""

Values = tuple[str, ...]


def look_up(
    selection: LiveSelection,
    where: Sequence[FacetCondition],
    by: Iterable[Criterion] = (),
    sites: Sites | None = None,
    also: Sequence[str] = (),
) -> FacetColumns | None:
    """Return captures that include all that meet the conditions.

    None if there are more than MOST_LOOKED_UP. They only have the criteria of the conditions and
    of `by`, and the fields in `also`.
    """
    wanted = _superset(where, has_list=sites is not None)
    if selection.count(wanted) > MOST_LOOKED_UP:
        return None
    criteria = {*by, *(condition.criterion for condition in where)}
    fields = _fields(criteria, sites, also)
    captures = _frame(selection.groups(wanted, fields), fields)
    originals = _originals(selection, captures)
    return _columns(captures, originals, sites)


def _superset(conditions: Sequence[FacetCondition], *, has_list: bool) -> LiveFilter:
    """Return a condition that matches every capture that meets all `conditions`.

    Revisits match all conditions on payload values, which are known only when their payloads are
    found. `has_list` means that sites are named by a list, whose names are in no index.
    """
    looked_up = [one for one in conditions if not (has_list and one.criterion is Criterion.SITE)]
    return AllOf(
        tuple(
            AnyOf((_IS_REVISIT, one.to_filter()))
            if one.criterion.definition.of_payload
            else one.to_filter()
            for one in looked_up
        )
    )


def _fields(criteria: set[Criterion], sites: Sites | None, also: Sequence[str]) -> tuple[str, ...]:
    found = [criterion.definition.capture_field for criterion in sorted(criteria)]
    if sites is not None and Criterion.SITE in criteria:
        found.append("urlkey")
    return tuple(dict.fromkeys((*also, *found, *_COUNTED)))


def _frame(groups: Iterator[Groups], fields: Sequence[str]) -> pl.DataFrame:
    """Return groups as captures in bulk, each repeated by its count."""
    pieces = []
    work = current_work()
    for found in groups:
        work.check()
        pieces.append(_spread(found, fields))
    frame = pl.concat(pieces) if pieces else _spread(Groups((), ()), fields)
    missing = [
        pl.lit(None, kind).alias(name)
        for name, kind in CAPTURE_SCHEMA.items()
        if name not in fields
    ]
    return frame.with_columns(missing).select(CAPTURE_SCHEMA.keys())


def _spread(groups: Groups, fields: Sequence[str]) -> pl.DataFrame:
    schema = {name: CAPTURE_SCHEMA[name] for name in fields}
    frame = pl.DataFrame(list(groups.values), schema=schema, orient="row")
    counts = np.array(groups.captures, dtype=np.int64)
    if int(counts.sum()) == len(counts):
        return frame
    return frame[np.repeat(np.arange(len(counts)), counts)]


def _originals(selection: LiveSelection, captures: pl.DataFrame) -> pl.DataFrame:
    """Return the payloads that revisits may refer to: by digest, and by digest and URL."""
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
    short = [pl.col(name).str.len_chars() <= _LONGEST_KEY for name in names]
    keys = by_both.select(names).unique(maintain_order=True).filter(short)
    for part in keys.iter_slices(_AT_ONCE):
        yield AllOf(tuple(OneOf(name, tuple(part[name].unique())) for name in names))


def _payloads(selection: LiveSelection, keys: LiveFilter, fields: Sequence[str]) -> pl.DataFrame:
    """Return the distinct payloads with some keys."""
    found = selection.groups(AllOf((keys, Not(_IS_REVISIT))), fields)
    once = (Groups(groups.values, [1] * len(groups.values)) for groups in found)
    # Payloads with values too long to look up are found whatever their type.
    return _frame(once, fields).filter((pl.col("record_type") != "revisit").fill_null(True))


def _columns(captures: pl.DataFrame, originals: pl.DataFrame, sites: Sites | None) -> FacetColumns:
    labels, numbers = Labels(), {"url": DenseNumbers(), "digest": DenseNumbers()}
    seeds = secrets.randbits(64), secrets.randbits(64)
    columns = _numbered(encode(captures, labels, sites, seeds), numbers)
    codes = columns.pop(Criterion.MONTH)
    names = labels.values[Criterion.MONTH]
    months = {
        names[code]: _part(columns, np.flatnonzero(codes == code)) for code in np.unique(codes)
    }
    months = dict(sorted(months.items()))
    if len(originals):
        payloads = _numbered(encode(originals, labels, None, seeds), numbers)
        payloads.pop(Criterion.MONTH)
        resolved = resolve_revisits(
            months | {_ORIGINALS: with_own(payloads)}, labels.values[Criterion.TYPE]
        )
        months |= {name: found for name, found in resolved.items() if name != _ORIGINALS}
    sizes, _, varied = document_sizes(months, numbers["digest"].count)
    return FacetColumns(months, sizes, varied, numbers["url"].count, labels.values.__getitem__)


def _numbered(encoded: CaptureCodes, numbers: dict[str, DenseNumbers]) -> MonthColumns:
    return encoded.columns | {
        "url": numbers["url"].assign(*encoded.url),
        "digest": numbers["digest"].assign(*encoded.digest),
    }


def _part(columns: MonthColumns, rows: Array) -> MonthColumns:
    return with_own({name: column[rows] for name, column in columns.items()})


def estimate(
    selection: LiveSelection, question: FacetQuestion
) -> tuple[Features, list[FacetRow], int | None]:
    """Return estimated features of a question and of its list's rows, and the row count.

    The row count is None above MOST_ESTIMATED_ROWS. Estimates are from the captures' own values.
    """
    wanted = AllOf(tuple(condition.to_filter() for condition in question.where))
    (total,) = selection.estimates(wanted, [ALL], KNOWN_SIZE)
    counted, hops = _values(selection, wanted, question.by)
    values = [found for found, _ in counted.most_common(MOST_ESTIMATED_ROWS)]
    parts = [_part_filter(question.by, found, hops) for found in values]
    rows = selection.estimates(wanted, parts, KNOWN_SIZE) if parts else []
    listed = [FacetRow(found, _features(row)) for found, row in zip(values, rows, strict=True)]
    return _features(total), listed, None if len(counted) > MOST_ESTIMATED_ROWS else len(counted)


def _values(
    selection: LiveSelection, wanted: LiveFilter, by: Sequence[Criterion]
) -> tuple[Counter[Values], dict[str, set[str]]]:
    """Return the number of captures of each row of a list, and the hops of each depth."""
    counted: Counter[Values] = Counter()
    hops: dict[str, set[str]] = {}
    if not by:
        return counted, hops
    fields = list(dict.fromkeys(name.definition.capture_field for name in by))
    places = [fields.index(name.definition.capture_field) for name in by]
    for groups in selection.groups(wanted, fields):
        for found, captures in zip(groups.values, groups.captures, strict=True):
            values = [found[place] for place in places]
            named = tuple(
                name.definition.of_value(value) for name, value in zip(by, values, strict=True)
            )
            counted[named] += captures
            for name, depth, value in zip(by, named, values, strict=True):
                if name is Criterion.DEPTH and value:
                    hops.setdefault(depth, set()).add(value)
    return counted, hops


def _part_filter(
    by: Sequence[Criterion], values: Values, hops: Mapping[str, set[str]]
) -> LiveFilter:
    found: list[LiveFilter] = []
    for name, value in zip(by, values, strict=True):
        if name is Criterion.DEPTH and value in hops:
            found.append(OneOf("hops", tuple(hops[value])))
        else:
            found.append(FacetCondition(name, (value,)).to_filter())
    return AllOf(tuple(found))


def _features(found: Estimate) -> Features:
    """Return features, assuming that documents have the average size of captures."""
    average = found.size_bytes / found.sized if found.sized else 0
    return Features(
        captures=found.captures,
        unique_documents=found.documents,
        unique_urls=found.urls,
        bytes=found.size_bytes,
        unique_bytes=min(found.size_bytes, round(average * found.documents)),
    )
