"""Test counts of good and bad resources: beside `tests/golden`, which has Browsertrix's."""

from nwx.quality.browser.page_render import PageRender, PlayedResource, RenderTask
from nwx.quality.measures.resource_counts import resource_counts
from nwx.quality.renders.page_information import PageInfo, PageResource

_TASK = RenderTask("http://a.example/", "20200101000000")


def _render(*statuses: tuple[str, int]) -> PageRender:
    return PageRender(_TASK, resources=tuple(PlayedResource(url, code) for url, code in statuses))


def test_the_last_answer_counts_and_no_answer_does_not() -> None:
    played = _render(
        ("http://a.example/", 200),
        ("http://a.example/x", 404),
        ("http://a.example/x", 200),
        ("http://a.example/aborted", 0),
        ("data:text/plain,x", 500),
    )
    assert resource_counts(None, played) == (None, None, 2, 0)
    assert resource_counts(None, played).is_replayed


def test_a_page_of_which_nothing_is_good_is_not_replayed() -> None:
    crawl = PageInfo("", "", (PageResource("http://a.example/", 200, "text/html", "document"),))
    found = resource_counts(crawl, _render(("http://a.example/", 404)))
    assert found == (1, 0, 0, 1)
    assert not found.is_replayed
    assert resource_counts(PageInfo("", "", ()), _render()).is_replayed
