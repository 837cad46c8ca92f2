"""The plan of a question, made before any look-up, and the documents found for it."""

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import partial

import numpy as np
from tantivy import Occur, Query

from nwx.data_classes import dataclass
from nwx.engine.document_index import current_work
from nwx.engine.embedded.documents import tantivy_index
from nwx.engine.embedded.documents.columns import Bools, DocumentColumns
from nwx.engine.embedded.documents.compile import Known, all_of, compile_node, values_query
from nwx.engine.embedded.documents.linked_search import LinkedSearch, joined
from nwx.engine.embedded.documents.order import (
    MOST_SCORED,
    ScoredDocuments,
    are_among,
    most_found,
    query_among,
    read_scores,
)
from nwx.engine.embedded.documents.stored_columns import Ints
from nwx.engine.embedded.documents.view import ArchiveView
from nwx.engine.embedded.documents.word_sets import Terms, are_near, near_candidates
from nwx.engine.inlinks.anchor_scores import FoundTargets
from nwx.query.fields import JOINED_FIELDS
from nwx.query.question import (
    DateCondition,
    DocumentQuery,
    Question,
    facet_fields,
    range_condition,
    resolve,
)
from nwx.query.tree import All, Bool, DateRange, Leaf, Node, has_scores

DATED_FACETS = ("collection", "year")
"""The facets computed from all dates of a document."""


@dataclass(frozen=True, slots=True)
class JoinedLeaf:
    """A leaf on dates or links that all documents of a query must, or must not, meet."""

    leaf: DateRange | Leaf
    wanted: bool = True


@dataclass(frozen=True, slots=True)
class SearchPlan:
    """A question split by the component that answers each part.

    tantivy answers `text`; columns of dates and links determine which documents meet `joined`,
    `filters` and `dates`. The facets `apart` are counted without their own filter: `other_dates`
    has the rest of `dates` for each of them computed from dates. `tree` is the whole query.
    """

    question: Question
    tree: Node
    text: Node
    joined: tuple[JoinedLeaf, ...]
    filters: Mapping[str, tuple[str, ...]]
    dates: DateCondition | None
    facets: tuple[str, ...]
    apart: tuple[str, ...]
    other_dates: Mapping[str, DateCondition | None]
    is_scored: bool
    pages_first: bool
    bonus: tuple[Node, ...]

    @property
    def wanted(self) -> int:
        """The number of hits up to the end of the page."""
        return self.question.offset + self.question.limit


def plan_search(question: Question) -> SearchPlan:
    """Return the plan of a question. Raises the errors of `resolve` and `facet_fields`."""
    facets = facet_fields(question)
    query = resolve(question)
    text, joined = without_joined(query.tree)
    apart = tuple(facet for facet in facets if query.filters_facet(facet))
    return SearchPlan(
        question=question,
        tree=query.tree,
        text=text,
        joined=joined,
        filters={name: some for name, some in query.filters.items() if name not in DATED_FACETS},
        dates=query.date_condition(),
        facets=facets,
        apart=apart,
        other_dates=_other_dates(query, apart),
        is_scored=has_scores(text),
        pages_first=query.pages_first,
        bonus=query.bonus,
    )


def _other_dates(
    query: DocumentQuery, apart: tuple[str, ...]
) -> Mapping[str, DateCondition | None]:
    dated = (facet for facet in apart if facet in DATED_FACETS)
    return {facet: query.without(facet).date_condition() for facet in dated}


def without_joined(node: Node) -> tuple[Node, tuple[JoinedLeaf, ...]]:
    """Split off the leaves on dates and links that the whole query must (not) meet; return both."""
    if _is_joined(node):
        return All(), (JoinedLeaf(node),)  # type: ignore[arg-type]
    if not isinstance(node, Bool):
        return node, ()
    must = [without_joined(part) for part in node.must]
    joined = [one for _, found in must for one in found]
    joined += [JoinedLeaf(part, wanted=False) for part in node.must_not if _is_joined(part)]  # type: ignore[arg-type]
    if not joined:
        return node, ()
    kept = tuple(part for part, found in must if not (found and isinstance(part, All)))
    must_not = tuple(part for part in node.must_not if not _is_joined(part))
    if not kept and not node.should and not must_not:
        return All(), tuple(joined)
    # All keeps `should` optional, as it was next to a `must`.
    return Bool(kept or ((All(),) if node.must else ()), node.should, must_not), tuple(joined)


