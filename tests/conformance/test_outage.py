"""An unavailable or wrong engine causes an error, never an empty answer."""

import socket
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from nwx.engine.access.rules import AccessRule, Action, Scope
from nwx.engine.base import Engine
from nwx.engine.capture_index import KeysAtTime
from nwx.engine.indices.quality_index import EVERY_SCORE, PlaybackScore
from nwx.engine.server_engines import ElasticEngine, ElasticServer
from nwx.errors import EngineError, EngineFullError, EngineUnavailableError
from nwx.model import Batch, IndexName
from nwx.query.question import Question
from nwx.query.tree import All
from nwx.settings import ServerSettings, Settings
from tests.conformance.archive import also, batch, page
from tests.conformance.engines.search_server import remove_indices

HOME = page("http://example.org/", "2010", "welcome")
SCORE = PlaybackScore(
    "web/a@1",
    "web",
    "http://example.org/",
    "org,example)/",
    "example.org",
    "example.org",
    "20200101000000",
    "20260101000000",
    "1",
    1.0,
)
RULE = AccessRule("", Action.BLOCK, Scope())
CALLS: dict[str, Callable[[Engine], object]] = {
    "create": lambda engine: engine.create(),
    "write": lambda engine: engine.write(batch([HOME])),
    "write captures": lambda engine: engine.write(Batch(captures=(HOME.capture,))),
    "known": lambda engine: engine.known(["0" * 32]),
    "documents": lambda engine: engine.documents(["0" * 32]),
    "dates": lambda engine: engine.dates(["0" * 32]),
    "captures": lambda engine: list(engine.captures("org,example)/")),
    "captures near": lambda engine: engine.captures_near([KeysAtTime(("a",), "20100101000000")], 1),
    "has keys": lambda engine: engine.has_keys(["urn:view:"]),
    "append dates": lambda engine: engine.append_dates([also(HOME, "2011")]),
    "append to another": lambda engine: engine.append_dates([also(HOME, "2011")], into="a"),
    "dates indices": lambda engine: engine.dates_indices(),
    "attach": lambda engine: engine.attach_dates("a"),
    "detach": lambda engine: engine.detach_dates("a"),
    "drop": lambda engine: engine.drop_dates("a"),
    "scan dates": lambda engine: list(engine.scan_dates("main")),
    "build dates": lambda engine: engine.build_dates("a").__enter__(),
    "search": lambda engine: engine.search(Question(All())),
    "scroll": lambda engine: list(engine.scroll(Question(All()))),
    "count": lambda engine: engine.count(IndexName.DOCUMENTS),
    "scan": lambda engine: list(engine.scan(IndexName.DATES)),
    "delete": lambda engine: engine.delete(IndexName.DATES, ["0" * 32]),
    "files": lambda engine: engine.files(),
    "stats": lambda engine: engine.stats(),
    "refresh": lambda engine: engine.refresh(),
    "put scores": lambda engine: engine.quality_index().put([SCORE]),
    "scores": lambda engine: engine.quality_index().scores(EVERY_SCORE, 1),
    "checked": lambda engine: engine.quality_index().checked([SCORE.id], "1"),
    "totals": lambda engine: engine.quality_index().totals(),
    "put state": lambda engine: engine.quality_index().put_state("monitor:votes", b"sums"),
    "state": lambda engine: engine.quality_index().state("monitor:votes"),
    "count scores": lambda engine: engine.count(IndexName.QUALITY),
    "access rules": lambda engine: engine.access_index().rules(),
    "put access rules": lambda engine: engine.access_index().put([RULE], "eva"),
    "access changes": lambda engine: engine.access_index().changes(1),
    "scan scores": lambda engine: list(engine.scan(IndexName.QUALITY)),
}


@contextmanager
def deaf_server() -> Iterator[str]:
    """Yield the address of a server that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}"


@pytest.mark.parametrize("call", CALLS)
def test_nobody_listens(call: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    address = f"http://reader:secret@127.0.0.1:{port}"
    with ElasticEngine(address, ServerSettings()) as engine:
        with pytest.raises(EngineUnavailableError, match=f"127.0.0.1:{port}") as caught:
            CALLS[call](engine)
        assert "secret" not in str(caught.value)
        assert "secret" not in engine.address


@pytest.mark.parametrize("call", ["create", "search", "write", "known"])
def test_nobody_answers_in_time(call: str) -> None:
    with deaf_server() as address:
        settings = ServerSettings(timeout_seconds=0.2)
        with (
            ElasticEngine(address, settings) as engine,
            pytest.raises(EngineUnavailableError, match=r"within 0\.2 s"),
        ):
            CALLS[call](engine)


@pytest.mark.parametrize("call", ["write", "search", "count", "files", "captures", "scan"])
def test_indices_that_are_not_there_are_no_empty_ones(elasticsearch_url: str, call: str) -> None:
    settings = ServerSettings(prefix="nwx-test-never-made")
    with (
        ElasticEngine(elasticsearch_url, settings) as engine,
        pytest.raises(EngineError, match="nwx-test-never-made"),
    ):
        CALLS[call](engine)


def test_a_full_disk_is_said(elasticsearch_url: str) -> None:
    settings = Settings(elasticsearch_url, ServerSettings(prefix=f"nwx-test-{uuid.uuid4().hex}"))
    server = ElasticServer(settings.engine, settings.server)
    with ElasticEngine(settings.engine, settings.server) as engine:
        engine.create()
        engine.quality_index().put([SCORE])  # creates an index that `create` omits
        # set by the server itself when the disk is full
        full = {"index.blocks.read_only_allow_delete": True}
        server.request("PUT", f"/{settings.server.prefix}-*/_settings", full)
        for call in ("write", "write captures", "append dates", "put scores"):
            with pytest.raises(EngineFullError, match="no space left"):
                CALLS[call](engine)
        assert engine.search(Question(All())).hits == ()
    server.close()
    remove_indices(settings)
