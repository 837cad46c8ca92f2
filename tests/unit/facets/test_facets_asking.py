"""Questions from what people write."""

import pytest

from nwx.errors import UsageError
from nwx.facets.asking import to_condition, to_features, to_question
from nwx.facets.criteria import Criterion
from nwx.facets.question import Condition, Feature, condition_text

MONTHS = tuple(f"2013-{month:02}" for month in range(1, 13))


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("tld=fr", Condition(Criterion.TLD, ("fr",))),
        ("TLD = FR , be", Condition(Criterion.TLD, ("fr", "be"))),
        ("type!=html", Condition(Criterion.TYPE, ("html",), negated=True)),
        ("month=2013", Condition(Criterion.MONTH, MONTHS)),
        ("month=2013-01..2013-12", Condition(Criterion.MONTH, low="2013-01", high="2013-12")),
        ("month=..2013", Condition(Criterion.MONTH, high="2013")),
        ("month!=2013..", Condition(Criterion.MONTH, low="2013", negated=True)),
        ("month=unknown", Condition(Criterion.MONTH, ("unknown",))),
        ("size=0–1.2k", Condition(Criterion.SIZE, ("0-1.2K",))),
        ("size=1.2K-15K..", Condition(Criterion.SIZE, low="1.2K-15K")),
        ("depth=3..70", Condition(Criterion.DEPTH, low="3", high="50+")),
        ("collection=a\\, b,c", Condition(Criterion.COLLECTION, ("a, b", "c"))),
        ("site=a..b", Condition(Criterion.SITE, ("a..b",))),
    ],
)
def test_conditions(text: str, condition: Condition) -> None:
    assert to_condition(text) == condition
    assert to_condition(condition_text(condition)) == condition


@pytest.mark.parametrize(
    "text",
    [
        "",
        "tld",
        "tld=",
        "tld=a,,b",
        "colour=red",
        "month=2013-13",
        "month=soon",
        "month=2013-1..2014",
        "size=huge",
        "size=0..unknown",
        "status=200",
        "depth=-1",
    ],
)
def test_what_is_no_condition(text: str) -> None:
    with pytest.raises(UsageError):
        to_condition(text)


def test_lists_with_an_order_of_their_own_are_in_it() -> None:
    assert to_question(by="month").sort is None
    assert to_question(by="month,size").sort is None
    assert to_question(by="site").sort is Feature.CAPTURES
    assert to_question(by="site", features=[Feature.BYTES]).sort is Feature.BYTES
    assert to_question(by="month", sort="bytes").sort is Feature.BYTES
    assert to_question(by="site", sort="value").sort is None


def test_order_turns_around_what_is_natural() -> None:
    assert not to_question(by="month", order="asc").reverse
    assert to_question(by="month", order="desc").reverse
    assert to_question(by="site", order="asc").reverse
    assert not to_question(by="site", order="desc").reverse


@pytest.mark.parametrize(
    "wrong",
    [{"by": "a"}, {"by": "tld,site,type"}, {"by": "tld,tld"}, {"sort": "x"}, {"order": "x"}],
)
def test_what_makes_no_sense(wrong: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        to_question(**wrong)  # type: ignore[arg-type]


def test_features() -> None:
    assert to_features("bytes, captures,bytes") == (Feature.BYTES, Feature.CAPTURES)
    assert to_features("") == tuple(Feature)
    with pytest.raises(UsageError):
        to_features("weight")
