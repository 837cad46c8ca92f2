"""Links from the pages to playback."""

from pathlib import Path

import pytest
from flask.testing import FlaskClient

from nwx.engine.base import Engine
from webapp import create_app
from webapp.replay import routes

pytestmark = pytest.mark.xdist_group("replay")


@pytest.mark.parametrize(
    ("target", "location"),
    [
        ("20140126200624/http://a.example/", "20140126200624/http://a.example/"),
        ("2014id_/http://a.example/?x=1&y=%20%2F", "2014id_/http://a.example/?x=1&y=%20%2F"),
        ("mp_/http://a.example//b", "mp_/http://a.example//b"),
        ("2014/http://a.example/%E4%3F", "2014/http://a.example/%E4%3F"),
        ("2014/http%3A%2F%2Fa.example%2F?x=%26", "2014/http://a.example/?x=%26"),
    ],
)
def test_the_way_to_playback(client: FlaskClient, target: str, location: str) -> None:
    answer = client.get(f"/replay/{target}")
    assert answer.status_code == 302
    assert answer.location == f"http://localhost:9999/replay/{location}"


def test_a_fragment_is_left_to_the_browser(client: FlaskClient) -> None:
    with client.application.test_request_context():
        assert routes.address("2014", "http://a.example/?x=ä#b") == (
            "/replay/2014/http://a.example/?x=%C3%A4#b"
        )


@pytest.mark.parametrize(
    ("target", "asked"),
    [
        ("*/http://a.example/?x=1&y=%20", "url=http://a.example/?x%3D1%26y%3D%2520"),
        ("2014*/http://a.example/", "url=http://a.example/&timestamp=2014"),
    ],
)
def test_the_way_to_the_calendar(client: FlaskClient, target: str, asked: str) -> None:
    answer = client.get(f"/replay/{target}")
    assert answer.status_code == 302
    assert answer.location == f"/documents/of?{asked}#captures"


def test_playback_is_at_another_name_of_the_host_where_it_has_two(
    client: FlaskClient,
) -> None:
    for host, origin in (
        ("archive.example:80", "archive.example"),
        ("[::1]:8080", "localhost"),
        ("127.0.0.1:8080", "localhost"),
        ("localhost:8080", "localhost"),
    ):
        answer = client.get("/replay/2014/http://a.example/", headers={"Host": host})
        assert answer.location.startswith(f"http://{origin}:9999/replay/2014/")


@pytest.mark.parametrize("path", ["/", "/search?q=a%20b", "/login"])
def test_pages_are_not_at_the_name_of_playback(client: FlaskClient, path: str) -> None:
    asked = {"Host": "localhost:8080", "Accept": "text/html,*/*;q=0.8"}
    answer = client.get(path, headers=asked)
    assert (answer.status_code, answer.location) == (302, f"http://127.0.0.1:8080{path}")
    assert client.get(path, headers={"Host": "localhost:8080"}).status_code != 302
    assert client.get(path, headers=asked | {"Host": "127.0.0.1:8080"}).status_code != 302
    assert client.post(path, headers=asked).status_code != 302


def test_playback_has_the_host_name_that_is_given(archive: tuple[Engine, Path]) -> None:
    client = create_app(archive[0], replay_port=81, replay_host="play.example").test_client()
    answer = client.get("/replay/2014/http://a.example/")
    assert answer.location == "http://play.example:81/replay/2014/http://a.example/"


def test_playback_behind_a_proxy_has_its_own_address(archive: tuple[Engine, Path]) -> None:
    client = create_app(archive[0], replay_url="https://play.example/x/").test_client()
    answer = client.get("/replay/2014/http://a.example/")
    assert answer.location == "https://play.example/x/replay/2014/http://a.example/"


@pytest.mark.parametrize("target", ["http://a.example/", "soon/http://a.example/", "2014/", "2014"])
def test_addresses_that_name_no_capture(client: FlaskClient, target: str) -> None:
    assert client.get(f"/replay/{target}").status_code == 400


def test_without_playback_pages_say_so(archive: tuple[Engine, Path]) -> None:
    client = create_app(archive[0]).test_client()
    for address in ("/replay", "/replay/2014/http://a.example/"):
        answer = client.get(address)
        assert answer.status_code == 404
        assert "Playback is off" in answer.text
    assert "/replay/" not in client.get("/search?q=").text
