"""Test which resources are looked up in the archive."""

import pytest

from nwx.quality.browser.page_render import PageRender, PlayedResource, RenderTask
from nwx.quality.playback.suspects import resource_key, suspects
from nwx.quality.renders.page_information import PageInfo, PageResource

TASK = RenderTask("http://a.example/", "20200101000000")
X = "http://a.example/x"


def _render(*resources: PlayedResource) -> PageRender:
    return PageRender(TASK, resources=resources)


def _info(*resources: PageResource) -> PageInfo:
    return PageInfo("http://a.example/", "20200101000000", resources)


def _urls(render: PageRender, info: PageInfo | None = None) -> list[str]:
    return [one.url for one in suspects(render, info).found]


def test_what_came_is_no_suspect() -> None:
    render = _render(PlayedResource(X, 200), PlayedResource("http://a.example/y", 301))
    assert _urls(render) == []


@pytest.mark.parametrize("status", [0, 404, 503])
def test_what_did_not_come_is_one(status: int) -> None:
    (found,) = suspects(_render(PlayedResource(X, status, type="image")), None).found
    assert (found.url, found.status, found.is_archived, found.was_good) == (X, status, False, False)


def test_one_good_answer_is_enough() -> None:
    assert _urls(_render(PlayedResource(X, 200), PlayedResource(X, 404))) == []
    assert _urls(_render(PlayedResource(X, 404), PlayedResource(X, 200))) == []


def test_an_error_that_was_archived_is_none_unless_the_crawl_had_it_good() -> None:
    render = _render(PlayedResource(X, 404, type="image", timestamp="20200101000000"))
    assert suspects(render, None).left_aside == 1
    assert _urls(render) == []
    assert _urls(render, _info(PageResource(X, 404, "", "image"))) == []
    assert _urls(render, _info(PageResource(X, 200, "", "image"))) == [X]


@pytest.mark.parametrize("status", [0, 404, 500])
def test_what_failed_in_the_crawl_too_is_left_aside(status: int) -> None:
    info = _info(PageResource(X, status, "", "stylesheet"))
    found = suspects(_render(PlayedResource(X, 404, type="stylesheet")), info)
    assert (found.found, found.left_aside) == ((), 1)


@pytest.mark.parametrize("type", ["ping", "Ping", "preflight", "cspviolationreport"])
def test_signals_are_left_aside(type: str) -> None:
    assert _urls(_render(PlayedResource(X, 404, type=type))) == []


def test_icons_are_left_aside_unless_the_crawl_had_them() -> None:
    icon = "http://a.example/favicon.ico"
    assert _urls(_render(PlayedResource(icon, 404, type="other"))) == []
    assert _urls(_render(PlayedResource(icon, 404)), _info(PageResource(icon, 200, "", ""))) == [
        icon
    ]


def test_volatile_addresses_are_left_aside_but_for_styles_and_those_of_the_crawl() -> None:
    url = f"{X}?_=1577836801234"
    assert _urls(_render(PlayedResource(url, 404, type="script"))) == []
    assert _urls(_render(PlayedResource(url, 404, type="stylesheet"))) == [url]
    info = _info(PageResource(url, 200, "", "script"))
    assert _urls(_render(PlayedResource(url, 404, type="script")), info) == [url]


def test_what_the_crawl_did_not_ask_for_is_left_aside_but_for_styles() -> None:
    render = _render(
        PlayedResource(X, 404, type="xhr"), PlayedResource(f"{X}.png", 404, type="image")
    )
    assert _urls(render) == [X, f"{X}.png"]
    assert _urls(render, _info()) == []
    style = _render(PlayedResource(X, 404, type="stylesheet"))
    assert _urls(style, _info()) == [X]


def test_what_the_crawl_loaded_and_playback_does_not_ask_for_is_one() -> None:
    info = _info(
        PageResource(X, 200, "image/png", "image"),
        PageResource("http://a.example/y", 200, "text/css", ""),
        PageResource("http://a.example/beacon", 204, "", "ping"),
        PageResource("http://a.example/dead", 404, "image/png", "image"),
        PageResource("blob:x", 200, "image/png", "image"),
    )
    found = suspects(_render(), info).found
    assert [one.url for one in found] == [X, "http://a.example/y"]
    assert not any(one.was_asked for one in found)


def test_keys_are_of_the_web_alone() -> None:
    assert resource_key("https://www.a.example/X?b=1") == "example,a)/x?b=1"
    assert resource_key("data:text/plain,x") == ""
    assert resource_key("urn:view:http://a.example/") == ""
