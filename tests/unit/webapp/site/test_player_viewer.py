"""The viewer of playback, by signed links, cookies and headers."""

from typing import Any
from urllib.parse import urlencode

import pytest
from flask import Flask

from nwx.engine.access.rules import Viewer
from webapp.site.viewer import (
    ARRIVAL,
    PASS_ENVIRON,
    PASSES_EXTENSION,
    PlayerViewers,
    ViewerPasses,
    viewer_of,
)

_PASSES = ViewerPasses("key")
_VIEWERS = PlayerViewers(_PASSES)


def _arrive(link: str, to: str = "/replay/2010/http://example.org/?a=b") -> tuple[str, Any]:
    told: dict[str, Any] = {}

    def start(status: str, headers: list[tuple[str, str]]) -> None:
        told.update(headers, status=status)

    query = urlencode({"pass": link, "to": to})
    _VIEWERS.arrived({"PATH_INFO": ARRIVAL, "QUERY_STRING": query}, start)
    return told["status"], told


def test_who_arrives_by_a_link_is_known_by_a_cookie_that_scripts_cannot_read() -> None:
    status, told = _arrive(_PASSES.link("ada"))
    assert status == "302 Found"
    assert told["Location"] == "/replay/2010/http://example.org/?a=b"
    assert "HttpOnly" in told["Set-Cookie"]
    cookie = told["Set-Cookie"].partition(";")[0]
    header = _VIEWERS.header({"HTTP_COOKIE": cookie, "REMOTE_ADDR": "192.0.2.1"})
    assert _PASSES.asker(header) == ("192.0.2.1", "ada")


def test_who_arrives_after_logging_out_is_nobody() -> None:
    _, told = _arrive(_PASSES.link(""))
    assert "Max-Age=0" in told["Set-Cookie"]


@pytest.mark.parametrize("to", ["//example.org/", "/other", "/replay/\r\nX: y", ""])
def test_links_lead_to_captures_alone(to: str) -> None:
    assert _arrive(_PASSES.link("ada"), to)[0] == "400 Bad Request"


@pytest.mark.parametrize(
    "link", ["", "made up", ViewerPasses("other").link("ada")], ids=["none", "no", "other"]
)
def test_links_that_are_not_ours_lead_nowhere(link: str) -> None:
    assert _arrive(link)[0] == "400 Bad Request"


def test_a_text_signed_for_one_use_is_of_no_other() -> None:
    link = _PASSES.link("ada")
    assert _PASSES.user_of_cookie(link) == ""
    assert _PASSES.asker(link) is None
    assert _PASSES.user_of_link(_PASSES.cookie("ada")) is None


@pytest.mark.parametrize("cookie", ["", "nwx_playback=", "nwx_playback=x", "\x00=;;", "a=b"])
def test_other_cookies_are_nobodys(cookie: str) -> None:
    header = _VIEWERS.header({"HTTP_COOKIE": cookie, "REMOTE_ADDR": "192.0.2.1"})
    assert _PASSES.asker(header) == ("192.0.2.1", "")


def test_all_other_requests_are_let_through() -> None:
    assert _VIEWERS.arrived({"PATH_INFO": "/replay/"}, lambda *_: None) is None


@pytest.mark.parametrize(
    ("address", "seen"), [("192.0.2.7", "192.0.2.7"), ("127.0.0.1", ""), ("::1", "")]
)
def test_a_header_of_ones_own_making_hides_no_address(address: str, seen: str) -> None:
    app = Flask(__name__)
    app.extensions[PASSES_EXTENSION] = _PASSES
    forged = {PASS_ENVIRON: "made up", "REMOTE_ADDR": address}
    assert viewer_of(app, forged) == Viewer(seen)
    ours = {PASS_ENVIRON: _PASSES.header("", ""), "REMOTE_ADDR": address}
    assert viewer_of(app, ours) == Viewer("")
