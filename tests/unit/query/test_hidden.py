"""What is left out of a search."""

from nwx.query.hidden import NONE_HIDDEN, HiddenDocuments, HiddenSpan

_OLD, _NEW = ("20100101000000", "web"), ("20200101000000", "web")


def test_nothing_is_hidden_by_default() -> None:
    assert not NONE_HIDDEN
    assert not NONE_HIDDEN.hides("one", (_OLD,))


def test_the_dates_that_a_document_names_are_all_that_is_hidden_of_it() -> None:
    span = HiddenSpan("20150101000000", "99991231235959")
    hidden = HiddenDocuments("k", frozenset({"gone"}), {"part": frozenset({_OLD})}, (span,))
    assert hidden.hides("gone", (_OLD,))
    assert hidden.hides_date("part", *_OLD)
    assert not hidden.hides_date("part", *_NEW)
    assert not hidden.hides("part", (_OLD, _NEW))


def test_spans_hold_for_all_documents_but_those_apart() -> None:
    span = HiddenSpan("20150101000000", "99991231235959", "web")
    hidden = HiddenDocuments("k", spans=(span,), apart=frozenset({"free"}))
    assert hidden.hides("other", (_NEW,))
    assert not hidden.hides("other", (_OLD, _NEW))
    assert not hidden.hides("other", (("20200101000000", "else"),))
    assert not hidden.hides("free", (_NEW,))


def test_hidden_documents_are_the_same_by_their_key() -> None:
    assert HiddenDocuments("a", frozenset({"x"})) == HiddenDocuments("a")
    assert HiddenDocuments("a") != HiddenDocuments("b")
