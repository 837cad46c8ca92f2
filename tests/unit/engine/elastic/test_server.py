"""The connection: what goes wrong on the server is said plainly, and repeated where that helps."""

import json
import ssl
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from nwx.engine.elastic import server as server_module
from nwx.engine.elastic.bulk import Action, send
from nwx.engine.elastic.schema import Schema, index_body
from nwx.engine.elastic.server import Server, StatusError
from nwx.errors import (
    EngineError,
    EngineFullError,
    EngineUnavailableError,
    EngineVersionError,
    SettingsError,
)
from nwx.model import IndexName
from nwx.settings import ElasticSettings

Reply = tuple[int, Any]


class FakeServer:
    """A server that answers as told, and remembers what it was asked."""

    def __init__(
        self, answer: Callable[[int, str, bytes], Reply], certificate: Path | None = None
    ) -> None:
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        fake = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def reply(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                fake.requests.append((self.path, dict(self.headers), body))
                status, found = answer(len(fake.requests), self.path, body)
                data = found if isinstance(found, bytes) else json.dumps(found).encode()
                self.send_response(status)
                self.send_header("X-Elastic-Product", "Elasticsearch")
                kind = "text/html" if isinstance(found, bytes) else "application/json"
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = do_PUT = do_DELETE = reply  # noqa: N815

            def log_message(self, *_: object) -> None:
                """Keep quiet."""

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(certificate)
            self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self.address = f"127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


@contextmanager
def serving(
    answer: Callable[[int, str, bytes], Reply], settings: ElasticSettings | None = None
) -> Iterator[tuple[FakeServer, Server]]:
    """Give a fake server, and our connection to it."""
    fake = FakeServer(answer)
    server = Server(f"http://{fake.address}", settings or ElasticSettings())
    try:
        yield fake, server
    finally:
        server.close()
        fake.close()


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module.time, "sleep", lambda seconds: None)


def refusal(kind: str, reason: str = "because") -> dict[str, Any]:
    return {"error": {"type": kind, "reason": reason, "root_cause": []}}


def item(status: int, result: str = "created", error: object = None) -> dict[str, Any]:
    return {"index": {"status": status} | ({"error": error} if error else {"result": result})}


@pytest.mark.parametrize(
    ("status", "body", "error", "message"),
    [
        (401, refusal("security_exception"), EngineError, "does not know this user"),
        (403, refusal("security_exception", "no rights"), EngineError, "does not allow.*no rights"),
        (400, refusal("parsing_exception", "bad query"), StatusError, "bad query"),
        (404, refusal("index_not_found_exception"), EngineError, "no such archive"),
        (503, refusal("no_shard_available"), EngineUnavailableError, "not ready"),
        (504, b"gateway", EngineUnavailableError, "not ready"),
        (429, refusal("es_rejected_execution_exception"), EngineUnavailableError, "too busy"),
        (
            429,
            refusal("cluster_block_exception", "TOO_MANY_REQUESTS/12/disk usage exceeded flood"),
            EngineFullError,
            "no space left",
        ),
        (
            403,
            refusal("cluster_block_exception", "index read-only / allow delete [x]") | {"x": 1},
            EngineError,
            "does not allow",
        ),
        (200, b"<html>", EngineError, "does not: '<html>'"),
    ],
)
def test_refusals_say_what_is_wrong(
    status: int, body: object, error: type[EngineError], message: str
) -> None:
    with (
        serving(lambda *_: (status, body)) as (fake, server),
        pytest.raises(error, match=message) as caught,
    ):
        server.request("GET", "/x")
    assert fake.address in str(caught.value)


def test_a_busy_server_is_asked_again() -> None:
    def answer(count: int, *_: object) -> Reply:
        return (429, refusal("es_rejected_execution_exception")) if count < 3 else (200, {"a": 1})

    with serving(answer) as (fake, server):
        assert server.request("GET", "/x") == {"a": 1}
        assert len(fake.requests) == 3


