"""How far a crawler may get ahead of the analysis."""

from nwx.steering.queue.unread_pages import UnreadPages


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
