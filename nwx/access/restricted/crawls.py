"""The index crawls as a viewer may see it."""

from nwx.engine.access.decisions import Decisions
from nwx.engine.base import Engine
from nwx.engine.crawls.crawl_index import CrawlIndex


def restricted_crawls(engine: Engine, decisions: Decisions) -> CrawlIndex:
    """Return the crawl specifications, and the scores of what a viewer may see."""
    del decisions
    return engine.crawl_index()
