"""Writes the anchors used by searches, from the inlinks of a build, whole or as a viewer sees."""

import hashlib
import os
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np
import polars as pl

from nwx.bulk.arrays import Array, narrow, write_arrays
from nwx.engine.facet_store import BlobStore
from nwx.engine.inlinks.anchor_scores import Tokens
from nwx.engine.inlinks.anchor_table import COPIES_FOLDER, NO_TARGET, AnchorTable, key_hash
from nwx.engine.inlinks.counts import count_anchors, packed_texts, spread
from nwx.engine.inlinks.inlink_index import ID_BYTES
from nwx.engine.inlinks.table import (
    SELF,
    DatesOf,
    InlinkTable,
    TargetRange,
    VisibleTable,
    inlink_table,
)
from nwx.model import ANCHORS_KEPT
from nwx.query.question import HiddenDocuments

_AT_ONCE = 1 << 21
_COUNTS = dict.fromkeys(("documents", "hosts", "domains"), pl.Int64)
_USES = dict.fromkeys(("group", "text", "documents", "hosts"), pl.Int64)
"""Columns of the uses of anchor texts by targets, most hosts first."""

_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


def write_anchor_table(table: InlinkTable, path: Path, tokens: Tokens) -> None:
    """Write the anchors of all captured URLs with inlinks (read by `AnchorTable`).

    `tokens` returns the words of a text.
    """
    sources = pl.Series(table.sources.all(), dtype=pl.String)
    captured = sources.sort()
    keys: list[str] = []
    texts: dict[str, int] = {}
    counts: list[pl.DataFrame] = []
    uses: list[pl.DataFrame] = []
    for number in range(len(table.notes.ranges)):
        found = table.range(number)
        places = _captured_places(found, captured)
        uses.append(_uses(table, found, places, len(keys), texts))
        counts.append(_counts(found, places))
        keys += found.keys.take(places.tolist())
    ranked = pl.concat([pl.DataFrame(schema=_COUNTS), *counts]).with_row_index("place")
    ranked = ranked.sort(*reversed(_COUNTS), "place", descending=[True, True, True, False])
    order = ranked["place"].to_numpy()
    numbers = np.argsort(order)
    used = pl.concat([pl.DataFrame(schema=_USES), *uses])
    used = used.with_columns(target=numbers[used["group"].to_numpy()])
    used = used.sort("target", maintain_order=True)
    terms = _Terms(list(texts), tokens)
    hashes = np.fromiter(map(key_hash, keys), np.int64, len(keys))
    by_hash = np.argsort(hashes)
    arrays: dict[str, Array] = {
        **packed_texts([keys[place] for place in order.tolist()], "key"),
        "key_hashes": hashes[by_hash],
        "key_targets": narrow(numbers[by_hash]),
        **_document_targets(table, sources, keys, numbers),
        **{name: narrow(ranked[name].to_numpy()) for name in _COUNTS},
        "use_starts": np.searchsorted(used["target"].to_numpy(), np.arange(len(keys) + 1)),
        "use_texts": used["text"].to_numpy().astype(np.uint32),
        "use_documents": narrow(used["documents"].to_numpy()),
        "use_hosts": narrow(used["hosts"].to_numpy()),
        **packed_texts(list(texts), "text"),
        **terms.arrays(),
        **_postings(used, terms, len(keys)),
    }
    write_arrays(path, arrays)


def _captured_places(found: TargetRange, captured: pl.Series) -> Array:
    """Return the positions in a range of targets that are captured and linked from other URLs.

    `captured` are the urlkeys of all documents, sorted like the targets of a range. Targets linked
    only from themselves have no counts.
    """
    keys = pl.Series(found.keys.all(), dtype=pl.String)
    if not len(keys):
        return np.zeros(0, dtype=np.int64)
    begin = captured.search_sorted(keys[0], "left")
    end = captured.search_sorted(keys[-1], "right")
    linked = np.diff(found.arrays["count_starts"]) > 0
    of_range = captured.slice(begin, end - begin)
    return np.flatnonzero(keys.is_in(of_range.implode()).to_numpy() & linked)


