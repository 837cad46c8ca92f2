"""Capture dates of the documents that match queries."""

import pytest

from nwx.access.restricted_engine import RestrictedEngine
from nwx.engine.access.decisions import AccessRules
from nwx.engine.access.rules import EVERYBODY, AccessRule, Action, Scope
from nwx.engine.base import Engine
from nwx.engine.search_server import schema
from nwx.errors import QueryError, UsageError
from nwx.query.question import Question
from nwx.searching.trends import trends
from nwx.values.timestamps import Period
from tests.conformance.archive import also, batch, page

ABOVE_ENGINES = True

DATES_OF_ENTRY = 1

STONE = page("http://example.org/stone", "2010", "a stone")
OTHER = page("http://example.org/other", "20110315", "a stone and more")
SLATE = page("http://example.com/slate", "20130615", "slate")
BATCHES = [
    batch([STONE, OTHER, SLATE], [also(STONE, "201007", "20100702", "2013 art")]),
    batch(dates=[also(SLATE, "20130616", "20130616 art", "2014")]),
]


def points(engine: Engine, question: Question, period: Period = Period.YEAR) -> list[str]:
    (found,) = engine.trends([question], period)
    return [" ".join(map(str, point)) for point in found]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        (Question("stone"), "2010 3 1|2011 1 1|2013 1 1"),
        (Question(""), "2010 3 1|2011 1 1|2013 4 2|2014 1 1"),
        (Question("nowhere"), ""),
        (Question("", {"collection": ("art",)}), "2013 2 2"),
        (Question("slate", {"year": ("2014",)}), "2014 1 1"),
        (Question("stone", {"domain": ("example.org",)}, "2010-07", "2011"), "2010 2 1|2011 1 1"),
    ],
)
def test_by_year(archive: Engine, question: Question, expected: str) -> None:
    assert points(archive, question) == expected.split("|") * bool(expected)


def test_by_month(archive: Engine) -> None:
    found = points(archive, Question("stone OR slate"), Period.MONTH)
    expected = "201001 1 1|201007 2 1|201103 1 1|201301 1 1|201306 3 1|201401 1 1"
    assert found == expected.split("|")


def test_what_is_hidden_does_not_count(archive: Engine) -> None:
    rules = [
        AccessRule("1", Action.EXCLUDE, Scope(prefix="org,example)/other", is_exact=True)),
        AccessRule("2", Action.BLOCK, Scope("", "com,example)/", date_from="20130616000000")),
        AccessRule("3", Action.EMBARGO, Scope(date_to="20100131235959"), until="2999" + "01" * 5),
    ]
    restricted = RestrictedEngine(archive, AccessRules(rules).for_viewer(EVERYBODY))
    assert points(restricted, Question("")) == ["2010 2 1", "2013 2 2"]
    assert points(restricted, Question("stone")) == ["2010 2 1", "2013 1 1"]


def test_totals_of_many_questions_are_those_of_each(
    archive: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = [Question("stone"), Question(""), Question("nowhere")] * 40
    questions += [Question("", {"collection": ("art",)}), Question("", {"year": ("2014",)})]
    expected = [2, 3, 0] * 40 + [2, 1]
    assert archive.totals(questions) == expected
    assert archive.totals([]) == []
    monkeypatch.setattr(schema, "MAX_IDS", 1)
    assert archive.totals(questions)[:3] == [2, 3, 0]
    rule = AccessRule("1", Action.EXCLUDE, Scope(prefix="com,example"))
    shown = RestrictedEngine(archive, AccessRules([rule], "1").for_viewer(EVERYBODY))
    assert shown.totals(questions[:3]) == [2, 2, 0]


def test_a_large_result_is_counted_in_parts(
    archive: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = points(archive, Question(""))
    monkeypatch.setattr(schema, "MAX_IDS", 2)
    assert points(archive, Question("")) == expected


def test_queries_are_compared(archive: Engine) -> None:
    found = trends(archive, ["stone", "slate", "stone"], Question())
    assert found.periods == ("2010", "2011", "2012", "2013", "2014")
    assert [one.query for one in found.trends] == ["stone", "slate"]
    assert [point.documents_share for point in found.trends[0].points] == [1, 1, None, 0.5, 0]
    assert [point.captures for point in found.all.points] == [3, 1, 0, 4, 1]
    by_month = trends(archive, [], Question(date_from="2013-06", date_to="2014"), Period.MONTH)
    assert by_month.periods == (*(f"2013{n:02}" for n in range(6, 13)), "201401")
    assert trends(archive, ["nowhere"], Question("", {"year": ("1999",)})).periods == ()
    with pytest.raises(UsageError, match="7 queries"):
        trends(archive, list("abcdefg"), Question())
    with pytest.raises(QueryError):
        trends(archive, ["("], Question())
