"""Answers as bytes."""

import json

import pytest

from nwx.cdxserver.output import pieces, resume_key
from nwx.cdxserver.query.dialects import IA, OUTBACK, PYWB, Dialect
from nwx.cdxserver.query.model import Resume
from nwx.cdxserver.query.parameters import parameters_of
from nwx.cdxserver.query.parser import parse_cdx_query
from nwx.cdxserver.selection import SelectedRows
from tests.unit.cdxserver.rows import ListSource, row

SOURCE = ListSource(
    [
        row("", "20100101000000", extra='{"requestBody": "x=1"}'),
        row("", "20110101000000", status="-", length="-"),
        row('q"<', "20120101000000"),
    ]
)


def written(query: str, dialect: Dialect) -> str:
    asked = parse_cdx_query(parameters_of(f"url=a.example/*&{query}"), dialect)
    return b"".join(pieces(SelectedRows(asked, SOURCE), asked, dialect)).decode()


def test_text_has_a_line_a_capture_with_dashes_for_what_is_missing() -> None:
    lines = written("fl=timestamp,status,length,requestBody", OUTBACK).splitlines()
    assert lines == [
        "20100101000000 200 100 x=1",
        "20110101000000 - - -",
        "20120101000000 200 100 -",
    ]


def test_outback_writes_numbers_and_null() -> None:
    rows = json.loads(written("output=json&fl=timestamp,status,length,mime", OUTBACK))
    assert rows[0] == ["timestamp", "status", "length", "mime"]
    assert rows[2] == [20110101000000, None, None, "text/html"]


def test_pywb_writes_an_object_a_line() -> None:
    objects = [json.loads(line) for line in written("output=json", PYWB).splitlines()]
    assert [one["timestamp"][:4] for one in objects] == ["2010", "2011", "2012"]
    assert objects[2]["url"] == 'http://a.example/q"<'


def test_a_resume_key_stands_behind_the_answer() -> None:
    text = written("limit=1&showResumeKey=true&fl=timestamp", IA)
    assert text.splitlines() == ["20100101000000", "", "example%2Ca%29%2F+20100101000000+1"]
    rows = json.loads(written("limit=1&showResumeKey=true&fl=timestamp&output=json", IA))
    assert rows[-2:] == [[], ["example%2Ca%29%2F+20100101000000+1"]]


@pytest.mark.parametrize("key", ["a)/", "\udce9)/"])
def test_a_resume_key_survives_an_address(key: str) -> None:
    assert resume_key(Resume(key, "2010", 3)).endswith("+2010+3")
