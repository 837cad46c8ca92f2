"""Queues served over HTTP: requests, the meaning of each response, and leasing ahead."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from nwx.engine.indices.crawl_queue import UrlState, UrlUpdate
from nwx.errors import CrawlerError, CrawlerUnavailableError, UsageError
from nwx.steering.queue.url_sources import LeaseOptions, LeaseThread, QueueClient, queue_address
from tests.unit.steering.queue.fake_queue import FakeQueue

URL = {
    "url": "http://a.example/",
    "host": "a.example",
    "priority": 0.5,
    "via": "http://b.example/",
    "crawl": "floods",
    "state": "leased",
    "lease": "1-a",
    "leased_until": 12.0,
}


class _Handler(BaseHTTPRequestHandler):
    server: "Server"

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.asked.append(
            (self.command, self.path, self.headers.get("Authorization", ""), body)
        )
        self.send_response(self.server.status)
        for name, value in self.server.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(self.server.answer) + self.server.missing_bytes))
        self.end_headers()
        self.wfile.write(self.server.answer)

    do_POST = do_GET  # noqa: N815

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


class Server(ThreadingHTTPServer):
    """Gives every request the same response."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.asked: list[tuple[str, str, str, bytes]] = []
        self.status, self.answer, self.missing_bytes = 200, b"{}", 0
        self.headers: dict[str, str] = {}

    def say(self, answer: Any, status: int = 200, **headers: str) -> None:
        self.status, self.headers = status, headers
        self.answer = answer if isinstance(answer, bytes) else json.dumps(answer).encode()

    @property
    def urls(self) -> QueueClient:
        return QueueClient(f"http://127.0.0.1:{self.server_address[1]}/nwx/", "secret", "floods")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    with Server() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


def test_urls_are_leased_and_reported(server: Server) -> None:
    server.say({"urls": [URL]})
    (found,) = server.urls.lease(3, 60)
    assert (found.url, found.priority, found.lease) == ("http://a.example/", 0.5, "1-a")
    assert found.state is UrlState.LEASED
    server.say({"finished": 1})
    assert server.urls.finish(["1-a"]) == 1
    server.say({"released": 2})
    assert server.urls.release(["1-b", "1-c"]) == 2
    assert server.asked == [
        ("GET", "/nwx/urls/next?n=3&crawl=floods&seconds=60", "Bearer secret", b""),
        ("POST", "/nwx/urls/finish", "Bearer secret", b'["1-a"]'),
        ("POST", "/nwx/urls/release", "Bearer secret", b'["1-b", "1-c"]'),
    ]


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        ({"error": "no token"}, 401),
        ([], 200),
        ({}, 200),
        ({"urls": [{"url": "http://a.example/"}]}, 200),
        ({"urls": [URL | {"state": "lost"}]}, 200),
        ({"urls": 7}, 200),
    ],
)
def test_other_answers_are_errors(server: Server, answer: Any, status: int) -> None:
    server.say(answer, status)
    with pytest.raises(CrawlerError):
        server.urls.lease(1, 60)


def test_a_queue_that_is_away_is_an_error() -> None:
    with pytest.raises(CrawlerUnavailableError, match="no connection"):
        QueueClient("http://127.0.0.1:1").finish(["1-a"])


def test_addresses() -> None:
    assert queue_address("http://q.example:80") == "http://q.example:80/urls"
    assert queue_address("https://q.example/a/urls/") == "https://q.example/a/urls"


@pytest.mark.parametrize(
    "address",
    [
        *("q.example", "127.0.0.1:80", "ftp://q.example", "http://", "http://me:secret@q.example"),
        *("http://q.example:99999", "http://a:b", "http://[q.example"),
    ],
)
def test_what_is_no_address_is_told(address: str) -> None:
    with pytest.raises(UsageError, match="the address of a queue"):
        QueueClient(address)


URLS = [f"http://a.example/{number}" for number in range(6)]
OPTIONS = LeaseOptions(ahead=3, poll_seconds=0.01)


def wait_until(holds: Callable[[], bool]) -> None:
    until = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < until
        time.sleep(0.005)


def queue_of(urls: list[str]) -> FakeQueue:
    return FakeQueue({url: 1 - number / 10 for number, url in enumerate(urls)})


