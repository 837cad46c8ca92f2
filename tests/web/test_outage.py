"""An unavailable engine never looks like an archive without results."""

from pathlib import Path

import pytest
from flask.testing import FlaskClient

from nwx.cdxserver.server import CdxServer
from nwx.cdxserver.sources import EngineSource
from nwx.engine.base import Engine
from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.indices.entry_store import EntryStore
from nwx.engine.server_engines import ElasticEngine
from nwx.errors import EngineUnavailableError, EngineVersionError, NoArchiveError
from tests.web.addresses import FIRST, SECOND
from tests.web.html import Page
from webapp import create_app
from webapp.cdx.service import CdxService
from webapp.server.small_servers import create_cdx_app


def _engine(error: Exception) -> Engine:
    """Return an engine all of whose methods raise an error."""

    def fail(*_: object, **__: object) -> None:
        raise error

    methods = dict.fromkeys(Engine.__abstractmethods__, fail)
    store = type("FailingStore", (EntryStore,), dict.fromkeys(EntryStore.__abstractmethods__, fail))
    known = {"traits": ElasticEngine.traits, "address": "http://away.test"}
    kind = type("FailingEngine", (Engine,), methods | known | {"entry_store": lambda *_: store()})
    engine: Engine = kind()
    return engine


@pytest.fixture
def away() -> FlaskClient:
    """A client of an application whose engine is unavailable."""
    return create_app(_engine(EngineUnavailableError("no answer from the engine"))).test_client()


@pytest.mark.parametrize(
    "address",
    [
        "/",
        "/search?q=quarry",
        f"/documents/{FIRST}",
        f"/documents/{FIRST}/diff/{SECOND}",
        "/documents/of?url=http://example.org/",
    ],
)
def test_pages_say_so(away: FlaskClient, address: str) -> None:
    answer = away.get(address)
    page = Page(answer.text)
    assert answer.status_code == 503
    assert page.faults == []
    assert page.all("p", role="alert")[0].text == "no answer from the engine"
    assert "No results" not in answer.text
    assert answer.headers["Retry-After"] == "5"


@pytest.mark.parametrize("address", ["/", "/search?q=quarry", "/crawls", "/judge"])
def test_a_prefix_without_an_archive_is_told(
    engine: Engine, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    def fail(_: Engine) -> None:
        raise NoArchiveError("no index begins with 'x'")

    monkeypatch.setattr(EmbeddedEngine, "check", fail)
    shown = create_app(engine).test_client().get(address).text
    assert "no index begins with &#39;x&#39;" in shown


@pytest.mark.parametrize(
    "address",
    [
        "/api/search?q=quarry",
        f"/api/documents/{FIRST}",
        f"/api/documents/{FIRST}/dates",
        "/api/versions?url=http://example.org/",
        "/api/stats",
    ],
)
def test_the_api_says_so(away: FlaskClient, address: str) -> None:
    answer = away.get(address)
    assert answer.status_code == 503
    assert answer.get_json()["error"]["message"] == "no answer from the engine"


@pytest.mark.parametrize("suffix", ["csv", "json", "txt"])
def test_exports_say_so_before_they_begin(away: FlaskClient, suffix: str) -> None:
    assert away.get(f"/export/results.{suffix}?q=quarry").status_code == 503


def test_playback_is_told(away: FlaskClient) -> None:
    answer = away.get("/cdx?url=http://example.org/")
    assert answer.status_code == 503
    assert answer.text == "no answer from the engine\n"


def test_health_says_so(away: FlaskClient) -> None:
    answer = away.get("/health")
    assert answer.status_code == 503
    assert answer.get_json()["status"] == "unavailable"


def test_pages_without_the_engine_stay(away: FlaskClient) -> None:
    for address in ("/help", "/settings", "/api", "/opensearch.xml", "/api/openapi.json"):
        assert away.get(address).status_code == 200


def test_another_fault_of_the_engine_is_no_outage() -> None:
    error = EngineVersionError("the index is of version 9")
    answer = create_app(_engine(error)).test_client().get("/search?q=quarry")
    assert answer.status_code == 500
    assert "the index is of version 9" in answer.text


CDX_ADDRESSES = (
    "/cdx?url=example.org",
    "/cdx/ia?url=example.org/*",
    "/web/cdx?url=example.org",
    "/web?url=example.org",
    "/dedup?url=http://example.org/&digest=sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYD",
)


def test_an_archive_whose_folder_is_gone_is_no_archive_without_results(tmp_path: Path) -> None:
    folder = tmp_path / "archive"
    with EmbeddedEngine(folder) as engine:
        engine.create()
        client = create_app(engine).test_client()
        alone = create_cdx_app(CdxService(CdxServer([EngineSource(engine)]), engine=engine))
        assert client.get("/health").status_code == 200
        assert alone.test_client().get("/health").status_code == 200
        folder.rename(tmp_path / "elsewhere")
        for address in ("/health", "/search?q=quarry", "/api/search?q=quarry", *CDX_ADDRESSES):
            assert client.get(address).status_code == 503
        for address in ("/health", *CDX_ADDRESSES):
            assert alone.test_client().get(address).status_code == 503
