"""The full-text search within a selection of captures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil

from nwx.facets.criteria import SIZE_BOUNDS, SIZES, STATUSES, UNKNOWN, Criterion
from nwx.facets.question import Condition

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
    missing: tuple[Condition, ...]


def search_within(where: Sequence[Condition]) -> Within:
    """Return the search that finds the documents of a selection, as nearly as filters allow.

    Depth, the unknown and names from a list of sites mean nothing to the
    search: such conditions are in `missing`.
    """
    filters: list[tuple[str, str]] = []
    clauses: list[str] = []
    missing: list[Condition] = []
    for condition in where:
        name = _FILTERS.get(condition.criterion)
        clause = _clause(condition)
        if clause is None:
            missing.append(condition)
        elif name and not condition.negated and name not in dict(filters):
            filters += [(name, value) for value in condition.values]
        else:
            clauses.append(f"NOT {clause}" if condition.negated else clause)
    # A query of nothing but NOT would find nothing to take from.
    query = " AND ".join(sorted(clauses, key=lambda clause: clause.startswith("NOT ")))
    return Within((("q", query), *filters), tuple(missing))


def _clause(condition: Condition) -> str | None:
    """Return a condition in Lucene syntax, None where there is none for it."""
    criterion = condition.criterion
    if criterion is Criterion.MONTH and condition.is_span:
        return f"date:{condition.low}..{condition.high}"
    if criterion is Criterion.SIZE and condition.is_span:
        return _size_span(condition.low or SIZES[0], condition.high or SIZES[-2])
    write = _CLAUSES.get(criterion)
    if write is None or condition.is_span or UNKNOWN in condition.values:
        return None
    clauses = [write(value) for value in condition.values]
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
