"""The search question parsed from an address, and the addresses linked from its results."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import groupby
from operator import itemgetter
from urllib.parse import quote_plus

from nwx.model import Collapse, Sort
from nwx.query.fields import FILTERS
from nwx.query.question import Question
from nwx.query.rankings import DEFAULT, SearchBy
from webapp.site import parameters
from webapp.site.context import archive
from webapp.site.parameters import Arguments
from webapp.site.preferences import PAGE_SIZES, Preferences

ENRICHED = ("puid", "generator", "license", "published")
"""Facets of enrichers' fields, which many archives lack."""

FACETS = ("collection", "type", "domain", "host", "language", "status", *ENRICHED)
"""The facets at the side, in order; years have a separate chart."""

_PARAMETERS = (
    "q",
    *FILTERS,
    "from",
    "to",
    "by",
    "sort",
    "ranking",
    "collapse",
    "per_page",
    "page",
    "more",
)
_NO_DATES = {"from": "", "to": "", "page": ""}


def read_question(arguments: Arguments, collapse: Collapse = Collapse.URL) -> Question:
    """Return the question of an address, without offset and limit.

    `collapse` is the default. Raises UsageError on invalid values.
    """
    ranking = parameters.text(arguments, "ranking", 80)
    return replace(
        read_selection(arguments),
        query=parameters.text(arguments, "q", parameters.MAX_QUERY),
        by=parameters.choice(arguments, "by", SearchBy.WORDS),
        sort=parameters.choice(arguments, "sort", Sort.RELEVANCE),
        ranking=archive().ranking(ranking) if ranking else DEFAULT,
        collapse=parameters.choice(arguments, "collapse", collapse),
    )


def read_selection(arguments: Arguments) -> Question:
    """Return the filters and dates of an address as a question without a query."""
    return Question(
        filters=parameters.filters(arguments),
        date_from=parameters.text(arguments, "from", 30),
        date_to=parameters.text(arguments, "to", 30),
    )


def read_page(arguments: Arguments, preferences: Preferences) -> Question:
    """Return the question of a page of results, with offset and limit; raises UsageError."""
    per_page = parameters.one_of(arguments, "per_page", preferences.per_page, PAGE_SIZES)
    page = parameters.number_parameter(arguments, "page", 1, 1, 1_000_000)
    question = read_question(arguments, preferences.collapse)
    return replace(question, offset=(page - 1) * per_page, limit=per_page)


def read_more(arguments: Arguments) -> str:
    """Return the facet that a page lists at length, or ""."""
    more = parameters.text(arguments, "more", 20)
    return parameters.one_of_these("more", more, FACETS) if more else ""


@dataclass(frozen=True, slots=True)
class SearchAddresses:
    """The addresses of a page's links: the same question with one change.

    `base` is the address of the page of results, `long_facet` the facet
    listed at length. Each parameter is encoded once; an address joins the
    unchanged and the changed ones.
    """

    base: str
    question: Question
    preferences: Preferences
    long_facet: str = ""
    _encoded: dict[str, str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Encode the parameters of the question."""
        encoded = dict.fromkeys(_PARAMETERS, "")
        for name, pairs in groupby(question_pairs(self.question, self.preferences), itemgetter(0)):
            encoded[name] = _pairs(name, (value for _, value in pairs))
        encoded["more"] = _pair("more", self.long_facet)
        object.__setattr__(self, "_encoded", encoded)

    @property
    def page_number(self) -> int:
        """The number of this page, counted from 1."""
        return self.question.offset // self.question.limit + 1

    def _address(self, changed: Mapping[str, str], base: str = "") -> str:
        """Return the address with some encoded parameters changed; "" leaves one out."""
        encoded = "&".join(filter(None, {**self._encoded, **changed}.values()))
        return f"{base or self.base}?{encoded or 'q='}"

    def _first_page(self, name: str, changed: str) -> str:
        return self._address({name: changed, "page": ""})

    def page(self, page: int) -> str:
        """Return the address of another page."""
        return self._address({"page": _pair("page", str(page), "1")})

    def query(self, query: str) -> str:
        """Return the address of another query with the same filters."""
        return self._first_page("q", _pair("q", query))

    def sort(self, sort: str) -> str:
        """Return the address of the same results in another order."""
        return self._first_page("sort", _pair("sort", Sort(sort), Sort.RELEVANCE))

    def by(self, by: str) -> str:
        """Return the address of the query by words, meaning or both, sorted by relevance."""
        changed = {"by": _pair("by", SearchBy(by), SearchBy.WORDS), "page": "", "sort": ""}
        return self._address(changed)

    def collapse(self, collapse: str) -> str:
        """Return the address of the same results, collapsed in another way."""
        usual = self.preferences.collapse
        return self._first_page("collapse", _pair("collapse", Collapse(collapse), usual))

    def per_page(self, size: int) -> str:
        """Return the address of the same results in pages of another size."""
        usual = str(self.preferences.per_page)
        return self._first_page("per_page", _pair("per_page", str(size), usual))

    def toggle(self, name: str, value: str) -> str:
        """Return the address with a filter value added, or removed if it was set."""
        old = tuple(self.question.filters.get(name, ()))
        new = tuple(v for v in old if v != value) if value in old else (*old, value)
        return self._first_page(name, _pairs(name, new))

    def year(self, year: str) -> str:
        """Return the address of one year alone, or of all years if it was chosen."""
        chosen = tuple(self.question.filters.get("year", ())) == (year,)
        return self._address(_NO_DATES | {"year": "" if chosen else _pair("year", year)})

    def without_dates(self) -> str:
        """Return the address without the span of dates."""
        return self._address(_NO_DATES)

    def without_filters(self) -> str:
        """Return the address of the query alone."""
        return self._address(_NO_DATES | dict.fromkeys(FILTERS, "") | {"more": ""})

    def more(self, name: str) -> str:
        """Return the address that lists a facet at length, or short again."""
        return self._address({"more": "" if self.long_facet == name else _pair("more", name)})

    def export(self, base: str) -> str:
        """Return the address of an export of these results."""
        return self._address({"page": "", "more": ""}, base)


def _pair(name: str, value: str, default: str = "") -> str:
    return "" if value == default else f"{name}={quote_plus(value)}"


def _pairs(name: str, values: Iterable[str]) -> str:
    return "&".join(f"{name}={quote_plus(value)}" for value in values)


def question_pairs(question: Question, preferences: Preferences) -> list[tuple[str, str]]:
    """Return the parameters of a question's address, without the preferred defaults."""
    found = [("q", question.text)] if question.text else []
    found += [(name, value) for name in FILTERS for value in question.filters.get(name, ())]
    optional = (
        ("from", question.date_from, ""),
        ("to", question.date_to, ""),
        ("by", question.by, SearchBy.WORDS),
        ("sort", question.sort, Sort.RELEVANCE),
        ("ranking", question.ranking.name, "default"),
        ("collapse", question.collapse, preferences.collapse),
        ("per_page", str(question.limit), str(preferences.per_page)),
        ("page", str(question.offset // question.limit + 1), "1"),
    )
    return found + [(name, str(value)) for name, value, default in optional if value != default]
