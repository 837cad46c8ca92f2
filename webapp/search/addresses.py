"""The question of an address, and the addresses that lead on from it."""

from dataclasses import dataclass, replace
from urllib.parse import urlencode

from nwx.errors import UsageError
from nwx.model import Collapse, Sort
from nwx.query.question import FILTERS, Question
from webapp.site import parameters
from webapp.site.parameters import Arguments
from webapp.site.preferences import PAGE_SIZES, Preferences

FACETS = ("collection", "type", "domain", "host", "language", "status")
"""The facets at the side, in their order; the years have a chart of their own."""


def read_question(arguments: Arguments, collapse: Collapse = Collapse.URL) -> Question:
    """Return the question of an address, without what says how much of the answer is wanted.

    `collapse` is the one where the address names none. Raises UsageError
    for values that make no sense.
    """
    return Question(
        query=parameters.text(arguments, "q", parameters.MAX_QUERY),
        filters=parameters.filters(arguments),
        date_from=parameters.text(arguments, "from", 30),
        date_to=parameters.text(arguments, "to", 30),
        sort=parameters.choice(arguments, "sort", Sort.RELEVANCE),
        collapse=parameters.choice(arguments, "collapse", collapse),
    )


def read_page(arguments: Arguments, preferences: Preferences) -> Question:
    """Return the question of the address of a page of results; raises as `read_question` does."""
    per_page = parameters.one_of(arguments, "per_page", preferences.per_page, PAGE_SIZES)
    page = parameters.number_parameter(arguments, "page", 1, 1, 1_000_000)
    question = read_question(arguments, preferences.collapse)
    return replace(question, offset=(page - 1) * per_page, limit=per_page)


def read_more(arguments: Arguments) -> str:
    """Return the facet that a page lists at length, "" where there is none."""
    more = parameters.text(arguments, "more", 20)
    if more and more not in FACETS:
        raise UsageError(parameters.not_a_choice("more", more, FACETS))
    return more


@dataclass(frozen=True, slots=True)
class SearchAddresses:
    """Where the links of a page lead: the same question with one thing changed.

    `base` is the address of the page of results, `long_facet` the facet
    that is listed at length.
    """

    base: str
    question: Question
    preferences: Preferences
    long_facet: str = ""

    @property
    def page_number(self) -> int:
        """The number of this page, counted from 1."""
        return self.question.offset // self.question.limit + 1

    def _first_page(self, question: Question) -> str:
        return self._of(replace(question, offset=0), self.long_facet)

    def _of(self, question: Question, long_facet: str, base: str = "") -> str:
        pairs = question_pairs(question, self.preferences)
        encoded = urlencode([*pairs, ("more", long_facet)] if long_facet else pairs)
        return f"{base or self.base}?{encoded}" if encoded else f"{base or self.base}?q="

    def page(self, page: int) -> str:
        """Return the address of another page."""
        question = replace(self.question, offset=(page - 1) * self.question.limit)
        return self._of(question, self.long_facet)

    def sort(self, sort: str) -> str:
        """Return the address of the same results in another order."""
        return self._first_page(replace(self.question, sort=Sort(sort)))

    def collapse(self, collapse: str) -> str:
        """Return the address of the same results folded otherwise."""
        return self._first_page(replace(self.question, collapse=Collapse(collapse)))

    def per_page(self, size: int) -> str:
        """Return the address of the same results in pages of another size."""
        return self._first_page(replace(self.question, limit=size))

    def toggle(self, name: str, value: str) -> str:
        """Return the address with a filter's value set, or taken away where it was set."""
        old = tuple(self.question.filters.get(name, ()))
        new = tuple(v for v in old if v != value) if value in old else (*old, value)
        return self._first_page(self._with(name, new))

    def year(self, year: str) -> str:
        """Return the address of one year alone, or of all years where it was chosen."""
        chosen = tuple(self.question.filters.get("year", ())) == (year,)
        alone = self._with("year", () if chosen else (year,))
        return self._first_page(replace(alone, date_from="", date_to=""))

    def without_dates(self) -> str:
        """Return the address without the span of dates."""
        return self._first_page(replace(self.question, date_from="", date_to=""))

    def without_filters(self) -> str:
        """Return the address of the query alone."""
        bare = replace(self.question, filters={}, date_from="", date_to="", offset=0)
        return self._of(bare, "")

    def more(self, name: str) -> str:
        """Return the address that lists a facet at length, or shortly again."""
        return self._of(self.question, "" if self.long_facet == name else name)

    def export(self, base: str) -> str:
        """Return the address of an export of these results."""
        return self._of(replace(self.question, offset=0), "", base)

    def _with(self, name: str, values: tuple[str, ...]) -> Question:
        filters = {**self.question.filters, name: values}
        return replace(
            self.question, filters={key: filters[key] for key in filters if filters[key]}
        )


def question_pairs(question: Question, preferences: Preferences) -> list[tuple[str, str]]:
    """Return the parameters of a question's address, those as preferred left out."""
    found = [("q", question.text)] if question.text else []
    found += [(name, value) for name in FILTERS for value in question.filters.get(name, ())]
    optional = (
        ("from", question.date_from, ""),
        ("to", question.date_to, ""),
        ("sort", question.sort, Sort.RELEVANCE),
        ("collapse", question.collapse, preferences.collapse),
        ("per_page", str(question.limit), str(preferences.per_page)),
        ("page", str(question.offset // question.limit + 1), "1"),
    )
    return found + [(name, str(value)) for name, value, default in optional if value != default]
