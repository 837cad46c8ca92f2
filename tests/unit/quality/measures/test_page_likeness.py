"""Test all measures of a page together."""

import io

from PIL import Image

from nwx.model import Comparison
from nwx.quality.browser.page_render import PageRender, PlayedResource, RenderTask
from nwx.quality.measures.page_likeness import page_likeness
from nwx.quality.renders.page_information import PageInfo, PageResource

_TASK = RenderTask("http://a.example/", "20200101000000")
_INFO = PageInfo("", "", (PageResource("http://a.example/", 200, "text/html", "document"),))
_GOOD = (PlayedResource("http://a.example/", 200),)


def _png(colour: str) -> bytes:
    stream = io.BytesIO()
    Image.new("RGB", (20, 10), colour).save(stream, "PNG")
    return stream.getvalue()


def test_what_there_is_is_compared() -> None:
    played = PageRender(_TASK, view=_png("white"), text="a lamp", resources=_GOOD)
    found = page_likeness(played, _png("white"), "a camp", _INFO)
    assert found.comparison == Comparison(1.0, 1 - 1 / 6, 1, 0, 1, 0)
    assert found.structure == 1.0
    assert page_likeness(played).comparison == Comparison(None, None, None, None, 1, 0)


def test_nothing_matches_where_nothing_was_replayed() -> None:
    played = PageRender(_TASK, view=_png("white"), resources=(PlayedResource("http://a/", 404),))
    found = page_likeness(played, _png("white"), "", _INFO)
    assert (found.comparison.screenshot, found.comparison.text) == (0, 0)


def test_a_screenshot_that_is_broken_is_a_problem_and_no_more() -> None:
    played = PageRender(_TASK, view=_png("white"), resources=_GOOD)
    found = page_likeness(played, b"not a PNG", "", _INFO)
    assert found.comparison.screenshot is None
    assert found.comparison.text == 1
    assert found.problem
