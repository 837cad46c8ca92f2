"""The connection to OpenSearch: its errors, the product, and different names."""

import socket
import threading
from collections.abc import Callable

import pytest

from nwx.engine.document_index import Work, working
from nwx.engine.search_server import server as server_module
from nwx.engine.search_server.refusals import IndexMissingError, RefusedError
from nwx.engine.server_engines import OpenSearchServer
from nwx.errors import (
    EngineError,
    EngineFullError,
    EngineUnavailableError,
    QuestionTimeoutError,
    SettingsError,
)
from nwx.settings import ServerSettings
from tests.unit.engine.search_server.fake_server import FakeServer, Reply, refusal

ROOT = {"version": {"distribution": "opensearch", "number": "3.0.0"}}


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_module.time, "sleep", lambda seconds: None)


def asked(
    answer: Callable[[str], Reply],
    path: str = "/x",
    settings: ServerSettings | None = None,
    user: str = "",
) -> tuple[FakeServer, object]:
    """Request a path once; return the fake server, and the answer or error."""
    fake = FakeServer(lambda count, asked_path, body: answer(asked_path))
    address = f"opensearch+http://{user}{fake.address}"
    server = OpenSearchServer(address, settings or ServerSettings())
    try:
        return fake, server.request("GET", path)
    except EngineError as error:
        return fake, error
    finally:
        server.close()
        fake.close()


def of_opensearch(status: int, body: object) -> Callable[[str], Reply]:
    return lambda path: (200, ROOT) if path == "/" else (status, body)


@pytest.mark.parametrize(
    ("status", "body", "error", "message"),
    [
        (401, b"Unauthorized", EngineError, "does not know this user"),
        (403, refusal("security_exception", "no rights"), EngineError, "does not allow.*no rights"),
        (400, refusal("parsing_exception", "bad query"), RefusedError, "bad query"),
        (404, refusal("index_not_found_exception"), IndexMissingError, "no such archive"),
        (503, refusal("no_shard_available"), EngineUnavailableError, "not ready"),
        (504, b"gateway", EngineUnavailableError, "not ready"),
        (429, refusal("rejected_execution_exception"), EngineUnavailableError, "too busy"),
        (429, refusal("cluster_block_exception", "flood"), EngineFullError, "no space left"),
        (404, b"<html>", EngineError, "is not an OpenSearch .HTTP 404"),
        (200, b"<html>", EngineError, "is not an OpenSearch"),
        (200, [1], EngineError, "is not an OpenSearch"),
    ],
)
def test_refusals_say_what_is_wrong(
    status: int, body: object, error: type[EngineError], message: str
) -> None:
    fake, found = asked(of_opensearch(status, body))
    with pytest.raises(error, match=f"(?s).*{message}") as caught:
        raise found  # type: ignore[misc]
    assert fake.address in str(caught.value)
    assert "<html>" not in str(caught.value)


@pytest.mark.parametrize(
    "root", [{"version": {"number": "9.2.0"}}, {"tagline": "hello"}, b"<html>"]
)
def test_another_product_is_refused(root: object) -> None:
    fake, found = asked(lambda path: (200, root))
    assert isinstance(found, EngineError)
    assert "is not an OpenSearch" in str(found)
    assert len(fake.requests) == 1


def test_the_product_is_asked_for_once() -> None:
    fake, found = asked(of_opensearch(200, {"a": 1}))
    assert found == {"a": 1}
    assert [path for path, _, _ in fake.requests] == ["/", "/x"]


def test_credentials_of_settings_and_address() -> None:
    known = ServerSettings(username="ada", password="x")
    for settings, user in ((known, ""), (ServerSettings(), "ada:%78@")):
        fake, _ = asked(of_opensearch(200, {}), settings=settings, user=user)
        sent = {name.lower(): value for name, value in fake.requests[1][1].items()}
        assert sent["authorization"] == "Basic YWRhOng="


def test_settings_that_cannot_be_are_said() -> None:
    with pytest.raises(SettingsError, match="does not accept API keys"):
        OpenSearchServer("opensearch+https://host.test", ServerSettings(api_key="x"))
    with pytest.raises(SettingsError, match="is not a server address"):
        OpenSearchServer("opensearch+https://", ServerSettings())
    missing = ServerSettings(ca_file="/nowhere/ca.pem")
    with pytest.raises(SettingsError, match=r"/nowhere/ca.pem cannot be used"):
        OpenSearchServer("opensearch+https://ada:secret@host.test", missing)


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_connection_that_fails_is_said_in_plain_words(scheme: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    server = OpenSearchServer(
        f"opensearch+{scheme}://ada:secret@127.0.0.1:{port}", ServerSettings()
    )
    with pytest.raises(EngineUnavailableError) as caught:
        server.request("GET", "/x")
    assert str(caught.value) == (
        f"no connection to opensearch at 127.0.0.1:{port}: connection refused; "
        f"check the port, and that OpenSearch is running there"
    )
    server.close()


def test_a_question_stops_at_its_deadline() -> None:
    answered = threading.Event()

    def answer(count: int, path: str, body: bytes) -> Reply:
        if path != "/":
            answered.wait(60)
        return 200, ROOT

    fake = FakeServer(answer)
    server = OpenSearchServer(f"opensearch+http://{fake.address}", ServerSettings())
    server.request("GET", "/")
    with working(Work(0.2)), pytest.raises(QuestionTimeoutError, match=r"0\.2 s"):
        server.request("POST", "/x/_search", {})
    answered.set()
    server.close()
    fake.close()


def test_scans_are_by_shard() -> None:
    def answer(count: int, path: str, body: bytes) -> Reply:
        shards = "3" if path.startswith("/many") else "1"
        state = {"settings": {"index": {"number_of_shards": shards}}}
        return 200, ROOT if path == "/" else {"i": state}

    fake = FakeServer(answer)
    server = OpenSearchServer(f"opensearch+http://{fake.address}", ServerSettings())
    assert server.whole_scans("one") == [{"sort": [{"_seq_no": "asc"}]}]
    assert [scan["slice"] for scan in server.whole_scans("many")] == [
        {"id": id, "max": 3} for id in range(3)
    ]
    server.close()
    fake.close()
