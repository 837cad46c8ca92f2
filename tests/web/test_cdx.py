"""The CDX endpoint that playback asks."""

import json
from typing import Any

import pytest
from flask.testing import FlaskClient

from tests.web.archive import FILE, capture
from webapp.cdx import closest_captures

HOME = "/cdx?url=http://www.example.org/"


def _lines(client: FlaskClient, address: str) -> list[tuple[str, str, dict[str, Any]]]:
    answer = client.get(address)
    assert answer.status_code == 200
    assert answer.mimetype == "text/x-cdxj"
    parts = [line.split(" ", 2) for line in answer.text.splitlines()]
    return [(key, timestamp, json.loads(fields)) for key, timestamp, fields in parts]


def test_captures_come_in_time_order(client: FlaskClient) -> None:
    lines = _lines(client, HOME)
    assert [timestamp for _, timestamp, _ in lines] == [
        "20090304050607",
        "20090304180000",
        "20100101000000",
        "20120501101010",
        "20130501101010",
        "20191224235959",
    ]
    key, _, fields = lines[0]
    assert key == "org,example)/"
    assert fields["url"] == "http://www.example.org/"
    assert fields["filename"] == FILE
    assert fields["mime"] == "text/html"
    assert fields["status"] == "200"
    assert fields["offset"] == "0"
    assert all(isinstance(value, str) for value in fields.values())


def test_revisits_say_so(client: FlaskClient) -> None:
    lines = _lines(client, HOME)
    assert [fields["mime"] for _, _, fields in lines[1:3]] == ["warc/revisit"] * 2
    assert lines[1][2]["digest"] == lines[0][2]["digest"]


def test_the_closest_come_first(client: FlaskClient) -> None:
    lines = _lines(client, f"{HOME}&sort=closest&closest=20121231000000&limit=2")
    assert [timestamp for _, timestamp, _ in lines[:2]] == ["20130501101010", "20120501101010"]


def test_the_original_of_a_revisit_comes_with_it(client: FlaskClient) -> None:
    lines = _lines(client, f"{HOME}&sort=closest&closest=2010&limit=1")
    assert [timestamp for _, timestamp, _ in lines] == ["20100101000000", "20090304050607"]


def test_an_original_that_is_there_comes_once() -> None:
    original = capture("http://a.example/", "20100101000000", "text", 1)
    revisit = capture("http://a.example/", "20110101000000", "text", 2, record_type="revisit")
    assert closest_captures([original, revisit], "2011", 5) == [revisit, original]
    assert closest_captures([original, revisit], "2011", 1) == [revisit, original]
    assert closest_captures([revisit], "2011", 1) == [revisit]


def test_closest_without_a_time_is_by_time(client: FlaskClient) -> None:
    assert _lines(client, f"{HOME}&sort=closest&closest=&limit=1")[0][1] == "20090304050607"


def test_nothing_is_an_empty_answer(client: FlaskClient) -> None:
    answer = client.get("/cdx?url=http://nowhere.example/")
    assert (answer.status_code, answer.text) == (200, "")


@pytest.mark.parametrize(
    "address",
    [
        "/cdx",
        f"{HOME}&matchType=prefix",
        f"{HOME}&sort=sideways",
        f"{HOME}&limit=0",
        f"{HOME}&sort=closest&closest=soon",
        "/cdx?url=http://example.org/" + "x" * 20_000,
    ],
)
def test_what_makes_no_sense_is_told_in_plain_text(client: FlaskClient, address: str) -> None:
    answer = client.get(address)
    assert answer.status_code == 400
    assert answer.mimetype == "text/plain"
    assert answer.text.endswith("\n")
