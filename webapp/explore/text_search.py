"""The full-text search within a selection of captures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil

from nwx.facets.criteria import SIZE_BOUNDS, SIZES, STATUSES, UNKNOWN, Criterion
from nwx.facets.question import FacetCondition
from webapp.explore.labels import whole_years
from webapp.site import parameters

_QUOTED = str.maketrans({"\\": "\\\\", '"': '\\"'})
_FILTERS = {
    Criterion.COLLECTION: "collection",
    Criterion.TYPE: "type",
    Criterion.SITE: "domain",
}


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
        clause, name = _clause(condition), _free_filter(condition, filters)
        if clause and name:
            filters += [(name, value) for value in condition.values]
        elif clause and len(" AND ".join((*clauses, clause))) <= parameters.MAX_QUERY:
            clauses.append(clause)
        else:
            missing.append(condition)
    return Within((("q", " AND ".join(clauses)), *filters), tuple(missing))


def _free_filter(condition: FacetCondition, filters: Sequence[tuple[str, str]]) -> str:
    """Return the filter that a condition can be, "" where it has to be part of the query."""
    name = _FILTERS.get(condition.criterion, "")
    several = len(condition.values) > parameters.MAX_VALUES
    return "" if condition.negated or several or name in dict(filters) else name


def _clause(condition: FacetCondition) -> str | None:
    """Return a condition in Lucene syntax, None where there is none for it."""
    clause = _positive(condition)
    return f"NOT {clause}" if clause and condition.negated else clause


def _positive(condition: FacetCondition) -> str | None:
    criterion = condition.criterion
    if criterion is Criterion.MONTH and condition.is_span:
        return f"date:{condition.low}..{condition.high}"
    if criterion is Criterion.SIZE and condition.is_span:
        return _size_span(condition.low or SIZES[0], condition.high or SIZES[-2])
    write = _CLAUSES.get(criterion)
    if write is None or condition.is_span or UNKNOWN in condition.values:
        return None
    values = whole_years(condition.values) if criterion is Criterion.MONTH else condition.values
    clauses = [write(value) for value in values]
    if None in clauses:
        return None
    joined = " OR ".join(filter(None, clauses))
    return f"({joined})" if len(clauses) > 1 else joined


def _status(value: str) -> str | None:
    if value not in STATUSES[:4]:
        return None
    low = 200 + 100 * STATUSES.index(value)
    return f"status:[{low} TO {low + 99}]"


def _size(value: str) -> str:
    return _size_span(value, value)


def _size_span(low: str, high: str) -> str:
    """Return the bytes from the start of a category to the end of another."""
    first, last = SIZES.index(low), SIZES.index(high)
    start = ceil(SIZE_BOUNDS[first - 1]) if first else 0
    end = ceil(SIZE_BOUNDS[last]) - 1 if last < len(SIZE_BOUNDS) else "*"
    return f"size:[{start} TO {end}]"


def _quoted(field: str) -> Callable[[str], str]:
    return lambda value: f'{field}:"{value.translate(_QUOTED)}"'


def _tld(value: str) -> str:
    return f'(tld:"{value.translate(_QUOTED)}" OR tld:*.{value})'


def _site(value: str) -> str | None:
    # A name from a list of sites is none of the domains that the search knows.
    named = " " in value or ("." not in value and ":" not in value and value != "localhost")
    return None if named else _quoted("domain")(value)


_CLAUSES: dict[Criterion, Callable[[str], str | None]] = {
    Criterion.STATUS: _status,
    Criterion.MONTH: lambda value: f"date:{value}",
    Criterion.SITE: _site,
    Criterion.TYPE: _quoted("type"),
    Criterion.TLD: _tld,
    Criterion.SIZE: _size,
    Criterion.COLLECTION: _quoted("collection"),
}
