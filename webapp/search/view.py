"""A search as an address asks it, and the addresses that lead on from it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from urllib.parse import urlencode

from nwx.errors import UsageError
from nwx.model import Collapse, Sort
from nwx.searching.questions import FILTERS, Question
from webapp.site import parameters
from webapp.site.parameters import Arguments
from webapp.site.preferences import PAGE_SIZES, Preferences

FACETS = ("collection", "type", "domain", "host", "language", "status")
"""The facets at the side, in their order; the years have a chart of their own."""

FACET_SIZE = 8
MORE_SIZE = 100


@dataclass(frozen=True, slots=True)
class SearchView:
    """What the search page shows; `more` is the facet that is listed at length."""

    query: str = ""
    filters: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    date_from: str = ""
    date_to: str = ""
    sort: Sort = Sort.RELEVANCE
    collapse: Collapse = Collapse.URL
    page: int = 1
    per_page: int = PAGE_SIZES[0]
    more: str = ""


def read_search_view(arguments: Arguments, preferences: Preferences) -> SearchView:
    """Return the search of an address; raises UsageError for values that make no sense."""
    more = parameters.text(arguments, "more", 20)
    if more and more not in FACETS:
        raise UsageError(f"more is {more!r}; choose one of {', '.join(FACETS)}")
    return SearchView(
        query=parameters.text(arguments, "q", parameters.MAX_QUERY),
        filters=parameters.filters(arguments),
        date_from=parameters.text(arguments, "from", 30),
        date_to=parameters.text(arguments, "to", 30),
        sort=parameters.choice(arguments, "sort", Sort.RELEVANCE),
        collapse=parameters.choice(arguments, "collapse", preferences.collapse),
        page=parameters.number_parameter(arguments, "page", 1, 1, 1_000_000),
        per_page=parameters.one_of(arguments, "per_page", preferences.per_page, PAGE_SIZES),
        more=more,
    )


def to_question(view: SearchView) -> Question:
    """Return the question that fills the page."""
    return Question(
        query=view.query,
        filters=view.filters,
        date_from=view.date_from,
        date_to=view.date_to,
        sort=view.sort,
        collapse=view.collapse,
        facets=[*FACETS, "year"],
        facet_size=MORE_SIZE if view.more else FACET_SIZE + 1,
        offset=(view.page - 1) * view.per_page,
        limit=view.per_page,
    )


def side_questions(view: SearchView) -> list[Question]:
    """Return a question for each filter that is set: what could be chosen instead.

    Within `language=de` every document is German; the list of languages
    should still offer the others, so it is counted without its own filter.
    """
    base = replace(to_question(view), offset=0, limit=0, snippets=False, collapse=Collapse.NONE)
    questions = [
        replace(base, filters=_others(view, name), facets=[name])
        for name in view.filters
        if name != "year"
    ]
    if view.date_from or view.date_to or "year" in view.filters:
        others = _others(view, "year")
        questions.append(replace(base, filters=others, date_from="", date_to="", facets=["year"]))
    return questions


def _others(view: SearchView, name: str) -> dict[str, tuple[str, ...]]:
    return {other: values for other, values in view.filters.items() if other != name}


@dataclass(frozen=True, slots=True)
class SearchAddresses:
    """Where the links of a page lead: the same search with one thing changed."""

    base: str
    view: SearchView
    preferences: Preferences

    def _of(self, view: SearchView, base: str = "") -> str:
        encoded = urlencode(search_pairs(view, self.preferences))
        return f"{base or self.base}?{encoded}" if encoded else f"{base or self.base}?q="

    def page(self, page: int) -> str:
        """Return the address of another page."""
        return self._of(replace(self.view, page=page))

    def sort(self, sort: str) -> str:
        """Return the address of the same results in another order."""
        return self._of(replace(self.view, sort=Sort(sort), page=1))

    def collapse(self, collapse: str) -> str:
        """Return the address of the same results folded otherwise."""
        return self._of(replace(self.view, collapse=Collapse(collapse), page=1))

    def per_page(self, size: int) -> str:
        """Return the address of the same results in pages of another size."""
        return self._of(replace(self.view, per_page=size, page=1))

    def toggle(self, name: str, value: str) -> str:
        """Return the address with a filter's value set, or taken away where it was set."""
        old = self.view.filters.get(name, ())
        new = tuple(v for v in old if v != value) if value in old else (*old, value)
        return self._of(replace(self._with(name, new), page=1))

    def year(self, year: str) -> str:
        """Return the address of one year alone, or of all years where it was chosen."""
        chosen = self.view.filters.get("year", ()) == (year,)
        alone = self._with("year", () if chosen else (year,))
        return self._of(replace(alone, page=1, date_from="", date_to=""))

    def without(self, name: str) -> str:
        """Return the address without a filter."""
        return self._of(replace(self._with(name, ()), page=1))

    def without_dates(self) -> str:
        """Return the address without the span of dates."""
        return self._of(replace(self.view, date_from="", date_to="", page=1))

    def without_filters(self) -> str:
        """Return the address of the query alone."""
        return self._of(replace(self.view, filters={}, date_from="", date_to="", page=1, more=""))

    def more(self, name: str) -> str:
        """Return the address that lists a facet at length, or shortly again."""
        return self._of(replace(self.view, more="" if self.view.more == name else name))

    def export(self, base: str) -> str:
        """Return the address of an export of these results."""
        return self._of(replace(self.view, page=1, more=""), base)

    def _with(self, name: str, values: tuple[str, ...]) -> SearchView:
        filters = {**self.view.filters, name: values}
        return replace(self.view, filters={key: filters[key] for key in filters if filters[key]})


def search_pairs(view: SearchView, preferences: Preferences) -> list[tuple[str, str]]:
    """Return the parameters of a view's address, those as preferred left out."""
    found = [("q", view.query)] if view.query else []
    found += [(name, value) for name in FILTERS for value in view.filters.get(name, ())]
    optional = (
        ("from", view.date_from, ""),
        ("to", view.date_to, ""),
        ("sort", view.sort, Sort.RELEVANCE),
        ("collapse", view.collapse, preferences.collapse),
        ("per_page", str(view.per_page), str(preferences.per_page)),
        ("page", str(view.page), "1"),
        ("more", view.more, ""),
    )
    return found + [(name, str(value)) for name, value, default in optional if value != default]
