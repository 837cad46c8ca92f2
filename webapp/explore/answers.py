"""The numbers of an explorer page: facet questions of a view, the grid of answers, labels."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from flask_babel import LazyString, gettext, lazy_gettext

from nwx.charts.fields import ADDITIVE, OTHERS
from nwx.errors import NotBuiltError
from nwx.facets.criteria import Criterion, whole_years
from nwx.facets.question import (
    FEATURES,
    AnsweredBy,
    DescribedFeature,
    FacetAnswer,
    FacetCondition,
    FacetQuestion,
    FacetRow,
    Feature,
    Features,
)
from webapp.explore.view import ExplorerOrder, ExplorerView
from webapp.site import words
from webapp.site.context import archive
from webapp.site.preferences import page_locale
from webapp.site.question_limits import answer_facets


def ask(question: FacetQuestion) -> FacetAnswer:
    """Return the archive's answer to a facet question, as the viewer may see it."""
    shown = archive()
    return answer_facets(lambda: shown.facet_answer(question))


def site_ranks(view: ExplorerView) -> Mapping[str, float]:
    """Return the centrality of each site in the link graph if the order needs it, else {}.

    Empty, too, if links were never inverted.
    """
    if not view.by_centrality:
        return {}
    shown, by_pagerank = archive(), view.order is ExplorerOrder.PAGERANK
    try:
        return answer_facets(lambda: shown.site_ranks(by_pagerank=by_pagerank))
    except NotBuiltError:
        return {}


MOST_LINES = 600
"""The most lines of a criterion with ordered values: fifty years of months."""

MOST_COLUMNS = 8

MOST_RANKED = 10_000
"""The most sites that are ordered by centrality."""

Ask = Callable[[FacetQuestion], FacetAnswer]


@dataclass(frozen=True, slots=True)
class Line:
    """A value with its features, and its cell in each column of the grid, None if empty."""

    value: str
    whole: Features
    cells: tuple[Features | None, ...] = ()


@dataclass(frozen=True, slots=True)
class Grid:
    """The answers of an explorer page.

    `columns` are the values of a second criterion, none in a plain list; in
    a comparison, the two selections.
    `found` and `found_columns` count the values before the list was cut,
    None if they were not counted.
    """

    total: Features
    lines: tuple[Line, ...]
    found: int | None
    columns: tuple[str, ...] = ()
    found_columns: int | None = 0
    other_total: Features | None = None
    answers: tuple[FacetAnswer, ...] = ()

    @property
    def took_ms(self) -> float:
        """The total time of all answers, in milliseconds."""
        return sum(answer.took_ms for answer in self.answers)

    @property
    def answered_by(self) -> tuple[AnsweredBy, ...]:
        """The distinct ways in which the answers were computed."""
        return tuple(dict.fromkeys(answer.answered_by for answer in self.answers))


def gather(view: ExplorerView, ask: Ask, ranks: Mapping[str, float] | None = None) -> Grid:
    """Return the grid of answers for a view.

    `ranks` are the centralities of sites, for lists ordered by centrality:
    these consist of the MOST_RANKED sites with most of the feature.
    """
    if view.by_centrality and not view.compares:
        ask = _central_first(view, ask, ranks or {})
    if view.compares:
        return _compared(view, ask)
    if len(view.by) == 2:
        return _crossed(view, ask)
    listed = ask(_list_question(view, view.where, view.by[0]))
    lines = tuple(Line(row.values[0], row.features) for row in _in_order(listed, view.by[0]))
    return Grid(listed.total, lines, listed.found, answers=(listed,))


def _central_first(view: ExplorerView, ask: Ask, ranks: Mapping[str, float]) -> Ask:
    """Return `ask`, with the list of sites ordered by rank."""
    wanted = _list_question(view, view.where, view.by[0])

    def answer(question: FacetQuestion) -> FacetAnswer:
        if question != wanted:
            return ask(question)
        found = ask(replace(question, sort=view.feature, reverse=False, limit=MOST_RANKED))
        # The order is stable: sites without a rank stay in the order of the feature.
        rows = sorted(found.rows, key=lambda row: -ranks.get(row.values[0], 0.0))
        return replace(found, rows=tuple(rows[: view.top]))

    return answer


def is_ordered(criterion: Criterion) -> bool:
    """Return whether lists by a criterion are in the order of its values, not of a feature."""
    return criterion.definition.ordinal


