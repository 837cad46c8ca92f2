"""The small archive with facets built for the explorer, and a client."""

from collections.abc import Iterator

import pytest
from flask import Flask
from flask.testing import FlaskClient

from nwx.engine.base import Engine
from nwx.engine.embedded import EmbeddedEngine
from tests.web.holdings import batch
from webapp import create_app


@pytest.fixture(scope="session")
def holding_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with EmbeddedEngine(tmp_path_factory.mktemp("explore") / "archive") as engine:
        engine.create()
        engine.write(batch())
        engine.refresh()
        yield engine


@pytest.fixture(scope="session")
def holding_app(holding_engine: Engine) -> Flask:
    return create_app(holding_engine, replay_port=9_999)


@pytest.fixture
def client(holding_app: Flask) -> FlaskClient:
    return holding_app.test_client()
