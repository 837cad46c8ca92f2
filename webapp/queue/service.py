"""What the addresses of the queue need of the application."""

import threading
import time
from dataclasses import dataclass, field

from flask import current_app

from nwx.engine.base import Engine
from nwx.engine.indices.crawl_queue import LimitsOf, no_limits

QUEUE_EXTENSION = "nwx-queue"
MOST_URLS = 50_000_000
_KNOWN_SECONDS = 5.0


class QueueSize:
    """How many URLs a queue has, counted every few seconds: others put URLs into it too."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._total = 0
        self._counted = -_KNOWN_SECONDS

    def total(self, engine: Engine) -> int:
        """Return the number of URLs of the queue of an engine."""
        with self._guard:
            now = time.monotonic()
            if now - self._counted >= _KNOWN_SECONDS:
                self._total, self._counted = engine.crawl_queue().counts().total, now
            return self._total

    def add(self, number: int) -> None:
        """Note that so many URLs were put into the queue."""
        with self._guard:
            self._total += number


@dataclass(frozen=True, slots=True)
class QueueService:
    """The queue of an archive; whoever has the `token` may write to it and lease, "" lets nobody.

    `limits` bound what is leased of each crawl. A queue that has `most_urls`,
    as far as is known, takes no more.
    """

    engine: Engine
    token: str = ""
    limits: LimitsOf = no_limits
    most_urls: int = MOST_URLS
    size: QueueSize = field(default_factory=QueueSize)


def queue_service() -> QueueService:
    """Return the queue of the running application."""
    found: QueueService = current_app.extensions[QUEUE_EXTENSION]
    return found
