"""Results that are cached until the archive changes."""

from dataclasses import replace
from types import SimpleNamespace

import pytest
from flask import Flask

from nwx.model import FacetValue, SearchResult, Sort, Total
from nwx.query.question import Question
from webapp.search import kept_results
from webapp.search.kept_results import answer_question, prepare_kept_results


class CountedArchive:
    """An archive that finds as many documents as it was asked questions."""

    def __init__(self) -> None:
        self.state, self.asked, self.facet_size = "1", 0, 1

    def search_state(self) -> str:
        return self.state

    def hits(self, _: Question) -> SimpleNamespace:
        return SimpleNamespace(page=self.page)

    def page(self) -> SearchResult:
        self.asked += 1
        facets = {"host": (FacetValue("a", 1),) * self.facet_size}
        return SearchResult(Total(self.asked), Total(self.asked), (), facets, 5.0)


@pytest.fixture
def archive(monkeypatch: pytest.MonkeyPatch) -> CountedArchive:
    made = CountedArchive()
    monkeypatch.setattr(kept_results, "archive", lambda: made)
    monkeypatch.setattr(kept_results, "answer_search", lambda search: search())
    app = Flask(__name__)
    prepare_kept_results(app)
    monkeypatch.setattr(kept_results, "current_app", SimpleNamespace(extensions=app.extensions))
    return made


def test_the_same_question_is_answered_once(archive: CountedArchive) -> None:
    asked = Question("stone", filters={"host": ["a", "b"]}, facets=["host"])
    first = answer_question(asked)
    again = answer_question(replace(asked, filters={"host": ("a", "b")}, facets=("host",)))
    assert archive.asked == 1
    assert replace(again, took_ms=0) == replace(first, took_ms=0)
    for other in (
        replace(asked, query="stones"),
        replace(asked, filters={"host": ["a"]}),
        replace(asked, sort=Sort.OLDEST),
        replace(asked, facet_size=3),
        replace(asked, offset=10),
        replace(asked, snippets=False),
        replace(asked, date_from="2010"),
    ):
        before = archive.asked
        answer_question(other)
        assert archive.asked == before + 1


def test_another_state_is_asked_anew(archive: CountedArchive) -> None:
    asked = Question("stone")
    assert answer_question(asked).total.value == 1
    archive.state = "2"
    assert answer_question(asked).total.value == 2
    archive.state = "1"
    assert answer_question(asked).total.value == 1
    archive.state = ""
    assert [answer_question(asked).total.value for _ in range(2)] == [3, 4]


def test_what_is_kept_is_bounded(archive: CountedArchive, monkeypatch: pytest.MonkeyPatch) -> None:
    archive.facet_size = 200_000
    assert [answer_question(Question("long")).total.value for _ in range(2)] == [1, 2]
    archive.facet_size = 60_000
    for word in ("a", "b", "c", "c", "a"):
        answer_question(Question(word))
    assert archive.asked == 2 + 4
