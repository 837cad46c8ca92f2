"""TimeMaps and TimeGates (RFC 7089)."""

import json
import re
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient

from nwx.engine.base import Engine
from tests.web.test_cdx import ALL_TIMES
from webapp import create_app

URL = "http://www.example.org/"
_MEMENTO = re.compile(r'<(\S+)>; rel="([^"]*memento)"; datetime="([^"]+)"')


def test_a_timemap_lists_all_captures(client: FlaskClient) -> None:
    answer = client.get(f"/timemap/link/{URL}")
    assert (answer.status_code, answer.mimetype) == (200, "application/link-format")
    lines = answer.text.rstrip("\n").split(",\n")
    assert lines[0] == f'<{URL}>; rel="original"'
    assert lines[1] == f'<http://localhost/timegate/{URL}>; rel="timegate"'
    assert lines[2] == (
        f'<http://localhost/timemap/link/{URL}>; rel="self"; type="application/link-format";'
        ' from="Wed, 04 Mar 2009 05:06:07 GMT"; until="Tue, 24 Dec 2019 23:59:59 GMT"'
    )
    found = [_MEMENTO.fullmatch(line) for line in lines[3:]]
    assert [one[1] for one in found if one] == [
        f"http://localhost/replay/{time}/{URL}" for time in ALL_TIMES
    ]
    rels = [one[2] for one in found if one]
    assert rels == ["first memento", *["memento"] * 4, "last memento"]


def test_a_single_capture_is_first_and_last(client: FlaskClient) -> None:
    text = client.get("/blogs/timemap/link/http://blog.example.com/1").text
    assert 'rel="first last memento"' in text
    assert "http://localhost/blogs/timegate/" in text


def test_timemaps_as_lines(client: FlaskClient) -> None:
    lines = client.get(f"/timemap/cdxj/{URL}").text.splitlines()
    assert [line.split(" ")[1] for line in lines] == ALL_TIMES
    objects = client.get(f"/timemap/json/{URL}").text.splitlines()
    assert [json.loads(line)["timestamp"] for line in objects] == ALL_TIMES


def test_a_url_may_be_sent_escaped(client: FlaskClient) -> None:
    escaped = client.get(f"/timemap/json/{quote(URL, safe='')}").text
    assert escaped == client.get(f"/timemap/json/{URL}").text


@pytest.mark.parametrize(
    ("wanted", "time"),
    [
        (None, ALL_TIMES[-1]),
        ("Fri, 01 Jan 2010 00:00:00 GMT", ALL_TIMES[2]),
        ("Thu, 01 Jan 1970 00:00:00 GMT", ALL_TIMES[0]),
        ("Tue, 01 May 2012 12:10:10 +0200", ALL_TIMES[3]),
    ],
)
def test_a_timegate_leads_to_the_closest(
    client: FlaskClient, wanted: str | None, time: str
) -> None:
    headers = {"Accept-Datetime": wanted} if wanted else {}
    answer = client.get(f"/timegate/{URL}", headers=headers)
    assert answer.status_code == 302
    assert answer.headers["Location"] == f"http://localhost/replay/{time}/{URL}"
    assert "accept-datetime" in answer.headers["Vary"].lower()
    link = answer.headers["Link"]
    assert f'<{URL}>; rel="original"' in link
    assert f'<http://localhost/timemap/link/{URL}>; rel="timemap"' in link
    assert client.head(f"/timegate/{URL}", headers=headers).status_code == 302


def test_urls_keep_their_queries(client: FlaskClient) -> None:
    answer = client.get('/timegate/http://evil.example/?q="><script>alert(3)</script>')
    assert answer.status_code == 302
    assert "<script>" not in answer.headers["Link"] + answer.headers["Location"]


@pytest.mark.parametrize(
    ("address", "headers", "status"),
    [
        ("/timemap/link/http://nowhere.example/", {}, 404),
        ("/timegate/http://nowhere.example/", {}, 404),
        (f"/timegate/{URL}", {"Accept-Datetime": "yesterday"}, 400),
        (f"/timegate/{URL}", {"Accept-Datetime": "Thu, 31 May 0000 20:35:00 GMT"}, 400),
        ("/timegate/http://", {}, 400),
        (f"/nothing/timegate/{URL}", {}, 404),
        ("/timemap/link/http://a.example/" + "x" * 20_000, {}, 400),
    ],
)
def test_what_cannot_be_answered(
    client: FlaskClient, address: str, headers: dict[str, str], status: int
) -> None:
    answer = client.get(address, headers=headers)
    assert (answer.status_code, answer.mimetype) == (status, "text/plain")


def test_without_playback_captures_have_no_addresses(engine: Engine) -> None:
    client = create_app(engine).test_client()
    assert client.get(f"/timegate/{URL}").status_code == 404
    assert "--replay-url" in client.get(f"/timemap/link/{URL}").text
    assert client.get(f"/timemap/cdxj/{URL}").status_code == 200
