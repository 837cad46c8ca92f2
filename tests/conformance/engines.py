"""The engines that the suite runs on."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from nwx.engine.base import Engine
from nwx.engine.open import open_engine
from nwx.settings import ElasticSettings, Settings

KINDS = ("embedded", "elastic")

Opener = Callable[[], Engine]


@contextmanager
def new_archive(kind: str, folder: Path, request: pytest.FixtureRequest) -> Iterator[Opener]:
    """Give what opens an archive of its own, which has no indices yet, as often as wanted."""
    if kind == "embedded":
        yield lambda: open_engine(Settings(engine=str(folder / "archive")))
        return
    address = request.getfixturevalue("elasticsearch_url")
    settings = Settings(address, ElasticSettings(prefix=f"nwx-test-{uuid.uuid4().hex}"))
    try:
        yield lambda: open_engine(settings)
    finally:
        remove_indices(settings)


def remove_indices(settings: Settings) -> None:
    """Remove the indices of a prefix that a test made."""
    from nwx.engine.elastic.server import Server, quoted

    server = Server(settings.engine, settings.elastic)
    for name in server.request("GET", f"/{settings.elastic.prefix}-*"):
        server.request("DELETE", f"/{quoted(name)}")
    server.close()
