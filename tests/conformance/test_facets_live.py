"""Facet questions without built facets, or with outdated ones."""

import random
from dataclasses import replace

import pytest

from nwx.engine.base import Engine
from nwx.errors import EngineError
from nwx.facets import answers, live
from nwx.facets.answers import FacetAnswers
from nwx.facets.build import FacetBuildOptions, build_archive_facets
from nwx.facets.criteria import Criterion
from nwx.facets.question import AnsweredBy, FacetCondition, FacetQuestion, Feature
from nwx.facets.sites import Sites
from nwx.model import Capture
from tests.conformance.archive import capture
from tests.conformance.test_facets import ask, cache, check, meets, numbers, written
from tests.facets import Counted, batch, by_chance, counted, features, groups

ABOVE_ENGINES = ("test_each_value_is_found_alone_and_left_out",)

__all__ = ["cache"]

EVERYTHING = FacetQuestion()


def captures_by_chance(seed: int, number: int) -> list[Capture]:
    """Return random captures, some with values too long for any index."""
    found = by_chance(seed, number)
    for place in range(0, number, 20):
        one = found[place]
        long_url = f"{one.url}?{'x' * 8_100}{place % 3}"
        found[place] = replace(one, url=long_url, hops="L" * 300 if place % 40 else one.hops)
    return found


@pytest.fixture
def looked_up(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> Engine:
    """An archive whose questions never read all captures, if its engine supports that."""
    if engine.facet_store().live_selection() is not None:
        monkeypatch.setattr(answers, "MOST_READ", 0)
    return engine


@pytest.mark.parametrize("seed", range(2))
def test_answers_without_a_build_are_what_plain_python_counts(looked_up: Engine, seed: int) -> None:
    all_of = written(looked_up, captures_by_chance(seed, 240))
    facets, chance = FacetAnswers(looked_up), random.Random(seed)
    ways = {check(facets, ask(chance, all_of), all_of) for _ in range(30)}
    assert ways == {AnsweredBy.LIVE}


def test_each_value_is_found_alone_and_left_out(looked_up: Engine) -> None:
    all_of = written(looked_up, captures_by_chance(5, 120))
    facets = FacetAnswers(looked_up)
    for criterion in Criterion:
        for value in sorted({one.values[criterion] for one in all_of})[-3:]:
            for negated in (False, True):
                where = (FacetCondition(criterion, (value,), negated=negated),)
                check(facets, FacetQuestion(where, (criterion,)), all_of)


def test_lists_of_sites_name_what_came_after_the_build(looked_up: Engine) -> None:
    names = {"org,example)/1": "Ones", "fr,example,": "The French"}

    def named(captures: list[Capture]) -> list[Counted]:
        for held, one in zip(captures, found := counted(captures), strict=True):
            keys = [key for key in names if held.urlkey.startswith(key)]
            one.values["site"] = names[keys[0]] if keys else one.values["site"]
        return found

    captures = captures_by_chance(6, 160)
    written(looked_up, captures[:100])
    build_archive_facets(looked_up, FacetBuildOptions(sites=Sites(names)))
    written(looked_up, captures)
    facets, all_of = FacetAnswers(looked_up), named(captures)
    for where in ((), (FacetCondition(Criterion.SITE, ("Ones", "The French")),)):
        for by in (Criterion.SITE, Criterion.TYPE):
            assert check(facets, FacetQuestion(where, (by,)), all_of) is AnsweredBy.LIVE


def test_captures_behind_an_answer_without_a_build(looked_up: Engine) -> None:
    captures = captures_by_chance(8, 90)
    all_of = written(looked_up, captures)
    where = (
        FacetCondition(Criterion.TYPE, ("html", "image")),
        FacetCondition(Criterion.TLD, ("fr", "uk")),
    )
    pairs = zip(captures, all_of, strict=True)
    wanted = [one for one, known in pairs if all(meets(known, each) for each in where)]
    found: list[Capture] = []
    while page := FacetAnswers(looked_up).captures(where, len(found), 7)[1]:
        found += page
    key = lambda one: (one.collection, one.source_file_offset)  # noqa: E731
    assert sorted(found, key=key) == sorted(wanted, key=key)
    assert [one.timestamp[:6] for one in found] == sorted(one.timestamp[:6] for one in wanted)


def test_many_captures_are_read_once_or_refused(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live, "MOST_LOOKED_UP", 20)
    all_of = written(engine, captures_by_chance(9, 80))
    facets, chance = FacetAnswers(engine), random.Random(9)
    ways = {check(facets, ask(chance, all_of), all_of) for _ in range(20)}
    assert ways == {AnsweredBy.LIVE}
    monkeypatch.setattr(answers, "MOST_READ", 79)
    with pytest.raises(EngineError, match="nwx build-facets"):
        FacetAnswers(engine).answer(EVERYTHING)


def test_an_empty_archive_has_nothing(looked_up: Engine) -> None:
    looked_up.create()
    for approximate in (False, True):
        answer = FacetAnswers(looked_up).answer(
            FacetQuestion(by=(Criterion.SITE,)), approximate=approximate
        )
        assert numbers(answer) == features([])
        assert answer.rows == ()


def test_estimates_are_said_to_be_such_and_near(engine: Engine) -> None:
    all_of = written(engine, [one for one in by_chance(3, 300) if one.record_type != "revisit"])
    facets = FacetAnswers(engine)
    for by in ((), (Criterion.SIZE,), (Criterion.MONTH, Criterion.TLD), (Criterion.DEPTH,)):
        where = (FacetCondition(Criterion.STATUS, ("ok", "ignored")), _months("2013-02", "2013-04"))
        some = [one for one in all_of if all(meets(one, each) for each in where)]
        question = FacetQuestion(where, by, Feature.CAPTURES)
        answer = facets.answer(question, approximate=True)
        if engine.facet_store().live_selection() is None:
            assert answer.answered_by is AnsweredBy.LIVE
            continue
        assert answer.answered_by is AnsweredBy.APPROXIMATE
        # With so few values counts are exact, except the bytes of documents, which are estimated.
        exact = ("captures", "unique_documents", "unique_urls", "bytes")
        assert [numbers(answer)[n] for n in exact] == [features(some)[n] for n in exact]
        found = groups(some, by) if by else {}
        rows = {row.values: row.features.captures for row in answer.rows}
        assert rows == {values: len(group) for values, group in found.items()}
        assert answer.found == len(found)
        assert list(rows.values()) == sorted(rows.values(), reverse=True)


def test_long_lists_of_estimates_are_cut(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "MOST_ESTIMATED_ROWS", 2)
    written(engine, [capture(f"http://s{n}.example/{n}", "2010") for n in (1, 2, 2, 3, 3, 3)])
    engine.write(batch([capture("http://s3.example/", "2011")]))
    engine.refresh()
    answer = FacetAnswers(engine).answer(FacetQuestion(by=(Criterion.SITE,)), approximate=True)
    if engine.facet_store().live_selection() is not None:
        assert len(answer.rows) == 2
        assert answer.found is None


def test_where_a_build_is_of_now_nothing_is_estimated(engine: Engine) -> None:
    all_of = written(engine, by_chance(4, 60))
    build_archive_facets(engine, FacetBuildOptions())
    answer = FacetAnswers(engine).answer(EVERYTHING, approximate=True)
    assert answer.answered_by in (AnsweredBy.STORED, AnsweredBy.COLUMNS)
    assert numbers(answer) == features(all_of)


def _months(low: str, high: str) -> FacetCondition:
    return FacetCondition(Criterion.MONTH, low=low, high=high)
