"""HTTP as implemented by our server: requests of any form, and responses of any kind."""

import errno
import io
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from webapp.server import http_connection, wsgi_answers
from webapp.server.connections import listen, port_of
from webapp.server.http_connection import MOST_BODY_BYTES, MOST_HEAD_BYTES
from webapp.server.worker import HttpServer, make_server

TOKEN = "secret"
Start = Callable[..., Any]


class App:
    """An application with an address for each kind of response."""

    def __init__(self) -> None:
        self.closed = threading.Semaphore(0)
        self.may_end = threading.Event()
        self.has_begun = threading.Event()

    def __call__(self, environ: dict[str, Any], start: Start) -> Iterator[bytes] | list[bytes]:
        path = environ["PATH_INFO"]
        kind = getattr(self, path.strip("/").partition("/")[0], None)
        return kind(environ, start) if callable(kind) else self.echo(environ, start)

    def echo(self, environ: dict[str, Any], start: Start) -> list[bytes]:
        """Return method, path, query, an unusual header and the body."""
        names = ("REQUEST_METHOD", "PATH_INFO", "QUERY_STRING", "HTTP_X_A", "CONTENT_LENGTH")
        told = " ".join(str(environ.get(name, "")) for name in names)
        body = told.encode("latin-1") + b"|" + environ["wsgi.input"].read()
        start("200 OK", [("Content-Length", str(len(body)))])
        return [body]

    def target(self, environ: dict[str, Any], start: Start) -> list[bytes]:
        """Return the target as it was sent, if decoding the path loses a part of it."""
        start("200 OK", [])
        return [environ.get("REQUEST_URI", "decoded").encode()]

    def pieces(self, environ: dict[str, Any], start: Start) -> Iterator[bytes]:
        start("200 OK", [("Content-Type", "text/plain")])
        try:
            yield from (b"one", b"", b"two")
        finally:
            self.closed.release()

    def nothing(self, environ: dict[str, Any], start: Start) -> list[bytes]:
        start("204 No Content", [])
        return []

    def left_out(self, environ: dict[str, Any], start: Start) -> list[bytes]:
        start("200 OK", [])
        return []

    def short(self, environ: dict[str, Any], start: Start) -> list[bytes]:
        start("200 OK", [("Content-Length", "9")])
        return [b"short"]

    def fails(self, environ: dict[str, Any], start: Start) -> list[bytes]:
        raise ValueError("no")

    def fails_later(self, environ: dict[str, Any], start: Start) -> Iterator[bytes]:
        start("200 OK", [])
        yield b"one"
        raise ValueError("no")

    def injects(self, environ: dict[str, Any], start: Start) -> list[bytes]:
        start("200 OK", [("X-A", "a\r\nSet-Cookie: b")])
        return []

    def writes(self, environ: dict[str, Any], start: Start) -> list[bytes]:
        start("200 OK", [("Content-Length", "6")])(b"one")
        return [b"two"]

    def waits(self, environ: dict[str, Any], start: Start) -> list[bytes]:
        self.has_begun.set()
        self.may_end.wait(60)
        return self.echo(environ, start)

    def endless(self, environ: dict[str, Any], start: Start) -> Iterator[bytes]:
        start("200 OK", [])
        try:
            while True:
                yield b"x" * 65_536
        finally:
            self.closed.release()


@pytest.fixture
def app() -> App:
    return App()


@pytest.fixture
def server(app: App) -> Iterator[HttpServer]:
    server = make_server(app, listen("127.0.0.1", 0), 2, TOKEN)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    yield server
    app.may_end.set()
    server.close()
    thread.join(20)


@pytest.fixture
def port(server: HttpServer) -> int:
    return server.place[1]


def exchange(port: int, sent: bytes, *, ends: bool = True) -> bytes:
    """Return everything that the server sends until it closes the connection."""
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(sent)
        if ends:
            connection.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := connection.recv(65_536):
            answer += piece
    return answer


