"""The query tree compiled to Elasticsearch's query language."""

import pytest

from nwx.engine.search_server.date_indices import MANY
from nwx.engine.search_server.documents.compile import (
    EVERYTHING,
    NOTHING,
    Query,
    compile_node,
    digits_range,
    leaf_query,
    own_query,
    seen_query,
)
from nwx.engine.search_server.documents.join import all_conditions, joined_query, superset_query
from nwx.errors import QueryError
from nwx.query.question import DateCondition, DocumentQuery
from nwx.query.tree import (
    All,
    Bool,
    Boost,
    DateRange,
    Fuzzy,
    Node,
    Phrase,
    Range,
    Term,
    Wildcard,
    date_ranges,
    resolve_tree,
)

SPAN = DateRange("20100101000000", "20101231235959")


def dated(node: DateRange, wanted: bool) -> Query:
    return {"dated": [node.low, node.high, wanted]}


def value(field: str, text: str | int) -> Query:
    return {"constant_score": {"filter": {"term": {field: text}}}}


@pytest.mark.parametrize(
    ("node", "query"),
    [
        (All(), EVERYTHING),
        (Term("content", "a b"), {"match_phrase": {"content": {"query": "a b", "slop": 0}}}),
        (Phrase("title", "a b", 2), {"match_phrase": {"title": {"query": "a b", "slop": 2}}}),
        (Term("host", "a.org"), value("host", "a.org")),
        (Phrase("host", "a.org"), value("host", "a.org")),
        (Term("status_code", " 200 "), value("status_code", 200)),
        (Wildcard("host", r"a*\*"), {"wildcard": {"host": {"value": r"a*\*"}}}),
        (Wildcard("title", "*"), {"exists": {"field": "title"}}),
        (Range("status_code", "1", None), {"range": {"status_code": {"gte": 1}}}),
        (
            Range("host", "a", "b", include_low=False, include_high=False),
            {"range": {"host": {"gt": "a", "lt": "b"}}},
        ),
        (Range("host", None, None), {"exists": {"field": "host"}}),
        (Boost(All(), 2.0), {"bool": {"must": [EVERYTHING], "boost": 2.0}}),
        (Boost(All(), 1.0), EVERYTHING),
        (Bool(), {"bool": {}}),
        (Bool(must_not=(All(),)), {"bool": {"must_not": [EVERYTHING]}}),
        (Bool(should=(All(),)), {"bool": {"should": [EVERYTHING], "minimum_should_match": 1}}),
        (
            Bool(must=(All(),), should=(All(),)),
            {"bool": {"must": [EVERYTHING], "should": [EVERYTHING]}},
        ),
        (
            Bool(should=(Term("id", "a"), Term("id", "b"))),
            {
                "bool": {
                    "should": [{"constant_score": {"filter": {"terms": {"id": ["a", "b"]}}}}],
                    "minimum_should_match": 1,
                }
            },
        ),
        (SPAN, {"dated": [SPAN.low, SPAN.high, True]}),
        (Bool(must_not=(SPAN,)), {"bool": {"must_not": [{"dated": [SPAN.low, SPAN.high, False]}]}}),
    ],
)
def test_nodes(node: Node, query: Query) -> None:
    assert compile_node(resolve_tree(node), dated) == query


def test_a_range_of_own_dates_ends_before_an_excluded_year() -> None:
    leaf = resolve_tree(Range("crawl_date", "2010", "2012", include_high=False))
    bounds = {"gte": "20100101000000", "lt": "20120101000000", "format": "uuuuMMddHHmmss"}
    assert compile_node(leaf, lambda one, wanted: leaf_query(one)) == {  # type: ignore[arg-type]
        "range": {"crawl_date": bounds}
    }


def test_a_word_without_field_is_looked_up_in_all_with_weights() -> None:
    found = compile_node(Term("", "x"), dated)
    queries = found["dis_max"]["queries"]
    assert queries[0] == {
        "bool": {"must": [{"match_phrase": {"title": {"query": "x", "slop": 0}}}], "boost": 3.0}
    }
    assert queries[2] == {"match_phrase": {"content": {"query": "x", "slop": 0}}}
    assert len(queries) == 4


