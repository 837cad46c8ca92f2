"""The choice between words and meaning, offered if vectors are built."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from nwx.engine.base import Engine, open_engine
from nwx.searching.vectors import build_vectors
from nwx.settings import Settings
from tests.conformance.test_vectors import BATCHES, COMMAND
from webapp import create_app


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    with open_engine(Settings(str(tmp_path / "archive"))) as opened:
        opened.create()
        for batch in BATCHES:
            opened.write(batch)
        opened.refresh()
        yield opened


def client_of(engine: Engine) -> FlaskClient:
    return create_app(engine, triples=Settings(engine.address, embedder=COMMAND)).test_client()


def test_meaning_is_offered_where_vectors_are(engine: Engine) -> None:
    without = client_of(engine)
    assert "by=meaning" not in without.get("/search?q=ship").text
    refused = without.get("/search?q=ship&by=meaning")
    assert (refused.status_code, "no vectors were built" in refused.text) == (400, True)
    build_vectors(engine, COMMAND)
    client = client_of(engine)
    assert "by=meaning" in client.get("/search?q=ship").text
    page = client.get("/search?q=automobile&by=both&per_page=20").text
    assert 'name="by" value="both"' in page and "page=2" in page
    assert "by=both" in page.partition("page=2")[0].rpartition("href=")[2]
    found = client.get("/api/search?q=lorry+automobile&by=meaning").get_json()
    assert found["total"]["value"] == 100 and len(found["hits"]) == 10
    assert client.get("/api/search?q=ship&by=feeling").status_code == 400
    assert client.get("/api/search?q=ship&by=both&sort=newest").status_code == 400
