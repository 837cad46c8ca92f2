"""Terms by pattern and by range, compared with plain text comparison."""

import random
import re
from itertools import product

import pytest
import tantivy

from nwx.engine import document_index as work_of_questions
from nwx.engine.analyzer import ANALYZER, text_analyzer
from nwx.engine.document_index import Work, working
from nwx.engine.embedded.documents import compile
from nwx.engine.embedded.documents.compile import (
    between_query,
    matcher,
    pattern_pieces,
    wildcard_query,
)
from nwx.engine.embedded.documents.tantivy_index import DocumentSearcher, schema
from nwx.engine.embedded.documents.word_sets import Terms
from nwx.errors import QueryError

FIELD = "digest"
LETTERS = "ab\n[\\é日\U0001f600"
TERMS = [
    *("".join(letters) for n in (1, 2, 3) for letters in product(LETTERS, repeat=n)),
    *(f"http://example.org/{n}" for n in range(50)),
    "x" * 1500,
    "x" * 1500 + "y",
]


@pytest.fixture(scope="module")
def searcher() -> tantivy.Searcher:
    index = tantivy.Index(schema())
    index.register_tokenizer(ANALYZER, text_analyzer())
    writer = index.writer(15_000_000, 1)
    for term in TERMS:
        document = tantivy.Document()
        document.add_text(FIELD, term)
        writer.add_document(document)
    writer.commit()
    index.reload()
    return index.searcher()


def found(searcher: tantivy.Searcher, query: tantivy.Query) -> int:
    return searcher.search(query, 1).count  # type: ignore[attr-defined]


def is_between(term: str, low: str | None, high: str | None, included: tuple[bool, bool]) -> bool:
    if low is not None and not (term > low or (included[0] and term == low)):
        return False
    return high is None or term < high or (included[1] and term == high)


@pytest.mark.parametrize("nested", [40, 0])
def test_ranges_are_in_the_order_of_code_points(
    searcher: tantivy.Searcher, nested: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compile, "_NESTED", nested)
    chance = random.Random(3)
    for _ in range(300):
        low, high = (chance.choice([*TERMS, "", "c", None]) for _ in range(2))
        included = (chance.random() < 0.5, chance.random() < 0.5)
        query = between_query(FIELD, low, high, included, Terms(DocumentSearcher(searcher)))
        wanted = sum(is_between(term, low, high, included) for term in TERMS)
        assert found(searcher, query) == wanted, (low, high, included)


@pytest.mark.parametrize(
    "pattern",
    [
        *("a*", "*a", "?", "??", "*[*", r"*\\*", "a?b", "*", "http://*/1?", "日*", "*\n*", "é?*"),
        *("x" * 1500 + "*", "x" * 1500 + "?", "*a" + "?" * 18, "*" * 30 + "a"),
    ],
)
def test_wildcards_find_what_follows_them(searcher: tantivy.Searcher, pattern: str) -> None:
    pieces = list(pattern_pieces(pattern))
    signs = {"*": ".*", "?": "."}
    plain = "".join(signs.get(one) or re.escape(one[1:]) for one in pieces)
    plain = re.sub(r"(\.\*)+", ".*", plain)  # otherwise matching takes forever
    wanted = sum(re.fullmatch(plain, term, re.DOTALL) is not None for term in TERMS)
    assert (
        found(searcher, wildcard_query(FIELD, pieces, Terms(DocumentSearcher(searcher)))) == wanted
    )


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("a*c", "abc", True),
        ("a*c", "ac", True),
        ("a*c", "acd", False),
        ("a?c", "abc", True),
        ("a?c", "ac", False),
        (r"a\*c", "a*c", True),
        (r"a\*c", "abc", False),
        ("*b*", "abc", True),
        ("", "", True),
        ("*", "", True),
        ("?", "\n", True),
        ("*a*a*a*a*a*a*a*a*a*b", "a" * 5000, False),
    ],
)
def test_following_a_pattern(pattern: str, text: str, expected: bool) -> None:
    assert matcher(pattern_pieces(pattern))(text) is expected


def test_terms_are_looked_at_once_a_question(searcher: tantivy.Searcher) -> None:
    pieces, terms = list(pattern_pieces("*a" + "?" * 18)), Terms(DocumentSearcher(searcher))
    with working(Work()) as work:
        for _ in range(3):
            wildcard_query(FIELD, pieces, terms)
    assert work.terms == len(TERMS)


def test_terms_beyond_a_number_are_not_looked_at(
    searcher: tantivy.Searcher, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(work_of_questions, "MAX_TERMS", 50)
    pieces = list(pattern_pieces("*a" + "?" * 18))
    with working(Work()) as work:
        with pytest.raises(QueryError, match="more than 50"):
            wildcard_query(FIELD, pieces, Terms(DocumentSearcher(searcher)))
        wildcard_query(FIELD, ["=http://example.org/4", *pieces], Terms(DocumentSearcher(searcher)))
    assert work.terms <= 50


def test_following_one_of_several_patterns() -> None:
    follows = matcher(pattern_pieces("a*c"), pattern_pieces("b"), pattern_pieces("?|?"))
    assert all(map(follows, ("ac", "abc", "b", "x|y")))
    assert not any(map(follows, ("acd", "bb", "", "ab")))
