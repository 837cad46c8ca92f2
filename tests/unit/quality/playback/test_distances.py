"""Test how far resources lie from their page in time."""

from nwx.quality.browser.page_render import PageRender, PlayedResource, RenderTask
from nwx.quality.playback.distances import Distances, distances

TASK = RenderTask("http://a.example/", "20200102000000")


def test_the_worst_and_the_mean_of_what_came() -> None:
    render = PageRender(
        TASK,
        resources=(
            PlayedResource("http://a.example/", 200, timestamp="20200102000000"),
            PlayedResource("http://a.example/x", 200, timestamp="20200101000000"),
            PlayedResource("http://a.example/y", 302, timestamp="20200105000000"),
            PlayedResource("http://a.example/z", 404, timestamp="20100101000000"),
            PlayedResource("http://a.example/a", 200),
            PlayedResource("http://a.example/b", 200, timestamp="garbage"),
        ),
    )
    found = distances(render, far_seconds=2 * 86_400)
    assert (found.worst, found.mean) == (3 * 86_400, 4 * 86_400 // 3)
    assert [(one.url, one.seconds) for one in found.far] == [("http://a.example/y", 3 * 86_400)]
    assert distances(render, far_seconds=1e9).far == ()


def test_without_times_nothing_is_known() -> None:
    render = PageRender(TASK, resources=(PlayedResource("http://a.example/", 200),))
    assert distances(render, 1) == Distances()
