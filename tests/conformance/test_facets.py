"""Facet questions: both engines return the counts of plain Python."""

import random
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest

from nwx.engine.base import Engine
from nwx.facets.answers import FacetAnswers
from nwx.facets.build import FacetBuildOptions, build_archive_facets
from nwx.facets.criteria import CUBE, Criterion
from nwx.facets.question import (
    AnsweredBy,
    FacetAnswer,
    FacetCondition,
    FacetQuestion,
    Feature,
    parse_facet_question,
)
from nwx.model import Capture, IndexName
from tests.conformance.engines import Opener
from tests.facets import Counted, batch, by_chance, counted, features, groups

ABOVE_ENGINES = True

QUESTIONS = 60


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("HOME", str(tmp_path))
    return tmp_path


def written(engine: Engine, captures: list[Capture]) -> list[Counted]:
    engine.write(batch(captures))
    engine.refresh()
    return counted(captures)


def meets(one: Counted, condition: FacetCondition) -> bool:
    return condition.accepts(one.values[condition.criterion])


def numbers(answer: FacetAnswer) -> dict[str, int]:
    return {name: getattr(answer.total, name) for name in features([])}


def check(facets: FacetAnswers, question: FacetQuestion, all_of: list[Counted]) -> AnsweredBy:
    """Compare an answer with the counts of plain Python, and return how it was computed."""
    answer = facets.answer(question)
    some = [one for one in all_of if all(meets(one, each) for each in question.where)]
    assert numbers(answer) == features(some), question
    found = groups(some, question.by) if question.by else {}
    rows = {row.values: {n: getattr(row.features, n) for n in features([])} for row in answer.rows}
    assert answer.found in (None, len(found))
    if question.limit is None:
        assert rows == {values: features(group) for values, group in found.items()}, question
    else:
        assert len(rows) == min(question.limit, len(found))
        assert rows == {values: features(found[values]) for values in rows}, question
        if question.sort is not None:
            ranked = sorted((features(g)[question.sort] for g in found.values()), reverse=True)
            assert [row.features.value(question.sort) for row in answer.rows] == ranked[: len(rows)]
    return answer.answered_by


def ask(chance: random.Random, all_of: list[Counted]) -> FacetQuestion:
    """Return a random question."""
    criteria = chance.sample(list(Criterion), chance.randrange(4))
    where = tuple(condition(chance, criterion, all_of) for criterion in criteria)
    if chance.random() < 0.5:
        where = (FacetCondition(Criterion.STATUS, ("ok",)), *where)
    by = tuple(chance.sample(list(Criterion), chance.randrange(3)))
    sort = chance.choice([None, Feature.CAPTURES, Feature.BYTES, Feature.UNIQUE_URLS])
    return FacetQuestion(where, by, sort, limit=chance.choice([None, 1, 3]))


def condition(chance: random.Random, criterion: Criterion, all_of: list[Counted]) -> FacetCondition:
    there = sorted({one.values[criterion] for one in all_of})
    negated = chance.random() < 0.2
    definition = criterion.definition
    if definition.spans and chance.random() < 0.5 and len(definition.values or there) > 2:
        order = definition.values or tuple(there)
        low, high = sorted(chance.sample(range(len(order) - 1), 2))
        return FacetCondition(criterion, low=order[low], high=order[high], negated=negated)
    values = tuple(chance.sample(there, min(chance.choice([1, 1, 2, 3]), len(there))))
    return FacetCondition(criterion, values, negated=negated)


@pytest.mark.parametrize("seed", range(3))
def test_answers_are_what_plain_python_counts(engine: Engine, seed: int) -> None:
    all_of = written(engine, by_chance(seed, 250))
    build_archive_facets(engine, FacetBuildOptions(min_captures=10))
    facets, chance = FacetAnswers(engine), random.Random(seed)
    ways = {check(facets, ask(chance, all_of), all_of) for _ in range(QUESTIONS)}
    assert ways == {AnsweredBy.STORED, AnsweredBy.COLUMNS}


def test_answers_are_the_same_without_a_build(engine: Engine) -> None:
    all_of = written(engine, by_chance(7, 200))
    facets, chance = FacetAnswers(engine), random.Random(7)
    ways = {check(facets, ask(chance, all_of), all_of) for _ in range(QUESTIONS)}
    assert ways == {AnsweredBy.LIVE}


def test_answers_are_of_what_was_imported_since_the_build(engine: Engine) -> None:
    captures = by_chance(8, 300)
    written(engine, captures[:200])
    build_archive_facets(engine, FacetBuildOptions(min_captures=5))
    facets, chance = FacetAnswers(engine), random.Random(8)
    assert numbers(facets.answer(FacetQuestion())) == features(counted(captures[:200]))
    all_of = [*counted(captures)]
    written(engine, captures)
    assert {check(facets, ask(chance, all_of), all_of) for _ in range(20)} == {AnsweredBy.LIVE}
    build_archive_facets(engine, FacetBuildOptions(min_captures=5))
    ways = {check(facets, ask(chance, all_of), all_of) for _ in range(20)}
    assert AnsweredBy.LIVE not in ways


