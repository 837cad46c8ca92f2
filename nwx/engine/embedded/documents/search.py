"""Questions and their answers."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice

import numpy as np
from tantivy import Query

from nwx.engine.anchors.scores import FACTOR_WINDOW, FoundTargets
from nwx.engine.document_index import RESULT_WINDOW
from nwx.engine.embedded.documents import tantivy_index
from nwx.engine.embedded.documents.columns import Bools, DocumentColumns
from nwx.engine.embedded.documents.compile import Known, all_of, compile_node, values_query
from nwx.engine.embedded.documents.conditions import (
    DateCondition,
    filter_condition,
    range_condition,
    without_conditions,
)
from nwx.engine.embedded.documents.counts import (
    DATED_FACETS,
    NarrowedNumbers,
    narrow_facets,
    read_facets,
)
from nwx.engine.embedded.documents.groups import Folds
from nwx.engine.embedded.documents.order import OrderedHits, Ranking, Step, by_date, by_score, steps
from nwx.engine.embedded.documents.snippets import Highlighter, Piece
from nwx.engine.embedded.documents.stored_columns import Ints
from nwx.engine.embedded.documents.terms import Terms, are_near, near_candidates
from nwx.engine.embedded.documents.view import ArchiveView
from nwx.engine.embedded.inlinks.linked_search import (
    LinkedSearch,
    joined,
    scored_among,
    without_linked,
)
from nwx.engine.entries import IndexEntry
from nwx.engine.work import current_work
from nwx.errors import ErrorText, WindowError
from nwx.model import Hit, SearchResult, Sort, Total
from nwx.query.dates import Period, TrendPoint
from nwx.query.inlinks import joined_leaves
from nwx.query.question import DocumentQuery, Question, facet_fields, resolve
from nwx.query.tree import All, DateRange, Node, has_scores

_SCROLL_CHUNK = 20_000


@dataclass(frozen=True, slots=True)
class _Found:
    """What a question finds: a query of these documents at least, and their numbers.

    `allowed` tells them apart where the query finds more. All scores are
    equal unless `scored`; `steps` may find the best of them sooner. `anchors`
    found some of them, whatever their words; `by_words` are others and more.
    """

    query: Query
    numbers: NarrowedNumbers
    allowed: Bools | None
    scored: bool
    steps: Iterable[Step]
    anchors: FoundTargets | None
    by_words: Ints

    @property
    def nums(self) -> Ints:
        """The numbers of the documents that are found."""
        return self.numbers.nums


def search_documents(view: ArchiveView, question: Question, links: LinkedSearch) -> SearchResult:
    """Answer a question, as `Engine.search` does."""
    started = time.perf_counter()
    wanted = question.offset + question.limit
    if wanted > RESULT_WINDOW:
        raise WindowError(
            ErrorText(
                "pages reach %(most)s hits, %(wanted)s were asked for; ask a "
                "narrower question, or stream all hits (scroll)",
                most=RESULT_WINDOW,
                wanted=wanted,
            )
        )
    facets = facet_fields(question)
    query = resolve(question)
    found = _find(view, query, links, facets, scores=question.sort is Sort.RELEVANCE)
    folds = view.columns.folds(question.collapse)
    total = len(found.nums) if folds is None else folds.count(found.nums)
    page: Sequence[OrderedHits] = ()
    if question.offset < total and question.limit:
        page = _first(view, question, found, links, folds, wanted)[question.offset : wanted]
    highlighter = Highlighter(query.tree) if question.snippets else None
    return SearchResult(
        total=Total(total),
        documents=Total(len(found.nums)),
        hits=_with_link_parts(
            view, question, found, links, page, _hits(view, highlighter, page, found.nums, folds)
        ),
        facets=read_facets(view.columns, found.numbers, facets, question.facet_size),
        took_ms=(time.perf_counter() - started) * 1000,
    )


def scroll_documents(view: ArchiveView, question: Question, links: LinkedSearch) -> Iterator[Hit]:
    """Stream every hit, as `Engine.scroll` does."""
    found = _find(view, resolve(question), links)
    nums = iter(found.nums.tolist())
    while chunk := list(islice(nums, _SCROLL_CHUNK)):
        current_work().check()
        query = scored_among(found.query, chunk)
        hits = view.searcher.search(query, len(chunk), count=False).hits
        hits.sort(key=lambda hit: (hit[1].segment_ord, hit[1].doc))
        addresses = [address for _, address in hits]
        for num, (score, address) in zip(
            tantivy_index.nums_of(view.searcher, addresses), hits, strict=True
        ):
            yield _hit(
                view.columns,
                OrderedHits(num, score),
                tantivy_index.head_of(view.searcher.doc(address)),
            )


def trend_of_documents(
    view: ArchiveView, question: Question, links: LinkedSearch, period: Period
) -> list[TrendPoint]:
    """Return when documents were captured, as `Engine.trends` does."""
    query = resolve(question)
    found = _find(view, query, links, scores=False)
    own = filter_condition(query) or DateCondition()
    return view.columns.trend(found.nums, period, own.spans, own.collections)


def _find(
    view: ArchiveView,
    query: DocumentQuery,
    links: LinkedSearch,
    facets: Sequence[str] = (),
    *,
    scores: bool = True,
) -> _Found:
    """Return what a question finds: tantivy answers what it knows, the columns tell the rest.

    The columns tell the filters of facets too, which count what other
    filters alone would find.
    """
    node, conditions = without_conditions(query.tree)
    node, leaves = without_linked(node)
    known = _known(view, links)
    apart = [facet for facet in facets if query.filters_facet(facet)]
    own = {name: values for name, values in query.filters.items() if name not in DATED_FACETS}
    filters = {name: values_query(name, values) for name, values in own.items()}
    chosen = {name: values for name, values in own.items() if name not in apart}
    exact = compile_node(node, replace(known, scored=False))
    scored = has_scores(node)
    ranked = compile_node(node, known) if scored and scores else exact
    nums = _matching(view, node, exact)
    for name, values in chosen.items():
        nums = nums[view.columns.has_value(name, values, nums)]
    anchors = links.found(query.tree)
    by_words = nums
    if anchors is not None:
        nums = joined(nums, _linked_nums(view, links, anchors, chosen))
    allowed = links.meet_all(leaves, _all_seen(view.columns, conditions))
    if allowed is not None:
        nums = nums[allowed[nums]]
    own_dates = filter_condition(query)
    dated = None if own_dates is None else _seen(view.columns, own_dates)
    numbers = narrow_facets(view.columns, nums, query, apart, dated)
    if dated is not None:
        allowed = dated if allowed is None else allowed & dated
    if view.searcher.num_docs != view.columns.entries:
        there = view.columns.is_document
        allowed = there if allowed is None else allowed & there
    whole, own_filters = all_of([ranked, *filters.values()]), tuple(filters.values())
    best = steps(node, own_filters, view.searcher, len(numbers.nums))
    return _Found(whole, numbers, allowed, scored, best, anchors, by_words)


def _matching(view: ArchiveView, node: Node, query: Query) -> Ints:
    """Return the documents of a tree and its query; what links tell may change at any time."""
    if isinstance(node, All):
        return view.all_nums()
    return view.nums(query) if joined_leaves(node) else view.matching(node, query)


def _known(view: ArchiveView, links: LinkedSearch) -> Known:
    return Known(
        dated=partial(_dated, view),
        terms=Terms(view.searcher),
        near=partial(_near, view),
        linked=lambda leaf: _fitting(links.meet(leaf) & view.columns.is_document),
        own_shown=partial(_own_shown, view),
    )


def _own_shown(view: ArchiveView, query: Query) -> Query:
    """Return the query of those documents of a query whose own capture is not hidden."""
    if not len(view.own_hidden):
        return query
    return query.and_must_not_match(tantivy_index.nums_query(view.own_hidden.tolist()))


def _linked_nums(
    view: ArchiveView,
    links: LinkedSearch,
    anchors: FoundTargets,
    chosen: Mapping[str, Sequence[str]],
) -> Ints:
    """Return the documents that anchors find, of those that meet all else of a query.

    Conditions on dates, and on links, of the whole query are looked at later.
    """
    nums = links.nums(anchors)
    nums = nums[view.columns.is_document[nums]]
    for name, values in chosen.items():
        nums = nums[view.columns.has_value(name, values, nums)]
    node, _ = without_linked(without_conditions(anchors.rest)[0])
    if isinstance(node, All) or not len(nums):
        return nums
    rest = compile_node(node, replace(_known(view, links), scored=False))
    inside = Query.const_score_query(tantivy_index.nums_query(nums.tolist()), 0.0)
    return view.nums(all_of([rest, inside]))


def _all_seen(columns: DocumentColumns, conditions: Sequence[DateCondition]) -> Bools | None:
    """Tell of documents whether they meet all conditions, None where there are none."""
    allowed = None
    for condition in conditions:
        fits = _seen(columns, condition)
        allowed = fits if allowed is None else allowed & fits
    return allowed


def _dated(view: ArchiveView, node: DateRange) -> Query:
    """Return the query of documents with a date in a range."""
    current_work().check()
    return _fitting(_seen(view.columns, range_condition(node)) & view.columns.is_document)


def _fitting(fits: Bools) -> Query:
    """Return the query of documents that a condition fits, told by the smaller side."""
    nums = np.flatnonzero(fits)
    if 2 * len(nums) <= len(fits):
        found = tantivy_index.nums_query(nums.tolist())
    else:
        others = tantivy_index.nums_query(np.flatnonzero(~fits).tolist())
        found = Query.all_query().and_must_not_match(others)
    return Query.const_score_query(found, 1.0)


def _near(view: ArchiveView, field: str, words: Sequence[str], slop: int) -> Query:
    """Return the query of documents with words near each other, which are looked at one by one."""
    query = near_candidates(field, words, slop)
    work = current_work()
    found: list[int] = []
    for num, document in tantivy_index.documents_by_num(view.searcher, view.nums(query).tolist()):
        work.read_text()
        if are_near(words, tantivy_index.texts_of(document, field), slop):
            found.append(num)
    return all_of([query, Query.const_score_query(tantivy_index.nums_query(found), 0.0)])


def _seen(columns: DocumentColumns, condition: DateCondition) -> Bools:
    found = columns.seen_in(condition.spans, condition.collections)
    return found if condition.wanted else ~found


def _first(
    view: ArchiveView,
    question: Question,
    found: _Found,
    links: LinkedSearch,
    folds: Folds | None,
    wanted: int,
) -> list[OrderedHits]:
    groups = None if folds is None else folds.groups
    if question.sort is Sort.INLINKS:
        return links.by_inlinks(view.columns, found.nums, groups, wanted)
    if not _is_ranked(question, found):
        sort = Sort.NEWEST if question.sort is Sort.RELEVANCE else question.sort
        return by_date(view.columns, found.nums, groups, wanted, sort)
    ranking = Ranking(found.query, list(found.steps))
    if not links.ranks:
        return by_score(view, ranking, found.allowed, groups, wanted)
    most = max(wanted, FACTOR_WINDOW)
    if found.scored:
        listed = by_score(view, ranking, found.allowed, groups, most)
    else:
        listed = by_date(view.columns, found.nums, groups, most, Sort.NEWEST)
        listed = [replace(one, score=0.0) for one in listed]
    return links.ranked(view.columns, listed, found.anchors, found.nums, groups, wanted)


def _is_ranked(question: Question, found: _Found) -> bool:
    return question.sort is Sort.RELEVANCE and (found.scored or found.anchors is not None)


def _with_link_parts(
    view: ArchiveView,
    question: Question,
    found: _Found,
    links: LinkedSearch,
    page: Sequence[OrderedHits],
    hits: Iterator[tuple[int, Hit]],
) -> tuple[Hit, ...]:
    """Return hits with what links have to do with them."""
    query = found.query if found.scored else None
    if not links.ranks or not (found.anchors or _is_ranked(question, found)):
        return tuple(hit for _, hit in hits)
    parts = links.score_parts(view, query, found.anchors, [one.num for one in page], found.by_words)
    return tuple(
        replace(
            hit,
            score_parts=parts[num].score_parts if _is_ranked(question, found) else None,
            found_by_links=parts[num].found_by,
        )
        for num, hit in hits
    )


def _hits(
    view: ArchiveView,
    highlighter: Highlighter | None,
    page: Sequence[OrderedHits],
    nums: Ints,
    folds: Folds | None,
) -> Iterator[tuple[int, Hit]]:
    unplaced = [one.num for one in page if one.address is None]
    addresses = tantivy_index.addresses(view.searcher, unplaced)
    versions = {} if folds is None else folds.versions([one.num for one in page], nums)
    work = current_work()
    for one in page:
        work.check()
        address = one.address or addresses.get(one.num)
        if address is None:
            continue  # deleted a moment ago
        document = view.searcher.doc(address)
        head = tantivy_index.head_of(document)
        snippet: tuple[Piece, ...] = ()
        if highlighter is not None:
            text = tantivy_index.content_of(document) or head.get("description", "")
            snippet = highlighter.snippet(text)
        yield one.num, _hit(view.columns, one, head, versions.get(one.num, 1), snippet)


def _hit(
    columns: DocumentColumns,
    listed: OrderedHits,
    head: IndexEntry,
    versions: int = 1,
    snippet: tuple[Piece, ...] = (),
) -> Hit:
    dates, collections = columns.dates(listed.num)
    return Hit(
        id=head["id"],
        url=head.get("url", ""),
        digest=head.get("digest", ""),
        title=head.get("title", ""),
        dates=dates,
        score=listed.score,
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
