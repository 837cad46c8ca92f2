"""Removed, new and changed pages of a site since a date, ignoring noise such as counters."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from nwx import Archive
from nwx.access.restricted_engine import RestrictedEngines
from nwx.engine.access.rules import AccessRule, Action, Scope, Viewer
from nwx.engine.base import Engine
from nwx.errors import UsageError
from nwx.searching.page_changes import SiteChange, WatchedSite, site_changes
from tests.conformance.archive import batch, page

_SITE = "http://www.town.test"
_KEY = "test,town)/form?__wb_method=post&a=1"
ANSWER = page(f"{_SITE}/form", "2015", "the answer to a request with a body")
BATCHES = [
    batch(
        [
            page(f"{_SITE}/same", "2010", "the harbour is open, visitor 17 of 2010-05-03"),
            page(f"{_SITE}/same", "2015", "The harbour is open, visitor 983 of 2015-01-09"),
            page(f"{_SITE}/changed", "2010", "the ferry sails at noon"),
            page(f"{_SITE}/changed", "2015", "the ferry sails at night"),
            page(f"{_SITE}/gone", "2010", "a museum of lamps"),
            page(f"{_SITE}/gone", "2015", "not here", status=404),
            page(f"{_SITE}/new", "2015", "a new page"),
            page(f"{_SITE}/old", "2010", "never captured again"),
            page(f"{_SITE}/picture.png", "2015", "no page", content_type="image/png"),
            page("http://town.test.example/new", "2015", "another site"),
            replace(ANSWER, capture=ANSWER.capture._replace(urlkey=_KEY, method="POST")),
        ]
    )
]


@pytest.mark.parametrize("site", ["town.test", f"{_SITE}/*", "*.town.test"])
def test_pages_are_gone_new_and_changed(archive: Engine, site: str) -> None:
    found = site_changes(archive, site, "20120101000000").pages
    assert [(one.change, one.url.rpartition("/")[2]) for one in found] == [
        ("gone", "gone"),
        ("new", "new"),
        ("changed", "changed"),
    ]
    gone, new, changed = found
    assert (gone.before[:4], gone.after[:4]) == ("2010", "2015")
    assert new.before == ""
    assert changed.share == pytest.approx(0.2)


def test_without_a_date_the_first_capture_is_compared_with_the_last(archive: Engine) -> None:
    found = site_changes(archive, "town.test").pages
    assert [one.change for one in found] == ["gone", "changed"]
    assert site_changes(archive, "town.test", "", "20111231235959").pages == ()
    assert site_changes(archive, "nowhere.test").pages == ()


def test_a_revisit_is_as_its_status_says(engine: Engine) -> None:
    for name, status, later in (("error", 404, 404), ("moved", 302, 302), ("page", 200, 304)):
        pages = [
            page(f"{_SITE}/{name}", "2010", name, status=status),
            page(f"{_SITE}/{name}", "2015", name, status=later, record_type="revisit"),
        ]
        engine.write(batch(pages))
    engine.refresh()
    found = site_changes(engine, "town.test")
    assert (found.compared, found.pages) == (3, ())


def test_redirects_to_the_same_page_do_not_count(engine: Engine) -> None:
    url = f"{_SITE}/secure"
    to = url.replace("http:", "https:")
    for year in ("2010", "2015"):
        moved = page(url, year, "moved", status=302, redirect_to=to)
        engine.write(batch([moved, page(to, year, "the page")]))
    engine.refresh()
    assert site_changes(engine, "town.test").pages == ()
    assert site_changes(engine, "town.test", "20120101000000").pages == ()


@pytest.mark.parametrize("text", ["*", "sha1:HJG5ZWG3MQQKHIN43BXJY3FUWP7WTU43", "a.warc.gz"])
def test_what_is_no_site_is_an_error(archive: Engine, text: str) -> None:
    with pytest.raises(UsageError, match="is not a site"):
        site_changes(archive, text)


def test_the_last_version_is_compared_with_the_one_before(archive: Engine) -> None:
    found = site_changes(archive, "town.test", "20120101000000", latest=True)
    assert [(one.change, one.before[:4], one.after[:4]) for one in found.pages] == [
        ("gone", "2010", "2015"),
        ("new", "", "2015"),
        ("changed", "2010", "2015"),
    ]
    assert (found.compared, found.count("new")) == (4, 1)


def test_words_come_and_go(archive: Engine) -> None:
    found = site_changes(archive, "town.test", "20120101000000")
    assert ("night", 0, 1) in found.came
    assert ("museum", 1, 0) in found.went
    assert "ferry" not in {one.word for one in (*found.came, *found.went)}


def test_watched_sites_report_each_change_once(engine: Engine) -> None:
    engine.write(BATCHES[0])
    engine.refresh()
    own = Archive.over(engine)
    for site in ("town.test", f"{_SITE}/hidden*"):
        own.watch_site(site, webhook="http://hook.test/", by="anna")
    assert [(one.site, one.told[:4]) for one in own.watched_sites()][1] == ("town.test", "2015")
    told = list[str]()

    def take(one: WatchedSite, found: Sequence[SiteChange]) -> bool:
        told.extend(f"{one.site} {page.url}" for page in found)
        return len(told) > 1

    assert not len(own.report_changes(take))
    engine.write(batch([page(f"{_SITE}/new", "2016", "now the ferry is here")]))
    engine.refresh()
    for _ in range(3):
        own.report_changes(take)  # reports immediately
    assert told == [f"town.test {_SITE}/new"] * 2

    engine.access_index().put([AccessRule("", Action.EXCLUDE, Scope(prefix="test,town)/hid"))], "")
    reader = Archive.over(RestrictedEngines(engine).for_viewer(Viewer()))
    assert list(reader.watched_sites()) == [WatchedSite("town.test", by="anna")]
    assert own.unwatch_site("town.test") and not own.unwatch_site("town.test")