@pytest.mark.parametrize(
    ("pattern", "folded"),
    [
        ("bud*", "bud*"),
        ("É?x", "e?x"),
        (r"a\*b*", r"a\*b*"),
        ('x")OR(*', 'x")or(*'),
        ("end\\", "end\\\\"),
    ],
)
def test_patterns_of_text_are_folded(pattern: str, folded: str) -> None:
    found = compile_node(Wildcard("content", pattern), dated)
    assert found == {"wildcard": {"content": {"value": folded}}}


def test_a_likeness_is_found_whatever_its_rank() -> None:
    found = compile_node(Fuzzy("content", "x y", 1), dated)["bool"]
    assert found["filter"][0]["match"]["content"]["fuzzy_rewrite"] == "constant_score"
    assert "fuzzy_rewrite" not in found["should"][0]["match"]["content"]
    plain = compile_node(Fuzzy("host", "x", 1), dated)["constant_score"]
    assert plain["filter"]["fuzzy"]["host"]["rewrite"] == "constant_score"


@pytest.mark.parametrize(
    ("low", "high", "bounds"),
    [
        ("20100101000000", "20101231235959", {"gte": "20100101000000", "lte": "20101231235959"}),
        ("20100231000000", "20100631235959", {"gt": "20100228235959", "lte": "20100630235959"}),
        ("00000000000000", "99999999999999", {"gte": "00000101000000", "lte": "99991231235959"}),
        ("20101300000000", "20100000000000", {"gt": "20101231235959", "lt": "20100101000000"}),
        ("20100101246000", "20100101250000", {"gt": "20100101235959", "lte": "20100101235959"}),
        ("", "20120229000000", {"lte": "20120229000000"}),
        ("20110229120000", "", {"gt": "20110228235959"}),
    ],
)
def test_spans_reach_to_dates_that_there_are(low: str, high: str, bounds: Query) -> None:
    assert digits_range("dates", low, high) == {
        "range": {"dates": bounds | {"format": "uuuuMMddHHmmss"}}
    }


@pytest.mark.parametrize("digits", ["2010", "20100101", "x" * 14, "2010010100000０"])
def test_spans_need_14_digits(digits: str) -> None:
    with pytest.raises(QueryError, match="14 digits"):
        digits_range("dates", digits, "")


def test_a_request_is_one_condition() -> None:
    request = DocumentQuery(
        All(),
        filters={"collection": ("a", "b"), "year": ("2010", "2012"), "host": ("x",)},
        date_from="20100615000000",
        date_to="20101231235959",
    )
    span = ("20100615000000", "20101231235959")
    assert request.date_condition() == DateCondition((span,), ("a", "b"))
    assert DocumentQuery(All(), filters={"host": ("x",)}).date_condition() is None
    never = DocumentQuery(All(), filters={"year": ("2012",)}, date_to="20101231235959")
    assert never.date_condition() == DateCondition(())
    assert own_query(DateCondition(())) == {"bool": {"filter": [NOTHING]}}


def test_dates_in_a_collection_are_one_range() -> None:
    condition = DateCondition((("20100101000000", ""),), ("web",))
    both = seen_query(condition, MANY)["bool"]["filter"]
    assert both[0] == MANY
    assert both[1] == {"range": {"seen": {"gte": "web/20100101000000", "lte": f"web/{'9' * 14}"}}}


def test_conditions_are_asked_once() -> None:
    tree = Bool(must=(SPAN, Boost(SPAN, 2.0)), must_not=(DateRange("", SPAN.high),))
    assert len(list(date_ranges(tree))) == 3
    assert len(all_conditions(DocumentQuery(tree, date_to=SPAN.high))) == 2


def test_numbers_stand_beside_the_own_date() -> None:
    request = DocumentQuery(SPAN)
    (condition,) = all_conditions(request)
    alone = joined_query(request, {condition: []})
    assert alone == {"constant_score": {"filter": own_query(condition)}}
    joined = joined_query(request, {condition: [7]})
    either = joined["constant_score"]["filter"]["bool"]["should"]
    assert either == [own_query(condition), {"terms": {"num": [7]}}]


def test_a_superset_lets_every_date_do() -> None:
    request = DocumentQuery(Bool(must=(SPAN,), must_not=(DateRange(SPAN.high, ""),)))
    found = superset_query(request, {})["bool"]
    assert found["must"] == [{"constant_score": {"filter": EVERYTHING}}]
    assert found["must_not"] == [{"constant_score": {"filter": NOTHING}}]
