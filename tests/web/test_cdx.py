"""The HTTP endpoints of the CDX server."""

import gzip
import json
import threading
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient

from tests.web.archive import FILE
from webapp.cdx.service import CDX_EXTENSION

HOME = "/cdx?url=http://www.example.org/"
ALL_TIMES = [
    "20090304050607",
    "20090304180000",
    "20100101000000",
    "20120501101010",
    "20130501101010",
    "20191224235959",
]


def _lines(client: FlaskClient, address: str) -> list[tuple[str, str, dict[str, Any]]]:
    answer = client.get(address)
    assert answer.status_code == 200
    assert answer.mimetype == "text/x-cdxj"
    parts = [line.split(" ", 2) for line in answer.text.splitlines()]
    return [(key, timestamp, json.loads(fields)) for key, timestamp, fields in parts]


def _columns(client: FlaskClient, address: str) -> list[list[str]]:
    answer = client.get(address)
    assert (answer.status_code, answer.mimetype) == (200, "text/plain"), answer.text
    return [line.split(" ") for line in answer.text.splitlines()]


def test_captures_come_in_time_order(client: FlaskClient) -> None:
    lines = _lines(client, HOME)
    assert [timestamp for _, timestamp, _ in lines] == ALL_TIMES
    key, _, fields = lines[0]
    assert key == "org,example)/"
    assert fields["url"] == "http://www.example.org/"
    assert fields["filename"] == FILE
    assert fields["mime"] == "text/html"
    assert fields["status"] == "200"
    assert fields["offset"] == "0"
    assert fields["collection"] == "default"
    assert all(isinstance(value, str) for value in fields.values())


def test_revisits_say_so(client: FlaskClient) -> None:
    lines = _lines(client, HOME)
    assert [fields["mime"] for _, _, fields in lines[1:3]] == ["warc/revisit"] * 2
    assert lines[1][2]["digest"] == lines[0][2]["digest"]


def test_playback_gets_the_original_of_a_revisit_with_it(client: FlaskClient) -> None:
    lines = _lines(client, f"{HOME}&closest=2010&limit=1&withOriginals=true")
    assert [timestamp for _, timestamp, _ in lines] == ["20100101000000", "20090304050607"]
    lines = _lines(client, f"{HOME}&closest=2009&limit=3&withOriginals=true")
    assert [timestamp for _, timestamp, _ in lines] == ALL_TIMES[:3]


def test_closest_without_a_time_is_by_time(client: FlaskClient) -> None:
    assert _lines(client, f"{HOME}&sort=closest&closest=&limit=1")[0][1] == "20090304050607"


def test_nothing_is_an_empty_answer(client: FlaskClient) -> None:
    answer = client.get("/cdx?url=http://nowhere.example/")
    assert (answer.status_code, answer.text) == (200, "")


@pytest.mark.parametrize(
    ("address", "width"),
    [
        ("/cdx/ia?", 7),
        ("/cdx?dialect=ia&", 7),
        ("/cdx/search/cdx?", 7),
        ("/web/timemap/cdx?", 7),
        ("/default/cdx/ia?", 7),
        ("/default/timemap/cdx?", 7),
        ("/default?", 11),
        ("/default/cdx/outback?", 11),
    ],
)
def test_each_address_has_its_dialect(client: FlaskClient, address: str, width: int) -> None:
    found = _columns(client, f"{address}url=http://www.example.org/")
    assert [columns[1] for columns in found] == ALL_TIMES
    assert {len(columns) for columns in found} == {width}


def test_one_collection_is_asked(client: FlaskClient) -> None:
    entry = "url=http://blog.example.com/1"
    assert len(_columns(client, f"/blogs?{entry}")) == 1
    assert len(_lines(client, f"/blogs/cdx?{entry}")) == 1
    assert _lines(client, f"/default/cdx?{entry}") == []
    assert len(_lines(client, f"/cdx?{entry}")) == 1
    assert len(_lines(client, f"/cdx?{entry}&collection=blogs")) == 1
    assert _lines(client, f"/cdx?{entry}&collection=default") == []


def test_collections_that_are_not_there(client: FlaskClient) -> None:
    for address in ("/nothing?url=http://a.example/", "/nothing/cdx?url=http://a.example/"):
        answer = client.get(address)
        assert (answer.status_code, answer.mimetype) == (404, "text/plain")
        assert "no collection 'nothing'" in answer.text


def test_pages_keep_their_addresses(client: FlaskClient) -> None:
    assert client.get("/search?q=quarry").mimetype == "text/html"
    assert client.post("/search").status_code == 405
    assert client.get("/nowhere").mimetype == "text/html"
    assert client.get("/nowhere").status_code == 404


