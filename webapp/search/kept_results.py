"""Results of searches, and pages of them, that are kept as long as the archive stays as it is.

Where something is hidden from whoever asks, nothing is kept: what they may
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
from webapp.users.user_service import users

_EXTENSION = "nwx-kept-results"
_VECTORS, _ASKED_SECONDS = "nwx-has-vectors", 60.0
_MOST_WEIGHT = 150_000
_HIT_WEIGHT, _BYTES = 8, 128
"""A hit takes as much memory as so many values of facets, and a value as so many bytes of a page;
20 MB are kept in all."""


class KeptResults:
    """The latest results and pages, by question and state of the archive; shared by threads."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._kept: LRUCache[Hashable, Any] = LRUCache(_MOST_WEIGHT, getsizeof=_weight)

    def get(self, key: Hashable) -> Any:
        """Return what is kept under a key, None where nothing is."""
        with self._guard:
            return self._kept.get(key)

    def put(self, key: Hashable, made: SearchResult | bytes) -> None:
        """Keep a result or a page, unless it is larger than all together may be."""
        if _weight(made) <= _MOST_WEIGHT:
            with self._guard:
                self._kept[key] = made


def _weight(made: SearchResult | bytes) -> int:
    if isinstance(made, bytes):
        return 1 + len(made) // _BYTES
    result = made
    return 1 + _HIT_WEIGHT * len(result.hits) + sum(map(len, result.facets.values()))


def prepare_kept_results(app: Flask) -> None:
    """Let an application keep results."""
    app.extensions[_EXTENSION] = KeptResults()
    app.extensions[_VECTORS] = float("-inf"), False


def answer_question(question: Question) -> SearchResult:
    """Return what a question finds for whoever asks; raises as `answer_search` does.

    What was found before is given again, while the archive cannot have
    changed and the same is hidden from whoever asks.
    """
    began = time.perf_counter()
    shown, kept = archive(), _kept_results()
    state = shown.search_state()
    # Vectors may be built while the archive stays as it is.
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
    """What a page of results depends on, beside the application."""

    state: str
    address: tuple[str, str, bytes]
    language: str
    preferences: str
    shows_pictures: bool
    shows_vectors: bool


def page_key() -> PageKey | None:
    """Return what the page that is asked for is kept by, None where it must be made anew.

    Pages with users show who asks, and pictures of pages come at any time.
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
    """Return whether documents can be found by meaning; it is asked at most once a minute."""
    asked, found = current_app.extensions[_VECTORS]
    if time.monotonic() - asked > _ASKED_SECONDS:
        found = archive().is_built("vectors")
        current_app.extensions[_VECTORS] = time.monotonic(), found
    return bool(found)


def kept_page(key: PageKey | None) -> str | None:
    """Return the page that is kept by a key, None where there is none."""
    found: bytes | None = None if key is None else _kept_results().get(key)
    return None if found is None else found.decode()


def keep_page(key: PageKey | None, page: str) -> None:
    """Keep a page by a key, if there is one."""
    if key is not None:
        # As bytes: a text with one sign beyond Latin-1 takes twice the memory.
        _kept_results().put(key, page.encode())


def _kept_results() -> KeptResults:
    found: KeptResults = current_app.extensions[_EXTENSION]
    return found


def _key(question: Question) -> Hashable:
    """Return what is the same for questions that find the same."""
    values = {one.name: getattr(question, one.name) for one in fields(question)}
    filters = tuple((name, tuple(chosen)) for name, chosen in question.filters.items())
    values |= {"filters": filters, "facets": tuple(question.facets)}
    return tuple(values.values())
