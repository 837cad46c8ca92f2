"""Fixtures of the tests with a crawl by a real browser."""

from pathlib import Path

import pytest

from tests.rendering.crawl import Crawl, crawl
from tests.rendering.made_site.addresses import SitePage, site_pages
from tests.rendering.made_site.answers import MadeSite

_PAGES = 5
_HERE = Path(__file__).parent


def crawled_pages() -> list[SitePage]:
    """Return the crawled pages, without those whose banner changes on each request.

    A small crawl does not see all banners, so playback is right to miss some.
    """
    stable = [page for page in site_pages() if "random_banner" not in page.features]
    return stable[:_PAGES]


@pytest.fixture(scope="session")
def made_crawl(tmp_path_factory: pytest.TempPathFactory) -> Crawl:
    """A read-only crawl of a few pages of the synthetic web, with its renders."""
    folder = tmp_path_factory.mktemp("crawl")
    return crawl(folder, MadeSite(), [page.url for page in crawled_pages()])


@pytest.hookimpl(tryfirst=True)  # pytest-xdist reads the groups
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Keep the tests of one module, which share browsers and archives, in one worker."""
    for item in items:
        if item.path.parent == _HERE:
            item.add_marker(pytest.mark.xdist_group(item.path.stem))
