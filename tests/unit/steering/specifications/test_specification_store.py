"""Specifications stored in an archive, by name, number and version; the limits of their crawls."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from nwx.engine.base import Engine, open_engine
from nwx.engine.indices.crawl_index import CrawlIndex, DocumentScore
from nwx.engine.indices.crawl_queue import LeaseLimits, UrlUpdate
from nwx.errors import ErrorText, SourceError, SpecificationError
from nwx.settings import Settings
from nwx.steering.specifications.specification_store import (
    MOST_UNREAD,
    SpecificationLimits,
    UnknownCrawlError,
    UnreadPages,
    file_text,
    restore,
    save_text,
    specification_of,
    steering_specification,
    stored_specification,
)

ONE = "name = 'votes'\nkeywords = ['vote'] # one\n"
TWO = "name = 'votes'\nkeywords = ['vote', 'poll']\n"


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with open_engine(Settings(engine=str(tmp_path / "archive"))) as engine:
        yield engine


@pytest.fixture
def crawls(engine: Engine) -> CrawlIndex:
    return engine.crawl_index()


def test_a_text_is_saved_under_its_name(crawls: CrawlIndex) -> None:
    saved = save_text(crawls, ONE, "votes.toml")
    assert (saved.name, saved.number, saved.text) == ("votes", 1, ONE)
    assert saved.version == specification_of(saved).version()
    with pytest.raises(SpecificationError, match=r"x\.toml: has no 'name'"):
        save_text(crawls, "keywords = []", "x.toml")
    assert len(crawls.versions("votes")) == 1


def test_an_earlier_one_is_found_by_number_and_version_and_restored(crawls: CrawlIndex) -> None:
    first, second = save_text(crawls, ONE, "x"), save_text(crawls, TWO, "x")
    assert stored_specification(crawls, "votes") == second
    assert stored_specification(crawls, "votes", "1") == first
    assert stored_specification(crawls, "votes", first.version) == first
    restored = restore(crawls, "votes", "1")
    assert (restored.number, restored.text, restored.version) == (3, ONE, first.version)


def test_what_is_not_there_is_an_error(engine: Engine, crawls: CrawlIndex) -> None:
    with pytest.raises(UnknownCrawlError, match="none has been added yet") as caught:
        stored_specification(crawls, "votes")
    assert isinstance(caught.value.text.values["names"], ErrorText)
    save_text(crawls, ONE, "x")
    with pytest.raises(UnknownCrawlError, match="known are votes"):
        steering_specification(engine, "floods")
    with pytest.raises(UnknownCrawlError, match="no version '7'"):
        stored_specification(crawls, "votes", "7")


def test_what_steers_is_a_file_or_a_name(
    engine: Engine, crawls: CrawlIndex, tmp_path: Path
) -> None:
    file = tmp_path / "votes.toml"
    file.write_text(ONE)
    found = steering_specification(engine, str(file))
    assert [one.text for one in found.keywords] == ["vote"]
    assert crawls.versions("votes")[0].text == ONE
    assert steering_specification(engine, "votes") == found


def test_a_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be read"):
        file_text(tmp_path / "none.toml")
    (tmp_path / "bytes.toml").write_bytes(b"name = '\xff'")
    with pytest.raises(SpecificationError, match="byte 9 is not UTF-8"):
        file_text(tmp_path / "bytes.toml")


USUAL = LeaseLimits(delay_seconds=2.0, in_flight=3, pages_per_host=50)


def test_a_crawl_without_a_specification_has_the_usual_ones(engine: Engine) -> None:
    limits = SpecificationLimits(engine, USUAL)
    assert limits("") == limits("unknown") == USUAL


def test_what_a_specification_says_counts(engine: Engine) -> None:
    crawls = engine.crawl_index()
    crawls.save_specification("one", "v", 'name = "one"\n[limits]\npages = 9\npages_per_host = 2\n')
    crawls.save_specification("two", "v", 'name = "two"\n')
    limits = SpecificationLimits(engine, USUAL)
    assert limits("one") == LeaseLimits(2.0, 3, pages_per_host=2, pages=9)
    assert limits("two") == USUAL


def test_limits_are_read_again_after_a_while(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("_KNOWN_SECONDS", "_COUNTED_SECONDS"):
        monkeypatch.setattr(f"nwx.steering.specifications.specification_store.{name}", 0)
    crawls = engine.crawl_index()
    limits = SpecificationLimits(engine, USUAL)
    assert limits("one") == USUAL
    crawls.save_specification("one", "v", 'name = "one"\n[limits]\npages = 7\n')
    assert limits("one").pages == 7


def test_a_crawler_is_given_few_pages_more_than_are_analysed(engine: Engine) -> None:
    engine.crawl_index().put_scores([DocumentScore("one", "v", "d", "http://a.example/", "", 0.5)])
    urls = [UrlUpdate(f"http://a.example/{n}", 0.5, crawl="one") for n in range(60)]
    queue = engine.crawl_queue()
    queue.put(urls)
    limits = SpecificationLimits(engine, LeaseLimits())
    assert len(queue.lease(60, crawl="one", limits=limits)) == MOST_UNREAD


class Crawl:
    """A crawl that fetches as much as allowed, with a separate clock."""

    def __init__(self) -> None:
        self.now = 0.0
        self.given = self.analysed = 1
        self.unread = UnreadPages(10, lambda: self.now)

    def fetch(self) -> int | None:
        """Fetch up to the bound; return the number of URLs."""
        before, bound = self.given, self.unread.bound(self.given, self.analysed)
        self.given = before if bound is None else bound
        return None if bound is None else self.given - before


def test_without_analysis_nothing_is_bounded() -> None:
    assert UnreadPages().bound(1_000, 0) is None


def test_a_crawler_waits_for_the_analysis() -> None:
    crawl = Crawl()
    assert crawl.fetch() == 10
    assert crawl.fetch() == 0
    crawl.analysed += 4
    assert crawl.fetch() == 4


def test_urls_that_bring_no_page_stop_nothing_for_long() -> None:
    crawl = Crawl()
    crawl.fetch()
    crawl.analysed += 5  # the others were no pages
    assert (crawl.fetch(), crawl.fetch()) == (5, 0)
    crawl.now += 61
    assert crawl.fetch() == 30  # one in three is a page
    crawl.analysed += 10
    assert crawl.fetch() == 30


def test_where_analysis_ends_the_bound_ends() -> None:
    crawl = Crawl()
    crawl.fetch()
    crawl.fetch()
    crawl.now += 61
    assert crawl.fetch() is None


def test_a_fast_analysis_lets_more_pages_wait() -> None:
    crawl = Crawl()
    crawl.fetch()
    crawl.now, crawl.analysed = 0.1, crawl.given
    crawl.fetch()
    crawl.now, crawl.analysed = 2.0, 101
    crawl.given = 101
    assert crawl.fetch() == 100
