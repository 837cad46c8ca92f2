"""The anchors that searches look at, made from the inlinks of a build; what viewers see of them."""

import hashlib
import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import polars as pl

from nwx.bulk.arrays import Array, narrow, write_arrays
from nwx.engine.facet_store import BlobStore
from nwx.engine.inlinks.anchor_scores import Tokens
from nwx.engine.inlinks.anchor_table import NO_TARGET, AnchorTable, key_hash
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
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


@dataclass(frozen=True, slots=True)
class _Uses:
    """Anchor texts as targets have them; equally long arrays, in the order of `target`."""

    target: Array
    text: Array
    documents: Array
    hosts: Array


def write_anchor_table(table: InlinkTable, path: Path, tokens: Tokens) -> None:
    """Write the anchors of all captured URLs with inlinks (read by `AnchorTable`).

    `tokens` returns the words of a text.
    """
    sources = pl.Series(table.sources.all(), dtype=pl.String)
    captured = sources.sort()
    keys: list[str] = []
    texts: dict[str, int] = {}
    counts: list[Array] = []
    uses: list[_Uses] = []
    for number in range(len(table.notes.ranges)):
        found = table.range(number)
        places = _captured_places(found, captured)
        uses.append(_uses_of(table, found, places, len(keys), texts))
        counts.append(_counts(found, places))
        keys += found.keys.take(places.tolist())
    ranks = _Ranks(np.concatenate([np.zeros((3, 0), np.int64), *counts], axis=1))
    ranked = _ranked(uses, ranks)
    terms = _Terms(list(texts), tokens)
    hashes = np.fromiter(map(key_hash, keys), np.int64, len(keys))
    by_hash = np.argsort(hashes)
    arrays: dict[str, Array] = {
        **packed_texts([keys[place] for place in ranks.order.tolist()], "key"),
        "key_hashes": hashes[by_hash],
        "key_targets": narrow(ranks.numbers[by_hash]),
        **_document_targets(table, sources, keys, ranks.numbers),
        **ranks.arrays(),
        "use_starts": np.searchsorted(ranked.target, np.arange(len(keys) + 1)),
        "use_texts": ranked.text.astype(np.uint32),
        "use_documents": narrow(ranked.documents),
        "use_hosts": narrow(ranked.hosts),
        **packed_texts(list(texts), "text"),
        **terms.arrays(),
        **_postings(ranked, terms, len(keys)),
    }
    write_arrays(path, arrays)


def _captured_places(found: TargetRange, captured: pl.Series) -> Array:
    """Return the positions of targets in a range that are captured and linked from others.

    `captured` are the urlkeys of all documents, sorted like the targets of a range. Targets linked
    only by themselves have no counts.
    """
    keys = pl.Series(found.keys.all(), dtype=pl.String)
    if not len(keys):
        return np.zeros(0, dtype=np.int64)
    begin = captured.search_sorted(keys[0], "left")
    end = captured.search_sorted(keys[-1], "right")
    linked = np.diff(found.arrays["count_starts"]) > 0
    of_range = captured.slice(begin, end - begin)
    return np.flatnonzero(keys.is_in(of_range.implode()).to_numpy() & linked)


def _counts(found: TargetRange, places: Array) -> Array:
    """Return documents, hosts and domains of targets; the first cell of each is that of all."""
    rows = found.arrays["count_starts"][places].astype(np.int64)
    names = ("documents", "hosts", "domains")
    return np.stack([found.arrays[f"count_{name}"][rows].astype(np.int64) for name in names])


def _uses_of(
    table: InlinkTable, found: TargetRange, places: Array, first: int, texts: dict[str, int]
) -> _Uses:
    """Return the anchor texts of targets, numbered from `first` on; new texts join `texts`."""
    of, links = spread(found.arrays["link_starts"], places)
    counting = found.arrays["flags"][links] & SELF == 0
    of, links = of[counting], links[counting]
    counted = count_anchors(
        of, found.arrays["anchor"][links], found.arrays["document"][links], table.documents
    )
    order = np.lexsort((counted.anchor, -counted.documents, -counted.hosts, counted.group))
    groups = counted.group[order]
    ranks = np.arange(len(groups)) - np.searchsorted(groups, groups)
    kept = order[ranks < ANCHORS_KEPT]
    used, local = np.unique(counted.anchor[kept], return_inverse=True)
    codes = [texts.setdefault(found.anchors[one], len(texts)) for one in used.tolist()]
    text = np.array(codes, dtype=np.int64)[local] if codes else np.zeros(0, np.int64)
    return _Uses(counted.group[kept] + first, text, counted.documents[kept], counted.hosts[kept])


