"""Helpers shared by the tests of steered crawls."""

from pathlib import Path

from nwx.steering.specifications.specification_files import write_specification
from tests.crawling.topic_site import TopicSite

CRAWL = "floods"
TOKEN = "only-on-loopback"


def written_specification(site: TopicSite, folder: Path) -> Path:
    """Return a file with the crawl specification of the site."""
    path = folder / f"{CRAWL}.toml"
    path.write_text(write_specification(site.made.specification(CRAWL), "toml"), encoding="utf-8")
    return path