def _counts(found: TargetRange, places: Array) -> pl.DataFrame:
    """Return documents, hosts and domains linking to targets, from their first cell (all links)."""
    rows = found.arrays["count_starts"][places].astype(np.int64)
    counts = {name: found.arrays[f"count_{name}"][rows] for name in _COUNTS}
    return pl.DataFrame(counts, schema=_COUNTS)


def _uses(
    table: InlinkTable, found: TargetRange, places: Array, first: int, texts: dict[str, int]
) -> pl.DataFrame:
    """Return the anchor texts of targets, numbered from `first` on; adds new texts to `texts`."""
    of, links = spread(found.arrays["link_starts"], places)
    counting = found.arrays["flags"][links] & SELF == 0
    of, links = of[counting], links[counting]
    counted = count_anchors(
        of + first, found.arrays["anchor"][links], found.arrays["document"][links], table.documents
    )
    kept = (
        pl.DataFrame(counted._asdict())
        .sort("group", "hosts", "documents", "anchor", descending=[False, True, True, False])
        .group_by("group", maintain_order=True)
        .head(ANCHORS_KEPT)
    )
    used, local = np.unique(kept["anchor"].to_numpy(), return_inverse=True)
    codes = [texts.setdefault(found.anchors[one], len(texts)) for one in used.tolist()]
    return kept.with_columns(text=np.array(codes, dtype=np.int64)[local]).select(*_USES)


def _document_targets(
    table: InlinkTable, sources: pl.Series, keys: list[str], numbers: Array
) -> dict[str, Array]:
    """Return the first 63 bits of the ids of all documents, in order, and their targets."""
    known = pl.DataFrame(
        {"key": keys, "number": numbers}, schema={"key": pl.String, "number": pl.Int64}
    )
    joined = pl.DataFrame({"key": sources}).join(known, on="key", how="left", maintain_order="left")
    of_source = joined["number"].fill_null(NO_TARGET).to_numpy()
    ids = np.ascontiguousarray(table.documents["id"]).reshape(-1, ID_BYTES)
    starts = (ids[:, :8].copy().view(">u8")[:, 0] >> np.uint64(1)).astype(np.int64)
    order = np.argsort(starts)
    targets = of_source[table.documents["source"]] if len(starts) else of_source
    return {"document_starts": starts[order], "document_targets": targets[order].astype(np.int32)}


class _Terms:
    """The words of anchor texts: the sorted terms, and the terms of each text."""

    def __init__(self, texts: list[str], tokens: Tokens) -> None:
        codes: dict[str, int] = {}
        sequences: list[int] = []
        counts = np.zeros(len(texts), dtype=np.int64)
        for number, text in enumerate(texts):
            found = [codes.setdefault(word, len(codes)) for word in tokens(text)]
            sequences += found
            counts[number] = len(found)
        self.terms = sorted(codes, key=str.encode)
        places = np.zeros(len(codes), dtype=np.int64)
        places[[codes[term] for term in self.terms]] = np.arange(len(codes))
        self.sequences: Array = places[np.array(sequences, dtype=np.int64)]
        self.starts: Array = np.concatenate([np.zeros(1, np.int64), np.cumsum(counts)])

    def arrays(self) -> dict[str, Array]:
        """Return the terms, the terms of each text, and the texts of each term."""
        texts = np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
        pairs = np.unique(self.sequences.astype(np.uint64) << _HALF | texts.astype(np.uint64))
        terms = (pairs >> _HALF).astype(np.int64)
        return {
            **packed_texts(self.terms, "term"),
            "sequence_starts": self.starts,
            "sequences": narrow(self.sequences),
            "text_posting_starts": np.searchsorted(terms, np.arange(len(self.terms) + 1)),
            "text_postings": (pairs & _LOW).astype(np.uint32),
        }


