from dataclasses import replace

from nwx.engine.base import Engine
from nwx.model import Batch, Capture
from nwx.steering.simulation.archived_web import ArchivedWeb, archived_web, seeds_within
from tests.conformance.archive import capture


def _web(engine: Engine, *captures: Capture, collection: str = "web") -> ArchivedWeb:
    engine.write(Batch(captures=captures))
    engine.refresh()
    return archived_web(engine, collection)


def _pages(web: ArchivedWeb) -> list[tuple[str, str]]:
    return [(page.capture.url, page.timestamp[:4]) for page in web.pages]


def test_a_page_is_the_newest_capture_that_was_served_with_success(engine: Engine) -> None:
    web = _web(
        engine,
        capture("http://a.org/", "2010", body="old"),
        capture("http://a.org/", "2011", body="new"),
        capture("http://a.org/", "2012", body="gone", status=404),
        capture("http://a.org/image", "2012", content_type="image/png"),
        capture("http://a.org/lost", "2012", status=404),
    )
    assert _pages(web) == [("http://a.org/", "2011")]
    assert web.page_at("http://a.org/lost") is None
    assert web.page_at("http://[") is None


def test_the_payload_of_a_revisit_is_that_of_the_capture_before_in_any_collection(
    engine: Engine,
) -> None:
    first = capture("http://a.org/", "2010", body="same", collection="other")
    again = capture("http://a.org/", "2012", body="same", record_type="revisit", status=None)
    web = _web(engine, first, again, capture("http://a.org/", "2011", body="between"))
    assert _pages(web) == [("http://a.org/", "2012")]
    assert web.pages[0].capture == first


def test_a_revisit_of_what_is_not_there_gives_way_to_an_older_page(engine: Engine) -> None:
    revisit = capture("http://a.org/", "2012", body="elsewhere", record_type="revisit")
    web = _web(engine, capture("http://a.org/", "2011", body="here"), revisit)
    assert _pages(web) == [("http://a.org/", "2011")]


def test_redirects_are_followed_and_circles_end(engine: Engine) -> None:
    web = _web(
        engine,
        capture("http://a.org/1", status=301, redirect_to="http://a.org/2"),
        capture("http://a.org/2", status=302, redirect_to="http://a.org/page"),
        capture("http://a.org/page"),
        capture("http://a.org/x", status=302, redirect_to="http://a.org/y"),
        capture("http://a.org/y", status=302, redirect_to="http://a.org/x"),
    )
    assert web.page_at("http://a.org/1") == 0
    assert web.page_at("http://a.org/x") is None
    seeds = ("http://a.org/1", "http://a.org/page", "http://nowhere.org/")
    assert seeds_within(web, seeds) == ([0], ["http://nowhere.org/"])


def test_other_collections_are_another_web(engine: Engine) -> None:
    here = capture("http://a.org/")
    there = replace(capture("http://b.org/"), collection="other")
    assert _pages(_web(engine, here, there)) == [("http://a.org/", "2010")]
    assert len(archived_web(engine, "").pages) == 2
