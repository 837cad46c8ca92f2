"""Bounds on the number of documents matching words, and all scores of few documents."""

import random
from collections.abc import Iterator

import numpy as np
import pytest
from tantivy import Query

from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.embedded.documents.scored import (
    ScoredDocuments,
    are_among,
    most_found,
    query_among,
    read_scores,
    scored_among,
)
from nwx.engine.embedded.documents.tantivy_index import WORDS, DocumentSearcher, schema
from nwx.query.tree import All, Bool, Boost, Fuzzy, Node, Phrase, Term
from tests.unit.engine.embedded.making import batch, page

COUNT = 60


def words_of(number: int) -> set[str]:
    return {f"by{n}" for n in range(1, 8) if number % n == 0}


@pytest.fixture(scope="module")
def searcher(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DocumentSearcher]:
    place = tmp_path_factory.mktemp("embedded") / "archive"
    with EmbeddedEngine(place) as engine:
        for start in (0, COUNT // 2):
            numbers = range(start, start + COUNT // 2)
            engine.write(batch(*(page(one, " ".join(sorted(words_of(one)))) for one in numbers)))
            engine.refresh()
        yield engine._searches._views.view().searcher


def count(node: Node) -> int:
    return sum(is_found(node, words_of(number)) for number in range(COUNT))


def is_found(node: Node, words: set[str]) -> bool:
    match node:
        case Boost():
            return is_found(node.node, words)
        case Bool():
            if any(is_found(one, words) for one in node.must_not):
                return False
            if node.must:
                return all(is_found(one, words) for one in node.must)
            return sum(is_found(one, words) for one in node.should) >= node.least
        case Term():
            return node.text in words
    raise AssertionError(node)


def made_tree(chance: random.Random, depth: int = 2) -> Node:
    if not depth or chance.random() < 0.3:
        word = Term("", f"by{chance.randint(1, 8)}")
        return Boost(word, 2.0) if chance.random() < 0.2 else word
    parts = tuple(made_tree(chance, depth - 1) for _ in range(chance.randint(1, 5)))
    if chance.random() < 0.5:
        return Bool(must=parts, must_not=(Term("", "by7"),) * chance.randint(0, 1))
    return Bool(should=parts, least=chance.randint(1, len(parts)))


@pytest.mark.parametrize("seed", range(60))
def test_no_tree_finds_more_than_its_bound(searcher: DocumentSearcher, seed: int) -> None:
    node = made_tree(random.Random(seed))
    assert count(node) <= most_found(node, searcher)


def test_bounds_are_near_and_large_for_what_is_no_word(searcher: DocumentSearcher) -> None:
    words = tuple(Term("", f"by{n}") for n in (2, 3, 4, 8))
    assert [most_found(one, searcher) for one in words] == [30, 20, 15, 0]
    assert most_found(Bool(must=words), searcher) == 0
    assert most_found(Bool(should=words, least=2), searcher) == 15 + 20
    assert most_found(Phrase("", "by2 by3"), searcher) == 20
    for other in (All(), Fuzzy("", "by2", 1), Term("host", "by2"), Bool(must_not=words)):
        assert most_found(other, searcher) > COUNT
    assert most_found(Bool(must=(words[0], All())), searcher) == 30


def test_scores_of_few_are_read_by_number(searcher: DocumentSearcher) -> None:
    query = Query.term_query(schema(), WORDS, "by7")
    found = read_scores(searcher, query, COUNT)
    assert found.nums.tolist() == sorted(found.nums.tolist()) and len(found.nums) == 9
    asked = found.nums[[4, 1]]
    assert list(found.among(np.append(asked, 10**9))) == asked.tolist()
    assert read_scores(searcher, query, 0).nums.tolist() == []
    some = read_scores(searcher, query_among(query, asked.tolist()), COUNT)
    assert some.nums.tolist() == sorted(asked.tolist())
    nothing = Query.empty_query()
    unscored = read_scores(searcher, scored_among(nothing, asked.tolist()), COUNT)
    assert unscored.scores.tolist() == [0, 0]
    assert ScoredDocuments(found.nums[:0], found.scores[:0], []).among(asked) == {}


def test_numbers_are_looked_up_among_others_in_order() -> None:
    nums = np.array([5, 1, 9, 3])
    assert are_among(nums, np.array([1, 3, 4])).tolist() == [False, True, False, True]
    assert not are_among(nums, nums[:0]).any()
