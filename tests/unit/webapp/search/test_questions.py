"""The question in an address, the addresses derived from it, and cached results."""

from dataclasses import replace
from types import SimpleNamespace
from urllib.parse import urlencode

import pytest
from flask import Flask
from werkzeug.datastructures import MultiDict

from nwx.errors import UsageError
from nwx.model import Collapse, FacetValue, SearchResult, Sort, Total
from nwx.query.question import Question
from webapp.search import questions
from webapp.search.questions import (
    SearchAddresses,
    answer_question,
    prepare_kept_results,
    question_pairs,
    read_more,
    read_page,
)
from webapp.site.preferences import Preferences

ASKED = Question(
    query="quarry stone",
    filters={"language": ("fr", "ar"), "year": ("2010",)},
    date_from="2009",
    sort=Sort.OLDEST,
    collapse=Collapse.NONE,
    offset=40,
    limit=20,
)


def addresses(question: Question = ASKED, long_facet: str = "") -> SearchAddresses:
    return SearchAddresses("/search", question, Preferences(), long_facet)


def test_a_question_is_read_from_its_own_address() -> None:
    pairs = MultiDict(question_pairs(ASKED, Preferences()))
    assert read_page(pairs, Preferences()) == ASKED
    bare = read_page(MultiDict(), Preferences(per_page=50))
    assert (bare.limit, bare.offset, bare.query) == (50, 0, "")


@pytest.mark.parametrize("pairs", [{"page": "0"}, {"per_page": "7"}, {"sort": "up"}, {"year": "x"}])
def test_what_makes_no_sense_is_refused(pairs: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        read_page(MultiDict(pairs), Preferences())


def test_a_facet_is_listed_at_length() -> None:
    assert read_more(MultiDict({"more": "host"})) == "host"
    with pytest.raises(UsageError, match="choose one of"):
        read_more(MultiDict({"more": "colour"}))
    assert "more=host" in addresses().more("host")
    assert "more" not in addresses(long_facet="host").more("host")


def test_links_change_one_thing_and_begin_at_the_first_page() -> None:
    to = addresses()
    assert to.page_number == 3
    assert "page=2" in to.page(2)
    for changed in (to.sort("newest"), to.collapse("url"), to.per_page(50), to.toggle("type", "x")):
        assert "&page=" not in changed
        assert "q=quarry+stone" in changed
    assert "language=fr" not in to.toggle("language", "fr")
    assert "language=ar" in to.toggle("language", "fr")


def test_a_year_takes_the_place_of_the_dates() -> None:
    to = addresses()
    assert "year=2012" in to.year("2012")
    assert "year=2010" not in to.year("2012")
    assert "from=" not in to.year("2012")
    assert "year" not in to.year("2010")


def test_everything_can_be_cleared() -> None:
    assert "from" not in addresses().without_dates()
    cleared = addresses().without_filters()
    assert "language" not in cleared
    assert "sort=oldest" in cleared
    assert addresses(Question()).page(1) == "/search?q="
    assert addresses().export("/export/results.csv").startswith("/export/results.csv?q=quarry")


@pytest.mark.parametrize("long_facet", ["", "host"])
def test_addresses_are_those_of_changed_questions(long_facet: str) -> None:
    to, shown = addresses(long_facet=long_facet), Preferences()
    asked = replace(ASKED, offset=0)

    def address(question: Question) -> str:
        pairs = question_pairs(question, shown)
        return f"/search?{urlencode([*pairs, ('more', long_facet)] if long_facet else pairs)}"

    assert to.sort("relevance") == address(replace(asked, sort=Sort.RELEVANCE))
    assert to.collapse("similar") == address(replace(asked, collapse=Collapse.SIMILAR))
    assert to.per_page(10) == address(replace(asked, limit=10))
    assert to.page(7) == address(replace(ASKED, offset=120))
    assert to.without_dates() == address(replace(asked, date_from="", date_to=""))
    more = {**ASKED.filters, "language": ("fr", "ar", "d&e"), "year": ("2010",)}
    assert to.toggle("language", "d&e") == address(replace(asked, filters=more))
    more = {**ASKED.filters, "host": ("a b",)}
    assert to.toggle("host", "a b") == address(replace(asked, filters=more))
    year = {**ASKED.filters, "year": ("2012",)}
    assert to.year("2012") == address(replace(asked, filters=year, date_from="", date_to=""))


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
    monkeypatch.setattr(questions, "archive", lambda: made)
    monkeypatch.setattr(questions, "answer_search", lambda search: search())
    app = Flask(__name__)
    prepare_kept_results(app)
    monkeypatch.setattr(questions, "current_app", SimpleNamespace(extensions=app.extensions))
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