def _is_joined(node: Node) -> bool:
    return isinstance(node, DateRange) or getattr(node, "field", "") in JOINED_FIELDS


@dataclass(frozen=True, slots=True)
class NarrowedNumbers:
    """The documents that meet all filters, and those to count for each filtered facet."""

    nums: Ints
    by_facet: Mapping[str, Ints] = field(default_factory=dict)


def narrow_facets(
    columns: DocumentColumns, nums: Ints, plan: SearchPlan, dated: Bools | None
) -> NarrowedNumbers:
    """Return the documents that meet dates and filters, overall and per filtered facet.

    `dated` marks the documents that meet the question's dates, if it has any. A facet with a filter
    gets the documents that meet all filters but its own. Each filter is evaluated once, by counting
    the filters that a document does not meet.
    """
    in_dates = True if dated is None else dated[nums]
    unmet = {
        facet: (~columns.has_value(facet, plan.filters[facet], nums)).astype(np.uint8)
        for facet in plan.apart
        if facet in plan.filters
    }
    sums = np.zeros(len(nums), dtype=np.uint8)
    for one in unmet.values():
        sums += one
    by_facet = {facet: nums[(sums == one) & in_dates] for facet, one in unmet.items()}
    meets_own = sums == 0
    for facet, condition in plan.other_dates.items():
        other = True if condition is None else columns.seen_in(condition)[nums]
        by_facet[facet] = nums[meets_own & other]
    return NarrowedNumbers(nums[meets_own & in_dates], by_facet)


@dataclass(frozen=True, slots=True)
class FoundDocuments:
    """The documents found for a plan: their numbers, and a query that covers them.

    `bonus` finds those with a raised score. `allowed` restricts the query, which includes
    `filters`, if it finds more. `anchors` found some of the documents by anchor texts; `by_words`
    contains the others and more. `scored` has the scores of all, if they are few.
    """

    known: Known
    query: Query
    bonus: Query | None
    filters: Sequence[Query]
    numbers: NarrowedNumbers
    allowed: Bools | None
    anchors: FoundTargets | None
    by_words: Ints
    scored: ScoredDocuments | None

    @property
    def nums(self) -> Ints:
        """The numbers of the documents found."""
        return self.numbers.nums


def documents_found(
    view: ArchiveView,
    plan: SearchPlan,
    links: LinkedSearch,
    *,
    scores: bool = True,
    within: Ints | None = None,
) -> FoundDocuments:
    """Return the documents of a plan, only those among `within` if it is given."""
    known = replace(_known(view, links), weights=plan.question.ranking.fields)
    filters = [values_query(name, values) for name, values in plan.filters.items()]
    is_scored = scores and plan.is_scored
    ranked, bonus, matching, scored = _matching(view, plan, known, is_scored, within)
    by_words = _filtered(view.columns, matching, plan)
    anchors = links.found(plan.tree)
    nums = by_words
    if anchors is not None:
        nums = joined(nums, _linked_nums(view, plan, links, anchors))
    dated = None if plan.dates is None else view.columns.seen_in(plan.dates)
    allowed = _joined_allow(view, links, plan)
    if allowed is not None:
        nums = nums[allowed[nums]]
    numbers = narrow_facets(view.columns, nums, plan, dated)
    there = None
    if view.searcher.num_docs != view.columns.entries:
        there = view.columns.is_document
    allowed = _both(_both(allowed, dated), there)
    query = all_of([ranked, *filters])
    if is_scored and scored is None and len(nums) <= MOST_SCORED:
        some = query if allowed is None else query_among(query, nums.tolist())
        scored = read_scores(view.searcher, some, len(nums))
    parts = filters, numbers, allowed, anchors, by_words, scored
    return FoundDocuments(known, query, bonus, *parts)


def _matching(
    view: ArchiveView, plan: SearchPlan, known: Known, is_scored: bool, within: Ints | None
) -> tuple[Query, Query | None, Ints, ScoredDocuments | None]:
    """Return the queries of `_ranked`, the numbers that they find, and the scores if few."""
    most = most_found(plan.text, view.searcher) if is_scored else MOST_SCORED + 1
    ranked, bonus = _ranked(plan, known) if is_scored and most else (Query.empty_query(), None)
    if most <= MOST_SCORED:
        scored = read_scores(view.searcher, ranked, most)
        return ranked, bonus, view.known(scored.nums), scored
    if within is not None:
        return ranked, bonus, within, None
    exact = compile_node(plan.text, replace(known, scored=False))
    return ranked if is_scored else exact, bonus, view.matching(plan.text, exact), None


