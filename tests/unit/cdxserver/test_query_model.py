"""The three dialects."""

import pytest

from nwx.cdxserver.filters import field_value
from nwx.cdxserver.query_model import (
    DIALECTS,
    IA,
    KNOWN,
    MOST_PARAMETERS,
    MOST_VALUE_CHARACTERS,
    check_names,
    dialect_named,
    parameters_of,
)
from nwx.errors import CdxQueryError


def test_a_dialect_is_found_by_its_name_in_any_case() -> None:
    assert dialect_named("IA") is IA
    with pytest.raises(CdxQueryError, match="choose one of ia, pywb, outback"):
        dialect_named("klingon")


@pytest.mark.parametrize("name", DIALECTS)
def test_a_dialect_has_a_media_type_for_its_form_and_knows_its_fields(name: str) -> None:
    dialect = DIALECTS[name]
    assert dialect.output in dialect.media_types
    assert all(field_value(field, "fl") for field in dialect.fields)


def test_values_are_decoded_and_kept_in_order() -> None:
    asked = parameters_of("filter=a&filter=b&filter=&url=http%3A%2F%2Fa.example%2F%C3%A9")
    assert asked.all("filter") == ["a", "b"]
    assert asked.text("url") == "http://a.example/\u00e9"
    assert asked.text("nothing", "default") == "default"
    assert "filter" in asked
    for query in ("url=a&url=b", "url=a&url="):
        with pytest.raises(CdxQueryError, match="url is given with different values"):
            parameters_of(query).text("url")
    assert parameters_of("n=1&n=1").number("n", None, 0, 10) == 1
    assert asked.others(("filter",)) == (("url", "http://a.example/\u00e9"),)


@pytest.mark.parametrize(
    ("text", "truth"), [("true", True), ("1", True), ("", False), ("no", False)]
)
def test_switches(text: str, truth: bool) -> None:
    assert parameters_of(f"gzip={text}").truth("gzip") is truth


@pytest.mark.parametrize(
    "query", ["n=x", "n=1.5", "n=11", "n=-1", "n=٣", "n=1e1", "n=1_0", "n=" + "9" * 30]
)
def test_a_number_out_of_bounds_is_an_error_that_names_them(query: str) -> None:
    with pytest.raises(CdxQueryError, match="from 0 to 10"):
        parameters_of(query).number("n", None, 0, 10)


def test_dates_and_moments() -> None:
    asked = parameters_of("from=2010&closest=201002")
    assert asked.date("from") == "2010"
    assert asked.moment("closest") == "20100201000000"
    assert asked.moment("to") == ""


@pytest.mark.parametrize("closest", ["20101332", "x", "2010-01-01"])
def test_an_impossible_moment_is_an_error(closest: str) -> None:
    with pytest.raises(CdxQueryError, match="closest is"):
        parameters_of(f"closest={closest}").moment("closest")


@pytest.mark.parametrize(
    "date", ["20101332", "201013", "20100230", "2010010199", "20100101000060", "2010-01", "x"]
)
@pytest.mark.parametrize("name", ["from", "to"])
def test_an_impossible_bound_is_an_error_that_names_it(name: str, date: str) -> None:
    with pytest.raises(CdxQueryError, match=f"{name} is '{date}'"):
        parameters_of(f"{name}={date}").date(name)


@pytest.mark.parametrize("date", ["2", "201", "2010", "20101", "2010123", "20101231235959", "0"])
def test_the_beginning_of_any_date_is_a_bound_as_wayback_clients_write_it(date: str) -> None:
    assert parameters_of(f"from={date}").date("from") == date


@pytest.mark.parametrize(
    "query",
    [
        "&".join(["a=b"] * (MOST_PARAMETERS + 1)),
        "url=" + "x" * (MOST_VALUE_CHARACTERS + 1),
        "url=%ff",
    ],
)
def test_what_is_too_much_or_no_text_is_an_error(query: str) -> None:
    with pytest.raises(CdxQueryError):
        parameters_of(query)


def test_known_names_and_those_of_clients_pass() -> None:
    check_names([*KNOWN, "_", "cb", "utm_source"])


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("match_type", "matchType"),
        ("filtr", "filter"),
        ("mimetype", "filter=mimetype:VALUE"),
        ("accesspoint", "not supported"),
    ],
)
def test_a_name_that_was_meant_for_another_is_an_error(name: str, hint: str) -> None:
    with pytest.raises(CdxQueryError, match=hint):
        check_names([name])
