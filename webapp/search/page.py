"""The search page."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache

from flask import Blueprint, g, render_template, request, url_for
from flask.typing import ResponseReturnValue
from flask_babel import gettext, lazy_gettext

from nwx.answers.hits import RESULT_WINDOW
from nwx.errors import (
    EngineBusyError,
    QueryError,
    QuestionTimeoutError,
    UrlError,
    WindowError,
)
from nwx.model import Collapse, SearchResult, Sort, Total
from nwx.quality.stored_renders import HitPicture
from nwx.query.fields import FILTERS
from nwx.query.question import Question
from nwx.query.rankings import SearchBy
from nwx.searching.suggestions import FEW_RESULTS
from webapp.access_page import hidden_marks
from webapp.search.history import year_bars
from webapp.search.questions import (
    FACETS,
    SearchAddresses,
    answer_question,
    has_vectors,
    keep_page,
    kept_page,
    page_key,
    read_more,
    read_page,
)
from webapp.site import words
from webapp.site.context import archive, preferences
from webapp.site.preferences import PAGE_SIZES, page_locale
from webapp.site.question_limits import answer_search

blueprint = Blueprint("search", __name__)

FACET_TITLES = {
    "collection": lazy_gettext("Collection"),
    "type": lazy_gettext("Type"),
    "domain": lazy_gettext("Domain"),
    "host": lazy_gettext("Host"),
    "language": lazy_gettext("Language"),
    "status": lazy_gettext("Status"),
    "year": lazy_gettext("Year"),
    "puid": lazy_gettext("Format (PRONOM)"),
    "generator": lazy_gettext("Generator"),
    "license": lazy_gettext("License"),
    "published": lazy_gettext("Published"),
}
SORTS = {
    Sort.RELEVANCE: lazy_gettext("Best match"),
    Sort.ALL_TYPES: lazy_gettext("All types"),
    Sort.OLDEST: lazy_gettext("Oldest"),
    Sort.NEWEST: lazy_gettext("Newest"),
    Sort.INLINKS: lazy_gettext("Most linked"),
}
FOUND_BY = {
    SearchBy.WORDS: lazy_gettext("Words"),
    SearchBy.MEANING: lazy_gettext("Meaning"),
    SearchBy.BOTH: lazy_gettext("Both"),
}
COLLAPSES = {
    Collapse.URL: lazy_gettext("One per URL"),
    Collapse.SIMILAR: lazy_gettext("Group similar"),
    Collapse.NONE: lazy_gettext("All versions"),
}
FACET_SIZE = 8
MORE_SIZE = 100
PAGES_AROUND = 2
CARET_CONTEXT = 60
_MOST_COUNTED = 10_000
_URL = re.compile(r"(https?://\S+|([\w-]+\.)+[a-z]{2,}(:\d+)?(/\S*)?)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Option:
    """A value of a facet: its label, count, address and whether it is chosen."""

    value: str
    label: str
    count: int | None
    address: str
    chosen: bool


@dataclass(frozen=True, slots=True)
class Facet:
    """A facet at the side; `more` is the address to list it at length or short again, or ""."""

    name: str
    title: str
    options: tuple[Option, ...]
    more: str
    long: bool


@dataclass(frozen=True, slots=True)
class FilterChip:
    """An active filter, and the address without it."""

    name: str
    label: str
    address: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A position in a query: the text before, at and after it."""

    before: str
    at: str
    after: str


@dataclass(frozen=True, slots=True)
class CapturedUrl:
    """A URL given as the query, and its captures; `is_cut` if there are more."""

    url: str
    captures: int
    first: str
    last: str
    is_cut: bool


@dataclass(frozen=True, slots=True)
class FilesBelow:
    """The number of files and errors in a result, and the query that finds them."""

    query: str
    documents: Total


@blueprint.get("/")
def home() -> ResponseReturnValue:
    """Show the search box and an overview of the archive, or results if there are parameters."""
    if request.args:
        return results()
    per_page, collapse = preferences().per_page, preferences().collapse
    addresses = _addresses(Question(collapse=collapse, limit=per_page))
    question = Question(
        facets=("collection", "type", "domain", "language", "year"),
        facet_size=FACET_SIZE,
        limit=0,
        snippets=False,
        collapse=Collapse.NONE,
    )
    result = answer_question(question)
    found = _facet_counts(result)
    return render_template(
        "home.html",
        documents=result.documents,
        captures=archive().count("captures"),
        bars=year_bars(found.pop("year", {}), addresses.year),
        facets=_facets(addresses, found, found),
    )


