"""A cache of search results and their pages, valid while the archive is unchanged.

Nothing is cached for viewers from whom something is hidden: what they may
see can change at any moment.
"""

import threading
import time
from collections.abc import Hashable
from dataclasses import dataclass, fields, replace
from typing import Any

from cachetools import LRUCache
from flask import Flask, current_app, request

from nwx.model import SearchResult
from nwx.query.question import Question
from nwx.query.rankings import SearchBy
from webapp.site.context import archive
from webapp.site.preferences import COOKIE, page_locale
from webapp.site.question_limits import answer_search
from webapp.user_service import users

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