def test_long_answers_are_packed_for_those_who_take_it(client: FlaskClient) -> None:
    address = "/cdx/ia?url=*.example.com"
    plain = client.get(address)
    assert "Content-Encoding" not in plain.headers
    packed = client.get(address, headers={"Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.data) == plain.data
    off = client.get(f"{address}&gzip=false", headers={"Accept-Encoding": "gzip"})
    assert off.data == plain.data
    assert "Accept-Encoding" in packed.headers["Vary"]


def test_only_so_many_long_answers_at_once(
    app: Flask, client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("webapp.cdx.streams.WHOLE_BYTES", 1)
    monkeypatch.setattr(app.extensions[CDX_EXTENSION], "streams", threading.BoundedSemaphore(1))
    address = "/cdx/ia?url=*.example.com"
    first = client.get(address, buffered=False)
    refused = client.get(address)
    assert refused.status_code == 503
    assert refused.headers["Retry-After"]
    first.close()
    whole = client.get(address)
    assert len(whole.text.splitlines()) == 40
    whole.close()
    again = client.get(address)
    assert again.status_code == 200
    again.close()


@pytest.mark.parametrize(
    ("address", "words"),
    [
        ("/cdx", "url is missing"),
        ("/cdx/ia?url=", "url is missing"),
        ("/cdx?url=http://", "not a URL"),
        ("/cdx?url=https:///", "not a URL"),
        (f"{HOME}&matchType=nearly", "exact, prefix, host, domain"),
        (f"{HOME}&sort=sideways", "default, reverse, closest"),
        (f"{HOME}&output=xml", "text, json, cdxj"),
        (f"{HOME}&limit=many", "whole number"),
        (f"{HOME}&limit={10**12}", "whole number"),
        (f"{HOME}&limit=-{10**6}", "10000"),
        (f"{HOME}&sort=closest&closest=soon", "14 digits"),
        (f"{HOME}&closest=20101345", "impossible"),
        (f"{HOME}&from=2010abc", "14 digits"),
        (f"{HOME}&from=20101332", "impossible"),
        (f"{HOME}&to=20100231000000", "impossible"),
        (f"{HOME}&to=20102", "impossible"),
        (f"{HOME}&filter=~url:(a", "linear time"),
        (f"{HOME}&filter=~url:(?=a)", "linear time"),
        (f"{HOME}&filter=nothing:a", "unknown field"),
        (f"{HOME}&fl=nothing", "unknown field"),
        (f"{HOME}&collapse=digest:x", "FIELD:CHARACTERS"),
        (f"{HOME}&dialect=klingon", "ia, pywb, outback"),
        (f"{HOME}&digest=octal", "hex, base32"),
        (f"{HOME}&page=-1", "whole number"),
        (f"{HOME}&dialect=outback&resolveRevisits=true", "dialect=ia"),
        (f"{HOME}&omitSelfRedirects=true", "not supported"),
        (f"{HOME}&accesspoint=public", "access rules"),
        (f"{HOME}&matchtype=prefix", "did you mean matchType"),
        (f"{HOME}&limt=3", "did you mean limit"),
        (f"{HOME}&page_size=3", "did you mean pageSize"),
        (f"{HOME}&status=200", "write filter=status:VALUE"),
        (f"{HOME}&gzip=perhaps", "true or false"),
        ("/cdx?url=http://a.example/%FF", "%25"),
        ("/cdx?url=http://example.org/" + "x" * 20_000, "16384"),
        ("/cdx?url=http://a.example/" + "&a=b" * 300, "200 parameters"),
        ("/default?url=*.example.org&sort=reverse", "exact"),
        ("/default?url=*.example.org&from=2010", "exact"),
        ("/default?url=example.org&filter=html", "FIELD:EXPRESSION"),
    ],
)
def test_what_makes_no_sense_is_told_in_plain_text(
    client: FlaskClient, address: str, words: str
) -> None:
    answer = client.get(address)
    assert answer.status_code == 400, answer.text
    assert answer.mimetype == "text/plain"
    assert words in answer.text
    assert answer.text.endswith("\n")


@pytest.mark.parametrize("own", ["_=1700000000", "apikey=x", "fastLatest=true", "x" * 9000])
def test_what_clients_add_of_their_own_is_left_alone(client: FlaskClient, own: str) -> None:
    assert client.get(f"{HOME}&{own}").data == client.get(HOME).data


def test_expressions_that_explode_elsewhere_are_harmless(client: FlaskClient) -> None:
    answer = client.get("/cdx/ia?url=*.example.com&filter=original:(.*.*)*.*.*.*x$")
    assert (answer.status_code, answer.text) == (200, "")
