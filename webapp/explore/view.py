"""The explorer's view, parsed from an address, and the addresses linked from it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any
from urllib.parse import urlencode

from nwx.errors import ErrorText, UsageError
from nwx.facets.criteria import Criterion
from nwx.facets.question import FacetCondition, Feature, parse_condition
from webapp.site import parameters
from webapp.site.parameters import Arguments

TOPS = (10, 20, 50, 100)
DEFAULT_TOP = TOPS[1]
_MAX_SHOWN_CONDITIONS = 30
MAX_CONDITION = 4_000
_FIRST_STEPS = (
    Criterion.MONTH,
    Criterion.TYPE,
    Criterion.STATUS,
    Criterion.SITE,
    Criterion.SIZE,
    Criterion.TLD,
)
STEPS = tuple(dict.fromkeys((*_FIRST_STEPS, *Criterion)))
"""The criteria in the order in which the explorer steps through them."""


class Chart(StrEnum):
    """The kinds of charts."""

    BARS = "bars"
    LINES = "lines"
    STACKED = "stacked"
    SHARE = "share"
    GROUPED = "grouped"
    HEAT = "heat"
    TREEMAP = "treemap"


class ExplorerOrder(StrEnum):
    """The orders of a list: by feature, or by the values themselves.

    Sites can be ordered by their centrality in the link graph too.
    """

    MOST = "most"
    LEAST = "least"
    NAME = "name"
    PAGERANK = "pagerank"
    HARMONIC = "harmonic"


CENTRAL_ORDERS = (ExplorerOrder.PAGERANK, ExplorerOrder.HARMONIC)


@dataclass(frozen=True, slots=True)
class ExplorerView:
    """What the explorer shows.

    `by` is one or two criteria, a month or year first. With `other`, the selection
    is compared with a second one, in which these conditions replace those on the
    same criteria. `chart` None is the most suitable kind.
    """

    feature: Feature = Feature.CAPTURES
    by: tuple[Criterion, ...] = (Criterion.MONTH,)
    where: tuple[FacetCondition, ...] = ()
    other: tuple[FacetCondition, ...] = ()
    chart: Chart | None = None
    order: ExplorerOrder = ExplorerOrder.MOST
    top: int = DEFAULT_TOP

    @property
    def by_centrality(self) -> bool:
        """Whether sites are listed by their centrality."""
        return self.order in CENTRAL_ORDERS and self.by[0] is Criterion.SITE

    @property
    def compares(self) -> bool:
        """Whether two selections are compared."""
        return bool(self.other)

    @property
    def other_where(self) -> tuple[FacetCondition, ...]:
        """The conditions of the second selection."""
        replaced = {condition.criterion for condition in self.other}
        kept = (own for own in self.where if own.criterion not in replaced)
        return (*kept, *self.other)


def read_explorer_view(arguments: Arguments) -> ExplorerView:
    """Return the view of an address; raises UsageError on invalid parameters."""
    view = ExplorerView(
        feature=parameters.choice(arguments, "feature", Feature.CAPTURES),
        where=conditions(arguments.getlist("where"), "where"),
        other=conditions(arguments.getlist("vs"), "vs"),
        chart=parameters.optional_choice(arguments, "chart", Chart),
        order=parameters.choice(arguments, "order", ExplorerOrder.MOST),
        top=parameters.one_of(arguments, "top", DEFAULT_TOP, TOPS),
    )
    by = _criteria(arguments) or (next_step(view.where),)
    return replace(view, by=by[:1] if view.compares else by)


def _criteria(arguments: Arguments) -> tuple[Criterion, ...]:
    given = ",".join(arguments.getlist("by")).split(",")
    names = list(dict.fromkeys(name.strip() for name in given if name.strip()))
    if len(names) > 2:
        raise UsageError(ErrorText("by has %(count)s criteria; use one or two", count=len(names)))
    return _periods_first(*map(Criterion.named, names))


def conditions(texts: Sequence[str], name: str) -> tuple[FacetCondition, ...]:
    """Return the conditions of a parameter; raises UsageError on an invalid one."""
    given = parameters.different(name, texts, _MAX_SHOWN_CONDITIONS, MAX_CONDITION)
    return tuple(map(parse_condition, given))


def next_step(where: Sequence[FacetCondition]) -> Criterion:
    """Return the next criterion: the first of STEPS not fixed to a single value."""
    fixed = {own.criterion for own in where if len(own.values) == 1 and not own.negated}
    return next((step for step in STEPS if step not in fixed), Criterion.MONTH)


@dataclass(frozen=True, slots=True)
class ExplorerAddresses:
    """The addresses of links: the same view with one change."""

    base: str
    view: ExplorerView

    def of(self, view: ExplorerView, base: str = "") -> str:
        """Return the address of a view."""
        encoded = urlencode(explorer_pairs(view))
        return f"{base or self.base}?{encoded}" if encoded else base or self.base

    def but(self, **changed: Any) -> str:
        """Return the address of the view with some fields changed."""
        return self.of(replace(self.view, **changed))

    def here(self, base: str = "") -> str:
        """Return the address of the unchanged view, on page `base` if given."""
        return self.of(self.view, base)

    def by(self, criterion: Criterion) -> str:
        """Return the address listed by a criterion; a different second one is kept."""
        others = tuple(by for by in self.view.by[1:] if by is not criterion)
        return self.of(
            replace(self.view, by=_periods_first(criterion, *others), order=ExplorerOrder.MOST)
        )

    def then_by(self, criterion: Criterion | None) -> str:
        """Return the address split by a second criterion, or by none."""
        added = () if criterion is None else (criterion,)
        return self.of(replace(self.view, by=_periods_first(self.view.by[0], *added), other=()))

    def refined(self, *chosen: tuple[Criterion, str]) -> str:
        """Return the address restricted to these values, listed by the next criterion."""
        view = refine(self.view, *chosen)
        named = {criterion for criterion, _ in chosen}
        by = tuple(by for by in view.by if by not in named) or (next_step(view.where),)
        return self.of(replace(view, by=by, other=(), order=ExplorerOrder.MOST))

    def refining(self) -> str:
        """Return the address without the conditions on the chart's criteria, to add new ones."""
        kept = tuple(own for own in self.view.where if own.criterion not in self.view.by)
        return self.of(replace(self.view, where=kept, by=(), other=(), order=ExplorerOrder.MOST))

    def within(self, base: str, *chosen: tuple[Criterion, str]) -> str:
        """Return the address of another page, restricted to these values."""
        where = refine(self.view, *chosen).where
        return self.of(ExplorerView(where=where, by=()), base)

    def without(self, condition: FacetCondition) -> str:
        """Return the address without a condition."""
        where = tuple(own for own in self.view.where if own != condition)
        return self.of(replace(self.view, where=where))

    def back(self) -> str:
        """Return the address one step back: without the last condition, listed by it."""
        *where, last = self.view.where
        return self.of(replace(self.view, where=tuple(where), by=(last.criterion,)))

    def everything(self) -> str:
        """Return the address without any condition."""
        return self.of(replace(self.view, where=(), other=()))

    def alone(self) -> str:
        """Return the address without the comparison."""
        return self.of(replace(self.view, other=()))

    def swapped(self) -> str:
        """Return the address of the second selection alone."""
        return self.of(replace(self.view, where=self.view.other_where, other=()))


