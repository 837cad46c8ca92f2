"""Triples while they are gathered."""

from pyoxigraph import BlankNode, Literal, NamedNode, Triple

from nwx.steering.structured.draft import MOST_TRIPLES, TripleDraft

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
    assert draft.problems == ["terms: some are no valid IRIs"]


def test_what_is_too_much_is_cut() -> None:
    draft = TripleDraft(NamedNode("urn:c"))
    for number in range(MOST_TRIPLES):
        draft.add(A, P, Literal(number))
    draft.add(A, P, Literal(0))
    assert not draft.is_cut
    draft.add(A, P, Literal(-1))
    assert draft.is_cut
    assert len(list(draft)) == MOST_TRIPLES
