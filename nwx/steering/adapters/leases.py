"""Where adapters get URLs from: the queue of an archive, open here or served elsewhere."""

import http.client
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol
from urllib.parse import urlencode, urlsplit

from nwx.engine.queue.crawl_queue import CrawlQueue, LimitsOf, QueuedUrl, UrlState, no_limits
from nwx.errors import CrawlerError, CrawlerUnavailableError
from nwx.steering.queue.addresses import queue_address

_TIMEOUT_SECONDS = 30.0
_MOST_BYTES = 32 << 20
_SHOWN_CHARACTERS = 200
_LATER = (408, 425, 429)


class UrlSource(Protocol):
    """A queue that gives the best URLs of a crawl, and is told what became of them."""

    def lease(self, count: int, seconds: float) -> list[QueuedUrl]:
        """Return up to so many URLs, the best first; nobody else gets them for `seconds`."""

    def finish(self, leases: Sequence[str]) -> int:
        """Note that leased URLs were fetched; return of how many that is new."""

    def release(self, leases: Sequence[str]) -> int:
        """Let leased URLs wait again; return of how many that is new."""


@dataclass(frozen=True, slots=True)
class ArchiveUrls:
    """The queue of an archive that is open, for one crawl."""

    queue: CrawlQueue
    crawl: str
    limits: LimitsOf = no_limits

    def lease(self, count: int, seconds: float) -> list[QueuedUrl]:
        """Return up to so many URLs, the best first; nobody else gets them for `seconds`."""
        return self.queue.lease(count, crawl=self.crawl, seconds=seconds, limits=self.limits)

    def finish(self, leases: Sequence[str]) -> int:
        """Note that leased URLs were fetched; return of how many that is new."""
        return self.queue.finish(leases)

    def release(self, leases: Sequence[str]) -> int:
        """Let leased URLs wait again; return of how many that is new."""
        return self.queue.release(leases)


@dataclass(frozen=True, slots=True)
class ServedUrls:
    """A queue at an address (docs/steering-protocol.md), for one crawl.

    Asked directly, never through a proxy: that of the environment is the
    one that pages are fetched through. All raise CrawlerUnavailableError
    where the queue is away, CrawlerError where it refuses.
    """

    address: str
    crawl: str
    token: str = ""

    def lease(self, count: int, seconds: float) -> list[QueuedUrl]:
        """Return up to so many URLs, the best first; nobody else gets them for `seconds`."""
        asked = urlencode({"n": count, "crawl": self.crawl, "seconds": f"{seconds:g}"})
        found = self._ask("GET", f"/next?{asked}")
        try:
            return [_queued(item) for item in found["urls"]]
        except (KeyError, TypeError, ValueError) as error:
            raise CrawlerError(f"{self.address} did not answer as a queue does: {error}") from error

    def finish(self, leases: Sequence[str]) -> int:
        """Note that leased URLs were fetched; return of how many that is new."""
        return int(self._ask("POST", "/finish", list(leases)).get("finished", 0))

    def release(self, leases: Sequence[str]) -> int:
        """Let leased URLs wait again; return of how many that is new."""
        return int(self._ask("POST", "/release", list(leases)).get("released", 0))

    def _ask(self, method: str, path: str, body: Any = None) -> dict[str, Any]:
        parts = urlsplit(queue_address(self.address))
        secure = parts.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        connection = kind(parts.hostname or "", parts.port, timeout=_TIMEOUT_SECONDS)
        headers = {"Content-Type": "application/json"}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        data = None if body is None else json.dumps(body).encode()
        try:
            connection.request(method, parts.path + path, data, headers)
            answer = connection.getresponse()
            return self._read(answer.status, answer.read(_MOST_BYTES))
        except (OSError, http.client.HTTPException) as error:
            raise CrawlerUnavailableError(
                f"no connection to the queue at {self.address}: {error}; check that it runs"
            ) from error
        finally:
            connection.close()

    def _read(self, status: int, body: bytes) -> dict[str, Any]:
        try:
            found = json.loads(body)
        except ValueError:
            found = None
        if status != 200 or not isinstance(found, dict):
            said = body.decode("utf-8", "replace")[:_SHOWN_CHARACTERS]
            kind = CrawlerUnavailableError if status in _LATER or status >= 500 else CrawlerError
            raise kind(f"the queue at {self.address} answers {status}: {said}")
        return found


def _queued(item: Any) -> QueuedUrl:
    priority = item["priority"]
    return QueuedUrl(
        str(item["url"]),
        str(item.get("host", "")),
        float(priority) if isinstance(priority, int | float) else None,
        str(item.get("via", "")),
        str(item.get("crawl", "")),
        str(item.get("lease", "")),
        float(item.get("leased_until", 0.0)),
        UrlState(item.get("state", "leased")),
    )
