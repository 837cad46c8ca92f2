"""Questions parsed from user input."""

import pytest

from nwx.errors import UsageError
from nwx.facets.criteria import Criterion
from nwx.facets.question import (
    STORED_FEATURES,
    FacetCondition,
    Feature,
    Features,
    features_json,
    parse_condition,
    parse_facet_question,
    parse_features,
)

MONTHS = tuple(f"2013-{month:02}" for month in range(1, 13))


@pytest.mark.parametrize(
    ("text", "condition"),
    [
        ("tld=fr", FacetCondition(Criterion.TLD, ("fr",))),
        ("TLD = FR , be", FacetCondition(Criterion.TLD, ("fr", "be"))),
        ("type!=html", FacetCondition(Criterion.TYPE, ("html",), negated=True)),
        ("month=2013", FacetCondition(Criterion.MONTH, MONTHS)),
        ("month=2013-01..2013-12", FacetCondition(Criterion.MONTH, low="2013-01", high="2013-12")),
        ("month=..2013", FacetCondition(Criterion.MONTH, high="2013")),
        ("month!=2013..", FacetCondition(Criterion.MONTH, low="2013", negated=True)),
        ("month=unknown", FacetCondition(Criterion.MONTH, ("unknown",))),
        ("size=0–1.2k", FacetCondition(Criterion.SIZE, ("0-1.2K",))),
        ("size=1.2K-15K..", FacetCondition(Criterion.SIZE, low="1.2K-15K")),
        ("month=2013-05..2013", FacetCondition(Criterion.MONTH, low="2013-05", high="2013")),
        ("depth=3..70", FacetCondition(Criterion.DEPTH, low="3", high="50+")),
        ("collection=a\\, b,c", FacetCondition(Criterion.COLLECTION, ("a, b", "c"))),
        ("site=a..b", FacetCondition(Criterion.SITE, ("a..b",))),
    ],
)
def test_conditions(text: str, condition: FacetCondition) -> None:
    assert parse_condition(text) == condition
    assert parse_condition(str(condition)) == condition


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
        "month=2015..2013",
        "month!=2014..2013-12",
        "size=15K-150K..0",
        "depth=10..9",
        "status=200",
        "depth=-1",
        "depth=05",
    ],
)
def test_what_is_no_condition(text: str) -> None:
    with pytest.raises(UsageError):
        parse_condition(text)


def test_lists_with_an_order_of_their_own_are_in_it() -> None:
    assert parse_facet_question(by="month").sort is None
    assert parse_facet_question(by="month,size").sort is None
    assert parse_facet_question(by="site").sort is Feature.CAPTURES
    assert parse_facet_question(by="site", features=[Feature.BYTES]).sort is Feature.BYTES
    assert parse_facet_question(by="month", sort="bytes").sort is Feature.BYTES
    assert parse_facet_question(by="site", sort="value").sort is None


def test_order_turns_around_what_is_natural() -> None:
    assert not parse_facet_question(by="month", order="asc").reverse
    assert parse_facet_question(by="month", order="desc").reverse
    assert parse_facet_question(by="site", order="asc").reverse
    assert not parse_facet_question(by="site", order="desc").reverse


@pytest.mark.parametrize(
    "wrong",
    [{"by": "a"}, {"by": "tld,site,type"}, {"by": "tld,tld"}, {"sort": "x"}, {"order": "x"}],
)
def test_what_makes_no_sense(wrong: dict[str, str]) -> None:
    with pytest.raises(UsageError):
        parse_facet_question(**wrong)  # type: ignore[arg-type]


def test_lists_of_features() -> None:
    assert parse_features("bytes, captures,bytes") == (Feature.BYTES, Feature.CAPTURES)
    assert parse_features("") == tuple(Feature)
    with pytest.raises(UsageError):
        parse_features("weight")


def test_computed_features() -> None:
    found = Features(captures=9, unique_documents=4, unique_urls=2, bytes=300, unique_bytes=100)
    assert (found.average_size, found.average_document_size) == (50, 25)
    assert found.duplication_ratio == 3
    assert features_json(found, (Feature.BYTES, Feature.AVERAGE_SIZE)) == {
        "bytes": 300,
        "average_size": 50,
    }


def test_nothing_is_divided_by_nothing() -> None:
    names = set(Feature) - set(STORED_FEATURES)
    assert {Features().value(Feature(name)) for name in names} == {None}
    assert {Features().value(Feature(name)) for name in STORED_FEATURES} == {0}
