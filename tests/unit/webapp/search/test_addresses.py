"""The question in an address, and the addresses derived from it."""

from dataclasses import replace
from urllib.parse import urlencode

import pytest
from werkzeug.datastructures import MultiDict

from nwx.errors import UsageError
from nwx.model import Collapse, Sort
from nwx.query.question import Question
from webapp.search.addresses import SearchAddresses, question_pairs, read_more, read_page
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
