"""Terms of the index looked at one by one."""

from typing import Any

import pytest

from nwx.engine.embedded.documents.terms import Terms, are_near, is_plain
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


# As Lucene 10.3.1 answers.
AS_LUCENE = [
    ("b b", 1, "b e d a d a d", False),
    ("b b", 1, "b e b", True),
    ("c b e", 1, "c a b b e b a b", False),
    ("c b e", 1, "b d a d e c e b", False),
    ("b e a d", 1, "b a e a d b a a", True),
    ("b a e", 2, "b d c e a b b b", False),
    ("e c e d", 3, "e e d c e", True),
    ("a b", 1, "b a", False),
    ("a b", 2, "b a", True),
    ("b e e d", 4, "e d b c e", True),
]


@pytest.mark.parametrize(("phrase", "slop", "text", "expected"), AS_LUCENE)
def test_near_is_what_lucene_means(phrase: str, slop: int, text: str, expected: bool) -> None:
    assert are_near(phrase.split(), [text], slop) is expected


def test_texts_of_a_field_stand_apart() -> None:
    assert are_near(["a", "b", "c"], ["a b", "c"], 100)
    assert not are_near(["a", "b", "c"], ["a b", "c"], 99)


def test_only_some_phrases_are_left_to_tantivy() -> None:
    assert is_plain(["a", "b", "c"], 0)
    assert is_plain(["a", "b"], 3)
    assert not is_plain(["a", "a"], 1)
    assert not is_plain(["a", "b", "c"], 1)
