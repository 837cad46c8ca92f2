"""Ranges: the links to the targets between two urlkeys, grouped by target and counted.

A range is made from the previous build's range and the links of new parts: these are inserted,
links of deleted documents are left out, and only the affected targets are recounted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from nwx.bulk.arrays import Array, is_new, narrow, write_arrays
from nwx.engine.inlinks.counts import (
    CellCounts,
    chosen_texts,
    count_linked_cells,
    merged_texts,
    ordered_counts,
    packed_texts,
    spread,
)
from nwx.engine.inlinks.inlink_index import RangeNotes
from nwx.engine.inlinks.table import OWN_HOST, SELF, TargetRange
from nwx.links.document_table import NO_DOCUMENT
from nwx.links.parts import LinkPart, LinkStretch, places_in
from nwx.values.urls import host_of_urlkey

RANGE_LINKS = 1 << 20
_SAMPLES = 8
_GOLDEN = (5**0.5 - 1) / 2
"""The fractional parts of its multiples are evenly distributed."""


@dataclass(frozen=True, slots=True)
class KeyedLinks:
    """Links with the numbers of their targets and anchors in `keys` and `texts`.

    Both are sorted; text 0 is "". The other columns have equal length.
    """

    keys: pl.Series
    texts: list[str]
    target: Array
    document: Array
    kind: Array
    anchor: Array


def range_starts(parts: Sequence[LinkPart], links: int = RANGE_LINKS) -> list[str]:
    """Return the first urlkeys of ranges of about `links` links each; the first is ""."""
    sampled: list[tuple[str, float]] = []
    for number, stretch in enumerate(one for part in parts for one in part.stretches):
        ends = stretch.arrays["link_starts"][1:]
        if not len(ends):
            continue
        step = min(max(1, links // _SAMPLES), max(1, int(ends[-1]) // _SAMPLES))
        # With equal offsets, the samples of all stretches would cluster at a few keys.
        offset = int(number * _GOLDEN % 1 * step)
        marks = np.diff((ends + offset) // step, prepend=0)
        places = np.flatnonzero(marks)
        weights = marks[places] * step
        sampled += zip(stretch.keys.take(places.tolist()), weights.tolist(), strict=True)
    sampled.sort()
    starts, passed = [""], 0.0
    for key, weight in sampled:
        passed += weight
        if passed >= links:
            starts.append(key)
            passed = 0.0
    return list(dict.fromkeys(starts))


def gathered_links(
    stretches: Sequence[LinkStretch], numbers: Sequence[Array], first: str, last: str | None
) -> KeyedLinks:
    """Return the links to targets from urlkey `first` up to, without, `last` (None: no limit).

    `numbers` are the document numbers of each stretch's part.
    """
    keys, texts = [pl.Series(dtype=pl.String)], [pl.Series([""], dtype=pl.String)]
    target, document, kind, anchor = ([np.zeros(0, np.int64)] for _ in range(4))
    held_keys, held_texts = 0, 1
    for stretch, of_part in zip(stretches, numbers, strict=True):
        begin, end = stretch.span(first, last)
        if begin == end:
            continue
        starts = stretch.arrays["link_starts"][begin : end + 1]
        links = slice(int(starts[0]), int(starts[-1]))
        found = of_part[stretch.arrays["document"][links]]
        there = found != NO_DOCUMENT
        keys.append(pl.Series(stretch.keys.between(begin, end), dtype=pl.String))
        target.append((np.repeat(np.arange(end - begin), np.diff(starts)) + held_keys)[there])
        document.append(found[there])
        kind.append(stretch.arrays["kind"][links][there])
        used, local = np.unique(stretch.arrays["anchor"][links][there], return_inverse=True)
        texts.append(pl.Series(stretch.anchors(used), dtype=pl.String))
        anchor.append(local + held_texts)
        held_keys += end - begin
        held_texts += len(used)
    all_keys, key_codes = _ranked(pl.concat(keys))
    all_texts, text_codes = _ranked(pl.concat(texts))
    codes = key_codes[np.concatenate(target)]
    there, codes = np.unique(codes, return_inverse=True)
    return KeyedLinks(
        all_keys.gather(there),
        all_texts.to_list(),
        codes,
        np.concatenate(document),
        np.concatenate(kind).astype(np.uint8),
        text_codes[np.concatenate(anchor)],
    )


def _ranked(texts: pl.Series) -> tuple[pl.Series, Array]:
    """Return the distinct texts in order, and the index of each text in these."""
    if not len(texts):
        return texts, np.zeros(0, np.int64)
    codes: Array = (texts.rank("dense") - 1).to_numpy().astype(np.int64)
    places = np.zeros(int(codes.max()) + 1, dtype=np.int64)
    places[codes] = np.arange(len(codes))
    return texts.gather(places), codes


_HALF = np.uint64(32)
_COUNTS = CellCounts._fields


@dataclass(frozen=True, slots=True)
class RangeSource:
    """Sources of ranges: links of parts, and the linking documents.

    `numbers` are the document numbers of each stretch; `documents` the arrays of the linking
    documents; `removed` flags the deleted ones. `sources` and `hosts` are their urlkeys and hosts.
    """

    stretches: Sequence[LinkStretch]
    numbers: Sequence[Array]
    documents: Mapping[str, Array]
    removed: Array
    sources: pl.Series
    hosts: pl.Series


def empty_range() -> TargetRange:
    """Return a range without targets."""
    none = np.zeros(0, dtype=np.int64)
    return TargetRange(
        {
            **packed_texts((), "key"),
            **packed_texts(("",), "anchor"),
            "link_starts": np.zeros(1, np.int64),
            "document": none.astype(np.uint32),
            "anchor": none.astype(np.uint8),
            "kind": none.astype(np.uint8),
            "flags": none.astype(np.uint8),
            "count_starts": np.zeros(1, np.int64),
            **{f"count_{name}": none for name in _COUNTS[1:]},
        }
    )


def cut_range(whole: TargetRange, first: str, last: str | None) -> TargetRange:
    """Return the targets of a range from urlkey `first` up to, without, `last` (None: no limit)."""
    begin = whole.keys.place(first)
    end = len(whole.keys) if last is None else whole.keys.place(last)
    if (begin, end) == (0, len(whole.keys)):
        return whole
    arrays = dict(whole.arrays)
    arrays |= whole.keys.cut(begin, end)
    for starts, names in (
        ("link_starts", ("document", "anchor", "kind", "flags")),
        ("count_starts", [f"count_{name}" for name in _COUNTS[1:]]),
    ):
        bounds = whole.arrays[starts][begin : end + 1].astype(np.int64)
        arrays[starts] = bounds - bounds[0]
        arrays |= {name: whole.arrays[name][bounds[0] : bounds[-1]] for name in names}
    return TargetRange(arrays)


def write_range(
    source: RangeSource, base: TargetRange, first: str, last: str | None, path: Path
) -> RangeNotes | None:
    """Write the range of targets from urlkey `first` up to, without, `last` (None: no limit).

    `base` is the same range in the previous build. Returns None, and writes nothing, if there are
    no targets.
    """
    new = gathered_links(source.stretches, source.numbers, first, last)
    arrays = _merged(source, base, new)
    if not len(arrays["document"]):
        return None
    write_arrays(path, arrays)
    made = TargetRange(arrays)
    return RangeNotes(
        path.name,
        made.keys[0],
        len(made.keys),
        len(arrays["document"]),
        len(arrays["count_cell"]),
    )


def is_untouched(source: RangeSource, base: TargetRange, first: str, last: str | None) -> bool:
    """Return whether a range is unchanged since the previous build."""
    if np.any(source.removed[base.arrays["document"]]):
        return False
    return all(one.span(first, last) == (0, 0) for one in source.stretches)


def _merged(source: RangeSource, base: TargetRange, new: KeyedLinks) -> dict[str, Array]:
    keys, key_of_base, key_of_new = merged_texts(base.keys, new.keys.to_list(), "key")
    anchors, text_of_base, text_of_new = merged_texts(base.anchors, new.texts, "anchor")
    old = base.arrays
    size = len(keys["key_starts"]) - 1
    target_of_base = np.repeat(key_of_base, np.diff(old["link_starts"]))
    there = ~source.removed[old["document"]]
    new_target = key_of_new[new.target]
    touched = np.zeros(size, dtype=bool)
    touched[target_of_base[~there]] = True
    touched[new_target] = True
    columns = {
        "target": np.concatenate([target_of_base[there], new_target]),
        "document": np.concatenate([old["document"][there].astype(np.int64), new.document]),
        "anchor": np.concatenate([text_of_base[old["anchor"][there]], text_of_new[new.anchor]]),
        "kind": np.concatenate([old["kind"][there], new.kind]),
        "flags": np.concatenate([old["flags"][there], _flags(source, new)]),
    }
    # Both parts are already in this order: a stable sort just merges them.
    ranks = source.documents["order"][columns["document"]].astype(np.uint64)
    order = np.argsort(columns["target"].astype(np.uint64) << _HALF | ranks, kind="stable")
    columns = {name: column[order] for name, column in columns.items()}
    counts = _recounted(source, base, columns, key_of_base, touched)
    return _packed(columns, counts, keys, anchors)


def _recounted(
    source: RangeSource,
    base: TargetRange,
    columns: Mapping[str, Array],
    key_of_base: Array,
    touched: Array,
) -> CellCounts:
    """Return the counts of all targets; only `touched` ones are recounted."""
    target, document = columns["target"], columns["document"]
    wanted = np.flatnonzero(touched[target] & ((columns["flags"] & SELF) == 0))
    target, document = target[wanted], document[wanted]
    once = is_new(target) | is_new(document)
    fresh = count_linked_cells(target[once], document[once], source.documents)
    old = base.arrays
    kept, places = spread(old["count_starts"], np.flatnonzero(~touched[key_of_base]))
    kept_targets = key_of_base[~touched[key_of_base]][kept]
    together = [np.concatenate([kept_targets, fresh.target])]
    together += [
        np.concatenate([old[f"count_{name}"][places].astype(np.int64), getattr(fresh, name)])
        for name in _COUNTS[1:]
    ]
    counts = CellCounts(*together)
    return ordered_counts(counts) if len(places) and len(fresh.target) else counts


def _packed(
    columns: Mapping[str, Array],
    counts: CellCounts,
    keys: dict[str, Array],
    anchors: dict[str, Array],
) -> dict[str, Array]:
    """Return the arrays of a range, without keys and anchor texts that no link uses any more."""
    target, anchor, of_counts = columns["target"], columns["anchor"], counts.target
    linked = _used(target, len(keys["key_starts"]) - 1)
    if not linked.all():
        numbers = np.cumsum(linked) - 1
        target, of_counts = numbers[target], numbers[of_counts]
        keys = chosen_texts(keys, np.flatnonzero(linked), "key")
    used = _used(anchor, len(anchors["anchor_starts"]) - 1)
    used[:1] = True
    if not used.all():
        anchor = (np.cumsum(used) - 1)[anchor]
        anchors = chosen_texts(anchors, np.flatnonzero(used), "anchor")
    bounds = np.arange(len(keys["key_starts"]))
    return {
        **keys,
        **anchors,
        "link_starts": np.searchsorted(target, bounds),
        "document": columns["document"].astype(np.uint32),
        "anchor": narrow(anchor),
        "kind": columns["kind"],
        "flags": columns["flags"],
        "count_starts": np.searchsorted(of_counts, bounds),
        **{f"count_{name}": narrow(getattr(counts, name)) for name in _COUNTS[1:]},
    }


def _used(numbers: Array, size: int) -> Array:
    used = np.zeros(size, dtype=bool)
    used[numbers] = True
    return used


def _flags(source: RangeSource, new: KeyedLinks) -> Array:
    """Return the flags of new links: OWN_HOST if from the same host, SELF if from the same URL."""
    if not len(new.target):
        return np.zeros(0, np.uint8)
    hosts = places_in(_hosts_of(new.keys), source.hosts)
    pages = places_in(new.keys, source.sources)
    own: Array = source.documents["host"][new.document] == hosts[new.target]
    itself: Array = source.documents["source"][new.document] == pages[new.target]
    flags: Array = own * OWN_HOST | itself * SELF
    return flags.astype(np.uint8)


def _hosts_of(keys: pl.Series) -> pl.Series:
    frame = pl.DataFrame({"key": keys, "head": keys.str.extract(r"^([^)/]*\))")})
    frame = frame.with_columns(pl.coalesce("head", "key"))
    heads = frame["head"].unique().to_list()
    known = pl.DataFrame(
        {"head": heads, "host": list(map(host_of_urlkey, heads))},
        schema={"head": pl.String, "host": pl.String},
    )
    return frame.join(known, on="head", how="left", maintain_order="left")["host"]
