"""The plan of a question to an embedded archive, made before any look-up."""

from collections.abc import Mapping

from nwx.data_classes import dataclass
from nwx.query.fields import JOINED_FIELDS
from nwx.query.question import DateCondition, DocumentQuery, Question, facet_fields, resolve
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
