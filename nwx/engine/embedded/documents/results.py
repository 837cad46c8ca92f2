"""The parts of a result: its hits, read by number, and its facets, counted on the columns."""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np

from nwx.engine.document_index import current_work
from nwx.engine.embedded.documents import tantivy_index
from nwx.engine.embedded.documents.columns import DocumentColumns
from nwx.engine.embedded.documents.found import DATED_FACETS, NarrowedNumbers, SearchPlan
from nwx.engine.embedded.documents.linked_search import NO_LINKS, HitLinks
from nwx.engine.embedded.documents.order import OrderedHits
from nwx.engine.embedded.documents.stored_columns import Folds, Ints
from nwx.engine.embedded.documents.view import ArchiveView
from nwx.engine.entries import IndexEntry, hit_from_entry
from nwx.engine.indices.vector_index import FoundPassage, ShownPassage
from nwx.engine.snippets import Highlighter, Piece
from nwx.model import FacetValue, Hit

_SPARSE = 16
_COMBINATIONS = 4_096
_MOST = 0.6
"""Above this share, documents outside the result are counted and subtracted from the totals."""


def read_hits(
    view: ArchiveView,
    plan: SearchPlan,
    page: Sequence[OrderedHits],
    nums: Ints,
    folds: Folds | None,
    passages: Mapping[int, FoundPassage] = MappingProxyType({}),
    parts: Mapping[int, HitLinks] = MappingProxyType({}),
) -> tuple[Hit, ...]:
    """Return the hits of a page; hits found by passages have these as snippets.

    `parts` has the score components and anchor texts of hits, by number.
    """
    hits = []
    unplaced = [one.num for one in page if one.address is None]
    addresses = tantivy_index.addresses(view.searcher, unplaced)
    versions = {} if folds is None else folds.versions([one.num for one in page], nums)
    highlighter = Highlighter(plan.tree) if plan.question.snippets else None
    work = current_work()
    for one in page:
        work.check()
        address = one.address or addresses.get(one.num)
        if address is None:
            continue  # just deleted
        document = view.searcher.doc(address)
        head = tantivy_index.head_of(document)
        snippet: tuple[Piece, ...] = ()
        if highlighter is not None:
            text = tantivy_index.content_of(document) or head.get("description", "")
            near = passages.get(one.num)
            snippet = (ShownPassage(near) if near else highlighter).snippet(text)
        count, links = versions.get(one.num, 1), parts.get(one.num, NO_LINKS)
        hits.append(hit_of(view.columns, one, head, count, snippet, links))
    return tuple(hits)


def hit_of(
    columns: DocumentColumns,
    listed: OrderedHits,
    head: IndexEntry,
    versions: int = 1,
    snippet: tuple[Piece, ...] = (),
    links: HitLinks = NO_LINKS,
) -> Hit:
    """Return the hit for a listed document, from its head and columns."""
    dates, collections = columns.dates(listed.num)
    shown = listed.score, snippet, versions, links.score_parts, links.found_by
    return hit_from_entry(head, dates, collections, *shown)


def read_facets(
    columns: DocumentColumns, found: NarrowedNumbers, facets: Sequence[str], size: int
) -> Mapping[str, tuple[FacetValue, ...]]:
    """Return the facets of documents: the most frequent values, ties by value; years in order."""
    usual = [facet for facet in facets if facet not in found.by_facet]
    counted = _facets(columns, found.nums, usual, size)
    for facet, nums in found.by_facet.items():
        counted |= _facets(columns, nums, [facet], size)
    return {facet: counted[facet] for facet in facets}


def _facets(
    columns: DocumentColumns, nums: Ints, facets: Sequence[str], size: int
) -> dict[str, tuple[FacetValue, ...]]:
    others = _left_out(columns, nums) if facets else None
    counts = _all_counts(columns, nums if others is None else others, facets)
    if others is not None:
        for facet, (codes, left) in counts.items():
            counts[facet] = _taken_off(columns.totals(facet), codes, left)
    return {facet: _values(columns, facet, *counts[facet], size) for facet in facets}


def _left_out(columns: DocumentColumns, nums: Ints) -> Ints | None:
    """Return the documents outside a result if it has more than _MOST of them, else None."""
    if len(nums) <= _MOST * columns.entries:
        return None
    rest = columns.is_document.copy()
    rest[nums] = False
    return np.flatnonzero(rest)


def _values(
    columns: DocumentColumns, facet: str, codes: Ints, counts: Ints, size: int
) -> tuple[FacetValue, ...]:
    if facet == "year":
        pairs = zip(codes.tolist(), counts.tolist(), strict=True)
        return tuple(FacetValue(f"{year:04}", count) for year, count in pairs)
    if facet == "collection":
        return _most_frequent(codes, counts, columns.collection_names, size)
    there = codes > 0
    return _most_frequent(codes[there], counts[there], columns.labels[facet], size)


def _all_counts(
    columns: DocumentColumns, nums: Ints, facets: Sequence[str]
) -> dict[str, tuple[Ints, Ints]]:
    """Return for each facet the codes of the documents' values, and their counts.

    Facets with few values are counted together, in one pass.
    """
    together = _few_values(columns, facets)
    found = {}
    if len(together) > 1:
        shape = [columns.kinds(facet) for facet in together]
        every = np.bincount(columns.combined_codes(together)[nums], minlength=math.prod(shape))
        table = every.reshape(shape)
        for axis, facet in enumerate(together):
            counts = table.sum(axis=tuple(n for n in range(len(shape)) if n != axis))
            found[facet] = np.flatnonzero(counts), counts[counts > 0]
    return found | {facet: _counts(columns, nums, facet) for facet in facets if facet not in found}


def _few_values(columns: DocumentColumns, facets: Sequence[str]) -> tuple[str, ...]:
    """Return the facets of documents that together have at most _COMBINATIONS of values."""
    chosen: list[str] = []
    combinations = 1
    own = [facet for facet in facets if facet not in DATED_FACETS]
    for facet in sorted(own, key=columns.kinds):
        combinations *= columns.kinds(facet)
        if combinations > _COMBINATIONS:
            break
        chosen.append(facet)
    return tuple(chosen)


def _counts(columns: DocumentColumns, nums: Ints, facet: str) -> tuple[Ints, Ints]:
    """Return the codes of the documents' facet values, and their counts."""
    codes = columns.codes(facet)[nums]
    if len(nums) * _SPARSE < columns.kinds(facet):
        found, counts = np.unique(codes, return_counts=True)
    else:
        every = np.bincount(codes, minlength=1)
        found = np.flatnonzero(every)
        counts = every[found]
    sets = columns.sets(facet)
    return (found, counts) if sets is None else sets.spread(found, counts)


def _taken_off(totals: tuple[Ints, Ints], codes: Ints, counts: Ints) -> tuple[Ints, Ints]:
    """Return the totals minus counts, zeros removed."""
    every, left = totals[0], totals[1].copy()
    left[np.searchsorted(every, codes)] -= counts
    there = left > 0
    return every[there], left[there]


def _most_frequent(
    codes: Ints, counts: Ints, labels: Mapping[int, str] | Sequence[str], size: int
) -> tuple[FacetValue, ...]:
    if not size:
        return ()
    if size < len(counts):
        # All ties with the last one are included, as their values decide.
        least = np.partition(counts, len(counts) - size)[len(counts) - size]
        codes, counts = codes[counts >= least], counts[counts >= least]
    values = [
        FacetValue(labels[code], count)
        for code, count in zip(codes.tolist(), counts.tolist(), strict=True)
    ]
    values.sort(key=lambda one: (-one.count, one.value))
    return tuple(values[:size])
