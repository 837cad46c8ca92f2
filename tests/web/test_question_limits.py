"""Slow questions block nobody: few run at once, with a deadline, and /health still answers."""

import socket
import threading
from collections.abc import Iterator
from urllib.parse import urlsplit

import pytest

from nwx.engine.document_index import current_work
from nwx.engine.embedded import EmbeddedEngine
from nwx.errors import QuestionTimeoutError
from nwx.model import SearchResult
from nwx.query.question import Question
from tests.web.archive import batch
from webapp import create_app
from webapp.server.connections import address_of, listen
from webapp.server.worker import make_server
from webapp.site import question_limits
from webapp.site.question_limits import QuestionLimits, limits_for

ADDRESSES = ["/api/search?q=quarry", "/search?q=quarry", "/", "/export/results.csv?q=quarry"]


class SlowEngine(EmbeddedEngine):
    """An engine whose searches, while `held`, wait and check their deadline."""

    held = False

    def search(self, question: Question) -> SearchResult:
        self.began.set()
        try:
            while self.held:
                current_work().check()
        except QuestionTimeoutError:
            self.stopped.set()
            raise
        return super().search(question)


@pytest.fixture
def engine(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[SlowEngine]:
    monkeypatch.setattr(question_limits, "_WAIT_SECONDS", 0.01)
    with SlowEngine(tmp_path_factory.mktemp("slow") / "archive") as opened:
        opened.create()
        opened.write(batch())
        opened.refresh()
        opened.began, opened.stopped = threading.Event(), threading.Event()
        yield opened
        opened.held = False


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_search_that_takes_too_long_is_stopped(engine: SlowEngine, address: str) -> None:
    client = create_app(engine, limits=QuestionLimits(search_seconds=0.01)).test_client()
    engine.held = True
    answer = client.get(address)
    assert answer.status_code == 503
    assert "0.01 s" in answer.text
    engine.held = False
    assert create_app(engine).test_client().get(address).status_code == 200


@pytest.mark.parametrize("address", ADDRESSES)
def test_searches_beyond_a_number_are_refused_and_health_answers(
    engine: SlowEngine, address: str
) -> None:
    app = create_app(engine, limits=QuestionLimits(searches=1, search_seconds=600))
    engine.held = True
    first = threading.Thread(target=app.test_client().get, args=("/api/search?q=quarry",))
    first.start()
    assert engine.began.wait(60)
    client = app.test_client()
    for _ in range(3):
        refused = client.get(address)
        assert refused.status_code == 503
        assert refused.headers["Retry-After"]
        assert "too many queries" in refused.text
    assert client.get("/health").json["status"] == "ok"
    engine.held = False
    first.join()
    assert client.get(address).status_code == 200


def test_exports_beyond_a_number_are_refused(engine: SlowEngine) -> None:
    client = create_app(engine, limits=QuestionLimits(exports=1)).test_client()
    first = client.get("/export/results.csv?q=quarry", buffered=False)
    assert client.get("/export/results.csv?q=quarry").status_code == 503
    first.close()
    assert client.get("/export/results.csv?q=quarry").status_code == 200


def test_facet_questions_have_places_of_their_own(engine: SlowEngine) -> None:
    client = create_app(engine, limits=QuestionLimits(facets=1)).test_client()
    for _ in range(3):
        assert client.get("/api/facets?by=type").status_code == 200
        assert client.get("/explore").status_code == 200


def test_a_search_ends_when_its_client_leaves(engine: SlowEngine) -> None:
    engine.held = True
    listening = listen("127.0.0.1", 0)
    app = create_app(engine, limits=QuestionLimits(search_seconds=600))
    server = make_server(app, listening, 4)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    address = urlsplit(address_of(listening))
    with socket.create_connection((address.hostname, address.port)) as client:
        client.sendall(b"GET /api/search?q=quarry HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert engine.began.wait(60)
    assert engine.stopped.wait(60)
    server.close()
    thread.join(60)


def test_some_threads_are_left_for_other_pages() -> None:
    for threads in (4, 8, 32):
        limits = limits_for(threads, 10)
        assert limits.searches + limits.facets < threads
