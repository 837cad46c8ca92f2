"""Criteria: the parts of each criterion's object agree."""

import re
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nwx.engine.facet_store import (
    CAPTURE_ROW_FIELDS,
    AllOf,
    AnyOf,
    Between,
    Ending,
    Like,
    LiveFilter,
    Not,
    OneOf,
    Unset,
)
from nwx.errors import UsageError
from nwx.facets.codes import CAPTURE_SCHEMA
from nwx.facets.criteria import COLUMN_CRITERIA, CUBE, Criterion, grouping_name, whole_years
from nwx.facets.definitions import UNKNOWN
from nwx.facets.question import parse_condition
from nwx.mappings import properties
from nwx.model import IndexName

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "status_code": st.none() | st.integers(-1, 1_000),
    "content_length": st.none() | st.integers(-1, 2**62),
    "timestamp": st.from_regex(r"[0-9]{4}(0[1-9]|1[0-2])[0-9]{8}", fullmatch=True),
    "domain": st.none() | st.sampled_from(["", "a.example", "unknown"]),
    "content_type_norm": st.none() | st.sampled_from(["", "html", "pdf"]),
    "public_suffix": st.none() | st.sampled_from(["", "uk", "co.uk", "example"]),
    "hops": st.none() | st.from_regex(r"([0-9]{1,2}\+)?[LER]{0,60}", fullmatch=True),
    "collection": st.sampled_from(["web", "other, things"]),
}


def meets(value: Any, wanted: LiveFilter) -> bool:
    """Return whether a capture whose field is `value` meets a condition on it."""
    match wanted:
        case AllOf(parts):
            return all(meets(value, part) for part in parts)
        case AnyOf(parts):
            return any(meets(value, part) for part in parts)
        case Not(part):
            return not meets(value, part)
        case Unset():
            return value in (None, "")
        case OneOf(_, values):
            return value in values
        case Ending(_, end):
            return bool(value) and value.endswith(end)
        case Like(_, pattern):
            return bool(value) and re.fullmatch(pattern, value) is not None
        case Between(_, low, high):
            return value is not None and (
                (low is None or value >= low) and (high is None or value < high)
            )


@pytest.mark.parametrize("criterion", Criterion)
@given(data=st.data())
def test_the_parts_of_a_definition_say_the_same(criterion: Criterion, data: st.DataObject) -> None:
    definition = criterion.definition
    value = data.draw(VALUES[definition.capture_field])
    named = definition.of_value(value)
    series = pl.Series([value], dtype=CAPTURE_SCHEMA[definition.capture_field])
    (coded,) = definition.of_series(series).to_list()
    assert (definition.values[coded] if definition.values else coded) == named
    assert meets(value, definition.to_filter([named]))
    if definition.values and definition.name != "depth":
        others = [one for one in definition.values if one != named]
        assert not meets(value, definition.to_filter(others))
    assert definition.parse(named) == (named,)


@pytest.mark.parametrize("criterion", Criterion)
def test_definitions_name_fields_that_there_are(criterion: Criterion) -> None:
    definition = criterion.definition
    assert definition.capture_field in CAPTURE_ROW_FIELDS
    assert definition.label and definition.description and definition.example
    if definition.facets_field:
        assert definition.facets_field in properties(IndexName.FACETS)
    assert parse_condition(f"{criterion}={definition.example}").criterion is criterion


def test_combinations_are_stored_for_seven_criteria() -> None:
    assert ("status", *CUBE) == ("status", "month", "site", "type", "tld", "size", "depth")
    assert set(Criterion) - set(COLUMN_CRITERIA) == {Criterion.YEAR}
    assert grouping_name({Criterion.SIZE, Criterion.STATUS, Criterion.MONTH}) == "month,size"


@pytest.mark.parametrize("month", ["2013-01", UNKNOWN])
def test_a_year_is_that_of_its_month(month: str) -> None:
    assert Criterion.YEAR.source is Criterion.MONTH
    assert Criterion.YEAR.definition.derive(month) == (month[:4] if month != UNKNOWN else UNKNOWN)


@pytest.mark.parametrize("date", ["", "2013", "20131301000000", "soon", None, "2013-1", "٢٠١٣٠١"])
def test_dates_that_are_none_have_no_month_and_no_year(date: str | None) -> None:
    for criterion in (Criterion.MONTH, Criterion.YEAR):
        assert criterion.definition.of_value(date) == UNKNOWN
        series = pl.Series([date], dtype=pl.String)
        assert criterion.definition.of_series(series).to_list() == [UNKNOWN]


def test_criteria_are_named_as_people_write_them() -> None:
    assert Criterion.named(" TLD ") is Criterion.TLD
    with pytest.raises(UsageError, match="use status, month, year"):
        Criterion.named("colour")
    with pytest.raises(UsageError, match=r"nwx search --facets.*generator"):
        Criterion.named("generator")


def test_types_are_in_lower_case_and_a_filter_s_name_is_taken() -> None:
    assert Criterion.TYPE.definition.parse("PDF") == ("pdf",)
    assert Criterion.named("domain") is Criterion.SITE
    with pytest.raises(UsageError, match=r"not a valid year; write 2013, or 2010\.\.2015"):
        Criterion.YEAR.definition.parse("2010-2015")


def test_domains_are_found_in_any_spelling() -> None:
    parse = Criterion.SITE.definition.parse
    assert parse("B\u00fccher.example") == ("B\u00fccher.example", "xn--bcher-kva.example")
    assert parse("example.org") == ("example.org",)
    assert parse("Paul's pages") == ("Paul's pages",)
    assert Criterion.TLD.definition.parse("\u0440\u0444") == ("xn--p1ai",)


def test_the_unknown_comes_last_and_lies_in_no_span() -> None:
    for criterion in Criterion:
        definition = criterion.definition
        if criterion is not Criterion.STATUS:
            known = definition.values[0] if definition.values else "2013-01"
            assert definition.order(known) < definition.order(UNKNOWN)
        if definition.spans:
            assert not definition.in_span(UNKNOWN, "", "")


@pytest.mark.parametrize(
    ("criterion", "values", "clause"),
    [
        (Criterion.STATUS, ["ok", "redirection"], "(status:[200 TO 299] OR status:[300 TO 399])"),
        (Criterion.STATUS, ["ignored"], None),
        (Criterion.MONTH, [f"2013-{month:02}" for month in range(1, 13)], "date:2013"),
        (Criterion.YEAR, ["2013", "2014"], "(date:2013 OR date:2014)"),
        (Criterion.YEAR, [UNKNOWN], None),
        (Criterion.TYPE, ['a"b'], 'type:"a\\"b"'),
        (Criterion.SITE, ["example.org"], 'domain:"example.org"'),
        (Criterion.SITE, ["The ministry"], None),
        (Criterion.SIZE, ["120M+"], "size:[125829120 TO *]"),
        (Criterion.SIZE, ["1.2K-15K"], "size:[1229 TO 15359]"),
        (Criterion.SIZE, [UNKNOWN], None),
        (Criterion.DEPTH, ["1"], None),
    ],
)
def test_values_as_clauses_of_a_query(
    criterion: Criterion, values: list[str], clause: str | None
) -> None:
    assert criterion.definition.to_query(values) == clause


def test_whole_years_stand_for_their_months() -> None:
    year = [f"2013-{month:02}" for month in range(1, 13)]
    assert whole_years(["2012-01", *year, UNKNOWN]) == ["2012-01", "2013", UNKNOWN]
    assert whole_years(year[1:]) == year[1:]