def _postings(uses: pl.DataFrame, terms: _Terms, targets: int) -> dict[str, Array]:
    """Return the targets of each term with its weights, and the sum of weights of each target."""
    sums = pl.DataFrame(schema={"term": pl.Int64, "target": pl.Int64, "weight": pl.Float64})
    for part in uses.iter_slices(_AT_ONCE):
        of, places = spread(terms.starts, part["text"].to_numpy())
        weights = 1 + np.log2(part["hosts"].to_numpy()[of])
        found = {"term": terms.sequences[places], "target": part["target"].to_numpy()[of]}
        sums = pl.concat([sums, pl.DataFrame({**found, "weight": weights})])
        sums = sums.group_by("term", "target").agg(pl.col("weight").sum())
    sums = sums.sort("term", "target")
    term, target, weight = (sums[name].to_numpy() for name in sums.columns)
    return {
        "posting_starts": np.searchsorted(term, np.arange(len(terms.terms) + 1)),
        "posting_targets": target.astype(np.uint32),
        "posting_weights": weight.astype(np.float32),
        "lengths": np.bincount(target, weight, minlength=targets).astype(np.float32),
    }


_FOLDER = "visible"
_KEPT_FILES = 4


def visible_anchors(
    store: BlobStore, whole: AnchorTable, hidden: HiddenDocuments, dates_of: DatesOf
) -> AnchorTable:
    """Return the anchors of the current build without links from hidden documents.

    They are written next to the build on first use. Returns `whole` if no hidden document has
    links.
    """
    table = inlink_table(store)
    if table is None:
        return whole
    visible = VisibleTable(table, hidden, dates_of)
    gone = visible.changed & (np.diff(visible.documents["cell_starts"]) == 0)
    if not _have_links(table, gone):
        return whole
    name = hashlib.blake2b(np.flatnonzero(gone).tobytes(), digest_size=12).hexdigest()
    path = store.folder / _FOLDER / f"{table.notes.number}-{table.notes.anchors}-{name}"
    if not path.exists():
        return _written(visible, whole, path)
    os.utime(path)
    return AnchorTable(path)


def forget_anchors(store: BlobStore) -> None:
    """Remove the files of searches by anchors, also those by `visible_anchors`.

    They contain data of earlier builds, and are made again on demand.
    """
    copies = store.folder / COPIES_FOLDER
    for folder in (store.folder / _FOLDER, copies, copies / _FOLDER):
        for path in list(folder.iterdir()) if folder.exists() else ():
            if path.is_file():
                path.unlink(missing_ok=True)


def _have_links(table: InlinkTable, documents: Array) -> bool:
    """Return whether any of the documents (`bool[documents]`) has links."""
    ranges = map(table.range, range(len(table.notes.ranges)))
    return any(bool(documents[one.arrays["document"]].any()) for one in ranges)


def _written(visible: VisibleTable, whole: AnchorTable, path: Path) -> AnchorTable:
    """Return the anchors of a table, written to `path`, or to a temporary file if not permitted."""
    with suppress(OSError):
        path.parent.mkdir(exist_ok=True)
    folder = path.parent if os.access(path.parent, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=folder) as work:
        made = Path(work) / path.name
        write_anchor_table(visible, made, _Words(whole).terms_of)
        if folder is None:
            return AnchorTable(made)  # remains readable after its name is removed
        made.replace(path)
    files = (one for one in path.parent.iterdir() if one.is_file())
    for old in sorted(files, key=lambda one: one.stat().st_mtime)[:-_KEPT_FILES]:
        old.unlink(missing_ok=True)
    return AnchorTable(path)


class _Words:
    """The words of anchor texts, from the table of the whole build."""

    def __init__(self, whole: AnchorTable) -> None:
        self._whole = whole
        self._numbers = {text: number for number, text in enumerate(whole.texts.all())}

    def terms_of(self, text: str) -> Sequence[str]:
        return self._whole.terms.take(self._whole.words(self._numbers[text]))
