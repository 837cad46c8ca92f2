"""The plan of a question, and the leaves extracted from a query."""

from nwx.engine.embedded.documents.plan import JoinedLeaf, plan_search, without_joined
from nwx.query.question import DateCondition, Question
from nwx.query.tree import All, Bool, DateRange, Term, ValueSpan

RANGE = DateRange("20100101000000", "20101231235959")
STONE, LINKED = Term("", "stone"), ValueSpan("inlinks", 2, None)


def test_leaves_that_hold_for_all_are_taken_out_of_a_query() -> None:
    query = Bool(must=(STONE, RANGE, Bool(must=(LINKED,))))
    assert without_joined(query) == (Bool(must=(STONE,)), (JoinedLeaf(RANGE), JoinedLeaf(LINKED)))


def test_leaves_that_are_ruled_out_are_unwanted() -> None:
    query = Bool(must=(STONE,), must_not=(RANGE,))
    assert without_joined(query) == (Bool(must=(STONE,)), (JoinedLeaf(RANGE, wanted=False),))


def test_a_leaf_by_itself_leaves_all_documents() -> None:
    assert without_joined(RANGE) == (All(), (JoinedLeaf(RANGE),))
    assert without_joined(Bool(must_not=(RANGE,))) == (All(), (JoinedLeaf(RANGE, wanted=False),))


def test_a_leaf_that_is_one_of_several_choices_stays() -> None:
    query = Bool(should=(STONE, RANGE))
    assert without_joined(query) == (query, ())


def test_words_that_need_not_be_met_stay_a_matter_of_score() -> None:
    query = Bool(must=(RANGE,), should=(STONE,))
    assert without_joined(query) == (Bool((All(),), (STONE,)), (JoinedLeaf(RANGE),))


def test_facets_are_counted_without_their_own_filters() -> None:
    plan = plan_search(
        Question(
            "stone",
            filters={"collection": ("web",), "host": ("a.example",)},
            date_from="2010",
            date_to="2010",
            facets=("year", "host", "language"),
        )
    )
    span = (RANGE.low, RANGE.high)
    assert plan.dates == DateCondition((span,), ("web",))
    assert plan.filters == {"host": ("a.example",)}
    assert plan.apart == ("year", "host")
    assert plan.other_dates == {"year": DateCondition(None, ("web",))}
