"""The full-text search within a selection of captures."""

from collections.abc import Sequence
from dataclasses import dataclass

from nwx.facets.question import FacetCondition
from webapp.site import parameters


@dataclass(frozen=True, slots=True)
class Within:
    """The parameters of a search, and the conditions that no search filter has."""

    pairs: tuple[tuple[str, str], ...]
    missing: tuple[FacetCondition, ...]


def search_within(where: Sequence[FacetCondition]) -> Within:
    """Return the search that finds the documents of a selection, as nearly as filters allow.

    Depth, the unknown and names from a list of sites mean nothing to the
    search, and a query has its length: such conditions are in `missing`.
    """
    filters: list[tuple[str, str]] = []
    clauses: list[str] = []
    missing: list[FacetCondition] = []
    for condition in where:
        clause, name = condition.to_query(), _free_filter(condition, filters)
        if clause and name:
            filters += [(name, value) for value in condition.values]
        elif clause and len(" AND ".join((*clauses, clause))) <= parameters.MAX_QUERY:
            clauses.append(clause)
        else:
            missing.append(condition)
    return Within((("q", " AND ".join(clauses)), *filters), tuple(missing))


def _free_filter(condition: FacetCondition, filters: Sequence[tuple[str, str]]) -> str:
    """Return the filter that a condition can be, "" where it has to be part of the query."""
    name = condition.criterion.definition.query_filter
    several = len(condition.values) > parameters.MAX_REPEATED
    return "" if condition.negated or several or name in dict(filters) else name
