"""The client of a queue: the meaning of each response, and where the token is sent."""

import json
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any, ClassVar

import pytest

from nwx.engine.indices.crawl_queue import UrlUpdate
from nwx.errors import CrawlerError, CrawlerUnavailableError
from nwx.steering.queue.client import QueueClient

UPDATE = UrlUpdate("http://a.example/", 0.5)


class Handler(BaseHTTPRequestHandler):
    """A crawler with predefined responses."""

    answer: ClassVar[tuple[int, dict[str, str], bytes]] = (200, {}, b"{}")
    requests: ClassVar[list[tuple[str, str, Any]]] = []
    missing_bytes: ClassVar[int] = 0

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        asked = (self.path, self.headers.get("Authorization", ""), json.loads(body))
        self.requests.append(asked)
        status, headers, content = self.answer
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content) + self.missing_bytes))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@pytest.fixture
def address() -> Iterator[str]:
    Handler.requests.clear()
    Handler.answer, Handler.missing_bytes = (200, {}, b"{}"), 0
    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def send(address: str, token: str = "") -> None:
    with QueueClient(address, token) as client:
        client.put([UPDATE], "me", [7])


def test_updates_are_posted_with_token_sender_and_order(address: str) -> None:
    send(address, "secret")
    item = {"url": "http://a.example/", "priority": 0.5, "order": 7}
    assert Handler.requests == [("/urls?sender=me", "Bearer secret", [item])]


@pytest.mark.parametrize("status", [408, 429, 500, 503, 507])
def test_what_can_be_sent_later(address: str, status: int) -> None:
    Handler.answer = (status, {"Retry-After": "7"}, b"busy")
    with pytest.raises(CrawlerUnavailableError, match=f"{status}: busy") as caught:
        send(address)
    assert caught.value.retry_seconds == 7


def test_a_refused_item(address: str) -> None:
    error = {"error": {"status": 400, "message": "item 0: no", "item": 0}}
    Handler.answer = (400, {}, json.dumps(error).encode())
    with pytest.raises(CrawlerError, match="400: item 0: no") as caught:
        send(address)
    assert caught.value.item == 0
    assert not isinstance(caught.value, CrawlerUnavailableError)


@pytest.mark.parametrize("body", [b"", b"[", b"[]", b'{"error": 7}', b"\xff" * 100_000])
def test_odd_answers(address: str, body: bytes) -> None:
    Handler.answer = (400, {}, body)
    with pytest.raises(CrawlerError) as caught:
        send(address)
    assert len(str(caught.value)) < 700


def test_a_wrong_token(address: str) -> None:
    Handler.answer = (401, {}, b"{}")
    with pytest.raises(CrawlerError, match="check the token"):
        send(address)


def test_redirects_do_not_get_the_token(address: str) -> None:
    Handler.answer = (307, {"Location": f"{address}/other"}, b"")
    with pytest.raises(CrawlerError, match="307"):
        send(address, "secret")
    assert len(Handler.requests) == 1


def test_an_answer_that_breaks_off_is_asked_for_again(address: str) -> None:
    Handler.missing_bytes = 10
    with pytest.raises(CrawlerUnavailableError, match="no connection"):
        send(address)


def test_a_pause_that_is_no_number_is_passed_over(address: str) -> None:
    Handler.answer = (503, {"Retry-After": "\xb2"}, b"busy")
    with pytest.raises(CrawlerUnavailableError) as caught:
        send(address)
    assert caught.value.retry_seconds == 0


def test_nobody_there(address: str) -> None:
    with pytest.raises(CrawlerUnavailableError, match="check that it runs"):
        send("http://127.0.0.1:9")


def test_crawlers_load_it_without_msgspec() -> None:
    blocked = "import sys; sys.modules['msgspec'] = None"
    loaded = "import nwx.steering.adapters.leases, nwx.steering.queue.client"
    subprocess.run([sys.executable, "-c", f"{blocked}; {loaded}"], check=True)
