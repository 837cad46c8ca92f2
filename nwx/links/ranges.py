"""Ranges: the links of all parts to the targets between two urlkeys, grouped and counted."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from nwx.bulk.arrays import Array, narrow, write_arrays
from nwx.engine.inlinks.counts import cell_rows, count_linked_cells
from nwx.engine.inlinks.notes import RangeNotes
from nwx.engine.inlinks.table import OWN_HOST, SELF
from nwx.engine.inlinks.texts import packed_texts
from nwx.links.document_table import NO_DOCUMENT
from nwx.links.parts import LinkPart
from nwx.values.link_places import host_of_urlkey

RANGE_LINKS = 1 << 20
_SAMPLES = 8
_NOWHERE = -1


@dataclass(frozen=True, slots=True)
class RangeSource:
    """What ranges are made from: parts, and the linking documents.

    `numbers` are those of the documents of each part; `documents` the
    arrays of the linking documents; `sources` and `hosts` their urlkeys and
    hosts, in order.
    """

    parts: Sequence[LinkPart]
    numbers: Sequence[Array]
    documents: Mapping[str, Array]
    sources: pl.Series
    hosts: pl.Series


def range_starts(parts: Sequence[LinkPart], links: int = RANGE_LINKS) -> list[str]:
    """Return the first urlkeys of ranges of about so many links each; the first is ""."""
    step = max(1, links // _SAMPLES)
    samples: list[str] = []
    for part in parts:
        targets = part.table("targets")
        ends = np.cumsum(targets["links"].to_numpy().astype(np.int64))
        marks = ends // step
        places = np.flatnonzero(np.diff(marks, prepend=0))
        # A target with as many links as several steps stands for all of them.
        weights = np.diff(marks, prepend=0)[places]
        samples += np.repeat(targets["key"].gather(places).to_numpy(), weights).tolist()
    samples.sort(key=str.encode)
    return ["", *dict.fromkeys(samples[_SAMPLES::_SAMPLES])]


def _gathered(
    source: RangeSource, first: str, last: str | None
) -> tuple[pl.Series, Array, Array, Array, Array, list[str]]:
    """Return targets in order, and of each link target, document, kind and anchor, and texts."""
    keys: list[pl.Series] = []
    texts: list[pl.Series] = [pl.Series([""], dtype=pl.String)]
    counts, documents, kinds, anchors = [], [], [], []
    held = 1
    for part, numbers in zip(source.parts, source.numbers, strict=True):
        targets = part.table("targets")
        begin = int(targets["key"].search_sorted(first)) if first else 0
        end = len(targets) if last is None else int(targets["key"].search_sorted(last))
        if begin >= end:
            continue
        starts = part.link_starts()
        links = part.table("links")[int(starts[begin]) : int(starts[end])]
        keys.append(targets["key"][begin:end])
        counts.append(np.diff(starts[begin : end + 1]))
        documents.append(numbers[links["document"].to_numpy()])
        kinds.append(links["kind"].to_numpy())
        used, local = np.unique(links["anchor"].to_numpy(), return_inverse=True)
        texts.append(part.table("anchors")["text"].gather(used))
        anchors.append(local + held)
        held += len(used)
    if not keys:
        none = np.zeros(0, dtype=np.int64)
        return pl.Series(dtype=pl.String), none, none, none, none, [""]
    all_keys, all_texts = pl.concat(keys), pl.concat(texts)
    key_codes = (all_keys.rank("dense") - 1).to_numpy().astype(np.int64)
    text_codes = (all_texts.rank("dense") - 1).to_numpy().astype(np.int64)
    return (
        all_keys.unique().sort(),
        np.repeat(key_codes, np.concatenate(counts)),
        np.concatenate(documents),
        np.concatenate(kinds),
        text_codes[np.concatenate(anchors)],
        all_texts.unique().sort().to_list(),
    )


def write_range(source: RangeSource, first: str, last: str | None, path: Path) -> RangeNotes | None:
    """Write the range of targets from a urlkey up to and without another, None for the last.

    Returns None, and writes nothing, where there is none.
    """
    keys, target, document, kind, anchor, texts = _gathered(source, first, last)
    kept = np.flatnonzero(document != NO_DOCUMENT)
    if not len(kept):
        return None
    order = kept[np.argsort(target[kept].astype(np.uint64) << np.uint64(32)
                            | document[kept].astype(np.uint64))]  # fmt: skip
    target, document, kind, anchor = (one[order] for one in (target, document, kind, anchor))
    there, target = np.unique(target, return_inverse=True)
    keys = keys.gather(there)
    used, anchor = np.unique(np.append(anchor, 0), return_inverse=True)
    anchor = anchor[:-1]
    flags = _flags(source, keys, target, document)
    counted = _counted(source, target, document, flags)
    arrays: dict[str, Array] = {
        **packed_texts(keys.to_list(), "key"),
        "link_starts": np.searchsorted(target, np.arange(len(keys) + 1)),
        "document": document.astype(np.uint32),
        "anchor": narrow(anchor),
        "kind": kind,
        "flags": flags,
        **packed_texts([texts[one] for one in used.tolist()], "anchor"),
        "count_starts": np.searchsorted(counted["target"], np.arange(len(keys) + 1)),
        **{f"count_{name}": narrow(one) for name, one in counted.items() if name != "target"},
    }
    write_arrays(path, arrays)
    return RangeNotes(path.name, keys[0], len(keys), len(target), len(counted["target"]))


def _counted(source: RangeSource, target: Array, document: Array, flags: Array) -> dict[str, Array]:
    counting = np.flatnonzero((flags & SELF) == 0)
    target, document = target[counting], document[counting]
    once = np.ones(len(target), dtype=bool)
    once[1:] = (target[1:] != target[:-1]) | (document[1:] != document[:-1])
    target, document = target[once], document[once]
    rows = cell_rows(target, document, source.documents)
    return count_linked_cells(rows, document, source.documents)._asdict()


def _flags(source: RangeSource, keys: pl.Series, target: Array, document: Array) -> Array:
    """Tell of each link whether it is from the same host, and from the same URL."""
    hosts = np.array(_numbers_of(_hosts_of(keys), source.hosts))
    own: Array = source.documents["host"][document] == hosts[target]
    pages = np.array(_numbers_of(keys, source.sources))
    itself = source.documents["source"][document] == pages[target]
    flags: Array = own * OWN_HOST | itself * SELF
    return flags.astype(np.uint8)


def _hosts_of(keys: pl.Series) -> pl.Series:
    frame = pl.DataFrame({"key": keys, "head": keys.str.extract(r"^([^)/]*\))")})
    heads = frame["head"].unique().drop_nulls().to_list()
    known = pl.DataFrame(
        {"head": heads, "host": list(map(host_of_urlkey, heads))},
        schema={"head": pl.String, "host": pl.String},
    )
    joined = frame.join(known, on="head", how="left", maintain_order="left")
    if joined["host"].null_count():
        odd = joined["host"].is_null()
        hosts = [
            host_of_urlkey(key) if is_odd else host
            for key, host, is_odd in zip(keys, joined["host"], odd, strict=True)
        ]
        return pl.Series(hosts, dtype=pl.String)
    return joined["host"]


def _numbers_of(texts: pl.Series, among: pl.Series) -> Array:
    """Return the places of texts among others, _NOWHERE of those that are not there."""
    wanted = pl.DataFrame({"text": texts})
    known = pl.DataFrame({"text": among}).with_row_index("number")
    if len(texts) and len(among) > 4 * len(texts):
        low, high = str(texts.min()), str(texts.max())
        begin, end = int(among.search_sorted(low)), int(among.search_sorted(high, side="right"))
        known = known[begin:end]
    joined = wanted.join(known, on="text", how="left", maintain_order="left")
    found: Array = joined["number"].cast(pl.Int64).fill_null(_NOWHERE).to_numpy()
    return found
