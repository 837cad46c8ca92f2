import socket

import pytest

from nwx.errors import SourceError, UsageError
from nwx.quality.browser.targets import ArchivePlayback, LiveWeb, RenderTask

PLAYBACK = ArchivePlayback("http://127.0.0.1:8081/replay/")
AT = "http://127.0.0.1:8081/replay"


def test_a_page_is_opened_without_the_frame_around_it() -> None:
    task = RenderTask("http://a.example/?q=1", "20200101000000")
    assert PLAYBACK.address_of(task) == f"{AT}/20200101000000mp_/http://a.example/?q=1"
    assert PLAYBACK.allowed == "127.0.0.1:8081"
    assert ArchivePlayback("http://[::1]/coll").allowed == "[::1]:80"


@pytest.mark.parametrize(
    "address, archived",
    [
        ("2020mp_/http://a.example/?x=http://b/", ("http://a.example/?x=http://b/", "2020")),
        (
            "20200101000000im_/https://a.example/i.png",
            ("https://a.example/i.png", "20200101000000"),
        ),
        ("mp_/http://a.example/", ("http://a.example/", "")),
        ("2020js_///cdn.example/x.js", ("http://cdn.example/x.js", "2020")),
        ("2020mp_/a.example/x", ("http://a.example/x", "2020")),
    ],
)
def test_an_address_of_playback_stands_for_an_archived_url(
    address: str, archived: tuple[str, str]
) -> None:
    assert PLAYBACK.archived(f"{AT}/{address}") == archived


@pytest.mark.parametrize(
    "address",
    [
        "http://127.0.0.1:8081/static/wombat.js",
        "http://127.0.0.1:80811/replay/2020mp_/http://a.example/",
        "http://127.0.0.1:8080/replay/2020mp_/http://a.example/",
        "https://127.0.0.1:8081/replay/2020mp_/http://a.example/",
        "http://127.0.0.1:8081@b.example/replay/2020mp_/http://a.example/",
        "http://a.example/",
        "data:text/plain,x",
    ],
)
def test_other_addresses_are_no_captures(address: str) -> None:
    assert PLAYBACK.archived(address) is None


def test_the_page_around_a_capture_is_known_by_its_lack_of_a_mode() -> None:
    assert PLAYBACK.is_frame(f"{AT}/2020/http://a.example/")
    assert not PLAYBACK.is_frame(f"{AT}/2020mp_/http://a.example/")
    assert not PLAYBACK.is_frame("http://a.example/")


def test_the_capture_that_answered_is_told_by_memento() -> None:
    headers = {"memento-datetime": "Wed, 01 Jan 2020 02:03:04 GMT"}
    assert PLAYBACK.answered(headers) == "20200101020304"
    for wrong in ({}, {"memento-datetime": "soon"}, {"memento-datetime": "99 99 99"}):
        assert PLAYBACK.answered(wrong) == ""


def test_a_dom_has_its_own_addresses_again_and_no_scripts_of_the_player() -> None:
    played = (
        '<html><head><!-- WB Insert --><script src="/static/wombat.js"></script>'
        "<!-- End WB Insert --><title>/replay/ is a word</title></head>"
        '<a href="/replay/2020mp_/http://a.example/b">b</a>'
        '<img src="http://127.0.0.1:8081/replay/20200101000000im_/https://a.example/i.png">'
        '<img src="//127.0.0.1:8081/replay/2020im_///a.example/j.png"></html>'
    )
    assert PLAYBACK.original(played) == (
        "<html><head><title>/replay/ is a word</title></head>"
        '<a href="http://a.example/b">b</a><img src="https://a.example/i.png">'
        '<img src="//a.example/j.png"></html>'
    )


def test_scripts_of_the_player_go_without_their_first_mark_too() -> None:
    played = "<html><head><script>\n  wbinfo = {};</script><!-- End WB Insert --><p></html>"
    assert PLAYBACK.original(played) == "<html><head><p></html>"
    assert PLAYBACK.original("<!-- End WB Insert --><p>") == "<!-- End WB Insert --><p>"


@pytest.mark.parametrize(
    "prefix",
    [
        "http://127.0.0.1:99999/replay",
        "http://[::1/",
        "",
        "/replay",
        "https://a.example/replay",
        "ftp://a/replay",
    ],
)
def test_playback_is_at_an_http_address(prefix: str) -> None:
    with pytest.raises(UsageError, match="playback is at"):
        assert ArchivePlayback(prefix).allowed


def test_live_pages_are_as_they_are() -> None:
    live = LiveWeb("http://127.0.0.1:8000")
    assert live.address_of(RenderTask("http://a.example/", "")) == "http://a.example/"
    assert live.archived("https://a.example/x") == ("https://a.example/x", "")
    assert live.archived("data:,x") is None
    assert (live.proxy, live.allowed, live.original("<p>")) == ("127.0.0.1:8000", "", "<p>")


@pytest.mark.parametrize(
    "address",
    ["127.0.0.1:8000", "http://127.0.0.1", "https://a.example:1", "http://a:99999", "http://[::1/"],
)
def test_a_proxy_has_an_http_address_with_a_port(address: str) -> None:
    with pytest.raises(UsageError, match="the proxy is"):
        assert LiveWeb(address).proxy


def test_a_proxy_that_is_not_there_is_told_at_once() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        port = closed.getsockname()[1]
        with pytest.raises(SourceError, match="cannot be reached"):
            LiveWeb(f"http://127.0.0.1:{port}").check()
        closed.listen()
        LiveWeb(f"http://127.0.0.1:{port}").check()


@pytest.mark.parametrize("place", ["localhost", "http://localhost:80", "a.example:99999", ":80"])
def test_a_private_address_is_a_host_and_port(place: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        LiveWeb(address, ("localhost:8080", "[::1]:80")).check()
        with pytest.raises(UsageError, match="not a host and port"):
            LiveWeb(address, (place,)).check()
