"""How many resources of a page were good and bad, in its crawl and in playback."""

from collections.abc import Iterable
from typing import NamedTuple

from nwx.quality.browser.page_render import PageRender
from nwx.quality.renders.page_information import PageInfo

FIRST_BAD = 400
"""Resources with this status or a higher one are bad."""

_WEB = "http"


class ResourceCounts(NamedTuple):
    """Good and bad resources of a page; None for those of a crawl that nobody knows."""

    crawl_good: int | None
    crawl_bad: int | None
    replay_good: int
    replay_bad: int

    @property
    def is_replayed(self) -> bool:
        """Whether anything was good in playback, where the crawl had anything."""
        return self.replay_good > 0 or not (self.crawl_good or self.crawl_bad)


def resource_counts(crawl: PageInfo | None, played: PageRender) -> ResourceCounts:
    """Count the http and https URLs of a page as Browsertrix does: bad from status 400 on.

    The last answer for a URL counts. In playback, URLs without any answer
    are not counted; what the crawl's browser listed without one is good.
    """
    good, bad = _good_and_bad((one.url, one.status) for one in played.resources if one.status)
    if crawl is None:
        return ResourceCounts(None, None, good, bad)
    known = _good_and_bad((one.url, one.status) for one in crawl.resources)
    return ResourceCounts(*known, good, bad)


def _good_and_bad(resources: Iterable[tuple[str, int]]) -> tuple[int, int]:
    statuses = {url: status for url, status in resources if url.startswith(_WEB)}
    bad = sum(status >= FIRST_BAD for status in statuses.values())
    return len(statuses) - bad, bad
