"""Filters match any of their values, and agree with the counts of facets."""

import pytest

from nwx.engine.base import Engine
from nwx.errors import QueryError
from nwx.model import Collapse
from nwx.query.question import Question
from nwx.query.tree import All
from tests.conformance.archive import batch, page
from tests.conformance.asking import ask, facet

BATCHES = [
    batch(
        [
            page("http://a.example.org/1", "2009", "one", content_language="en"),
            page("http://a.example.org/2", "2010", "two", content_language="fr", status=404),
            page("http://b.example.org/3", "2011", "three", content_type="application/pdf"),
            page("http://example.co.uk/4", "2010", "four", collection="other", status=None),
            page("http://192.168.1.1/5", "2012", "five", content_language="en", collection="art"),
        ]
    )
]


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"host": ("a.example.org",)}, "12"),
        ({"domain": ("example.org",)}, "123"),
        ({"domain": ("example.org", "example.co.uk")}, "1234"),
        ({"public_suffix": ("co.uk",)}, "4"),
        ({"content_language": ("en",)}, "15"),
        ({"content_language": ("en", "fr")}, "125"),
        ({"content_type_norm": ("pdf",)}, "3"),
        ({"content_type": ("text/html",)}, "1245"),
        ({"status_code": ("200",)}, "135"),
        ({"status_code": ("200", "404")}, "1235"),
        ({"collection": ("web",)}, "123"),
        ({"collection": ("other", "art")}, "45"),
        ({"year": ("2010",)}, "24"),
        ({"year": ("2009", "2012")}, "15"),
        ({"host": ("a.example.org",), "content_language": ("en",)}, "1"),
        ({"host": ("nowhere.example",)}, ""),
        ({"host": ()}, "12345"),
        ({}, "12345"),
    ],
)
def test_a_filter(archive: Engine, filters: dict[str, tuple[str, ...]], expected: str) -> None:
    assert ask(archive, All(), filters=filters) == set(expected)


@pytest.mark.parametrize("field", ["status_code", "year"])
def test_a_filter_that_wants_numbers_says_so(archive: Engine, field: str) -> None:
    with pytest.raises(QueryError, match="abc"):
        archive.search(Question(All(), filters={field: ("abc",)}))


def test_facets_count_documents(archive: Engine) -> None:
    names = ("host", "domain", "public_suffix", "content_language", "content_type_norm")
    numbers = ("status_code", "collection", "year", "content_type")
    request = Question(All(), facets=names + numbers, collapse=Collapse.NONE)
    found = archive.search(request)
    assert facet(found, "host") == [
        ("a.example.org", 2),
        ("192.168.1.1", 1),
        ("b.example.org", 1),
        ("example.co.uk", 1),
    ]
    assert facet(found, "domain")[0] == ("example.org", 3)
    assert ("co.uk", 1) in facet(found, "public_suffix")
    assert facet(found, "content_language") == [("en", 2), ("fr", 1)]
    assert facet(found, "content_type_norm") == [("html", 4), ("pdf", 1)]
    assert facet(found, "content_type") == [("text/html", 4), ("application/pdf", 1)]
    assert facet(found, "status_code") == [("200", 3), ("404", 1)]
    assert facet(found, "collection") == [("web", 3), ("art", 1), ("other", 1)]
    assert facet(found, "year") == [("2009", 1), ("2010", 2), ("2011", 1), ("2012", 1)]


def test_facets_are_those_of_the_result(archive: Engine) -> None:
    request = Question(All(), filters={"host": ("a.example.org",)}, facets=("year", "domain"))
    found = archive.search(request)
    assert facet(found, "year") == [("2009", 1), ("2010", 1)]
    assert facet(found, "domain") == [("example.org", 2)]


def test_the_most_frequent_values_are_given_as_many_as_asked(archive: Engine) -> None:
    found = archive.search(Question(All(), facets=("host",), facet_size=2))
    assert facet(found, "host") == [("a.example.org", 2), ("192.168.1.1", 1)]
