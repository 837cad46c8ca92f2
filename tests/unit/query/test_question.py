"""Questions, and the documents that they select."""

from typing import Any

import pytest

from nwx.errors import QueryError, UsageError
from nwx.query.fields import FILTERS
from nwx.query.question import (
    NONE_HIDDEN,
    DateCondition,
    DocumentQuery,
    HiddenDocuments,
    HiddenSpan,
    Question,
    facet_fields,
    resolve,
)
from nwx.query.tree import All, Bool, Term


def test_a_question_is_resolved() -> None:
    question = Question(
        query="lantern",
        filters={"type": ["html"], "status": ["0200"], "host": []},
        date_from="2010",
        date_to="2010-02",
    )
    assert resolve(question) == DocumentQuery(
        Term("", "lantern"),
        {"content_type_norm": ("html",), "status_code": ("200",)},
        "20100101000000",
        "20100228235959",
        pages_first=True,
    )


def test_filters_have_values_as_documents_have_them() -> None:
    asked = {"host": ["WWW.B\u00fccher.example."], "type": ["HTML"], "collection": ["News"]}
    assert resolve(Question(filters=asked)).filters == {
        "host": ("www.xn--bcher-kva.example",),
        "content_type_norm": ("html",),
        "collection": ("News",),
    }


def test_a_tree_is_taken_as_it_is() -> None:
    tree = Bool(must_not=(Term("", "x"),))
    assert resolve(Question(tree)).tree == tree
    assert Question(tree).text == ""
    assert Question("x y").text == "x y"
    assert resolve(Question()).tree == All()


@pytest.mark.parametrize(
    ("wrong", "error", "words"),
    [
        ({"filters": {"colour": ["red"]}}, UsageError, "no filter 'colour'"),
        ({"filters": {"status": ["abc"]}}, QueryError, "'abc' is not a number"),
        ({"filters": {"year": ["99"]}}, QueryError, "'99' is not a year"),
        ({"date_from": "2010-13"}, UsageError, "impossible date"),
        ({"date_from": "2015", "date_to": "2010"}, UsageError, "ends before it begins"),
        ({"limit": 1_001}, UsageError, "0 to 1,000 hits"),
        ({"offset": -1}, UsageError, "begins at 0"),
        ({"query": "(a"}, QueryError, "not closed"),
    ],
)
def test_what_makes_no_sense_is_refused(
    wrong: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        resolve(Question(**wrong))


def test_facets_are_named_as_filters_are() -> None:
    assert facet_fields(Question(facets=[*FILTERS, "public_suffix", "type"])) == (
        *FILTERS.values(),
        "public_suffix",
    )
    with pytest.raises(UsageError, match="no facet 'colour'"):
        facet_fields(Question(facets=["colour"]))


def test_a_facet_leaves_out_the_filter_about_it() -> None:
    query = DocumentQuery(All(), {"year": ("2010",), "host": ("a",)}, "20100101000000", "")
    assert query.without("host").filters == {"year": ("2010",)}
    assert query.without("host").date_from == query.date_from
    undated = query.without("year")
    assert (undated.filters, undated.date_from) == ({"host": ("a",)}, "")
    assert [query.filters_facet(one) for one in ("host", "year", "domain")] == [True, True, False]
    assert DocumentQuery(All(), date_to="20100101000000").filters_facet("year")


def test_a_question_without_dates_and_filters_has_no_condition() -> None:
    assert DocumentQuery(All(), filters={"host": ("x",)}).date_condition() is None


def test_years_are_spans_within_the_dates_of_the_question() -> None:
    query = DocumentQuery(All(), date_from="20100601000000", filters={"year": ("2010", "2012")})
    assert query.date_condition() == DateCondition(
        (("20100601000000", "20101231235959"), ("20120101000000", "20121231235959"))
    )


def test_a_collection_alone_has_any_date() -> None:
    query = DocumentQuery(All(), filters={"collection": ("web",)})
    assert query.date_condition() == DateCondition(None, ("web",))


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
