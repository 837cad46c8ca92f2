"""The client of a crawler's queue served over HTTP.

Crawlers load it in their own environments, which have requests, but perhaps not msgspec and
other dependencies of nwx.
"""

import json
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Self
from urllib.parse import urlsplit, urlunsplit

import requests

from nwx.engine.indices.crawl_queue import QueuedUrl, UrlState, UrlUpdate
from nwx.errors import CrawlerError, CrawlerUnavailableError, UsageError

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


class QueueClient:
    """The queue at an http(s) address, which may end with `/urls`; not thread-safe.

    It leases URLs of one crawl. All methods raise CrawlerUnavailableError if the same request can
    be sent again later, CrawlerError if the queue refuses it.
    """

    def __init__(self, address: str, token: str = "", crawl: str = "") -> None:
        self.address = queue_address(address)
        self._crawl = crawl
        self._session = requests.Session()
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
        """Return up to `count` URLs, best first, leased exclusively for `seconds`."""
        asked = {"n": str(count), "crawl": self._crawl, "seconds": f"{seconds:g}"}
        answer = self._ask("GET", "/next", asked)
        with CrawlerError.instead_of(_MALFORMED, f"{self.address} did not answer as a queue does"):
            return [_leased(item) for item in json.loads(answer)["urls"]]

    def finish(self, leases: Sequence[str]) -> int:
        """Mark leased URLs as fetched; return how many changed."""
        return self._report("finished", "/finish", leases)

    def release(self, leases: Sequence[str]) -> int:
        """Mark leased URLs as waiting again; return how many changed."""
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
        except (requests.RequestException, OSError) as error:
            raise CrawlerUnavailableError(
                f"no connection to the queue at {self.address}: {error}; check that it runs"
            ) from error
        if not HTTPStatus.OK <= response.status_code < HTTPStatus.MULTIPLE_CHOICES:
            raise self._refusal(response, bytes(answer))
        return bytes(answer)

    def _refusal(self, response: requests.Response, body: bytes) -> CrawlerError:
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
