"""Filters and collapsing in the grammars of the dialects."""

import pytest

from nwx.cdxserver.query.filters import (
    MOST_FILTER_CHARACTERS,
    Grammar,
    by_time_and_status,
    parse_collapse,
    parse_filter,
)
from nwx.errors import CdxQueryError
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
    if spec == "~original:":  # the empty text is part of every text
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
