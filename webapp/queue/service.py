"""What the addresses of the queue need of the application."""

from dataclasses import dataclass

from flask import current_app

from nwx.engine.base import Engine
from nwx.engine.queue.crawl_queue import LimitsOf, no_limits

QUEUE_EXTENSION = "nwx-queue"
MOST_URLS = 50_000_000


@dataclass(frozen=True, slots=True)
class QueueService:
    """The queue of an archive; whoever has the `token` may write to it and lease, "" lets nobody.

    `limits` bound what is leased of each crawl. A queue that has `most_urls`
    takes no more.
    """

    engine: Engine
    token: str = ""
    limits: LimitsOf = no_limits
    most_urls: int = MOST_URLS


def queue_service() -> QueueService:
    """Return the queue of the running application."""
    found: QueueService = current_app.extensions[QUEUE_EXTENSION]
    return found