def refine(view: ExplorerView, *chosen: tuple[Criterion, str]) -> ExplorerView:
    """Return a view restricted to these values."""
    named = {criterion for criterion, _ in chosen}
    kept = (own for own in view.where if own.criterion not in named)
    added = (FacetCondition(criterion, (value,)) for criterion, value in chosen)
    return replace(view, where=(*kept, *added))


def _periods_first(*by: Criterion) -> tuple[Criterion, ...]:
    return tuple(sorted(by, key=lambda criterion: criterion.source is not Criterion.MONTH))


def explorer_pairs(view: ExplorerView) -> list[tuple[str, str]]:
    """Return the parameters of a view's address, without defaults."""
    found = [("where", str(condition)) for condition in view.where]
    found += [("vs", str(condition)) for condition in view.other]
    if view.by and view.by != (next_step(view.where),):
        found.append(("by", ",".join(view.by)))
    optional: tuple[tuple[str, object, object], ...] = (
        ("feature", view.feature, Feature.CAPTURES),
        ("chart", view.chart or "", ""),
        ("order", view.order, ExplorerOrder.MOST),
        ("top", view.top, DEFAULT_TOP),
    )
    return found + [(name, str(value)) for name, value, usual in optional if value != usual]


@dataclass(frozen=True, slots=True)
class Within:
    """The parameters of a search, and the conditions that it cannot express."""

    pairs: tuple[tuple[str, str], ...]
    missing: tuple[FacetCondition, ...]


def search_within(where: Sequence[FacetCondition]) -> Within:
    """Return the search for the documents of a selection, as closely as filters allow.

    Conditions that a search cannot express (depth, unknown values, names from
    a list of sites), or that make the query too long, are in `missing`.
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
    """Return the filter for a condition, "" if it must be part of the query."""
    name = condition.criterion.definition.query_filter
    several = len(condition.values) > parameters.MAX_REPEATED
    return "" if condition.negated or several or name in dict(filters) else name
