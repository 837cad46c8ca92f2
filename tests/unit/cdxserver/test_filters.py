"""Filters and collapsing in the syntax of each dialect."""

import pytest

from nwx.cdxserver.filters import (
    MOST_FILTER_CHARACTERS,
    Grammar,
    by_time_and_status,
    column_of,
    field_value,
    field_values,
    normal_or_same,
    parse_collapse,
    parse_filter,
    spelled,
)
from nwx.errors import CdxQueryError
from nwx.values.digests import DigestForm
from tests.unit.cdxserver.rows import SHA, row

PAGE = row("page", "20100102030405")


@pytest.mark.parametrize(
    ("grammar", "spec", "keeps"),
    [
        (Grammar.IA, "mimetype:text/html", True),
        (Grammar.IA, "mimetype:text", False),
        (Grammar.IA, "mimetype:text/.*", True),
        (Grammar.IA, "!statuscode:200", False),
        (Grammar.IA, "~original:example", True),
        (Grammar.IA, "~!original:example", False),
        (Grammar.OUTBACK, "!status:404", True),
        (Grammar.OUTBACK, "~url:a.ex", True),
        (Grammar.PYWB, "mime:text", True),
        (Grammar.PYWB, "=mime:text", False),
        (Grammar.PYWB, "~mime:text/h", True),
        (Grammar.PYWB, "!~mime:text/h", False),
        (Grammar.PYWB, "example", True),
        (Grammar.IA, f"digest:{SHA.removeprefix('sha1:')}", True),
        (Grammar.IA, "digest:3a4ddcd8db6420a3a1bcd86e9c6cb4b3ff69d39b", True),
        (Grammar.IA, "!digest:3a4ddcd8db6420a3a1bcd86e9c6cb4b3ff69d39b", False),
    ],
)
def test_a_filter_keeps_or_drops(grammar: Grammar, spec: str, keeps: bool) -> None:
    assert parse_filter(spec, grammar, None).keeps(PAGE) is keeps


@pytest.mark.parametrize("spec", ["!mimetype:warc/revisit", "!mimetype:warc/.*"])
def test_a_filter_that_refuses_revisits_is_known_as_such(spec: str) -> None:
    assert parse_filter(spec, Grammar.IA, None).refuses_revisits


@pytest.mark.parametrize(
    "spec", ["colour:red", "mimetype:(", "~original:", "x" * (MOST_FILTER_CHARACTERS + 1)]
)
def test_a_filter_that_makes_no_sense_is_an_error(spec: str) -> None:
    if spec == "~original:":  # every text contains the empty one
        assert parse_filter(spec, Grammar.IA, None).keeps(PAGE)
        return
    with pytest.raises(CdxQueryError):
        parse_filter(spec, Grammar.IA, None)


def test_outback_wants_a_field() -> None:
    with pytest.raises(CdxQueryError, match="FIELD:EXPRESSION"):
        parse_filter("text/html", Grammar.OUTBACK, None)


def test_collapsing_by_a_field_by_its_beginning_and_by_digest() -> None:
    assert parse_collapse("timestamp:4", "collapse").value(PAGE) == "2010"
    assert parse_collapse("urlkey", "collapse").value(PAGE) == PAGE.urlkey
    by_digest = parse_collapse("digest", "collapse").value
    assert by_digest(PAGE) == by_digest(PAGE._replace(digest=SHA.removeprefix("sha1:")))
    assert by_time_and_status(6).value(PAGE) == "201001 200"
    for spec in ("colour", "timestamp:x", "timestamp:1000000"):
        with pytest.raises(CdxQueryError):
            parse_collapse(spec, "collapse")


ROW = row("x", "2010", status="404", redirect="", extra='{"method": "POST"}')


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("urlkey", "example,a)/x"),
        ("timestamp", "2010"),
        ("0", "example,a)/x"),
        ("4", "404"),
        ("6", "-"),
        ("filename", "A.warc.gz"),
    ],
)
def test_a_field_is_read_by_its_name_or_number(name: str, value: str) -> None:
    assert field_value(name, "fl")(ROW) == value


@pytest.mark.parametrize("name", ["nothing", "11", "-1", "٣"])
def test_an_unknown_field_is_an_error_that_names_the_parameter(name: str) -> None:
    assert column_of(name) is None
    with pytest.raises(CdxQueryError, match="filter has an unknown field"):
        field_value(name, "filter")


def test_fields_come_in_the_order_of_their_names() -> None:
    assert field_values(["timestamp", "urlkey"], None)(ROW) == ("2010", "example,a)/x")
    assert field_values(["urlkey", "timestamp"], None)(ROW) == ("example,a)/x", "2010")


BASE32 = "HJG5ZWG3MQQKHIN43BXJY3FUWP7WTU43"
HEX = "3a4ddcd8db6420a3a1bcd86e9c6cb4b3ff69d39b"


@pytest.mark.parametrize("digest", [BASE32, f"sha1:{BASE32}", HEX, f"sha1:{HEX}"])
def test_one_value_in_any_spelling(digest: str) -> None:
    assert spelled(digest, DigestForm.BARE_BASE32) == BASE32
    assert spelled(digest, DigestForm.BARE_HEX) == HEX
    assert spelled(digest, DigestForm.NORMAL) == f"sha1:{BASE32}"
    assert normal_or_same(digest) == f"sha1:{BASE32}"


def test_what_is_no_digest_stays_as_it_is() -> None:
    assert spelled("nonsense", DigestForm.NORMAL) == "nonsense"
    assert spelled("x:nonsense", DigestForm.BARE_HEX) == "nonsense"
    assert normal_or_same("-") == "-"