def test_requests_are_those_of_version_8() -> None:
    with serving(lambda *_: (200, {})) as (fake, server):
        server.request("POST", "/x", {"é": "\ud83d"})
        server.request("POST", "/_bulk", b"{}\n")
    accepted = "application/vnd.elasticsearch+{}; compatible-with=8"
    plain, bulk = ({name.lower(): v for name, v in one[1].items()} for one in fake.requests)
    assert plain["accept"] == plain["content-type"] == accepted.format("json")
    assert bulk["content-type"] == accepted.format("x-ndjson")
    assert fake.requests[0][2] == '{"é":"?"}'.encode()


@pytest.mark.parametrize(
    ("settings", "address", "header"),
    [
        (ElasticSettings(api_key="a2V5"), "http://{}", "ApiKey a2V5"),
        (ElasticSettings(username="ada", password="x"), "http://{}", "Basic YWRhOng="),
        (ElasticSettings(), "http://ada:x@{}/", "Basic YWRhOng="),
        (ElasticSettings(), "http://ada:%78@{}/", "Basic YWRhOng="),
    ],
)
def test_credentials(settings: ElasticSettings, address: str, header: str) -> None:
    fake = FakeServer(lambda *_: (200, {}))
    server = Server(address.format(fake.address), settings)
    server.request("GET", "/x")
    server.close()
    fake.close()
    sent = {name.lower(): value for name, value in fake.requests[0][1].items()}
    assert sent["authorization"] == header
    assert "ada" not in server.address


def test_a_path_in_the_address_stays() -> None:
    fake = FakeServer(lambda *_: (200, {}))
    server = Server(f"http://{fake.address}/search/", ElasticSettings())
    server.request("GET", "/x")
    server.close()
    fake.close()
    assert fake.requests[0][0] == "/search/x"


def test_settings_that_cannot_be_are_said_without_secrets() -> None:
    missing = ElasticSettings(ca_file="/nowhere/ca.pem")
    with pytest.raises(SettingsError, match=r"/nowhere/ca.pem cannot be used") as caught:
        Server("https://ada:secret@host.test", missing)
    assert "secret" not in str(caught.value)
    with pytest.raises(SettingsError, match="no address"):
        Server("http://host.test:many", ElasticSettings())
    with pytest.raises(EngineError, match="no prefix"):
        Schema(Server("http://host.test", ElasticSettings()), ElasticSettings(prefix="A b"))


def test_only_refused_items_are_sent_again() -> None:
    def answer(count: int, path: str, body: bytes) -> Reply:
        busy = item(429, error={"type": "es_rejected_execution_exception", "reason": "queue"})
        if count == 1:
            conflict = item(409, error={"type": "version_conflict_engine_exception"})
            return 200, {"items": [item(201), busy, conflict, busy]}
        assert body.count(b"_id") == 2
        return 200, {"items": [item(200, "updated"), item(201)]}

    actions = [Action("i", str(n), {"n": n}) for n in range(4)]
    with serving(answer) as (fake, server):
        assert send(server, actions) == ["created", "updated", "conflict", "created"]
        assert "require_alias=true" in fake.requests[0][0]


def test_a_server_that_stays_busy_is_an_error() -> None:
    busy = item(429, error={"type": "es_rejected_execution_exception", "reason": "queue"})
    with (
        serving(lambda *_: (200, {"items": [busy]})) as (_, server),
        pytest.raises(EngineUnavailableError, match="refused 8 times"),
    ):
        send(server, [Action("i", "1", {})])


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (
            {"type": "cluster_block_exception", "reason": "disk usage exceeded flood-stage"},
            EngineFullError,
            "no space left",
        ),
        (
            {"type": "document_parsing_exception", "reason": "odd"},
            EngineError,
            "does not take '7' for i .*odd",
        ),
        ({"type": "index_not_found_exception", "reason": "i"}, EngineError, "no such archive"),
    ],
)
def test_items_that_cannot_be_written(error: object, kind: type[EngineError], message: str) -> None:
    with (
        serving(lambda *_: (200, {"items": [item(400, error=error)]})) as (_, server),
        pytest.raises(kind, match=message),
    ):
        send(server, [Action("i", "7", {})])


