"""The one connection that all threads read with."""

from contextlib import closing
from pathlib import Path

import pytest

from nwx.engine.embedded.engine import EmbeddedEngine
from nwx.engine.embedded.folder import Folder
from nwx.engine.embedded.shared_connection import SharedConnection
from nwx.errors import EngineError
from tests.unit.engine.embedded.making import batch, page

COUNT = "SELECT count(*) FROM captures"


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    with EmbeddedEngine(tmp_path / "archive") as engine:
        engine.write(batch(page(1), page(2)))
    return tmp_path / "archive"


def test_it_is_opened_once_and_sees_what_is_written_later(archive: Path) -> None:
    with closing(SharedConnection(Folder(archive))) as shared:
        with shared.reading() as first:
            assert first.execute(COUNT).fetchone() == (2,)
        with EmbeddedEngine(archive) as engine:
            engine.write(batch(page(3)))
        with shared.reading() as second:
            assert second is first
            assert second.execute(COUNT).fetchone() == (3,)


def test_it_opens_again_after_it_was_closed(archive: Path) -> None:
    shared = SharedConnection(Folder(archive))
    with shared.reading():
        pass
    shared.close()
    with closing(shared), shared.reading() as db:
        assert db.execute(COUNT).fetchone() == (2,)


def test_a_folder_without_an_archive_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(EngineError), SharedConnection(Folder(tmp_path / "none")).reading():
        pass
