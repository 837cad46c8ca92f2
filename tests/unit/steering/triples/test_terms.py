"""Names and values in the store."""

import pytest
from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from nwx.steering.triples.terms import (
    MOST_TRIPLES,
    TripleDraft,
    analysis_iri,
    capture_iri,
    date_literal,
    iri,
    literal,
    page_iri,
)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("http://a.example/b?c=d&e", "http://a.example/b?c=d&e"),
        ("http://a.example/ü #%zz%41[]", "http://a.example/%C3%BC%20%23%25zz%41%5B%5D"),
        ("x\ud800", "x?"),
    ],
)
def test_captures_have_valid_names(url: str, name: str) -> None:
    assert capture_iri(url, "20150101000000").value == f"urn:nwx:capture:20150101000000:{name}"
    assert analysis_iri(url, "2015", "my crawl/1").value == (
        f"urn:nwx:analysis:my%20crawl%2F1:2015:{name}"
    )


def test_what_is_no_iri_is_told_or_made_one() -> None:
    for text in ("", "relative", "http://[x", "x" * 3_000, "http://a/" + "x" * 3_000):
        assert iri(text) is None
    assert page_iri("http://[x").value == "urn:nwx:url:http://%5Bx"
    assert str(iri("http://www.schema.org/name")) == "<https://schema.org/name>"


def test_literals_are_bounded_and_can_be_stored() -> None:
    assert literal("a\x00\ud800b").value == "a\ufffd\ufffdb"
    assert literal("a\x01\x0b\x1f\n\t\uffff").value == "a\ufffd\ufffd\ufffd\n\t\ufffd"
    assert len(literal("x" * 9_000).value) == 2_000
    assert literal("x", "de").language == "de"
    assert str(date_literal("20150102030405")).startswith('"2015-01-02T03:04:05Z"^^')


A, P = NamedNode("urn:a"), NamedNode("urn:p")


def test_triples_are_kept_once_and_in_order() -> None:
    draft = TripleDraft(NamedNode("urn:c"))
    draft.add_unchecked(Triple(BlankNode("x"), P, BlankNode("y")))
    draft.add_unchecked(Triple(BlankNode("y"), P, Literal("v")))
    draft.add_unchecked(Triple(BlankNode("x"), P, BlankNode("y")))
    draft.add_unchecked(Triple(A, P, Literal(" ")))
    part = draft.new_part()
    draft.add(part, P, A)
    assert [(str(one.subject), str(one.object)) for one in draft] == [
        ("<urn:c#n1>", "<urn:c#n2>"),
        ("<urn:c#n2>", '"v"'),
        ("<urn:c#n3>", "<urn:a>"),
    ]


def test_what_is_too_much_is_cut() -> None:
    draft = TripleDraft(NamedNode("urn:c"))
    for number in range(MOST_TRIPLES):
        draft.add(A, P, Literal(number))
    draft.add(A, P, Literal(0))
    assert not draft.is_cut
    draft.add(A, P, Literal(-1))
    assert draft.is_cut
    assert len(list(draft)) == MOST_TRIPLES
