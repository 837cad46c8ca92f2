"""The public API on every engine: its answers, and what access rules hide."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nwx.access.hidden_urls import HiddenError
from nwx.archive import Archive
from nwx.engine.access.rules import EVERYBODY, AccessRule, Action, Role, Scope, Viewer
from nwx.errors import EngineError
from nwx.model import IndexName
from tests.conformance.archive import settings_of
from tests.conformance.engines import Opener
from tests.conformance.test_facets import cache
from tests.warcs import Page, html, write_warc

ABOVE_ENGINES = True

__all__ = ["cache"]

SECRET = "http://secret.example/"
BLOCKED = "http://blocked.example/"
HOME = "http://a.example/"
PAGES = [
    Page(HOME, "20100101000000", html("Home", f'a lamp <a href="{SECRET}">hidden</a>')),
    Page(HOME, "20120101000000", html("Home", "a new lamp <img src='/no.png'>")),
    Page(HOME, "20140101000000", html("Home", "a new lamp <img src='/no.png'>"), revisit=True),
    Page(SECRET, "20110101000000", html("Secret", "a lamp nobody sees")),
    Page(BLOCKED, "20110101000000", html("Blocked", "a lamp behind a door")),
]
RULES = [
    AccessRule("", Action.EXCLUDE, Scope(prefix="example,secret)/")),
    AccessRule("", Action.BLOCK, Scope(prefix="example,blocked)/")),
]


@pytest.fixture
def archive(open_archive: Opener, tmp_path: Path) -> Iterator[Archive]:
    """An archive of a few pages, two of them hidden by rules, as the public sees it."""
    with open_archive() as engine:
        engine.create()
        settings = settings_of(engine)
    with Archive(settings) as opened:
        warc = write_warc(tmp_path / "a.warc.gz", PAGES)
        assert opened.import_(warc, jobs=1).captures == len(PAGES)
        assert set(opened.build(workers=1)) == {"facets", "links", "pictures"}
        with open_archive() as engine:
            engine.access_index().put(RULES, "eva")
        yield opened


def everything(archive: Archive) -> Archive:
    return Archive(archive.settings, Viewer(role=Role.CURATOR))


def test_questions(archive: Archive) -> None:
    assert [hit.url for hit in archive.search("lamp")] == [HOME]
    assert archive.search("lamp").to_polars()["captures"].to_list() == [2]
    assert [row.timestamp[:4] for row in archive.captures(HOME)] == ["2010", "2012", "2014"]
    assert archive.captures("*.example").to_polars()["status"].to_list()[:2] == [200, 200]
    assert len(archive.captures(collapse="urlkey")) == 1
    revisit = archive.capture(HOME, at="2014")
    assert revisit is not None and b"new lamp" in revisit.payload
    assert len(archive.versions(HOME)) == 2 and len(archive.dates(HOME)) == 3
    assert archive.diff(HOME, "2010", "2012").added > 0
    by_year = archive.facets(by="year").to_polars()
    assert by_year["captures"].to_list() == [1, 1, 1]
    assert archive.trends(["lamp"]).to_polars()["captures"].sum() == 3
    assert [one.url for one in archive.missing(kind="img")] == ["http://a.example/no.png"]
    assert not archive.is_stale("links")


def test_what_rules_hide_leaves_no_trace(archive: Archive) -> None:
    assert archive.capture(SECRET) is None and len(archive.dates(SECRET)) == 0
    assert len(archive.captures("secret.example/*")) == 0
    assert archive.captures("*.example").to_polars().height == 3
    assert len(archive.search("host:secret.example")) == 0
    assert archive.facets().total.captures == 3 == archive.stats()["captures"].entries
    assert SECRET not in {one.url for one in archive.outlinks(of=HOME)}
    with pytest.raises(HiddenError):
        archive.capture(BLOCKED)
    with everything(archive) as whole:
        assert len(whole.captures("*.example")) == 5 == whole.facets().total.captures
        assert whole.capture(SECRET) is not None and len(whole.search("lamp")) == 3


def test_a_change_of_rules_holds_for_the_next_question(
    archive: Archive, open_archive: Opener
) -> None:
    hits = archive.captures("*.example")
    assert len(list(hits)) == 3
    with open_archive() as engine:
        engine.access_index().remove(
            [rule.id for rule in engine.access_index().rules().rules], "eva"
        )
    assert len(list(hits)) == 5 and archive.viewer == EVERYBODY


READINGS: dict[str, Callable[[Archive], object]] = {
    "access rules": Archive.rules,
    "add digests": Archive.add_digests,
    "enrich": lambda archive: archive.enrich(["dates"]),
    "changes of rules": Archive.rule_changes,
    "crawls": Archive.crawls,
    "judgements": Archive.judgements,
    "links": lambda archive: archive.build("links"),
    "purge": lambda archive: archive.takedown(HOME, purge=True),
    "quality": Archive.quality,
    "queue": lambda archive: list(archive.queued()),
    "queue counts": Archive.queue_counts,
    "rankings": Archive.rankings,
    "reviews": Archive.reviews,
    "rule of a URL": lambda archive: archive.decide(HOME),
    "search": lambda archive: archive.search("lamp").page(),
}


def test_a_missing_archive_is_an_error_and_is_not_made(open_archive: Opener) -> None:
    with open_archive() as engine:
        settings = settings_of(engine)
    with Archive(settings) as archive:
        for what, read in READINGS.items():
            with pytest.raises(EngineError, match=r"no (such )?archive"):
                pytest.fail(f"{what}: {read(archive)}")
        assert archive.add_rule("block", HOME) in archive.rules()


def test_a_monitor_and_a_crawl_with_examples_need_no_archive(
    open_archive: Opener, open_another: Opener, tmp_path: Path
) -> None:
    with open_archive() as engine, open_another() as another:
        engine.entry_store(IndexName.QUALITY).put_state("monitor:lamps", b"{}")
        settings, others = settings_of(engine), settings_of(another)
    with Archive(settings) as monitored:
        assert monitored.monitored() == ["lamps"] and not monitored.has_rules()
    for name in "ab":
        (tmp_path / f"{name}.html").write_bytes(html("Lamps", "oil lamps of the lantern tower"))
    like = [str(tmp_path / f"{name}.html") for name in "ab"]
    with Archive(others) as archive:
        archive.save_crawl(f'name = "lamps"\nlike = {like}\n', "", files=True)
        assert "lantern" in archive.crawl_specification("lamps").text
