"""Sources of leased URLs, in the archive or over HTTP, and a thread that leases ahead.

Crawlers load it in their own environments, which have requests, but perhaps not msgspec and
other dependencies of nwx.
"""

import json
import logging
import threading
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Protocol, Self
from urllib.parse import urlsplit, urlunsplit

from nwx.engine.base import Engine
from nwx.engine.indices.crawl_queue import (
    NO_LIMITS,
    CrawlQueue,
    LimitsOf,
    QueuedUrl,
    UrlState,
    UrlUpdate,
    no_limits,
)
from nwx.errors import CrawlerError, CrawlerUnavailableError, UsageError, system_reason

if TYPE_CHECKING:
    from requests import Response

_LOG = logging.getLogger(__name__)
_LONGEST_PAUSE_SECONDS = 30.0
_CONNECT_SECONDS, _ANSWER_SECONDS = 10, 60
_PIECE_BYTES, _MOST_ANSWER_BYTES = 1 << 16, 32 << 20
_MOST_MESSAGE = 500
_MOST_RETRY_SECONDS = 3_600.0
_MALFORMED = (KeyError, TypeError, ValueError, AttributeError)
_LATER = (
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.TOO_EARLY,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.INSUFFICIENT_STORAGE,
)


class UrlSource(Protocol):
    """A queue that leases the best URLs of a crawl and accepts reports of fetches."""

    def lease(self, count: int, seconds: float) -> list[QueuedUrl]:
        """Return up to `count` URLs, best first, leased exclusively for `seconds`."""

    def finish(self, leases: Sequence[str]) -> int:
        """Mark leased URLs as fetched; return how many changed."""

    def release(self, leases: Sequence[str]) -> int:
        """Mark leased URLs as waiting again; return how many changed."""


@dataclass(frozen=True, slots=True)
class ArchiveUrls(UrlSource):
    """The queue of an open archive, for one crawl."""

    queue: CrawlQueue
    crawl: str
    limits: LimitsOf = no_limits

    def lease(self, count: int, seconds: float) -> list[QueuedUrl]:
        return self.queue.lease(count, crawl=self.crawl, seconds=seconds, limits=self.limits)

    def finish(self, leases: Sequence[str]) -> int:
        return self.queue.finish(leases)

    def release(self, leases: Sequence[str]) -> int:
        return self.queue.release(leases)


def archive_urls(engine: Engine, crawl: str) -> UrlSource:
    """Return the queue of an archive for a crawler with its own politeness."""
    # Imported here: crawlers that lease over HTTP have fewer packages installed.
    from nwx.steering.specifications.specification_store import SpecificationLimits

    return ArchiveUrls(engine.crawl_queue(), crawl, SpecificationLimits(engine, NO_LIMITS))


class QueueClient(UrlSource):
    """The queue at an http(s) address, which may end with `/urls`; not thread-safe.

    It leases URLs of one crawl. All methods raise CrawlerUnavailableError if the same request can
    be sent again later, CrawlerError if the queue refuses it.
    """

    def __init__(self, address: str, token: str = "", crawl: str = "") -> None:
        from requests import Session  # takes long to load; the archive's own queue needs none

        self.address = queue_address(address)
        self._crawl = crawl
        self._session = Session()
        # The token is for the queue only: ignore proxies and .netrc of this machine.
        self._session.trust_env = False
        self._session.headers["Content-Type"] = "application/json"
        if token:
            self._session.headers["Authorization"] = f"Bearer {token}"

    def put(self, updates: Sequence[UrlUpdate], sender: str, orders: Sequence[int]) -> None:
        """Send updates with their numbers."""
        # Imported here: crawlers that lease URLs may lack msgspec.
        from nwx.steering.queue.protocol import write_updates

        self._ask("POST", "", {"sender": sender}, write_updates(updates, orders))

    def lease(self, count: int, seconds: float) -> list[QueuedUrl]:
        asked = {"n": str(count), "crawl": self._crawl, "seconds": f"{seconds:g}"}
        answer = self._ask("GET", "/next", asked)
        with CrawlerError.instead_of(_MALFORMED, f"{self.address} did not answer as a queue does"):
            return [_leased(item) for item in json.loads(answer)["urls"]]

    def finish(self, leases: Sequence[str]) -> int:
        return self._report("finished", "/finish", leases)

    def release(self, leases: Sequence[str]) -> int:
        return self._report("released", "/release", leases)

    def _report(self, counted: str, path: str, leases: Sequence[str]) -> int:
        answer = self._ask("POST", path, {}, json.dumps(list(leases)).encode())
        with CrawlerError.instead_of(_MALFORMED, f"{self.address} did not answer as a queue does"):
            return int(json.loads(answer).get(counted, 0))

    def _ask(self, method: str, path: str, fields: dict[str, str], body: bytes = b"") -> bytes:
        answer = bytearray()
        try:
            with self._session.request(
                method,
                self.address + path,
                params=fields,
                data=body,
                timeout=(_CONNECT_SECONDS, _ANSWER_SECONDS),
                allow_redirects=False,
                stream=True,
            ) as response:
                for piece in response.iter_content(_PIECE_BYTES):
                    answer += piece
                    if len(answer) > (_MOST_ANSWER_BYTES if response.ok else _PIECE_BYTES):
                        break
        except OSError as error:  # also the exceptions of requests
            raise CrawlerUnavailableError(
                f"no connection to the queue at {self.address}: {system_reason(error)}; check the"
                " address, and that it runs"
            ) from error
        if not HTTPStatus.OK <= response.status_code < HTTPStatus.MULTIPLE_CHOICES:
            raise self._refusal(response, bytes(answer))
        return bytes(answer)

    def _refusal(self, response: "Response", body: bytes) -> CrawlerError:
        status = response.status_code
        reason, item = _message(body)
        message = f"the queue at {self.address} answers {status}: {reason or response.reason}"
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in _LATER:
            after = response.headers.get("Retry-After", "")
            seconds = min(float(after), _MOST_RETRY_SECONDS) if after.isdecimal() else 0.0
            return CrawlerUnavailableError(message, seconds)
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            return CrawlerError(f"{message}; check the token")
        return CrawlerError(message, item)

    def close(self) -> None:
        """Close the connection."""
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _message(body: bytes) -> tuple[str, int | None]:
    """Return the error message of a queue, and the number of the item it names."""
    try:
        error = json.loads(body)["error"]
        item = error.get("item")
        return str(error["message"])[:_MOST_MESSAGE], item if isinstance(item, int) else None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return body[:_MOST_MESSAGE].decode("utf-8", "replace").strip(), None


