"""Terms of the index looked at one by one."""

from typing import Any

import pytest

from nwx.engine.embedded.documents.terms import Terms
from nwx.engine.work import MAX_TERMS, Work, working
from nwx.errors import QueryError


class _Searcher:
    """An index of a few terms, and what it was asked."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str]] = []

    def terms_with_prefix(self, field: str, prefix: str, *, limit: int) -> list[tuple[str, int]]:
        self.asked.append((field, prefix))
        terms = ("stone", "storm", "sand")
        return [(term, 1) for term in terms if term.startswith(prefix)][:limit]


def _fitting(terms: Terms, field: str) -> list[str]:
    return terms.fitting(field, "sto", lambda term: term.endswith("m"), "sto*m")


def test_terms_that_fit_are_looked_up_once_for_all_default_fields() -> None:
    searcher: Any = _Searcher()
    terms, work = Terms(searcher), Work()
    with working(work):
        assert _fitting(terms, "title") == _fitting(terms, "content") == ["storm"]
        assert _fitting(terms, "author") == ["storm"]
    assert len(searcher.asked) == 2
    assert searcher.asked[1] == ("author", "sto")
    assert work.terms == 4


def test_too_many_terms_are_refused() -> None:
    searcher: Any = _Searcher()
    work = Work()
    work.visit_terms(MAX_TERMS - 1)
    with working(work), pytest.raises(QueryError):
        _fitting(Terms(searcher), "title")