def get(path: str, *headers: str, method: str = "GET", version: str = "1.1") -> bytes:
    """Return a request without a body."""
    return "\r\n".join([f"{method} {path} HTTP/{version}", "Host: a", *headers, "", ""]).encode()


def test_requests_that_come_together_are_answered_in_order(port: int) -> None:
    answer = exchange(port, b"".join(get(f"/{number}") for number in range(20)))
    places = [answer.index(b"GET /%d " % number) for number in range(20)]
    assert places == sorted(places)


@pytest.mark.parametrize(
    ("sent", "found"),
    [
        (get("/a%20b%C3%A9?q=%20#part"), "GET /a bÃ© q=%20".encode("latin-1")),
        (get("http://a.example:80/b?c"), b"GET /b c "),
        (get("/", "X-A: one", "X_A: two", "X-A: three"), b"GET /  one, three"),
        (get("/", "Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c"), b"GET / "),
        (get("/", version="1.0"), b"connection: close"),
        (get("/", "Connection: keep-alive", version="1.0"), b"connection: keep-alive"),
        (get("/", "Connection: close"), b"connection: close"),
        (get("/nothing"), b"HTTP/1.1 204 No Content"),
        (get("/writes"), b"\r\n\r\nonetwo"),
        (get("/pieces"), b"3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"),
        (get("/pieces", version="1.0"), b"\r\n\r\nonetwo"),
        (get("/fails"), b"HTTP/1.1 500 Internal Server Error"),
        (get("/injects"), b"HTTP/1.1 500 Internal Server Error"),
        (b"nonsense\r\n\r\n", b"HTTP/1.1 400 Bad Request"),
        (get("nowhere"), b"HTTP/1.1 400 Bad Request"),
        (get("/", "Content-Length: x"), b"HTTP/1.1 400 Bad Request"),
        (get("/", "Content-Length: 3", "Transfer-Encoding: chunked"), b"HTTP/1.1 400 Bad Request"),
        (get("/", "X: " + "x" * MOST_HEAD_BYTES), b"HTTP/1.1 431 "),
        (get("/" + "x" * MOST_HEAD_BYTES), b"HTTP/1.1 431 "),
        (get("/", f"Content-Length: {MOST_BODY_BYTES + 1}"), b"HTTP/1.1 413 "),
        (get("/", f"Content-Length: {10**17}"), b"HTTP/1.1 413 "),
        (get("/", *(f"A{each}: b" for each in range(90))), b"HTTP/1.1 200 OK"),
        (get("/", *(["A:"] * 250_000)), b"HTTP/1.1 431 "),
        (b"GET / HTTP/1.1\r\n\r\n", b"HTTP/1.1 400 Bad Request"),
        (b"GET / HTTP/1.0\r\n\r\n", b"HTTP/1.1 200 OK"),
        (get("/", "Host: b"), b"HTTP/1.1 400 Bad Request"),
        (get("/", version="0.9"), b"HTTP/1.1 505 "),
        (get("/", version="2.0"), b"HTTP/1.1 505 "),
        (get("/", "Transfer-Encoding: gzip, chunked") + b"0\r\n\r\n", b"HTTP/1.1 501 "),
        (
            get("/", "Connection: keep-alive", "Transfer-Encoding: chunked", version="1.0")
            + b"1\r\na\r\n0\r\n\r\n",
            b"connection: close",
        ),
    ],
)
def test_each_request_has_its_answer(port: int, sent: bytes, found: bytes) -> None:
    assert found in exchange(port, sent)
    assert b"GET /next" in exchange(port, get("/next"))


@pytest.mark.parametrize(
    ("sent", "found"),
    [
        (b"/target/http://a/%E4%3Fb%23c?d=%26", b"/target/http://a/%E4%3Fb%23c?d=%26"),
        (b"/target/%25", b"/target/%25"),
        (b"/target/a", b"decoded"),
    ],
)
def test_escapes_of_the_target_are_kept(port: int, sent: bytes, found: bytes) -> None:
    request = b"GET " + sent + b" HTTP/1.0\r\nHost: a\r\n\r\n"
    assert exchange(port, request).endswith(b"\r\n\r\n" + found)


