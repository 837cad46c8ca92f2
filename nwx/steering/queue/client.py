"""A crawler's queue elsewhere, spoken to over HTTP."""

import json
from collections.abc import Sequence
from http import HTTPStatus
from types import TracebackType
from typing import Self

import requests

from nwx.engine.queue.crawl_queue import UrlUpdate
from nwx.errors import CrawlerError, CrawlerUnavailableError
from nwx.steering.queue.addresses import queue_address
from nwx.steering.queue.protocol import write_updates

_CONNECT_SECONDS, _ANSWER_SECONDS = 10, 60
_MOST_ANSWER_BYTES = 1 << 16
_MOST_MESSAGE = 500
_MOST_RETRY_SECONDS = 3_600.0
_LATER = (
    HTTPStatus.REQUEST_TIMEOUT,
    HTTPStatus.TOO_EARLY,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.INSUFFICIENT_STORAGE,
)


class QueueClient:
    """The queue at an http(s) address, which may end with `/urls`; not shared by threads."""

    def __init__(self, address: str, token: str = "") -> None:
        self.address = queue_address(address)
        self._session = requests.Session()
        # No proxy or .netrc of this machine is to see the token.
        self._session.trust_env = False
        self._session.headers["Content-Type"] = "application/json"
        if token:
            self._session.headers["Authorization"] = f"Bearer {token}"

    def put(self, updates: Sequence[UrlUpdate], sender: str, orders: Sequence[int]) -> None:
        """Send updates with their numbers.

        Raises CrawlerUnavailableError where the same can be sent again later,
        CrawlerError where the queue refuses it.
        """
        try:
            with self._session.post(
                self.address,
                params={"sender": sender},
                data=write_updates(updates, orders),
                timeout=(_CONNECT_SECONDS, _ANSWER_SECONDS),
                allow_redirects=False,
                stream=True,
            ) as answer:
                body = next(answer.iter_content(_MOST_ANSWER_BYTES), b"")
        except (requests.RequestException, OSError) as error:
            raise CrawlerUnavailableError(
                f"no connection to the queue at {self.address}: {error}; check that it runs"
            ) from error
        if not HTTPStatus.OK <= answer.status_code < HTTPStatus.MULTIPLE_CHOICES:
            raise self._refusal(answer, body)

    def _refusal(self, answer: requests.Response, body: bytes) -> CrawlerError:
        status = answer.status_code
        said, item = _message(body)
        message = f"the queue at {self.address} answers {status}: {said or answer.reason}"
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in _LATER:
            after = answer.headers.get("Retry-After", "")
            seconds = min(float(after), _MOST_RETRY_SECONDS) if after.isdecimal() else 0.0
            return CrawlerUnavailableError(message, seconds)
        if status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN):
            return CrawlerError(f"{message}; check the token")
        return CrawlerError(message, item)

    def close(self) -> None:
        """Let go of the connection."""
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _message(body: bytes) -> tuple[str, int | None]:
    """Return what a queue says of an error, and the item that it names."""
    try:
        error = json.loads(body)["error"]
        item = error.get("item")
        return str(error["message"])[:_MOST_MESSAGE], item if isinstance(item, int) else None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return body[:_MOST_MESSAGE].decode("utf-8", "replace").strip(), None