def test_years_are_counted_with_and_without_a_build(engine: Engine) -> None:
    captures = [
        replace(one, timestamp=f"{2010 + place % 4}{one.timestamp[4:]}")
        for place, one in enumerate(by_chance(14, 160))
    ]
    all_of, year = written(engine, captures), Criterion.YEAR
    questions = [
        FacetQuestion(by=(year,)),
        FacetQuestion(by=(year, Criterion.TYPE)),
        FacetQuestion(by=(Criterion.MONTH, year)),
        FacetQuestion((FacetCondition(year, ("2011", "2013")),), (Criterion.MONTH,)),
        FacetQuestion((FacetCondition(year, low="2011", high="2012"),), (year,)),
        FacetQuestion((FacetCondition(year, ("2012",), negated=True),), (Criterion.SITE, year)),
        FacetQuestion(
            (FacetCondition(year, ("2012",)), FacetCondition(Criterion.MONTH, high="2012-03")),
            (year,),
        ),
    ]
    assert {check(FacetAnswers(engine), one, all_of) for one in questions} == {AnsweredBy.LIVE}
    build_archive_facets(engine, FacetBuildOptions(min_captures=5))
    ways = {check(FacetAnswers(engine), one, all_of) for one in questions}
    assert AnsweredBy.LIVE not in ways
    found = FacetAnswers(engine).answer(parse_facet_question(by="year"))
    assert [row.values[0] for row in found.rows] == ["2010", "2011", "2012", "2013"]


def test_deleted_captures_are_not_counted(engine: Engine) -> None:
    captures = by_chance(9, 120)
    written(engine, captures)
    build_archive_facets(engine, FacetBuildOptions(min_captures=5))
    gone = captures[::3]
    engine.delete(
        IndexName.CAPTURES,
        [f"{one.collection}/{one.source_file}@{one.source_file_offset}" for one in gone],
    )
    engine.refresh()
    left = counted([one for one in captures if one not in gone])
    assert numbers(FacetAnswers(engine).answer(FacetQuestion())) == features(left)
    build_archive_facets(engine, FacetBuildOptions(min_captures=5))
    check(FacetAnswers(engine), parse_facet_question(by="month"), left)


def test_the_index_holds_all_combinations(engine: Engine) -> None:
    all_of = written(engine, by_chance(10, 60))
    build_archive_facets(engine, FacetBuildOptions(min_captures=1))
    stored = {entry["id"]: dict(entry) for entry in engine.scan(IndexName.FACETS)}
    number = 0
    for size in range(len(CUBE) + 1):
        for some in combinations(CUBE, size):
            for values, group in groups(all_of, ["status", *some]).items():
                names = ["status", *some]
                id = " ".join(f"{n}={v}" for n, v in zip(names, values, strict=True))
                fields = {
                    Criterion.named(n).definition.facets_field: v
                    for n, v in zip(names, values, strict=True)
                }
                known = {"id": id, "grouping": ",".join(some), **fields, **features(group)}
                assert stored[id] == known
                number += 1
    assert engine.count(IndexName.FACETS) == number == len(stored)
    build_archive_facets(engine, FacetBuildOptions(min_captures=30))
    assert engine.count(IndexName.FACETS) == sum(
        entry["captures"] >= 30 for entry in stored.values()
    )


def test_captures_behind_an_answer(engine: Engine) -> None:
    captures = by_chance(11, 150)
    written(engine, captures)
    build_archive_facets(engine, FacetBuildOptions())
    where = (
        FacetCondition(Criterion.STATUS, ("ok",)),
        FacetCondition(Criterion.MONTH, low="2013-02"),
    )
    wanted = [
        one for one in captures if 200 <= (one.status_code or 0) < 300 and one.timestamp >= "201302"
    ]
    found: list[Capture] = []
    while page := FacetAnswers(engine).captures(where, len(found), 20)[1]:
        found += page
    key = lambda one: (one.collection, one.source_file_offset)  # noqa: E731
    assert sorted(found, key=key) == sorted(wanted, key=key)
    assert [one.timestamp[:6] for one in found] == sorted(one.timestamp[:6] for one in wanted)
    assert FacetAnswers(engine).captures(where, 0, 5)[0] == len(wanted)


def test_two_archives_at_once_read_a_build(open_archive: Opener) -> None:
    with open_archive() as first, open_archive() as second:
        first.create()
        all_of = written(first, by_chance(12, 80))
        build_archive_facets(first, FacetBuildOptions(min_captures=2))
        other = FacetAnswers(second)
        check(other, FacetQuestion(by=(Criterion.TYPE,)), all_of)
        build_archive_facets(first, FacetBuildOptions(min_captures=3, anew=True))
        check(other, FacetQuestion(by=(Criterion.TYPE,)), all_of)
