"""The connection: server errors are reported clearly, and requests retried if that helps."""

import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from nwx.engine.document_index import Work, working
from nwx.engine.search_server import server as server_module
from nwx.engine.search_server.refusals import IndexMissingError, RefusedError
from nwx.engine.search_server.schema import LAZY_INDICES, Schema, index_body
from nwx.engine.search_server.server import to_json
from nwx.engine.search_server.writes import BulkAction, send
from nwx.engine.server_engines import ElasticServer
from nwx.errors import (
    EngineError,
    EngineFullError,
    EngineUnavailableError,
    EngineVersionError,
    QuestionTimeoutError,
    SettingsError,
)
from nwx.model import IndexName
from nwx.settings import ServerSettings
from tests.unit.engine.search_server.fake_server import FakeServer, Reply, item, refusal, serving


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module.time, "sleep", lambda seconds: None)


@pytest.mark.parametrize(
    ("status", "body", "error", "message"),
    [
        (401, refusal("security_exception"), EngineError, "does not know this user"),
        (403, refusal("security_exception", "no rights"), EngineError, "does not allow.*no rights"),
        (400, refusal("parsing_exception", "bad query"), RefusedError, "bad query"),
        (404, refusal("index_not_found_exception"), IndexMissingError, "no such archive"),
        (404, refusal("other", "index_not_found_exception"), RefusedError, "refuses"),
        (400, refusal("index_closed_exception"), EngineUnavailableError, "not ready.*closed"),
        (503, refusal("no_shard_available"), EngineUnavailableError, "not ready"),
        (504, b"gateway", EngineUnavailableError, "not ready"),
        (429, refusal("es_rejected_execution_exception"), EngineUnavailableError, "too busy"),
        (
            429,
            refusal("cluster_block_exception", "TOO_MANY_REQUESTS/12/disk usage exceeded flood"),
            EngineFullError,
            "no space left",
        ),
        (429, refusal("cluster_block_exception", "in other words"), EngineFullError, "no space"),
        (403, refusal("cluster_block_exception", "disk usage"), EngineError, "does not allow"),
        (
            403,
            refusal("cluster_block_exception", "write (api)];"),
            EngineError,
            r"\)\]; if .* INDEX --undo",
        ),
        (400, refusal("parsing_exception", "read_only_allow_delete"), RefusedError, "refuses"),
        (200, b"<html>", EngineError, "is not an Elasticsearch .HTTP 200, text/html."),
        (404, b"<html>", EngineError, "is not an Elasticsearch .HTTP 404, text/html."),
        (200, [1], EngineError, "is not an Elasticsearch.*opensearch.http:// an OpenSearch"),
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
    assert "<html>" not in str(caught.value)


def test_a_question_stops_at_its_deadline() -> None:
    answered = threading.Event()

    def answer(*_: object) -> Reply:
        answered.wait(60)
        return 200, {}

    with serving(answer) as (fake, server):
        with working(Work(0.2)), pytest.raises(QuestionTimeoutError, match=r"0\.2 s"):
            server.request("POST", "/x/_search", {})
        with working(Work(60)) as work, pytest.raises(QuestionTimeoutError, match="cancelled"):
            work.cancel()
            server.request("POST", "/x/_search", {})
        answered.set()
        assert len(fake.requests) == 1


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_connection_that_fails_is_said_in_plain_words(scheme: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(EngineUnavailableError) as caught:
        ElasticServer(f"{scheme}://ada:secret@127.0.0.1:{port}", ServerSettings()).request(
            "GET", "/x"
        )
    assert str(caught.value) == (
        f"no connection to elasticsearch at 127.0.0.1:{port}: connection refused; "
        f"check the port, and that Elasticsearch is running there"
    )


def test_what_speaks_no_http_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]

        def greet() -> None:
            for _ in range(2):
                client, _ = listening.accept()
                client.sendall(b"SSH-2.0-x\r\n")
                client.close()

        thread = threading.Thread(target=greet)
        thread.start()
        with pytest.raises(EngineUnavailableError, match="does not use HTTP"):
            ElasticServer(f"http://127.0.0.1:{port}", ServerSettings()).request("GET", "/x")
        thread.join()


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
        (ServerSettings(api_key="a2V5"), "http://{}", "ApiKey a2V5"),
        (ServerSettings(username="ada", password="x"), "http://{}", "Basic YWRhOng="),
        (ServerSettings(), "http://ada:x@{}/", "Basic YWRhOng="),
        (ServerSettings(), "http://ada:%78@{}/", "Basic YWRhOng="),
    ],
)
def test_credentials(settings: ServerSettings, address: str, header: str) -> None:
    fake = FakeServer(lambda *_: (200, {}))
    server = ElasticServer(address.format(fake.address), settings)
    server.request("GET", "/x")
    server.close()
    fake.close()
    sent = {name.lower(): value for name, value in fake.requests[0][1].items()}
    assert sent["authorization"] == header
    assert "ada" not in server.address


def test_a_path_in_the_address_stays() -> None:
    fake = FakeServer(lambda *_: (200, {}))
    server = ElasticServer(f"http://{fake.address}/search/", ServerSettings())
    server.request("GET", "/x")
    server.close()
    fake.close()
    assert fake.requests[0][0] == "/search/x"


