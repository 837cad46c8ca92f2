"""A check tells damage from a disk without space, and says what to do."""

import sqlite3
from pathlib import Path

import pytest

from nwx.engine.embedded import EmbeddedEngine, folder_damage
from nwx.engine.embedded.folder import Folder
from nwx.errors import EngineFullError


@pytest.mark.parametrize("code", [sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE])
def test_a_full_disk_is_no_damage(
    tmp_path: Path, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(*_: object, **__: object) -> None:
        error = sqlite3.OperationalError("disk I/O error")
        error.sqlite_errorcode = code
        raise error

    with EmbeddedEngine(tmp_path / "a") as engine:
        engine.create()
        monkeypatch.setattr(folder_damage, "connect_sqlite", no_space)
        monkeypatch.setattr(Folder, "is_full", lambda _: True)
        with pytest.raises(EngineFullError, match="no space is left at "):
            list(engine.damage())