@blueprint.get("/search")
def results() -> ResponseReturnValue:
    """Show a page of results."""
    question = read_page(request.args, preferences())
    g.box_query = question.text
    addresses = _addresses(question, read_more(request.args))
    key = page_key()
    if (page := kept_page(key)) is not None:
        return page
    try:
        result = answer_question(with_facets(question, long=bool(addresses.long_facet)))
    except QueryError as error:
        return _page("query_error.html", addresses, error=error, mark=mark(error)), 400
    except WindowError:
        last = RESULT_WINDOW // question.limit
        return _page("too_far.html", addresses, last=last, window=RESULT_WINDOW), 400
    page = _results_page(addresses, result)
    # Pages with few results have hints from additional searches, which may have failed.
    is_plain = result.total.value > FEW_RESULTS and not result.most_words
    if result.hits and is_plain and not _URL.fullmatch(question.text):
        keep_page(key, page)
    return page


def _results_page(addresses: SearchAddresses, result: SearchResult) -> str:
    question, counts = addresses.question, _facet_counts(result)
    total = result.total.value
    return _page(
        "results.html",
        addresses,
        result=result,
        pictures=_pictures(result),
        hidden_marks=hidden_marks([hit.id for hit in result.hits]),
        has_pictures=archive().page_pictures().is_built(),
        bars=year_bars(counts.pop("year", {}), addresses.year, question.filters.get("year", ())),
        facets=_facets(addresses, counts, dict.fromkeys(FACETS)),
        pages=page_numbers(addresses.page_number, last_page(question, total)),
        last_page=last_page(question, total),
        window=RESULT_WINDOW,
        files=_files_below(question, result.documents),
        elsewhere=_without_filters(question) if not result.hits else None,
        corrected=_corrected(result, question) if total <= FEW_RESULTS or result.most_words else "",
        captured=_captured_url(question.text),
        results_query=request.query_string.decode("ascii", "ignore"),
    )


def _pictures(result: SearchResult) -> dict[str, HitPicture]:
    found = archive().page_pictures()
    # None for a partial result: the index of pictures may lack shards as well.
    if result.missing_shards:
        return {}
    if not found.has_renders():
        return found.of_hits(result.hits)
    return answer_search(lambda: found.of_hits(result.hits))


def with_facets(question: Question, *, long: bool = False) -> Question:
    """Return a question that also counts the facets of a page; `long` counts more values."""
    size = MORE_SIZE if long else FACET_SIZE + 1
    return replace(question, facets=(*FACETS, "year"), facet_size=size)


def _addresses(question: Question, long_facet: str = "") -> SearchAddresses:
    return SearchAddresses(url_for("search.results"), question, preferences(), long_facet)


def _page(template: str, addresses: SearchAddresses, **values: object) -> str:
    return render_template(
        template,
        question=addresses.question,
        to=addresses,
        chips=_chips(addresses),
        sorts=_labels(page_locale().language)["sorts"],
        collapses=_labels(page_locale().language)["collapses"],
        found_by=_labels(page_locale().language)["found_by"] if has_vectors() else {},
        page_sizes=PAGE_SIZES,
        filters=FILTERS,
        **values,
    )


def _facet_counts(result: SearchResult) -> dict[str, dict[str, int]]:
    names = {field: name for name, field in FILTERS.items()}
    return {
        names[field]: {value.value: value.count for value in values}
        for field, values in result.facets.items()
    }


def _facets(
    addresses: SearchAddresses, counts: Mapping[str, Mapping[str, int]], names: Mapping[str, object]
) -> list[Facet]:
    facets = [_facet(addresses, name, counts.get(name, {})) for name in names]
    return [facet for facet in facets if facet.options]


def _facet(addresses: SearchAddresses, name: str, counts: Mapping[str, int]) -> Facet:
    long = addresses.long_facet == name
    chosen = addresses.question.filters.get(name, ())
    listed = [value for value in counts if value][: MORE_SIZE if long else FACET_SIZE]
    shown = [*(value for value in chosen if value not in listed), *listed]
    has_more = long or len([value for value in counts if value]) > len(listed)
    return Facet(
        name=name,
        title=_labels(page_locale().language)["facets"][name],
        options=tuple(
            Option(
                value=value,
                label=facet_label(name, value),
                count=counts.get(value),
                address=addresses.toggle(name, value),
                chosen=value in chosen,
            )
            for value in shown
        ),
        more=addresses.more(name) if has_more else "",
        long=long,
    )


