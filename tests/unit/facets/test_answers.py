"""Answers of an archive in a folder, and questions that are stopped."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from nwx.access.restricted_engine import RestrictedEngine
from nwx.engine.access.decisions import AccessRules
from nwx.engine.access.rules import EVERYBODY, AccessRule, Action, Scope
from nwx.engine.document_index import Work, working
from nwx.engine.embedded.engine import EmbeddedEngine
from nwx.errors import QuestionTimeoutError
from nwx.facets.answers import FacetAnswers
from nwx.facets.build import FacetBuildOptions, build_archive_facets
from nwx.facets.criteria import Criterion
from nwx.facets.question import FacetQuestion
from nwx.model import Capture
from tests.facets import batch, by_chance

TYPES = FacetQuestion(by=(Criterion.TYPE,))


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[EmbeddedEngine]:
    with EmbeddedEngine(tmp_path / "archive") as made:
        made.write(batch(by_chance(1, 60)))
        made.refresh()
        yield made


@pytest.mark.parametrize("question", [FacetQuestion(), TYPES], ids=["total", "list"])
def test_a_question_stops_when_nobody_waits_for_it(
    engine: EmbeddedEngine, question: FacetQuestion
) -> None:
    facets = FacetAnswers(engine)
    with working(Work()) as work:
        work.cancel()
        with pytest.raises(QuestionTimeoutError):
            facets.answer(question)
        with pytest.raises(QuestionTimeoutError):
            facets.captures(())


def test_what_was_read_for_a_question_that_stopped_is_kept_for_the_next(
    engine: EmbeddedEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    facets = FacetAnswers(engine)
    with working(Work(0.0)), pytest.raises(QuestionTimeoutError):
        facets.answer(TYPES)
    monkeypatch.setattr("nwx.facets.answers.MOST_READ", -1)
    assert facets.answer(TYPES).total.captures == 60


_HIDDEN = {f"sha1:{payload:032}" for payload in range(12)}
_SCOPES = {
    "payloads": [Scope(digest=digest) for digest in sorted(_HIDDEN)],
    "a collection": [Scope(collection="web")],
}
"""Rules that hide revisits with their originals, and rules that hide only some of either."""

_CAPTURES = by_chance(5, 400)


def _archive(folder: Path, captures: list[Capture]) -> EmbeddedEngine:
    engine = EmbeddedEngine(folder)
    engine.write(batch(captures))
    engine.refresh()
    return engine


@pytest.fixture(scope="module", params=_SCOPES)
def shown(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RestrictedEngine]:
    """An archive with a build of some captures, as the public sees it."""
    rules = (
        AccessRule(str(number), Action.EXCLUDE, scope, made_at="20260101000000")
        for number, scope in enumerate(_SCOPES[request.param])
    )
    with _archive(tmp_path_factory.mktemp("whole") / "engine", _CAPTURES[:300]) as engine:
        build_archive_facets(engine, FacetBuildOptions(min_captures=1))
        yield RestrictedEngine(engine, AccessRules(rules, "1").for_viewer(EVERYBODY))


@pytest.mark.parametrize("is_current", [True, False], ids=["a build of now", "an older build"])
def test_what_is_hidden_is_in_no_answer(
    shown: RestrictedEngine, tmp_path: Path, is_current: bool
) -> None:
    captures = _CAPTURES[:300]
    if not is_current:
        captures = _CAPTURES
        shown._engine.write(batch(_CAPTURES[300:]))
        shown.refresh()
    visible = [one for one in captures if not shown.decisions.hides(one)]
    with _archive(tmp_path / "engine", visible) as engine:
        found, wanted = FacetAnswers(shown), FacetAnswers(engine)
        for by in ((), *((one,) for one in Criterion), (Criterion.TYPE, Criterion.MONTH)):
            question = FacetQuestion(by=by)
            answer, oracle = found.answer(question), wanted.answer(question)
            assert answer.total == oracle.total
            assert {row.values: row.features for row in answer.rows} == {
                row.values: row.features for row in oracle.rows
            }
        number, listed = found.captures((), limit=1_000)
        assert number == len(visible)
        assert {(one.url, one.timestamp) for one in listed} == {
            (one.url, one.timestamp) for one in visible
        }
