"""The plan of a question, and few documents found with their scores as by separate look-ups."""

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest

from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.embedded.documents import found
from nwx.engine.embedded.documents.found import JoinedLeaf, plan_search, without_joined
from nwx.errors import QueryError
from nwx.model import Collapse, SearchResult, Sort
from nwx.query.question import DateCondition, Question
from nwx.query.tree import All, Bool, DateRange, Term, ValueSpan
from tests.conformance.archive import also, batch, page

RANGE = DateRange("20100101000000", "20101231235959")
STONE, LINKED = Term("", "stone"), ValueSpan("inlinks", 2, None)


def test_leaves_that_hold_for_all_are_taken_out_of_a_query() -> None:
    query = Bool(must=(STONE, RANGE, Bool(must=(LINKED,))))
    assert without_joined(query) == (Bool(must=(STONE,)), (JoinedLeaf(RANGE), JoinedLeaf(LINKED)))


def test_leaves_that_are_ruled_out_are_unwanted() -> None:
    query = Bool(must=(STONE,), must_not=(RANGE,))
    assert without_joined(query) == (Bool(must=(STONE,)), (JoinedLeaf(RANGE, wanted=False),))


def test_a_leaf_by_itself_leaves_all_documents() -> None:
    assert without_joined(RANGE) == (All(), (JoinedLeaf(RANGE),))
    assert without_joined(Bool(must_not=(RANGE,))) == (All(), (JoinedLeaf(RANGE, wanted=False),))


def test_a_leaf_that_is_one_of_several_choices_stays() -> None:
    query = Bool(should=(STONE, RANGE))
    assert without_joined(query) == (query, ())


def test_words_that_need_not_be_met_stay_a_matter_of_score() -> None:
    query = Bool(must=(RANGE,), should=(STONE,))
    assert without_joined(query) == (Bool((All(),), (STONE,)), (JoinedLeaf(RANGE),))


def test_facets_are_counted_without_their_own_filters() -> None:
    plan = plan_search(
        Question(
            "stone",
            filters={"collection": ("web",), "host": ("a.example",)},
            date_from="2010",
            date_to="2010",
            facets=("year", "host", "language"),
        )
    )
    span = (RANGE.low, RANGE.high)
    assert plan.dates == DateCondition((span,), ("web",))
    assert plan.filters == {"host": ("a.example",)}
    assert plan.apart == ("year", "host")
    assert plan.other_dates == {"year": DateCondition(None, ("web",))}


COUNT = 120
WORDS = [f"word{number}" for number in range(12)]


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedEngine]:
    chance = random.Random(5)
    with EmbeddedEngine(tmp_path_factory.mktemp("embedded") / "archive") as engine:
        pages = [
            page(
                f"http://example.org/{number // 2}",
                str(2000 + number % 10),
                " ".join(chance.choices(WORDS, k=9)),
                content_language=chance.choice(["en", "de"]),
                status=chance.choice([200, 200, 404]),
            )
            for number in range(COUNT)
        ]
        for start in range(0, COUNT, 50):
            engine.write(batch(pages[start : start + 50], [also(pages[3], "1999 other")]))
            engine.refresh()
        yield engine


def made_question(chance: random.Random) -> Question:
    words = chance.choices([*WORDS, "nowhere"], k=chance.randint(1, 6))
    joiner = chance.choice([" ", " ", " OR ", " AND NOT "])
    filters = {"language": ["de"]} if chance.random() < 0.4 else {}
    return Question(
        joiner.join(words),
        filters=filters,
        date_to=chance.choice(["", "", "2004"]),
        sort=chance.choice([Sort.RELEVANCE, Sort.RELEVANCE, Sort.ALL_TYPES, Sort.NEWEST]),
        collapse=chance.choice([Collapse.URL, Collapse.NONE]),
        facets=("language", "year"),
        offset=chance.choice([0, 3]),
        limit=chance.choice([0, 4, 200]),
        most_words=chance.random() < 0.6,
    )


def shown(result: SearchResult) -> SearchResult:
    hits = tuple(replace(hit, score=round(hit.score, 4)) for hit in result.hits)
    return replace(result, hits=hits, took_ms=0.0)


@pytest.mark.parametrize("seed", range(40))
def test_answers_are_the_same_however_many_are_scored_at_once(
    archive: EmbeddedEngine, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = made_question(random.Random(seed))
    answers = []
    for most in (0, 20, 1_000):
        monkeypatch.setattr(found, "MOST_SCORED", most)
        answers.append(shown(archive.search(question)))
    assert answers[0] == answers[1] == answers[2]


def test_syntax_errors_are_told_whatever_is_found(archive: EmbeddedEngine) -> None:
    with pytest.raises(QueryError):
        archive.search(Question("nowhere AND ("))