def _list_question(
    view: ExplorerView, where: tuple[FacetCondition, ...], criterion: Criterion
) -> FacetQuestion:
    if is_ordered(criterion):
        # The largest ones: damaged dates make thousands of months of one capture each.
        return FacetQuestion(where, (criterion,), view.feature, limit=MOST_LINES)
    sort = None if view.order is ExplorerOrder.NAME else view.feature
    least = view.order is ExplorerOrder.LEAST
    return FacetQuestion(where, (criterion,), sort, reverse=least, limit=view.top)


def _in_order(answer: FacetAnswer, criterion: Criterion) -> list[FacetRow]:
    if not is_ordered(criterion):
        return list(answer.rows)
    return sorted(answer.rows, key=lambda row: criterion.definition.order(row.values[0]))


def _crossed(view: ExplorerView, ask: Ask) -> Grid:
    down, across = view.by
    listed = ask(_list_question(view, view.where, down))
    heads = ask(FacetQuestion(view.where, (across,), view.feature, limit=MOST_COLUMNS))
    narrowed = (*view.where, *_only(listed, down), *_only(heads, across))
    pairs = ask(FacetQuestion(narrowed, (down, across)))
    columns = [row.values[0] for row in _in_order(heads, across)]
    cells = {(row.values[0], row.values[1]): row.features for row in pairs.rows}
    rest = _is_cut(heads) and view.feature in ADDITIVE
    lines = tuple(
        _line(row.values[0], row.features, columns, cells, rest=rest)
        for row in _in_order(listed, down)
    )
    names = (*columns, OTHERS) if rest else tuple(columns)
    answers = (listed, heads, pairs)
    return Grid(listed.total, lines, listed.found, names, heads.found, answers=answers)


def _is_cut(answer: FacetAnswer) -> bool:
    """Return whether the list may lack values."""
    return answer.found is None or answer.found > len(answer.rows)


def _only(answer: FacetAnswer, criterion: Criterion) -> tuple[FacetCondition, ...]:
    """Return the condition that keeps the listed values only, none if all are listed."""
    if not _is_cut(answer):
        return ()
    return (FacetCondition(criterion, tuple(row.values[0] for row in answer.rows)),)


def _line(
    value: str,
    whole: Features,
    columns: Sequence[str],
    cells: Mapping[tuple[str, str], Features],
    *,
    rest: bool,
) -> Line:
    found = tuple(cells.get((value, column)) for column in columns)
    return Line(value, whole, (*found, _remainder(whole, found)) if rest else found)


def _remainder(whole: Features, parts: Sequence[Features | None]) -> Features | None:
    """Return a whole minus its parts in the additive features, None if nothing is left."""
    known = [part for part in parts if part]
    left = Features(
        captures=whole.captures - sum(part.captures for part in known),
        bytes=whole.bytes - sum(part.bytes for part in known),
    )
    return left if left.captures else None


def _compared(view: ExplorerView, ask: Ask) -> Grid:
    criterion = view.by[0]
    first = ask(_list_question(view, view.where, criterion))
    second = ask(_list_question(view, view.other_where, criterion))
    both = {row.values[0]: row for row in (*second.rows, *first.rows)}
    values = [row.values[0] for row in (*first.rows, *second.rows)]
    values = list(dict.fromkeys(values))
    if is_ordered(criterion):
        values.sort(key=criterion.definition.order)
    sides = [
        _sides(answer, where, criterion, tuple(both), ask)
        for answer, where in ((first, view.where), (second, view.other_where))
    ]
    lines = tuple(
        Line(value, both[value].features, tuple(side.get(value) for side in sides))
        for value in values
    )
    return Grid(
        first.total,
        lines,
        max(first.found, second.found) if first.found and second.found else None,
        ("this selection", "the other"),
        2,
        second.total,
        (first, second),
    )


def _sides(
    answer: FacetAnswer,
    where: tuple[FacetCondition, ...],
    criterion: Criterion,
    values: tuple[str, ...],
    ask: Ask,
) -> dict[str, Features]:
    """Return the features of values in a selection, including values outside its list."""
    rows = answer.rows
    if _is_cut(answer):
        rows = ask(FacetQuestion((*where, FacetCondition(criterion, values)), (criterion,))).rows
    return {row.values[0]: row.features for row in rows}


def cell_value(features: Features | None, feature: Feature) -> int | float | None:
    """Return a feature of a cell, None if the cell is empty."""
    return features.value(feature) if features else None