class _Ranks:
    """Numbers of targets, ordered by linking domains, hosts and pages, highest first."""

    def __init__(self, counts: Array) -> None:
        self._counts = counts
        documents, hosts, domains = counts
        places = np.arange(counts.shape[1])
        self.order: Array = np.lexsort((places, -documents, -hosts, -domains))
        self.numbers: Array = np.empty_like(self.order)
        self.numbers[self.order] = places

    def arrays(self) -> dict[str, Array]:
        """Return the counts by number."""
        names = ("documents", "hosts", "domains")
        return {
            name: narrow(one[self.order]) for name, one in zip(names, self._counts, strict=True)
        }


def _ranked(uses: list[_Uses], ranks: _Ranks) -> _Uses:
    """Return the uses by the numbers of their targets, the order within a target kept."""
    none = np.zeros(0, dtype=np.int64)
    target, text, documents, hosts = (
        np.concatenate([none, *(getattr(one, name) for one in uses)])
        for name in ("target", "text", "documents", "hosts")
    )
    numbers = ranks.numbers[target]
    order = np.argsort(numbers, kind="stable")
    return _Uses(numbers[order], text[order], documents[order], hosts[order])


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
    """The words of anchor texts: the terms in order, and the terms of each text."""

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


def _postings(uses: _Uses, terms: _Terms, targets: int) -> dict[str, Array]:
    """Return the targets of each term with its weights, and the sums of the weights of targets."""
    keys, sums = np.zeros(0, dtype=np.uint64), np.zeros(0)
    lengths = np.zeros(targets)
    for found, weights in _weighted(uses, terms):
        keys, sums = _added(keys, sums, found, weights)
        lengths += np.bincount((found & _LOW).astype(np.int64), weights, minlength=targets)
    of_term = (keys >> _HALF).astype(np.int64)
    return {
        "posting_starts": np.searchsorted(of_term, np.arange(len(terms.terms) + 1)),
        "posting_targets": (keys & _LOW).astype(np.uint32),
        "posting_weights": sums.astype(np.float32),
        "lengths": lengths.astype(np.float32),
    }


def _weighted(uses: _Uses, terms: _Terms) -> Iterator[tuple[Array, Array]]:
    """Give pairs of term and target as one number, and the weight of the term there."""
    for begin in range(0, len(uses.target), _AT_ONCE):
        part = slice(begin, begin + _AT_ONCE)
        of, places = spread(terms.starts, uses.text[part])
        keys = terms.sequences[places].astype(np.uint64) << _HALF | uses.target[part][of].astype(
            np.uint64
        )
        yield keys, 1 + np.log2(uses.hosts[part][of])


def _added(keys: Array, sums: Array, found: Array, weights: Array) -> tuple[Array, Array]:
    """Return numbers in order, each once, and the sums of their weights, with some more."""
    keys, sums = np.append(keys, found), np.append(sums, weights)
    order = np.argsort(keys, kind="stable")
    keys, sums = keys[order], sums[order]
    new = np.ones(len(keys), dtype=bool)
    new[1:] = keys[1:] != keys[:-1]
    starts = np.flatnonzero(new)
    return (keys[starts], np.add.reduceat(sums, starts)) if len(starts) else (keys, sums)


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


def forget_visible_anchors(store: BlobStore) -> None:
    """Remove the files of anchors written by `visible_anchors`; they are rebuilt on demand.

    Files of an earlier build contain data of that build.
    """
    folder = store.folder / _FOLDER
    for path in list(folder.iterdir()) if folder.exists() else ():
        if path.is_file():
            path.unlink(missing_ok=True)


def _have_links(table: InlinkTable, documents: Array) -> bool:
    """Return whether any of the documents (`bool[documents]`) has links."""
    ranges = map(table.range, range(len(table.notes.ranges)))
    return any(bool(documents[one.arrays["document"]].any()) for one in ranges)


def _written(visible: VisibleTable, whole: AnchorTable, path: Path) -> AnchorTable:
    """Return the anchors of a table, written to a file, or to none where that is not allowed."""
    with suppress(OSError):
        path.parent.mkdir(exist_ok=True)
    folder = path.parent if os.access(path.parent, os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=folder) as work:
        made = Path(work) / path.name
        write_anchor_table(visible, made, _Words(whole).of)
        if folder is None:
            return AnchorTable(made)  # stays readable when its name is gone
        made.replace(path)
    files = (one for one in path.parent.iterdir() if one.is_file())
    for old in sorted(files, key=lambda one: one.stat().st_mtime)[:-_KEPT_FILES]:
        old.unlink(missing_ok=True)
    return AnchorTable(path)


class _Words:
    """The words of anchor texts, as the table of the whole build has them."""

    def __init__(self, whole: AnchorTable) -> None:
        self._whole = whole
        self._numbers = {text: number for number, text in enumerate(whole.texts.all())}

    def of(self, text: str) -> Sequence[str]:
        """Return the words of an anchor text."""
        return self._whole.terms.take(self._whole.words(self._numbers[text]))
