"""Slow, silent or numerous clients do not block others on the server of `nwx serve`."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Any

import pytest

from tests.web.replay.played_records import OPENER
from webapp.server import connections, http_connection, worker
from webapp.server.connections import listen, port_of
from webapp.server.worker import make_server

THREADS = 2
MOST = 40
TOKEN = "secret"
LARGE = b"x" * 300_000


class App:
    """An application with a short response, a large one, and one that waits for a signal."""

    def __init__(self) -> None:
        self.may_go_on = threading.Event()
        self.waiting = threading.Semaphore(0)

    def __call__(self, environ: Any, start_response: Any) -> list[bytes]:
        path = environ["PATH_INFO"]
        if path == "/waits":
            self.waiting.release()
            self.may_go_on.wait(60)
        body = LARGE if path == "/large" else path.encode() + environ["wsgi.input"].read()
        start_response("200 OK", [("Content-Length", str(len(body)))])
        return [body]


@contextmanager
def _running(application: Callable[..., Any]) -> Iterator[int]:
    listening = listen("127.0.0.1", 0)
    running = make_server(application, listening, THREADS, TOKEN)
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    yield port_of(listening)
    running.close()
    thread.join(10)


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> App:
    """The application on a server with few connections."""
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", MOST)
    monkeypatch.setattr(worker, "RESERVE", 5)
    return App()


@pytest.fixture
def port(app: App) -> Iterator[int]:
    with _running(app) as port:
        yield port
        app.may_go_on.set()


@pytest.fixture
def opened() -> Iterator[ExitStack]:
    """Closes the connections of a test."""
    with ExitStack() as stack:
        yield stack


def _connect(opened: ExitStack, port: int, sent: bytes, host: str = "127.0.0.1") -> socket.socket:
    made = socket.create_connection(("127.0.0.1", port), timeout=30, source_address=(host, 0))
    opened.callback(made.close)
    made.sendall(sent)
    return made


def _asked(port: int, path: str = "/page") -> bytes:
    with OPENER.open(f"http://127.0.0.1:{port}{path}", timeout=30) as answer:
        found: bytes = answer.read()
    return found


def _is_closed(connection: socket.socket) -> bool:
    """Return whether the server closes a connection while it serves others."""
    connection.settimeout(30)
    try:
        return connection.recv(65_536) == b""
    except ConnectionResetError:
        return True


HEAD = b"GET /page HTTP/1.1\r\nHost: a\r\n"
UNFINISHED = {
    "nothing": b"",
    "part of a head": HEAD,
    "part of a body": b"POST /page HTTP/1.1\r\nHost: a\r\nContent-Length: 9\r\n\r\nabc",
    "a chunk": b"POST /page HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nabc",
}


@pytest.mark.parametrize("sent", UNFINISHED.values(), ids=UNFINISHED)
def test_unfinished_requests_lock_nobody_out(port: int, opened: ExitStack, sent: bytes) -> None:
    for _ in range(3 * MOST):
        _connect(opened, port, sent)
    assert _asked(port) == b"/page"
    assert _asked(port, "/health") == b"/health"


def test_idle_connections_lock_nobody_out(port: int, opened: ExitStack) -> None:
    for _ in range(3 * MOST):
        kept = _connect(opened, port, HEAD + b"\r\n")
        assert kept.recv(65_536).endswith(b"/page")
    assert _asked(port) == b"/page"


def test_unread_answers_lock_nobody_out(
    port: int, opened: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "UNREAD_SECONDS", 0.1)
    for _ in range(3 * MOST):
        made = socket.socket()
        opened.callback(made.close)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        made.settimeout(30)
        made.connect(("127.0.0.1", port))
        made.sendall(b"GET /large HTTP/1.1\r\nHost: a\r\n\r\n")
    deadline = time.monotonic() + 60
    while True:
        # While responses are being computed, none of these connections can be closed in its favour.
        with suppress(ConnectionError):
            assert _asked(port) == b"/page"
            break
        assert time.monotonic() < deadline


def test_a_client_with_many_connections_costs_others_none(port: int, opened: ExitStack) -> None:
    modest = _connect(opened, port, HEAD, host="127.0.0.2")
    for _ in range(3 * MOST):
        _connect(opened, port, HEAD)
    modest.sendall(b"\r\n")
    assert modest.recv(65_536).endswith(b"/page")


@pytest.mark.parametrize(
    ("name", "sent", "piece"),
    [
        ("HEAD_SECONDS", HEAD, b"X-A: 1\r\n"),
        ("BODY_SECONDS", UNFINISHED["part of a body"].replace(b": 9", b": 99999"), b"x"),
        ("IDLE_SECONDS", b"", b""),
    ],
)
def test_each_state_has_its_time(
    app: App,
    opened: ExitStack,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    sent: bytes,
    piece: bytes,
) -> None:
    monkeypatch.setattr(connections, name, 0.5)
    monkeypatch.setattr(worker, "LOOK_SECONDS", 0.1)
    with _running(app) as port:
        slow = _connect(opened, port, sent)
        stop = threading.Event()

        def trickle() -> None:
            while not stop.wait(0.05):
                try:
                    slow.sendall(piece)
                except OSError:
                    return

        thread = threading.Thread(target=trickle)
        if piece:
            thread.start()
        assert _is_closed(slow)
        stop.set()
        if piece:
            thread.join(10)


def test_large_bodies_have_the_time_they_need(
    app: App, opened: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "BODY_SECONDS", 0.3)
    monkeypatch.setattr(worker, "LOOK_SECONDS", 0.1)
    head = f"POST /page HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {TOKEN}\r\n"
    with _running(app) as port:
        slow = _connect(opened, port, head.encode() + b"Content-Length: 20\r\n\r\n")
        for _ in range(20):
            time.sleep(0.05)
            slow.sendall(b"x")
        assert slow.recv(65_536).endswith(b"/page" + b"x" * 20)
        slow.close()


def test_a_reader_that_takes_next_to_nothing_is_not_waited_for(
    app: App, opened: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "STUCK_SECONDS", 0.5)
    monkeypatch.setattr(worker, "LOOK_SECONDS", 0.1)

    ended = threading.Event()

    def endless(environ: Any, start_response: Any) -> Iterator[bytes]:
        start_response("200 OK", [])
        try:
            while True:
                yield LARGE
        finally:
            ended.set()

    with _running(endless) as port:
        slow = socket.socket()
        opened.callback(slow.close)
        slow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        slow.settimeout(30)
        slow.connect(("127.0.0.1", port))
        slow.sendall(HEAD + b"\r\n")
        # Data in the kernel's buffers arrives in any case.
        while not ended.wait(0.02):
            assert slow.recv(500)
        slow.close()


def test_who_has_sent_all_and_says_so_is_answered(port: int, opened: ExitStack) -> None:
    for _ in range(5):
        made = _connect(opened, port, UNFINISHED["part of a body"] + b"def123")
        made.shutdown(socket.SHUT_WR)
        assert made.recv(65_536).endswith(b"/pageabcdef123")


def test_health_is_told_while_all_threads_are_busy(app: App, port: int, opened: ExitStack) -> None:
    for _ in range(2 * THREADS):
        _connect(opened, port, b"GET /waits HTTP/1.1\r\nHost: a\r\n\r\n")
    for _ in range(THREADS):
        assert app.waiting.acquire(timeout=30)
    assert _asked(port, "/health") == b"/health"
    app.may_go_on.set()
    assert _asked(port) == b"/page"


def test_a_first_request_that_is_under_way_at_the_end_is_answered(
    app: App, opened: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_connection, "FIRST_REQUEST_SECONDS", 4.0)
    listening = listen("127.0.0.1", 0)
    running = make_server(app, listening, THREADS, TOKEN)
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    made = _connect(opened, port_of(listening), b"")
    assert _asked(port_of(listening)) == b"/page"  # by now it has accepted `made`
    running.close()
    while not running.ending:
        time.sleep(0.01)
    made.sendall(HEAD)
    made.sendall(b"\r\n")
    assert made.recv(65_536).endswith(b"/page")
    assert _is_closed(made)
    thread.join(10)
    assert not thread.is_alive()
