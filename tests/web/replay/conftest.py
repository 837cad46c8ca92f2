"""An archive played by the real pywb."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from nwx.engine.base import Engine
from nwx.engine.embedded import EmbeddedEngine
from tests.web.replay.played_records import RECORDS, import_file
from tests.web.serving import serving
from webapp import create_app
from webapp.replay.process import ReplayProcess
from webapp.server.connections import address_of, listen


@pytest.fixture(scope="session")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Engine, Path]]:
    """An engine with a WARC file of an original and two revisits, and the folder of the file."""
    folder = tmp_path_factory.mktemp("replay")
    (folder / "a.warc.gz").write_bytes(b"".join(RECORDS))
    with EmbeddedEngine(folder / "archive") as engine:
        engine.create()
        import_file(engine, folder / "a.warc.gz")
        yield engine, folder


@pytest.fixture(scope="session")
def service(archive: tuple[Engine, Path]) -> Iterator[str]:
    """The address of a service that plays captures by the real pywb."""
    engine, _ = archive
    listening = listen("127.0.0.1", 0)
    search = address_of(listening)
    with listening, ReplayProcess(engine, listen("127.0.0.1", 0), search) as replay:
        passes = replay.shared.passes()
        app = create_app(engine, replay_port=replay.port, places=replay.paths, passes=passes)
        with serving(app, listening):
            yield search