def test_urls_are_leased_ahead_and_reported_when_they_are_fetched() -> None:
    queue = queue_of(URLS)
    leases = LeaseThread(queue, OPTIONS)
    leases.start()
    wait_until(lambda: len(queue.leased) == 3)
    assert [one.url for one in leases.take()] == URLS[:3]
    assert leases.idle_seconds() == 0
    leases.finish(f"lease-{URLS[1]}")
    leases.finish(f"lease-{URLS[1]}")
    leases.finish("another's lease")
    wait_until(lambda: len(queue.leased) == 4)
    assert queue.finished == [URLS[1]]
    leases.stop()
    assert sorted(queue.released) == sorted([URLS[0], *URLS[2:4]])


def test_a_queue_that_is_away_is_asked_again_and_no_report_is_lost() -> None:
    queue = queue_of(URLS[:1])
    leases = LeaseThread(queue, OPTIONS)
    leases.start()
    wait_until(lambda: queue.leased == URLS[:1])
    queue.away = True
    leases.finish(f"lease-{URLS[0]}")
    wait_until(lambda: leases.idle_seconds() > 0.02)
    queue.away = False
    wait_until(lambda: queue.finished == URLS[:1])
    leases.stop()


def test_an_end_while_the_queue_is_away_is_an_end() -> None:
    queue = queue_of(URLS)
    leases = LeaseThread(queue, OPTIONS)
    leases.start()
    wait_until(lambda: len(queue.leased) == 3)
    queue.away = True
    leases.stop()
    assert queue.released == []


def send(queue: QueueClient) -> None:
    with queue:
        queue.put([UrlUpdate("http://a.example/", 0.5)], "me", [7])


def test_updates_are_posted_with_token_sender_and_order(server: Server) -> None:
    send(server.urls)
    item = {"url": "http://a.example/", "priority": 0.5, "order": 7}
    [(method, path, token, body)] = server.asked
    assert (method, path, token) == ("POST", "/nwx/urls?sender=me", "Bearer secret")
    assert json.loads(body) == [item]


@pytest.mark.parametrize("status", [408, 429, 500, 503, 507])
def test_what_can_be_sent_later(server: Server, status: int) -> None:
    server.say(b"busy", status, **{"Retry-After": "7"})
    with pytest.raises(CrawlerUnavailableError, match=f"{status}: busy") as caught:
        send(server.urls)
    assert caught.value.retry_seconds == 7


def test_a_refused_item(server: Server) -> None:
    error = {"error": {"status": 400, "message": "item 0: no", "item": 0}}
    server.say(error, 400)
    with pytest.raises(CrawlerError, match="400: item 0: no") as caught:
        send(server.urls)
    assert caught.value.item == 0
    assert not isinstance(caught.value, CrawlerUnavailableError)


@pytest.mark.parametrize("body", [b"", b"[", b"[]", b'{"error": 7}', b"\xff" * 100_000])
def test_odd_answers(server: Server, body: bytes) -> None:
    server.say(body, 400)
    with pytest.raises(CrawlerError) as caught:
        send(server.urls)
    assert len(str(caught.value)) < 700


def test_a_wrong_token(server: Server) -> None:
    server.say({}, 401)
    with pytest.raises(CrawlerError, match="check the token"):
        send(server.urls)


def test_redirects_do_not_get_the_token(server: Server) -> None:
    server.say(b"", 307, Location=f"{server.urls.address}/other")
    with pytest.raises(CrawlerError, match="307"):
        send(server.urls)
    assert len(server.asked) == 1


def test_an_answer_that_breaks_off_is_asked_for_again(server: Server) -> None:
    server.missing_bytes = 10
    with pytest.raises(CrawlerUnavailableError, match="no connection"):
        send(server.urls)


def test_a_pause_that_is_no_number_is_passed_over(server: Server) -> None:
    server.say(b"busy", 503, **{"Retry-After": "\xb2"})
    with pytest.raises(CrawlerUnavailableError) as caught:
        send(server.urls)
    assert caught.value.retry_seconds == 0


def test_nobody_there() -> None:
    with pytest.raises(CrawlerUnavailableError, match="/urls: Connection refused; check"):
        send(QueueClient("http://127.0.0.1:9"))


def test_crawlers_load_it_without_msgspec() -> None:
    blocked = "import sys; sys.modules['msgspec'] = None"
    loaded = "import nwx.steering.queue.url_sources"
    subprocess.run([sys.executable, "-c", f"{blocked}; {loaded}"], check=True)