def _leased(item: Any) -> QueuedUrl:
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


@dataclass(frozen=True, slots=True)
class LeaseOptions:
    """How many URLs to lease ahead, for how long, and how often to poll an empty queue."""

    ahead: int = 16
    lease_seconds: float = 600.0
    poll_seconds: float = 1.0


class LeaseThread:
    """Leases URLs while there is capacity, and finishes them, in a separate thread.

    An unavailable queue is retried at growing intervals; reports wait until it is available.
    """

    def __init__(self, source: UrlSource, options: LeaseOptions) -> None:
        self._source, self._options = source, options
        self._lock = threading.Lock()
        self._arrived: deque[QueuedUrl] = deque()
        self._open: set[str] = set()
        self._fetched: list[str] = []
        self._wake, self._ended = threading.Event(), threading.Event()
        self._busy = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="nwx-leases", daemon=True)

    def start(self) -> None:
        """Start leasing."""
        self._thread.start()

    def stop(self) -> None:
        """Report the fetched URLs, release the others, and end.

        URLs that cannot be reported now are leased again when their lease ends.
        """
        self._ended.set()
        self._wake.set()
        self._thread.join()
        try:
            self._report()
            if self._open:
                self._source.release(sorted(self._open))
        except CrawlerError as error:
            _LOG.warning("%s; its leases end by themselves", error)

    def take(self) -> list[QueuedUrl]:
        """Return the URLs that have arrived since the last call."""
        with self._lock:
            taken = list(self._arrived)
            self._arrived.clear()
        return taken

    def finish(self, lease: str) -> None:
        """Report a URL as fetched, without waiting."""
        with self._lock:
            if lease not in self._open:
                return
            self._open.discard(lease)
            self._fetched.append(lease)
            self._busy = time.monotonic()
        self._wake.set()

    def idle_seconds(self) -> float:
        """Return the seconds since the last lease or fetch, 0 while URLs are leased."""
        with self._lock:
            return 0.0 if self._open else time.monotonic() - self._busy

    def _run(self) -> None:
        pause = self._options.poll_seconds
        while not self._ended.is_set():
            self._wake.clear()
            try:
                self._report()
                leased = self._lease()
            except CrawlerError as error:
                _LOG.warning("%s; trying again in %g s", error, pause)
                self._ended.wait(pause)
                pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
                continue
            pause = self._options.poll_seconds
            if not leased:
                self._wake.wait(pause)

    def _report(self) -> None:
        with self._lock:
            fetched = list(self._fetched)
        if fetched:
            self._source.finish(fetched)
            with self._lock:
                del self._fetched[: len(fetched)]

    def _lease(self) -> bool:
        with self._lock:
            room = self._options.ahead - len(self._open)
        if room <= 0:
            return False
        leased = self._source.lease(room, self._options.lease_seconds)
        with self._lock:
            self._open.update(one.lease for one in leased)
            self._arrived.extend(leased)
            if leased:
                self._busy = time.monotonic()
        return bool(leased)


def queue_address(address: str) -> str:
    """Return the address that updates are posted to. Raises UsageError on an invalid address."""
    wrong = f"{address!r} is not the address of a queue; write http://HOST:PORT"
    try:
        parts = urlsplit(address)
        is_known = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError as error:
        raise UsageError(wrong) from error
    if not is_known:
        raise UsageError(wrong)
    if parts.username or parts.password:
        raise UsageError("the address of a queue cannot have a password; use its token instead")
    path = parts.path.rstrip("/")
    path = path if path.endswith("/urls") else f"{path}/urls"
    return urlunsplit((parts.scheme, parts.netloc, path, "", ""))
