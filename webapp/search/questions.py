"""The question of a search: read from an address, answered with a cache, linked from its results.

Nothing is cached for viewers from whom something is hidden: what they may
see can change at any moment.
"""

import threading
import time
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field, fields, replace
from itertools import groupby
from operator import itemgetter
from typing import Any
from urllib.parse import quote_plus

from cachetools import LRUCache
from flask import Flask, current_app, request

from nwx.model import Collapse, SearchResult, Sort
from nwx.query.fields import FILTERS
from nwx.query.question import Question
from nwx.query.rankings import DEFAULT, SearchBy
from webapp.site import parameters
from webapp.site.context import archive
from webapp.site.parameters import Arguments
from webapp.site.preferences import COOKIE, PAGE_SIZES, Preferences, page_locale
from webapp.site.question_limits import answer_search
from webapp.user_service import users

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


_EXTENSION = "nwx-kept-results"
_VECTORS, _ASKED_SECONDS = "nwx-has-vectors", 60.0
_MOST_WEIGHT = 150_000
_HIT_WEIGHT, _BYTES = 8, 128
"""The memory of a hit in facet values, and of a facet value in bytes of a page; the cache holds
at most about 20 MB."""


class KeptResults:
    """A thread-safe LRU cache of results and pages, by question and state of the archive."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._kept: LRUCache[Hashable, Any] = LRUCache(_MOST_WEIGHT, getsizeof=_weight)

    def get(self, key: Hashable) -> Any:
        """Return the cached result or page of a key, or None."""
        with self._guard:
            return self._kept.get(key)

    def put(self, key: Hashable, made: SearchResult | bytes) -> None:
        """Cache a result or a page, unless it is larger than the whole cache."""
        if _weight(made) <= _MOST_WEIGHT:
            with self._guard:
                self._kept[key] = made


def _weight(made: SearchResult | bytes) -> int:
    if isinstance(made, bytes):
        return 1 + len(made) // _BYTES
    result = made
    return 1 + _HIT_WEIGHT * len(result.hits) + sum(map(len, result.facets.values()))


def prepare_kept_results(app: Flask) -> None:
    """Add the cache of results to an application."""
    app.extensions[_EXTENSION] = KeptResults()
    app.extensions[_VECTORS] = float("-inf"), False


def answer_question(question: Question) -> SearchResult:
    """Return the results of a question for the viewer; raises as `answer_search` does.

    Results come from the cache while the archive cannot have changed and
    nothing is hidden from the viewer.
    """
    began = time.perf_counter()
    shown, kept = archive(), _kept_results()
    state = shown.search_state()
    # Vectors may be built without a change of the archive's state.
    key = (state, _key(question)) if state and question.by is SearchBy.WORDS else None
    found: SearchResult | None = None if key is None else kept.get(key)
    if found is not None:
        return replace(found, took_ms=(time.perf_counter() - began) * 1000)
    result = answer_search(shown.hits(question).page)
    if key is not None:
        kept.put(key, result)
    return result


@dataclass(frozen=True, slots=True)
class PageKey:
    """Everything that a page of results depends on, except the application."""

    state: str
    address: tuple[str, str, bytes]
    language: str
    preferences: str
    shows_pictures: bool
    shows_vectors: bool


def page_key() -> PageKey | None:
    """Return the cache key of the requested page, None if it must not be cached.

    With users, pages show the user's name; renders of pages may be added at any time.
    """
    state = archive().search_state()
    if (
        not state
        or users() is not None
        or request.args.get("by")
        or archive().page_pictures().has_renders()
    ):
        return None
    return PageKey(
        state,
        (request.script_root, request.path, request.query_string),
        page_locale().language,
        request.cookies.get(COOKIE, ""),
        archive().page_pictures().is_built(),
        has_vectors(),
    )


def has_vectors() -> bool:
    """Return whether documents can be found by meaning; checked at most once a minute."""
    asked, found = current_app.extensions[_VECTORS]
    if time.monotonic() - asked > _ASKED_SECONDS:
        found = archive().is_built("vectors")
        current_app.extensions[_VECTORS] = time.monotonic(), found
    return bool(found)


def kept_page(key: PageKey | None) -> str | None:
    """Return the cached page of a key, or None."""
    found: bytes | None = None if key is None else _kept_results().get(key)
    return None if found is None else found.decode()


def keep_page(key: PageKey | None, page: str) -> None:
    """Cache a page, unless its key is None."""
    if key is not None:
        # As bytes: a text with one character outside Latin-1 takes twice the memory.
        _kept_results().put(key, page.encode())


def _kept_results() -> KeptResults:
    found: KeptResults = current_app.extensions[_EXTENSION]
    return found


def _key(question: Question) -> Hashable:
    """Return a hashable key, equal for questions with the same results."""
    values = {one.name: getattr(question, one.name) for one in fields(question)}
    filters = tuple((name, tuple(chosen)) for name, chosen in question.filters.items())
    values |= {"filters": filters, "facets": tuple(question.facets)}
    return tuple(values.values())
