import json

from nwx.quality.browser.page_render import PlayedResource
from nwx.quality.render_files.render_run import RenderReport, is_missing, is_worth_keeping
from tests.rendering.renders import render


def test_pages_are_counted_with_what_failed() -> None:
    report = RenderReport()
    report.add(render(leaks=("http://live.example/",), refused={"dialogs": 2}), written=True)
    report.add(render(problem="navigation: net::ERR_FAILED", resources=()), written=False)
    assert (report.pages, report.written, report.leaks, report.refused["dialogs"]) == (2, 1, 1, 2)
    assert (report.resources, report.resources_failed) == (2, 1)
    assert report.problems == {"navigation": 1}
    assert json.loads(json.dumps(report.values()))["refused"] == {"dialogs": 2}
    assert report.examples == ["http://made.example/: navigation: net::ERR_FAILED"]


def test_pages_that_are_not_in_the_archive_are_not_kept() -> None:
    assert is_worth_keeping(render())
    assert is_worth_keeping(render(status=404)), "an archived 404"
    gone = render(status=404, capture_timestamp="")
    assert is_missing(gone) and not is_worth_keeping(gone)
    assert not is_worth_keeping(render(resources=(PlayedResource("http://a.example/", 0),)))
