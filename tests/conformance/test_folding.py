"""Versions of a URL, or near-identical texts, are collapsed to one hit."""

from nwx.engine.base import Engine
from nwx.model import Collapse, Total
from nwx.query.tree import All, Term
from tests.conformance.archive import batch, page
from tests.conformance.asking import facet, names, search

LONG = "http://example.org/?" + "x" * 9000
SAME = "00000000000000aa"
BATCHES = [
    batch(
        [
            page("http://example.org/a", "2010", "first apple"),
            page("http://example.org/a", "2011", "second apple", signature=SAME),
            page("http://example.org/a", "2012", "third pear"),
            page("http://example.org/b", "2010", "apple again", signature=SAME),
            page("http://example.org/c", "2010", "short"),
            page(LONG + "1", "2010", "endless"),
            page(LONG + "2", "2010", "endless too"),
        ]
    )
]


def test_versions_of_a_url_are_one_hit(archive: Engine) -> None:
    found = search(archive, All(), collapse=Collapse.URL)
    assert found.total == Total(5)
    assert found.documents == Total(7)
    assert sorted(hit.versions for hit in found.hits) == [1, 1, 1, 1, 3]
    assert next(hit.versions for hit in found.hits if hit.url.endswith("/a")) == 3


def test_only_versions_of_the_query_are_counted(archive: Engine) -> None:
    found = search(archive, Term("", "apple"), collapse=Collapse.URL)
    assert found.total == Total(2)
    assert {hit.url[-1]: hit.versions for hit in found.hits} == {"a": 2, "b": 1}


def test_near_identical_texts_are_one_hit(archive: Engine) -> None:
    found = search(archive, All(), collapse=Collapse.SIMILAR)
    assert found.total == Total(6)
    assert found.documents == Total(7)
    assert sorted(hit.versions for hit in found.hits) == [1, 1, 1, 1, 1, 2]
    (folded,) = (hit for hit in found.hits if hit.versions == 2)
    same = search(archive, Term("signature", folded.signature), collapse=Collapse.NONE)
    assert same.total == Total(2) and {hit.signature for hit in same.hits} == {SAME}


def test_texts_without_signature_are_not_alike(archive: Engine) -> None:
    found = search(archive, Term("", "endless"), collapse=Collapse.SIMILAR)
    assert found.total == Total(2)


def test_nothing_is_folded_unless_asked(archive: Engine) -> None:
    found = search(archive, All(), collapse=Collapse.NONE)
    assert found.total == found.documents == Total(7)
    assert {hit.versions for hit in found.hits} == {1}


def test_pages_count_folded_hits(archive: Engine) -> None:
    pages = [search(archive, All(), collapse=Collapse.URL, offset=n, limit=2) for n in (0, 2, 4)]
    assert [len(one.hits) for one in pages] == [2, 2, 1]
    assert len({hit.url for one in pages for hit in one.hits}) == 5
    assert {one.total for one in pages} == {Total(5)}


def test_facets_count_all_versions(archive: Engine) -> None:
    found = search(archive, All(), collapse=Collapse.URL, facets=("year", "domain"))
    assert facet(found, "domain") == [("example.org", 7)]
    assert facet(found, "year") == [("2010", 5), ("2011", 1), ("2012", 1)]


def test_the_best_version_stands_for_its_url(archive: Engine) -> None:
    found = search(archive, Term("", "pear"), collapse=Collapse.URL)
    assert names(found) == ["a"]
    assert found.hits[0].dates == ("20120101000000",)