def _joined_allow(view: ArchiveView, links: LinkedSearch, plan: SearchPlan) -> Bools | None:
    """Return for each number whether it meets the query's joined leaves; None without any."""
    allowed = None
    for one in plan.joined:
        meet = _meet(view, links, one.leaf)
        allowed = _both(allowed, meet if one.wanted else ~meet)
    return allowed


def _ranked(plan: SearchPlan, known: Known) -> tuple[Query, Query | None]:
    """Return the query that scores documents, and the query for those with a raised score."""
    query = compile_node(plan.text, known)
    if not plan.bonus:
        return query, None
    bonus = compile_node(Bool(should=plan.bonus), known)
    return Query.boolean_query([(Occur.Must, query), (Occur.Should, bonus)]), bonus


def _both(one: Bools | None, other: Bools | None) -> Bools | None:
    """Return the conjunction of two conditions; None allows everything."""
    if one is None or other is None:
        return other if one is None else one
    return one & other


def _filtered(columns: DocumentColumns, nums: Ints, plan: SearchPlan) -> Ints:
    """Return the documents that meet the filters, except those that facets count without."""
    for name, values in plan.filters.items():
        if name not in plan.apart:
            nums = nums[columns.has_value(name, values, nums)]
    return nums


def _linked_nums(
    view: ArchiveView, plan: SearchPlan, links: LinkedSearch, anchors: FoundTargets
) -> Ints:
    """Return the documents found by anchors that meet the rest of a query.

    The query's joined leaves (dates and links) are checked later.
    """
    nums = links.nums(anchors)
    nums = _filtered(view.columns, nums[view.columns.is_document[nums]], plan)
    rest, _ = without_joined(anchors.rest)
    if isinstance(rest, All) or not len(nums):
        return nums
    query = compile_node(rest, replace(_known(view, links), scored=False))
    return view.nums(query_among(query, nums.tolist()))


def _known(view: ArchiveView, links: LinkedSearch) -> Known:
    return Known(
        joined=lambda leaf: _fitting(_meet(view, links, leaf) & view.columns.is_document),
        near=partial(_near, view),
        own_shown=partial(_own_shown, view),
        terms=Terms(view.searcher),
    )


def _meet(view: ArchiveView, links: LinkedSearch, leaf: DateRange | Leaf) -> Bools:
    """Return for each number whether it meets a leaf on dates or links."""
    current_work().check()
    if isinstance(leaf, DateRange):
        return view.columns.seen_in(range_condition(leaf))
    return links.meet(leaf)


def _fitting(fits: Bools) -> Query:
    """Return the query for the documents marked, built from the smaller side."""
    nums = np.flatnonzero(fits)
    if 2 * len(nums) <= len(fits):
        found = tantivy_index.nums_query(nums.tolist())
    else:
        others = tantivy_index.nums_query(np.flatnonzero(~fits).tolist())
        found = Query.all_query().and_must_not_match(others)
    return Query.const_score_query(found, 1.0)


def _near(view: ArchiveView, field: str, words: Sequence[str], slop: int) -> Query:
    """Return the query for documents with words near each other, checking texts one by one."""
    query = near_candidates(field, words, slop)
    work = current_work()
    found: list[int] = []
    for num, document in tantivy_index.documents_by_num(view.searcher, view.nums(query).tolist()):
        work.read_text()
        if are_near(words, tantivy_index.texts_of(document, field), slop):
            found.append(num)
    return query_among(query, found)


def _own_shown(view: ArchiveView, query: Query) -> Query:
    """Return a query restricted to documents whose own capture is not hidden."""
    if not len(view.own_hidden):
        return query
    return query.and_must_not_match(tantivy_index.nums_query(view.own_hidden.tolist()))


def own_scores(
    view: ArchiveView, plan: SearchPlan, found: FoundDocuments, asked: Ints
) -> dict[int, float]:
    """Return the text scores of the documents in `asked` that match by words."""
    if found.scored is not None:
        return found.scored.among(asked)
    nums = asked[are_among(asked, found.by_words)].tolist()
    if not nums or not plan.is_scored:
        return {}
    return read_scores(view.searcher, query_among(found.query, nums), len(nums)).among(asked)
