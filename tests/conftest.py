"""Fixtures for all tests."""

import signal
from pathlib import Path

import pytest

from tests.elasticsearch.fixture import elasticsearch_url
from tests.spark.fixture import spark

__all__ = ["elasticsearch_url", "spark"]

SHARED_DATA = Path(__file__).parent.parent.parent / "shared" / "data"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leave out the tests on real archive files where those are not beside the checkout."""
    if SHARED_DATA.is_dir():
        return
    away = [item for item in items if "shared_data" in getattr(item, "fixturenames", ())]
    config.hook.pytest_deselected(items=away)
    items[:] = [item for item in items if item not in away]


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real archive files that may lie beside the checkout."""
    return SHARED_DATA


@pytest.fixture(scope="session", autouse=True)
def _interruptible() -> None:
    """Let children be interrupted, also where the tests run in the background of a shell.

    A shell makes its background jobs ignore SIGINT, and children inherit that.
    """
    signal.signal(signal.SIGINT, signal.default_int_handler)