def test_settings_that_cannot_be_are_said_without_secrets() -> None:
    missing = ServerSettings(ca_file="/nowhere/ca.pem")
    with pytest.raises(SettingsError, match=r"/nowhere/ca.pem cannot be used") as caught:
        ElasticServer("https://ada:secret@host.test", missing)
    assert "secret" not in str(caught.value)
    with pytest.raises(SettingsError, match="is not an address"):
        ElasticServer("http://host.test:many", ServerSettings())
    with pytest.raises(SettingsError, match="Invalid IPv6 URL"):
        ElasticServer("http://ada:secret@[", ServerSettings())
    with pytest.raises(SettingsError, match="not a valid index prefix"):
        Schema(ElasticServer("http://host.test", ServerSettings()), ServerSettings(prefix="A b"))


def test_only_refused_items_are_sent_again() -> None:
    def answer(count: int, path: str, body: bytes) -> Reply:
        busy = item(429, error={"type": "es_rejected_execution_exception", "reason": "queue"})
        if count == 1:
            conflict = item(409, error={"type": "version_conflict_engine_exception"})
            return 200, {"items": [item(201), busy, conflict, busy]}
        assert body.count(b"_id") == 2
        return 200, {"items": [item(200, "updated"), item(201)]}

    actions = [BulkAction("i", str(n), {"n": n}) for n in range(4)]
    with serving(answer) as (fake, server):
        assert send(server, actions) == ["created", "updated", "conflict", "created"]
        assert "require_alias=true" in fake.requests[0][0]


def test_a_server_that_stays_busy_is_an_error() -> None:
    busy = item(429, error={"type": "es_rejected_execution_exception", "reason": "queue"})
    with (
        serving(lambda *_: (200, {"items": [busy]})) as (_, server),
        pytest.raises(EngineUnavailableError, match="refused 8 times"),
    ):
        send(server, [BulkAction("i", "1", {})])


@pytest.mark.parametrize(
    ("status", "error", "kind", "message"),
    [
        (
            429,
            {"type": "cluster_block_exception", "reason": "disk usage exceeded flood-stage"},
            EngineFullError,
            "no space left",
        ),
        (
            400,
            {"type": "document_parsing_exception", "reason": "odd"},
            EngineError,
            "does not accept '7' for i .*odd",
        ),
        (404, {"type": "index_not_found_exception", "reason": "i"}, EngineError, "no such arch"),
    ],
)
def test_items_that_cannot_be_written(
    status: int, error: object, kind: type[EngineError], message: str
) -> None:
    with (
        serving(lambda *_: (200, {"items": [item(status, error=error)]})) as (_, server),
        pytest.raises(kind, match=message),
    ):
        send(server, [BulkAction("i", "7", {})])


def test_bulk_requests_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nwx.engine.search_server.writes.CHUNK_BYTES", 200)
    monkeypatch.setattr("nwx.engine.search_server.writes.CHUNK_ITEMS", 3)

    def answer(_: int, path: str, body: bytes) -> Reply:
        return 200, {"items": [item(201)] * body.count(b'"_id"')}

    small = [BulkAction("i", str(n), {}) for n in range(7)]
    large = [BulkAction("i", "x", {"text": "y" * 500})]
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
        pytest.raises(EngineVersionError, match=r"nwx-dates .*newer version .*99"),
    ):
        Schema(server, ServerSettings()).create()


def test_an_index_that_nwx_did_not_make_is_refused() -> None:
    state = {"nwx-dates": {"aliases": {}, "mappings": {"_meta": {"version": "1.0-beta"}}}}
    with serving(lambda *_: (200, state)) as (_, server):
        for use in (Schema.check, Schema.create):
            with pytest.raises(EngineError, match=r"nwx did not make the index nwx-dates .*prefix"):
                use(Schema(server, ServerSettings()))


def test_who_comes_second_finds_the_index_made() -> None:
    def answer(_: int, path: str, body: bytes) -> Reply:
        if "000001" in path:
            return 400, refusal("resource_already_exists_exception")
        return 200, {}

    with serving(answer) as (fake, server):
        Schema(server, ServerSettings()).create()
        assert len(fake.requests) == 1 + len(IndexName) - len(LAZY_INDICES)


def test_an_index_is_made_as_set_up() -> None:
    body = index_body(IndexName.DOCUMENTS, ServerSettings(shards=3, replicas=2))
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
    server = ElasticServer(f"https://{secure.address}", ServerSettings(ca_file=str(certificate)))
    assert server.request("GET", "/x") == {"a": 1}
    server.close()


def test_an_unknown_certificate_is_refused(secure: FakeServer) -> None:
    server = ElasticServer(f"https://{secure.address}", ServerSettings())
    with pytest.raises(EngineUnavailableError, match=r"(?i)certificate"):
        server.request("GET", "/x")
    server.close()


def test_an_unknown_certificate_is_taken_on_request(secure: FakeServer) -> None:
    server = ElasticServer(f"https://{secure.address}", ServerSettings(verify=False))
    assert server.request("GET", "/x") == {"a": 1}
    server.close()


@pytest.mark.parametrize(
    ("text", "written"), [("Zürich", b'"Z\xc3\xbcrich"'), ("\ud800", b'"?"'), ('"', b'"\\""')]
)
def test_json_has_what_utf_8_can_hold(text: str, written: bytes) -> None:
    assert to_json(text) == written
    assert to_json({"numbers": [1, 2]}) == b'{"numbers":[1,2]}'
