"""Crawlers submit captures: only with the token, atomically, in any amount."""

import gzip
import io
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient

from nwx.cdxserver.loaded_lines import load_lines
from nwx.engine.base import Engine, open_engine
from nwx.engine.embedded import EmbeddedEngine
from nwx.settings import Settings
from webapp import create_app
from webapp.server import connections, worker
from webapp.server.connections import listen, port_of
from webapp.server.http_connection import MOST_BODY_BYTES
from webapp.server.worker import make_server

TOKEN = "let me in"
AUTHORIZED = {"Authorization": f"Bearer {TOKEN}"}
LINE = (
    "- 20200101000000 http://a.example/ text/html 200 M5ORM4XQ5QCEZEDRNZRGSWXPCOGUVASI - - 9 {} x"
)
MANY = 5_000
THREADS = 2


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with EmbeddedEngine(tmp_path / "archive") as engine:
        yield engine


@pytest.fixture
def client(engine: Engine) -> FlaskClient:
    return create_app(engine, cdx_token=TOKEN).test_client()


def lines(number: int) -> bytes:
    return "".join(f"{LINE.format(place)}\n" for place in range(number)).encode()


def captures(client: FlaskClient, collection: str = "web") -> int:
    answer = client.get(f"/{collection}?url=http://a.example/")
    return len(answer.text.splitlines()) if answer.status_code == 200 else 0


def test_what_is_posted_can_be_asked_for(client: FlaskClient) -> None:
    answer = client.post("/web", data=lines(3), headers=AUTHORIZED)
    assert (answer.status_code, answer.text) == (200, "Added 3 records\n")
    assert captures(client) == 3
    assert client.get("/web/cdx/ia?url=http://a.example/&limit=1").text.startswith("example,a)/ ")
    answer = client.post("/web/delete", data=lines(2), headers=AUTHORIZED)
    assert (answer.status_code, answer.text) == (200, "Deleted 2 records\n")
    assert captures(client) == 1


def test_a_server_may_hand_over_a_body_that_cannot_be_rewound(client: FlaskClient) -> None:
    for path, word in (("/web", "Added"), ("/web/delete", "Deleted")):
        body = io.BytesIO(lines(3))
        given = {"wsgi.input": SimpleNamespace(read=body.read, readline=body.readline)}
        answer = client.post(path, environ_overrides=given, headers=AUTHORIZED)
        assert (answer.status_code, answer.text) == (200, f"{word} 3 records\n")


def test_a_body_is_read_before_the_archive_is_locked(client: FlaskClient, engine: Engine) -> None:
    with open_engine(Settings(engine=engine.address)) as other:
        for path in ("/web", "/web/delete"):
            body = io.BytesIO(lines(3))

            def read(size: int = -1, body: io.BytesIO = body) -> bytes:
                found = body.read(size)
                if not found:  # as late as a slow client may end it
                    load_lines(other, [lines(1)], "else", skip_bad=False, name="lines")
                return found

            given = {"wsgi.input": SimpleNamespace(read=read)}
            answer = client.post(path, environ_overrides=given, headers=AUTHORIZED)
            assert answer.status_code == 200


def test_one_bad_line_and_nothing_is_added(client: FlaskClient) -> None:
    client.post("/web", data=lines(1), headers=AUTHORIZED)
    body = LINE.format(7).encode() + b"\nbad\n"
    answer = client.post("/web", data=body, headers=AUTHORIZED)
    assert answer.status_code == 400
    assert "line 2" in answer.text
    assert "badLines=skip" in answer.text
    assert captures(client) == 1
    answer = client.post("/web?badLines=skip", data=body, headers=AUTHORIZED)
    assert (answer.status_code, answer.text) == (200, "Added 1 records\n")
    assert client.post("/web?badLines=perhaps", headers=AUTHORIZED).status_code == 400


@pytest.mark.parametrize("headers", [{}, {"Content-Encoding": "gzip"}])
@pytest.mark.parametrize("query", ["", "?badLines=skip"])
def test_a_packed_body_is_refused_and_not_skipped(
    client: FlaskClient, headers: dict[str, str], query: str
) -> None:
    body = gzip.compress(lines(3), mtime=0)
    answer = client.post(f"/web{query}", data=body, headers=AUTHORIZED | headers)
    assert answer.status_code == 415
    assert "plain text" in answer.text
    assert captures(client) == 0


@pytest.mark.parametrize(
    "header", ["", "Bearer", "Bearer wrong", f"Basic {TOKEN}", f"Bearer {TOKEN}!", "Bearer é"]
)
@pytest.mark.parametrize("address", ["/web", "/web/delete"])
def test_nobody_writes_without_the_token(client: FlaskClient, address: str, header: str) -> None:
    answer = client.post(address, data=lines(1), headers={"Authorization": header})
    assert answer.status_code == 401
    assert answer.headers["WWW-Authenticate"] == "Bearer"
    assert captures(client) == 0


