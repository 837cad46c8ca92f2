"""Answers of an archive in a folder, and what becomes of questions that may not go on."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from nwx.engine.embedded.engine import EmbeddedEngine
from nwx.engine.work import Work, working
from nwx.errors import QuestionTimeoutError
from nwx.facets.answers import FacetAnswers
from nwx.facets.criteria import Criterion
from nwx.facets.question import FacetQuestion
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