def test_what_follows_a_good_request_is_refused_behind_its_answer(port: int) -> None:
    answer = exchange(port, get("/first") + b"nonsense\r\n\r\n")
    assert answer.index(b"GET /first") < answer.index(b"400 Bad Request")


def test_the_answer_to_head_has_no_body(port: int) -> None:
    for path in ("/echo", "/pieces"):
        head, _, body = exchange(port, get(path, method="HEAD")).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK")
        assert body == b""


def test_the_answer_to_head_does_not_claim_an_empty_body(port: int) -> None:
    assert b"content-length: 0" in exchange(port, get("/left_out"))
    answer = exchange(port, get("/left_out", method="HEAD") + get("/echo"))
    assert answer.count(b"200 OK") == 2
    assert b"content-length" not in answer.partition(b"\r\n\r\n")[0]


@pytest.mark.parametrize("path", ["/short", "/fails_later"])
def test_an_answer_that_ends_too_early_ends_the_connection(port: int, path: str) -> None:
    answer = exchange(port, get(path) + get("/next"), ends=False)
    assert b"200 OK" in answer
    assert b"/next" not in answer
    assert not answer.endswith(b"0\r\n\r\n")


def test_who_waits_to_be_told_is_told_to_go_on(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(get("/", "Content-Length: 3", "Expect: 100-continue", method="POST"))
        assert connection.recv(65_536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        connection.sendall(b"abc")
        assert connection.recv(65_536).endswith(b"|abc")


def test_http_1_0_is_not_told_to_go_on(port: int) -> None:
    head = get("/", "Content-Length: 3", "Expect: 100-continue", method="POST", version="1.0")
    answer = exchange(port, head + b"abc")
    assert answer.startswith(b"HTTP/1.1 200 OK")
    assert answer.endswith(b"|abc")


def test_a_body_that_the_disk_has_no_room_for_is_refused(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(io.BytesIO):
        def write(self, data: object) -> int:
            raise OSError(errno.ENOSPC, "no space left")

    monkeypatch.setattr(wsgi_answers, "SpooledTemporaryFile", lambda *_, **__: Full())
    answer = exchange(port, get("/", "Content-Length: 3", method="POST") + b"abc", ends=False)
    assert answer.startswith(b"HTTP/1.1 507 ")


def test_large_bodies_are_taken_with_the_token_only(port: int) -> None:
    size = 10 * MOST_BODY_BYTES
    head = get("/", f"Content-Length: {size}", f"Authorization: Bearer {TOKEN}", method="POST")
    answer = exchange(port, head + b"x" * size)
    assert answer.partition(b"|")[2] == b"x" * size
    chunks = b"%x\r\n%b\r\n" % (size, b"x" * size)
    head = get("/", "Transfer-Encoding: chunked", method="POST")
    assert exchange(port, head + chunks, ends=False).startswith(b"HTTP/1.1 413 ")


def test_trailers_without_an_end_are_refused(port: int) -> None:
    head = get("/", "Transfer-Encoding: chunked", method="POST")
    trailers = b"3\r\nabc\r\n0\r\nX: " + b"x" * (MOST_HEAD_BYTES + 65_536)
    assert b"HTTP/1.1 431 " in exchange(port, head + trailers, ends=False)


def test_who_leaves_ends_what_is_made_for_him(port: int, app: App) -> None:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(get("/endless"))
        assert connection.recv(65_536)
    assert app.closed.acquire(timeout=30)


def test_an_answer_that_is_not_read_takes_no_thread(
    port: int, app: App, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http_connection, "BUFFERED_BYTES", 1 << 16)
    readers = [socket.create_connection(("127.0.0.1", port), timeout=30) for _ in range(6)]
    for reader in readers:
        reader.sendall(get("/endless"))
    for reader in readers:
        assert reader.recv(10)
    assert b"GET /next" in exchange(port, get("/next"))
    for reader in readers:
        reader.close()
    for _ in readers:
        assert app.closed.acquire(timeout=30)


def test_answers_that_are_under_way_come_before_the_end(server: HttpServer, app: App) -> None:
    port = server.place[1]
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(get("/waits"))
        assert app.has_begun.wait(30)
        server.close()
        time.sleep(0.1)
        app.may_end.set()
        assert b"GET /waits" in connection.recv(65_536)
        assert connection.recv(65_536) == b""


def test_requests_that_repeat_the_headers_of_the_one_before() -> None:
    asked: list[tuple[str, str, str]] = []

    def answer(environ: dict[str, Any], start: Start) -> list[bytes] | None:
        if environ["PATH_INFO"] == "/long":
            return None
        path, query = environ["PATH_INFO"], environ["QUERY_STRING"]
        asked.append((path, query, environ["HTTP_X_GIVEN"]))
        start("200 OK", [("Content-Length", "2")])
        return [b"ok"]

    def sent(line: str, given: str = "1") -> bytes:
        return f"{line}\r\nHost: localhost\r\nX-Given: {given}\r\n\r\n".encode()

    listening = listen("127.0.0.1", 0)
    server = make_server(App(), listening, 2, at_once=answer)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    answers = [
        (sent("GET /a HTTP/1.1"), b"\r\n\r\nok"),
        (sent("GET /b?url=x%20y HTTP/1.1"), b"\r\n\r\nok"),
        (sent("GET /long HTTP/1.1"), b"GET /long"),
        (sent("GET /c HTTP/1.1", given="2"), b"\r\n\r\nok"),
        (sent("GET /d%20 HTTP/1.1", given="2"), b"\r\n\r\nok"),
        (sent("GET /e HTTP/1.1", given="2") * 2, b"\r\n\r\nok"),
        (sent("GET /f\x01 HTTP/1.1", given="2"), b"400 Bad Request"),
    ]
    with socket.create_connection(("127.0.0.1", port_of(listening))) as connection:
        for request, found in answers:
            connection.sendall(request)
            received = b""
            while b"(closed)" not in received and received.count(found) < (
                2 if b"/e" in request else 1
            ):
                received += connection.recv(65_536) or b"(closed)"
            assert found in received
    server.close()
    thread.join(20)
    paths = [("/a", ""), ("/b", "url=x%20y"), ("/c", ""), ("/d ", ""), ("/e", ""), ("/e", "")]
    assert asked == [(*path, "1" if path[0] in "/a/b" else "2") for path in paths]


def test_short_answers_come_at_once_unless_they_are_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[str] = []
    slow = threading.Event()

    def answer(environ: dict[str, Any], start: Start) -> list[bytes] | None:
        threads.append(threading.current_thread().name)
        if slow.is_set():
            time.sleep(0.05)
        if environ["PATH_INFO"] == "/long":
            return None
        start("200 OK", [("Content-Length", "2")])
        return [b"ok"]

    listening = listen("127.0.0.1", 0)
    server = make_server(App(), listening, 2, at_once=answer)
    thread = threading.Thread(target=server.run, daemon=True, name="loop")
    thread.start()
    port = port_of(listening)
    monkeypatch.setattr(wsgi_answers, "SLOW_SECONDS", 60.0)
    assert exchange(port, get("/a") + get("/b")).count(b"\r\n\r\nok") == 2
    assert threads == ["loop", "loop"]
    assert b"GET /long" in exchange(port, get("/long"))
    monkeypatch.setattr(wsgi_answers, "SLOW_SECONDS", 0.005)
    slow.set()
    assert exchange(port, get("/a")).endswith(b"ok")
    slow.clear()
    assert exchange(port, get("/a")).endswith(b"ok"), "one slow answer among quick ones"
    slow.set()
    answers = [exchange(port, get("/b")) for _ in range(20)]
    assert answers[0].endswith(b"ok")
    assert b"GET /b" in answers[-1]
    server.close()
    thread.join(20)