def test_bulk_requests_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nwx.engine.elastic.bulk.CHUNK_BYTES", 200)
    monkeypatch.setattr("nwx.engine.elastic.bulk.CHUNK_ITEMS", 3)

    def answer(_: int, path: str, body: bytes) -> Reply:
        return 200, {"items": [item(201)] * body.count(b'"_id"')}

    small = [Action("i", str(n), {}) for n in range(7)]
    large = [Action("i", "x", {"text": "y" * 500})]
    with serving(answer) as (fake, server):
        assert len(send(server, small + large + small)) == 15
    sizes = [body.count(b'"_id"') for _, _, body in fake.requests]
    assert sizes == [3, 3, 1, 1, 3, 3, 1]


def test_an_index_of_another_version_is_refused() -> None:
    index = {"aliases": {"nwx-dates": {}}, "mappings": {"_meta": {"version": 99}}}

    def answer(_: int, path: str, body: bytes) -> Reply:
        return 200, {"nwx-dates-000001": index} if "ignore_unavailable" in path else {}

    with (
        serving(answer) as (_, server),
        pytest.raises(EngineVersionError, match=r"nwx-dates .* version 99"),
    ):
        Schema(server, ElasticSettings()).create()


def test_who_comes_second_finds_the_index_made() -> None:
    def answer(_: int, path: str, body: bytes) -> Reply:
        if "000001" in path:
            return 400, refusal("resource_already_exists_exception")
        return 200, {}

    with serving(answer) as (fake, server):
        Schema(server, ElasticSettings()).create()
        assert len(fake.requests) == 1 + len(IndexName)


def test_an_index_is_made_as_set_up() -> None:
    body = index_body(IndexName.DOCUMENTS, ElasticSettings(shards=3, replicas=2))
    assert body["settings"]["index"] == {
        "number_of_shards": 3,
        "number_of_replicas": 2,
        "gc_deletes": "0s",
    }
    assert "text" in body["settings"]["analysis"]["analyzer"]
    assert body["mappings"]["dynamic"] == "strict"
    assert body["mappings"]["properties"]["url"]["ignore_above"] == 8000
    assert body["mappings"]["properties"]["host"]["ignore_above"] == 8191


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file with a certificate for 127.0.0.1 and its key."""
    folder = tmp_path_factory.mktemp("tls")
    key, found = folder / "key.pem", folder / "certificate.pem"
    command = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2"
    subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(
        [*command.split(), *subject, "-keyout", key, "-out", found], check=True, capture_output=True
    )
    found.write_bytes(found.read_bytes() + key.read_bytes())
    return found


@pytest.fixture
def secure(certificate: Path) -> Iterator[FakeServer]:
    """A server that speaks TLS."""
    fake = FakeServer(lambda *_: (200, {"a": 1}), certificate)
    yield fake
    fake.close()


def test_a_certificate_of_an_own_authority(secure: FakeServer, certificate: Path) -> None:
    server = Server(f"https://{secure.address}", ElasticSettings(ca_file=str(certificate)))
    assert server.request("GET", "/x") == {"a": 1}
    server.close()


def test_an_unknown_certificate_is_refused(secure: FakeServer) -> None:
    server = Server(f"https://{secure.address}", ElasticSettings())
    with pytest.raises(EngineUnavailableError, match=r"(?i)certificate"):
        server.request("GET", "/x")
    server.close()


def test_an_unknown_certificate_is_taken_on_request(secure: FakeServer) -> None:
    server = Server(f"https://{secure.address}", ElasticSettings(verify=False))
    assert server.request("GET", "/x") == {"a": 1}
    server.close()