CRITERION_LABELS: dict[Criterion, LazyString] = {
    Criterion.MONTH: lazy_gettext("Month"),
    Criterion.YEAR: lazy_gettext("Year"),
    Criterion.STATUS: lazy_gettext("Status"),
    Criterion.SITE: lazy_gettext("Site"),
    Criterion.TYPE: lazy_gettext("Type"),
    Criterion.TLD: lazy_gettext("TLD"),
    Criterion.SIZE: lazy_gettext("Size"),
    Criterion.DEPTH: lazy_gettext("Depth"),
    Criterion.COLLECTION: lazy_gettext("Collection"),
}

FEATURE_WORDS: dict[Feature, tuple[LazyString, LazyString]] = {
    Feature.CAPTURES: (
        lazy_gettext("Captures"),
        lazy_gettext("archived exchanges, revisits included"),
    ),
    Feature.UNIQUE_DOCUMENTS: (
        lazy_gettext("Unique documents"),
        lazy_gettext("different payloads, by their digest"),
    ),
    Feature.UNIQUE_URLS: (lazy_gettext("Unique URLs"), lazy_gettext("different URLs")),
    Feature.BYTES: (
        lazy_gettext("Bytes"),
        lazy_gettext("bytes of the payloads of all captures"),
    ),
    Feature.UNIQUE_BYTES: (
        lazy_gettext("Unique bytes"),
        lazy_gettext("bytes of the unique documents, each once"),
    ),
    Feature.AVERAGE_SIZE: (
        lazy_gettext("Average size"),
        lazy_gettext("unique bytes per unique URL, as in FacetRedux"),
    ),
    Feature.AVERAGE_DOCUMENT_SIZE: (
        lazy_gettext("Average document"),
        lazy_gettext("unique bytes per unique document"),
    ),
    Feature.DUPLICATION_RATIO: (
        lazy_gettext("Duplication ratio"),
        lazy_gettext("bytes over unique bytes"),
    ),
}
"""The title and the description of each feature."""


@dataclass(frozen=True, slots=True)
class NamedCriterion:
    """A criterion with its label in the language of the page."""

    label: str


def described_feature(feature: Feature) -> DescribedFeature:
    """Return a feature with its title and description in the language of the page."""
    title, description = FEATURE_WORDS[feature]
    return replace(FEATURES[feature], title=str(title), description=str(description))


MOST_NAMED = 4
"""The most values of a condition in its label; more are given as a number."""

WAYS = {
    AnsweredBy.STORED: lazy_gettext("from stored combinations"),
    AnsweredBy.COLUMNS: lazy_gettext("from columns"),
    AnsweredBy.LIVE: lazy_gettext("counted live"),
    AnsweredBy.APPROXIMATE: lazy_gettext("estimated"),
}


def label_of(where: tuple[FacetCondition, ...]) -> str:
    """Return a short label for conditions."""
    return ", ".join(f"{CRITERION_LABELS[own.criterion]} {value_labels(own)}" for own in where)


def value_labels(condition: FacetCondition) -> str:
    """Return the values of a condition as a label."""
    if condition.is_span:
        told = f"{condition.low or '…'} – {condition.high or '…'}"
    else:
        values = whole_years(condition.values)
        more = len(values) - MOST_NAMED
        told = ", ".join(map(readable, values[:MOST_NAMED])) + (f" + {more}" if more > 0 else "")
    return gettext("not %(values)s", values=told) if condition.negated else told


_STATUSES = frozenset(("ok", "redirection", "request_error", "server_error", "ignored"))


def readable(value: str) -> str:
    """Return the name of a status class; other values are unchanged."""
    return words.named(value) if value in _STATUSES else value


def number_label(features: Features | None, feature: Feature) -> str:
    """Return a feature with its unit, "" without a value."""
    value = features.value(feature) if features else None
    if value is None:
        return ""
    unit = FEATURES[feature].unit
    if unit == "bytes":
        return words.size(round(value))
    return words.decimal(value) if unit == "ratio" else words.grouped(round(value))


def ratio(line: Line, feature: Feature) -> str:
    """Return the first selection's value over the second's, "" if it is undefined."""
    first, second = (cell.value(feature) if cell else None for cell in line.cells)
    return words.decimal(first / second) if first is not None and second else ""


def in_sentence(title: str) -> str:
    """Return a title for use within a sentence: `month`, but `TLD`, and in German `Monat`."""
    if page_locale().language == "de":
        return title
    return title if title[1:2].isupper() else title[:1].lower() + title[1:]
