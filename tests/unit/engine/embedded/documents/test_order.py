"""The first documents of a result in order, bounds on matches, and all scores of few documents."""

import random
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tantivy import Query

from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.embedded.documents import order, search
from nwx.engine.embedded.documents.order import (
    ScoredDocuments,
    are_among,
    by_date,
    most_found,
    query_among,
    read_scores,
    scored_among,
)
from nwx.engine.embedded.documents.tantivy_index import WORDS, DocumentSearcher, schema
from nwx.model import Collapse, Document, SearchResult, Sort
from nwx.query.question import Question, resolve
from nwx.query.rankings import DEFAULT
from nwx.query.tree import All, Bool, Boost, Fuzzy, Node, Phrase, Term
from tests.unit.engine.embedded.making import batch, page

COUNT = 60
COLUMNS: Any = SimpleNamespace(
    oldest=np.array([0, 2010, 2009, 2010, 2012]),
    newest=np.array([0, 2015, 2011, 2010, 2012]),
    id_start=np.array([0, 9, 5, 3, 1]),
)
NUMS = np.array([1, 2, 3, 4])
MANY = 600
DRAWN = [f"w{rank}" for rank in range(1, 13)]
SHARES = [1 / rank for rank in range(1, 13)]


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


@pytest.mark.parametrize(
    ("sort", "nums"), [(Sort.OLDEST, [2, 3, 1, 4]), (Sort.NEWEST, [1, 4, 2, 3])]
)
def test_documents_come_by_date_and_equal_dates_by_id(sort: Sort, nums: list[int]) -> None:
    assert [one.num for one in by_date(COLUMNS, NUMS, None, 10, sort)] == nums
    assert [one.num for one in by_date(COLUMNS, NUMS, None, 2, sort)] == nums[:2]


def test_the_first_of_each_group_is_kept() -> None:
    groups = np.array([0, 7, 8, 7, 8])
    assert [one.num for one in by_date(COLUMNS, NUMS, groups, 10, Sort.OLDEST)] == [2, 3]


def test_groups_are_looked_for_beyond_the_first_documents() -> None:
    count = 500
    dates = np.arange(count)
    columns: Any = SimpleNamespace(oldest=dates, newest=dates, id_start=dates)
    groups = np.where(dates < 400, 1, 2)
    found = by_date(columns, dates, groups, 2, Sort.OLDEST)
    assert [one.num for one in found] == [0, 400]


def _document(number: int, source: random.Random, *, titled: bool) -> Document:
    def draw(most: int) -> str:
        return " ".join(source.choices(DRAWN, SHARES, k=source.randint(0, most)))

    return page(
        number,
        draw(25) or "nothing",
        title=draw(3) if titled else "",
        content_language=source.choice(("en", "de")),
        timestamp=f"{source.randint(2001, 2009)}0101000000",
    )


@pytest.fixture(scope="module", params=[True, False])
def archive(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[EmbeddedEngine]:
    source = random.Random(5)
    with EmbeddedEngine(tmp_path_factory.mktemp("steps") / "archive") as engine:
        for start in range(0, MANY, 150):
            numbers = range(start, start + 150)
            engine.write(batch(*(_document(n, source, titled=request.param) for n in numbers)))
            engine.refresh()
        yield engine


def _places(result: SearchResult) -> list[tuple[str, float]]:
    return [(hit.id, round(hit.score, 4)) for hit in result.hits]


@pytest.mark.parametrize("first", [2, 32])
def test_the_best_are_those_of_all_scores(
    archive: EmbeddedEngine, first: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = random.Random(first)
    monkeypatch.setattr(order, "_WORTH_A_STEP", 1)
    monkeypatch.setattr(order, "_FIRST_TRY", first)
    for _ in range(60):
        question = Question(
            " ".join(source.choices(DRAWN, k=source.randint(1, 3))),
            filters={"language": ("en",)} if source.random() < 0.3 else {},
            date_from="2005" if source.random() < 0.3 else "",
            collapse=source.choice((Collapse.URL, Collapse.NONE)),
            offset=source.choice((0, 0, 5)),
            limit=source.choice((1, 10, 40)),
        )
        found = archive.search(question)
        with monkeypatch.context() as without:
            without.setattr(search, "steps", lambda *_: ())
            assert _places(archive.search(question)) == _places(found)


def test_few_of_many_are_scored(archive: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(order, "_WORTH_A_STEP", 1)
    view = archive._viewer.view()
    query, weights = resolve(Question("w1 w2")).tree, DEFAULT.fields
    found = list(order.steps(query, (), view.searcher, MANY, weights))
    bounds = [one.bound for one in found]
    assert len(bounds) in (1, 4)
    assert bounds == sorted(bounds, reverse=True)
    assert bounds[-1] == 0.0
    either = resolve(Question("w1 OR w2")).tree
    assert not list(order.steps(either, (), view.searcher, MANY, weights))
