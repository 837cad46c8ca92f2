"""Pages rendered by a real browser."""

import io
from collections.abc import Iterator

import pytest
from PIL import Image

from nwx.errors import SourceError
from nwx.quality.browser.pool import BrowserPool
from nwx.quality.browser.targets import ArchivePlayback, BrowserOptions, PageRender, RenderTask
from tests.rendering.made_player import PLAYED_TIMESTAMP, Answer, made_player
from tests.web.chromium import find_browser

PAGES = {
    "http://made.example/": (
        "<!DOCTYPE html><title>Made</title><header>Menu</header><h1>Hello</h1>"
        "<img src='/replay/2020im_/http://made.example/there.png'>"
        "<img src='/replay/2020im_/http://made.example/gone.png'>"
        "<script>console.error('a word'); setTimeout(() => { throw new Error('thrown') })</script>"
        "<div style='height: 3000px'></div>"
    ),
    "http://made.example/names": (
        "<title>Names</title><h1>Hello</h1><div style='height: 3000px'></div>"
        "<form name='scrollingElement'><input name='scrollWidth'><input name='scrollTop'></form>"
        "<form name='documentElement'><input name='outerHTML'></form><img name='title'>"
        "<img name='readyState'><form name='getElementsByTagName'></form>"
        "<form name='doctype'><input name='name'></form>"
    ),
}


def answer(url: str) -> Answer | None:
    """Return the player's response for a URL."""
    if url.endswith("there.png"):
        picture = io.BytesIO()
        Image.new("RGB", (40, 20), "red").save(picture, "PNG")
        return 200, "image/png", picture.getvalue()
    page = PAGES.get(url)
    return None if page is None else (200, "text/html; charset=utf-8", page.encode())


@pytest.fixture(scope="module")
def pool() -> Iterator[BrowserPool]:
    options = BrowserOptions(jobs=1, browser=find_browser(), page_seconds=20)
    with made_player(answer) as prefix, BrowserPool(options, ArchivePlayback(prefix)) as opened:
        yield opened


def rendered(pool: BrowserPool, url: str) -> PageRender:
    """Return the render of one page."""
    (found,) = pool.render([RenderTask(url, PLAYED_TIMESTAMP, key="k")])
    return found


def test_a_page_is_rendered_with_all_that_it_asked_for(pool: BrowserPool) -> None:
    found = rendered(pool, "http://made.example/")
    assert (found.problem, found.title, found.text) == ("", "Made", "Hello")
    assert found.task.key == "k"
    assert {each.url: (each.status, each.mime, each.type) for each in found.resources} == {
        "http://made.example/": (200, "text/html", "document"),
        "http://made.example/there.png": (200, "image/png", "image"),
        "http://made.example/gone.png": (404, "text/plain", "image"),
    }
    assert found.capture_timestamp == PLAYED_TIMESTAMP
    assert "/replay/" not in found.dom and 'src="http://made.example/gone.png"' in found.dom
    assert found.js_errors == 1
    assert found.console_errors == ("a word", "Error: thrown")
    assert (found.leaks, found.redirects) == ((), 0)
    assert Image.open(io.BytesIO(found.view)).size == (1920, 1080)
    assert Image.open(io.BytesIO(found.thumbnail)).size == (640, 360)
    assert Image.open(io.BytesIO(found.full_page)).height > 3000


def test_elements_with_the_names_of_properties_mislead_nobody(pool: BrowserPool) -> None:
    found = rendered(pool, "http://made.example/names")
    assert (found.problem, found.title, found.text) == ("", "Names", "Hello")
    assert "unloaded" not in found.refused
    assert found.dom.startswith("<html>") and "</form></body></html>" in found.dom
    assert Image.open(io.BytesIO(found.full_page)).height > 3000


def test_a_page_that_ends_new_browsers_is_given_to_another_once() -> None:
    options = BrowserOptions(jobs=1, browser="/bin/false")
    tasks = [RenderTask(f"http://made.example/{name}", PLAYED_TIMESTAMP) for name in "abc"]
    with BrowserPool(options, ArchivePlayback("http://127.0.0.1:1/replay")) as opened:
        found = opened.render(tasks)
        first = next(found)
        assert (first.task, first.problem) == (tasks[0], "crash")
        with pytest.raises(SourceError, match="cannot be used"):
            next(found)
