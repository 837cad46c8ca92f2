"""A document is found by any of its dates, in the collection that has the date."""

import pytest

from nwx.engine.base import Engine
from nwx.model import Collapse
from nwx.query.tree import All, Bool, DateRange, Node, Term
from tests.conformance.archive import also, batch, page
from tests.conformance.asking import ask, facet, search

ONCE = page("http://example.org/once", "2010", "seen once")
TWICE = page("http://example.org/twice", "2010", "seen twice")
BEFORE = page("http://example.org/before", "2012", "its revisit came first")
ELSEWHERE = page("http://example.org/elsewhere", "2011", "also in another collection")
LATE = page("http://example.org/late", "20140630", "others saw it before")
BATCHES = [
    batch(dates=[also(BEFORE, "2009")]),
    batch([ONCE, TWICE, BEFORE, ELSEWHERE, LATE]),
    batch(dates=[also(TWICE, "2013"), also(ELSEWHERE, "2013 art"), also(LATE, "2008", "2009 art")]),
    batch(dates=[also(page("http://example.org/gone", "2010"), "2010", "2011")]),
]


def span(low: str, high: str) -> DateRange:
    return DateRange(low + "0101000000", high + "1231235959")


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        ("2010", "2010", "once twice"),
        ("2013", "2013", "twice elsewhere"),
        ("2009", "2009", "before late"),
        ("2008", "2009", "before late"),
        ("2011", "2012", "before elsewhere"),
        ("2000", "2020", "once twice before elsewhere late"),
        ("2015", "2020", ""),
    ],
)
def test_a_span(archive: Engine, low: str, high: str, expected: str) -> None:
    dates = {"date_from": f"{low}0101000000", "date_to": f"{high}1231235959"}
    assert ask(archive, All(), **dates) == set(expected.split())
    assert ask(archive, span(low, high)) == set(expected.split())


def test_a_span_may_be_open(archive: Engine) -> None:
    assert ask(archive, All(), date_from="20130101000000") == {"twice", "elsewhere", "late"}
    assert ask(archive, All(), date_to="20091231235959") == {"before", "late"}


def test_both_ends_are_inside(archive: Engine) -> None:
    moment = "20140630000000"
    assert ask(archive, All(), date_from=moment, date_to=moment) == {"late"}
    assert ask(archive, All(), date_from="20140630000001") == set()
    assert ask(archive, DateRange(moment, moment)) == {"late"}


@pytest.mark.parametrize(
    ("collections", "year", "expected"),
    [
        (("web",), "2013", "twice"),
        (("art",), "2013", "elsewhere"),
        (("web", "art"), "2013", "twice elsewhere"),
        (("art",), "2011", ""),
        (("art",), "2009", "late"),
        (("web",), "2008", "late"),
    ],
)
def test_one_capture_has_the_date_and_the_collection(
    archive: Engine, collections: tuple[str, ...], year: str, expected: str
) -> None:
    filters = {"collection": collections}
    dates = {"date_from": f"{year}0101000000", "date_to": f"{year}1231235959"}
    assert ask(archive, All(), filters=filters, **dates) == set(expected.split())
    assert ask(archive, All(), filters=filters | {"year": (year,)}) == set(expected.split())


def test_a_collection_holds_what_any_capture_of_it_saw(archive: Engine) -> None:
    assert ask(archive, All(), filters={"collection": ("art",)}) == {"elsewhere", "late"}
    assert ask(archive, All(), filters={"collection": ("none",)}) == set()


def test_a_year_is_that_of_any_date(archive: Engine) -> None:
    assert ask(archive, All(), filters={"year": ("2013", "2009")}) == {
        "twice",
        "elsewhere",
        "before",
        "late",
    }


def test_a_year_and_a_span_meet_in_one_date(archive: Engine) -> None:
    summer = {"date_from": "20130101000000", "date_to": "20141231235959"}
    assert ask(archive, All(), filters={"year": ("2010",)}, **summer) == set()
    assert ask(archive, All(), filters={"year": ("2013",)}, **summer) == {"twice", "elsewhere"}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        (Bool(must=(span("2013", "2013"), Term("", "twice"))), "twice"),
        (Bool(should=(span("2013", "2013"), Term("", "once"))), "twice elsewhere once"),
        (Bool(must_not=(span("2013", "2013"),)), "once before late"),
        (Bool(must=(All(),), must_not=(span("2009", "2010"),)), "elsewhere"),
        (Bool(must=(span("2010", "2010"), span("2013", "2013"))), "twice"),
        (Bool(must_not=(Bool(must_not=(span("2008", "2009"),)),)), "before late"),
    ],
)
def test_spans_stand_anywhere_in_a_query(archive: Engine, query: Node, expected: str) -> None:
    assert ask(archive, query) == set(expected.split())


def test_hits_show_all_dates_and_collections(archive: Engine) -> None:
    hits = {hit.url.rpartition("/")[2]: hit for hit in search(archive, All()).hits}
    assert hits["late"].dates == ("20080101000000", "20090101000000", "20140630000000")
    assert hits["late"].collections == ("art", "web")
    assert hits["once"].dates == ("20100101000000",)
    assert hits["once"].collections == ("web",)


def test_years_and_collections_count_all_dates(archive: Engine) -> None:
    found = search(archive, All(), facets=("year", "collection"), collapse=Collapse.URL)
    assert facet(found, "year") == [
        ("2008", 1),
        ("2009", 2),
        ("2010", 2),
        ("2011", 1),
        ("2012", 1),
        ("2013", 2),
        ("2014", 1),
    ]
    assert facet(found, "collection") == [("web", 5), ("art", 2)]


def test_years_of_a_narrower_result(archive: Engine) -> None:
    found = search(archive, Term("", "seen"), facets=("year", "collection"))
    assert facet(found, "year") == [("2010", 2), ("2013", 1)]
    assert facet(found, "collection") == [("web", 2)]
    nothing = search(archive, Term("", "nothing"), facets=("year",))
    assert facet(nothing, "year") == []


def test_a_span_is_asked_again_after_each_change(engine: Engine) -> None:
    first = page("http://example.org/first", "2010", "a page")
    second = page("http://example.org/second", "2010", "another page")
    engine.write(batch([first, second]))
    for dated, expected in (
        ((), set()),
        ((also(first, "2015"),), {"first"}),
        ((also(first, "2016"), also(second, "2016")), {"first"}),
        ((also(second, "2015 other"),), {"first", "second"}),
    ):
        engine.append_dates(dated)
        engine.refresh()
        for _ in range(3):  # what is asked again is kept, and then only looked at
            found = ask(engine, All(), date_from="20150101000000", date_to="20151231235959")
            assert found == expected
