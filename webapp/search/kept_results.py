"""Results of searches that are kept as long as the archive stays as it is."""

import threading
import time
from collections.abc import Hashable
from dataclasses import fields, replace

from cachetools import LRUCache
from flask import Flask, current_app

from nwx.model import SearchResult
from nwx.query.question import Question
from webapp.site.context import engine
from webapp.site.question_limits import answer_search

_EXTENSION = "nwx-kept-results"
_MOST_WEIGHT = 150_000
_HIT_WEIGHT = 8
"""A hit takes as much memory as so many values of facets; 20 MB are kept in all."""


class KeptResults:
    """The latest results, by question and state of the archive; shared by threads."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._kept: LRUCache[Hashable, SearchResult] = LRUCache(_MOST_WEIGHT, getsizeof=_weight)

    def get(self, key: Hashable) -> SearchResult | None:
        """Return what is kept under a key."""
        with self._guard:
            return self._kept.get(key)

    def put(self, key: Hashable, result: SearchResult) -> None:
        """Keep a result, unless it is larger than all together may be."""
        if _weight(result) <= _MOST_WEIGHT:
            with self._guard:
                self._kept[key] = result


def _weight(result: SearchResult) -> int:
    return 1 + _HIT_WEIGHT * len(result.hits) + sum(map(len, result.facets.values()))


def prepare_kept_results(app: Flask) -> None:
    """Let an application keep results."""
    app.extensions[_EXTENSION] = KeptResults()


def answer_question(question: Question) -> SearchResult:
    """Return what a question finds for whoever asks; raises as `answer_search` does.

    What was found before is given again, while the archive cannot have
    changed and the same is hidden from whoever asks.
    """
    began = time.perf_counter()
    archive, kept = engine(), _kept_results()
    state = archive.search_state()
    key = (state, archive.hidden_key, _key(question)) if state else None
    found = None if key is None else kept.get(key)
    if found is not None:
        return replace(found, took_ms=(time.perf_counter() - began) * 1000)
    result = answer_search(lambda: archive.search(question))
    if key is not None:
        kept.put(key, result)
    return result


def _kept_results() -> KeptResults:
    found: KeptResults = current_app.extensions[_EXTENSION]
    return found


def _key(question: Question) -> Hashable:
    """Return what is the same for questions that find the same."""
    values = {one.name: getattr(question, one.name) for one in fields(question)}
    filters = tuple((name, tuple(chosen)) for name, chosen in question.filters.items())
    values |= {"filters": filters, "facets": tuple(question.facets)}
    return tuple(values.values())