@cache
def _labels(language: str) -> dict[str, dict[str, str]]:
    """Return the labels of facets, orders and collapse modes in the language of the page."""
    del language
    return {
        "facets": {name: str(title) for name, title in FACET_TITLES.items()},
        "sorts": {name: str(title) for name, title in SORTS.items()},
        "collapses": {name: str(title) for name, title in COLLAPSES.items()},
        "found_by": {name: str(title) for name, title in FOUND_BY.items()},
    }


def facet_label(name: str, value: str) -> str:
    """Return the label of a facet value."""
    return words.language(value) if name == "language" else value


def _chips(addresses: SearchAddresses) -> list[FilterChip]:
    question = addresses.question
    chips = [
        FilterChip(str(FACET_TITLES[name]), facet_label(name, value), addresses.toggle(name, value))
        for name, values in question.filters.items()
        for value in values
    ]
    if question.date_from or question.date_to:
        span = f"{question.date_from or '…'} – {question.date_to or '…'}"
        chips.append(FilterChip(gettext("Captured"), span, addresses.without_dates()))
    return chips


def last_page(question: Question, total: int) -> int:
    """Return the number of the last page of a result with `total` hits."""
    return -(-min(total, RESULT_WINDOW) // question.limit)


def page_numbers(page: int, last: int) -> list[int]:
    """Return the page numbers to link: first, last and around `page`; 0 stands for a gap."""
    around = range(page - PAGES_AROUND, page + PAGES_AROUND + 1)
    offered = sorted({page for page in (1, last, *around) if 1 <= page <= last})
    numbers: list[int] = []
    for number in offered:
        if numbers and number - numbers[-1] > 1:
            numbers.append(0)
        numbers.append(number)
    return numbers


def _without_filters(question: Question) -> SearchResult | None:
    """Return the result of the query without filters, None if none are set."""
    if not (question.filters or question.date_from or question.date_to):
        return None
    bare = Question(query=question.query, collapse=question.collapse, limit=0, snippets=False)
    try:
        return answer_search(archive().hits(bare).page)
    except (EngineBusyError, QuestionTimeoutError):
        return None  # the results are shown without this hint


def _files_below(question: Question, documents: Total) -> FilesBelow | None:
    """Return the files and errors that rank below pages; None if a result is not a mix of both."""
    is_by_words = question.by is SearchBy.WORDS and question.sort is Sort.RELEVANCE
    if not is_by_words or documents.value < 2:
        return None
    query = f"({question.text}) AND type:files" if question.text else "type:files"
    asked = replace(question, query=query, collapse=Collapse.NONE, limit=0, snippets=False)
    try:
        found = answer_search(archive().hits(replace(asked, offset=0)).page).documents
    except (EngineBusyError, QueryError, QuestionTimeoutError):
        return None  # the results are shown without this hint
    return FilesBelow(query, found) if 0 < found.value < documents.value else None


def _corrected(result: SearchResult, question: Question) -> str:
    """Return a corrected query for one with few results, "" if there is no better one."""
    hits = archive().hits(question)
    try:
        return answer_search(lambda: hits.did_you_mean(result))
    except (EngineBusyError, QuestionTimeoutError):
        return ""  # the results are shown without this hint


def _captured_url(query: str) -> CapturedUrl | None:
    """Return the captures of a query that is a URL, None for other queries."""
    if not _URL.fullmatch(query):
        return None
    url = query if "://" in query else f"http://{query}"
    try:
        times = archive().capture_times(url, _MOST_COUNTED)
    except UrlError:
        return None
    is_cut = len(times) == _MOST_COUNTED
    return CapturedUrl(url, len(times), times[0], times[-1], is_cut) if times else None


def mark(error: QueryError) -> Mark | None:
    """Return the position of a query's error with the text around it, None if unknown."""
    if error.position is None:
        return None
    place = min(max(error.position, 0), len(error.query))
    start, end = max(0, place - CARET_CONTEXT), place + CARET_CONTEXT
    before = ("…" if start else "") + error.query[start:place]
    after = error.query[place + 1 : end] + ("…" if end < len(error.query) else "")
    return Mark(before, error.query[place : place + 1] or "\u00a0", after)
