"""Questions and their answers."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from tantivy import Query

from nwx.engine.base import RESULT_WINDOW, SearchRequest
from nwx.engine.embedded import texts
from nwx.engine.embedded.columns import Bools, Columns, Ints
from nwx.engine.embedded.compile import Known, all_of, compile_node, has_scores, values_query
from nwx.engine.embedded.conditions import (
    Condition,
    range_condition,
    request_condition,
    without_conditions,
)
from nwx.engine.embedded.facets import read_facets, tally
from nwx.engine.embedded.ordering import Listed, by_date, by_score
from nwx.engine.embedded.snippets import Highlighter, Piece
from nwx.engine.embedded.view import View
from nwx.engine.entries import Entry
from nwx.errors import WindowError
from nwx.model import Collapse, Hit, SearchResult, Sort, Total
from nwx.query.tree import All, DateRange

_JOINED = ("collection", "year")
_SCROLL_CHUNK = 20_000


@dataclass(frozen=True, slots=True)
class Found:
    """What a question finds: a query of these documents at least, and their numbers.

    `allowed` tells them apart where the query finds more. All scores are
    equal unless `scored`.
    """

    query: Query
    nums: Ints
    allowed: Bools | None
    scored: bool


def search(view: View, request: SearchRequest) -> SearchResult:
    """Answer a question, as `Engine.search` does."""
    started = time.perf_counter()
    wanted = request.offset + request.limit
    if wanted > RESULT_WINDOW:
        raise WindowError(
            f"pages reach {RESULT_WINDOW} hits, {wanted} were asked for; "
            f"ask a narrower question, or stream all hits (scroll)"
        )
    found = _find(view, request)
    groups = _groups(view.columns, request.collapse)
    versions = None if groups is None else tally(groups[found.nums], view.columns.size)
    total = len(found.nums if versions is None else versions[0])
    page: Sequence[Listed] = ()
    if request.offset < total and request.limit:
        page = _first(view, request, found, groups, wanted)[request.offset :]
    return SearchResult(
        total=Total(total),
        documents=Total(len(found.nums)),
        hits=tuple(_hits(view, request, page, groups, versions)),
        facets=read_facets(view.columns, found.nums, request.facets, request.facet_size),
        took_ms=(time.perf_counter() - started) * 1000,
    )


def scroll(view: View, request: SearchRequest) -> Iterator[Hit]:
    """Stream every hit, as `Engine.scroll` does."""
    found = _find(view, request)
    nums = iter(found.nums.tolist())
    while chunk := list(islice(nums, _SCROLL_CHUNK)):
        query = all_of([found.query, Query.const_score_query(texts.nums_query(chunk), 0.0)])
        hits = view.searcher.search(query, len(chunk), count=False).hits
        hits.sort(key=lambda hit: (hit[1].segment_ord, hit[1].doc))
        addresses = [address for _, address in hits]
        nums_of_hits = view.searcher.fast_field_values(texts.NUM, addresses)
        for num, (score, address) in zip(nums_of_hits, hits, strict=True):
            head = texts.head_of(view.searcher.doc(address))
            yield _hit(view.columns, int(num or 0), head, score)


def _find(view: View, request: SearchRequest) -> Found:
    """Return what a question finds: tantivy answers what it knows, the columns tell the rest."""
    node, conditions = without_conditions(request.query)

    def dated(node: DateRange) -> Query:
        return _nums_query(_seen(view.columns, range_condition(node)) & view.columns.is_document)

    queries = [compile_node(node, Known(dated, view.terms))]
    queries += [
        values_query(field, tuple(values))
        for field, values in request.filters.items()
        if values and field not in _JOINED
    ]
    query = all_of(queries)
    everything = isinstance(node, All) and len(queries) == 1
    nums = view.all_nums() if everything else view.nums(query)
    allowed = None
    own = request_condition(request)
    for condition in (*conditions, *([own] if own else [])):
        fits = _seen(view.columns, condition)
        allowed = fits if allowed is None else allowed & fits
    if allowed is not None:
        nums = nums[allowed[nums]]
    elif view.searcher.num_docs != view.columns.entries:
        allowed = view.columns.is_document
    return Found(query, nums, allowed, has_scores(node))


def _seen(columns: Columns, condition: Condition) -> Bools:
    found = columns.seen_in(condition.spans, condition.collections)
    return found if condition.wanted else ~found


def _nums_query(chosen: Bools) -> Query:
    """Return the query of documents by number, told by the smaller side."""
    nums = np.flatnonzero(chosen)
    if 2 * len(nums) <= len(chosen):
        return Query.const_score_query(texts.nums_query(nums.tolist()), 1.0)
    others = texts.nums_query(np.flatnonzero(~chosen).tolist())
    return Query.const_score_query(
        Query.all_query().and_must_not_match(others),
        1.0,
    )


def _groups(columns: Columns, collapse: Collapse) -> Ints | None:
    if collapse is Collapse.NONE:
        return None
    return columns.url_group if collapse is Collapse.URL else columns.text_group


def _first(
    view: View, request: SearchRequest, found: Found, groups: Ints | None, wanted: int
) -> list[Listed]:
    if request.sort is Sort.RELEVANCE and found.scored:
        return by_score(view, found.query, found.allowed, groups, wanted)
    return by_date(view.columns, found.nums, groups, wanted, request.sort)


def _hits(
    view: View,
    request: SearchRequest,
    page: Sequence[Listed],
    groups: Ints | None,
    versions: tuple[Ints, Ints] | None,
) -> Iterator[Hit]:
    documents = dict(texts.documents_by_num(view.searcher, [one.num for one in page]))
    highlighter = Highlighter(request.query) if request.snippets else None
    for one in page:
        if one.num not in documents:
            continue  # deleted a moment ago
        document = documents[one.num]
        head = texts.head_of(document)
        number = 1
        if groups is not None and versions is not None:
            kinds, counts = versions
            number = int(counts[np.searchsorted(kinds, groups[one.num])])
        snippet: tuple[Piece, ...] = ()
        if highlighter is not None:
            text = texts.content_of(document) or head.get("description", "")
            snippet = highlighter.snippet(text)
        yield _hit(view.columns, one.num, head, one.score, number, snippet)


def _hit(
    columns: Columns,
    num: int,
    head: Entry,
    score: float,
    versions: int = 1,
    snippet: tuple[Piece, ...] = (),
) -> Hit:
    dates, collections = columns.dates(num)
    return Hit(
        id=head["id"],
        url=head.get("url", ""),
        digest=head.get("digest", ""),
        title=head.get("title", ""),
        dates=dates,
        score=score,
        snippet=snippet,
        versions=versions,
        host=head.get("host", ""),
        domain=head.get("domain", ""),
        collections=collections,
        status_code=head.get("status_code"),
        content_type=head.get("content_type", ""),
        content_type_norm=head.get("content_type_norm", ""),
        content_language=head.get("content_language", ""),
        content_length=head.get("content_length"),
    )