def test_writing_is_off_unless_there_is_a_token(engine: Engine) -> None:
    client = create_app(engine).test_client()
    for header in ("Bearer ", "Bearer let me in", ""):
        answer = client.post("/web", data=lines(1), headers={"Authorization": header})
        assert answer.status_code == 403
        assert "NWX_CDX_TOKEN" in answer.text


def test_an_import_at_work_is_waited_for_and_then_told(
    client: FlaskClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.post("/web", data=lines(1), headers=AUTHORIZED)
    monkeypatch.setattr("nwx.engine.embedded.engine._APPEND_WAIT_SECONDS", 0.1)
    with EmbeddedEngine(tmp_path / "archive") as other:
        other.create()
        answer = client.post("/web", data=lines(2), headers=AUTHORIZED)
    assert (answer.status_code, answer.mimetype) == (503, "text/plain")
    assert answer.headers["Retry-After"]


@contextmanager
def _running(application: Callable[..., Any]) -> Iterator[int]:
    """Yield the port of an application on the server of `nwx serve`."""
    listening = listen("127.0.0.1", 0)
    running = make_server(application, listening, THREADS, TOKEN)
    thread = threading.Thread(target=running.run, daemon=True)
    thread.start()
    yield port_of(listening)
    running.close()
    thread.join(10)


@pytest.fixture
def server(engine: Engine) -> Iterator[int]:
    with _running(create_app(engine, cdx_token=TOKEN)) as port:
        yield port


def _exchange(port: int, request: bytes) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
    return answer


def _post(body: bytes, head: str) -> bytes:
    text = f"POST /web HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{head}\r\n"
    return text.encode() + body


def test_chunks_of_any_size_are_taken(server: int, engine: Engine) -> None:
    body = lines(MANY)
    chunks = b"".join(
        b"%x\r\n%s\r\n" % (len(piece), piece)
        for piece in (body[at : at + 50_000] for at in range(0, len(body), 50_000))
    )
    head = f"Authorization: Bearer {TOKEN}\r\nTransfer-Encoding: chunked\r\n"
    answer = _exchange(server, _post(chunks + b"0\r\n\r\n", head))
    assert f"Added {MANY} records".encode() in answer
    assert sum(1 for _ in engine.captures("example,a)/")) == MANY


def test_large_bodies_of_strangers_are_not_even_read(server: int) -> None:
    head = f"Authorization: Bearer wrong\r\nContent-Length: {MOST_BODY_BYTES + 1}\r\n"
    assert b"413" in _exchange(server, _post(b"", head)).partition(b"\r\n")[0]
    head = f"Authorization: Bearer {TOKEN}\r\nContent-Length: 0\r\n"
    assert b"200" in _exchange(server, _post(b"", head)).partition(b"\r\n")[0]


def test_who_never_reads_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "STUCK_SECONDS", 0.5)
    monkeypatch.setattr(worker, "LOOK_SECONDS", 0.2)
    ended = threading.Semaphore(0)

    def endless(environ: Any, start_response: Any) -> Iterator[bytes]:
        start_response("200 OK", [])
        try:
            while environ["PATH_INFO"] == "/endless":
                yield b"x" * 65_536
            yield b"short"
        finally:
            ended.release()

    with _running(endless) as port, ExitStack() as stack:
        # Several at a time, repeatedly: the server must survive each of them.
        for _ in range(3):
            for _ in range(THREADS):
                stuck = stack.enter_context(socket.socket())
                stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                stuck.connect(("127.0.0.1", port))
                stuck.sendall(b"GET /endless HTTP/1.1\r\nHost: a\r\n\r\n")
            for _ in range(THREADS):
                assert ended.acquire(timeout=30)
            answer = _exchange(port, b"GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            assert b"short" in answer
            assert ended.acquire(timeout=30)


def test_lines_that_no_archive_can_hold_are_bad_ones(client: FlaskClient) -> None:
    odd = lines(1).replace(b" x\n", b" \xff\n")
    assert odd != lines(1)
    body = odd + lines(2)
    answer = client.post("/web", data=body, headers=AUTHORIZED)
    assert answer.status_code == 400
    assert "not valid UTF-8" in answer.text
    answer = client.post("/web?badLines=skip", data=body, headers=AUTHORIZED)
    assert (answer.status_code, answer.text) == (200, "Added 2 records\n")


@pytest.mark.parametrize("name", ["<img src=x>", "x" * 300, "é"])
def test_collections_are_named_as_by_imports(client: FlaskClient, name: str) -> None:
    answer = client.post(f"/{quote(name)}", data=lines(1), headers=AUTHORIZED)
    assert answer.status_code == 400
    assert captures(client) == 0
