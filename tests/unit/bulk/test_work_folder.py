"""One process at a time has a folder to work in."""

from pathlib import Path

import pytest

from nwx.bulk.whole_files import locked_folder
from nwx.errors import EngineBusyError, EngineError


def test_a_second_one_is_told_what_is_done_there(tmp_path: Path) -> None:
    folder = tmp_path / "a" / "work"
    busy = pytest.raises(EngineBusyError, match=r"another process inverts links in .*work")
    with locked_folder(folder, "inverts links"), busy, locked_folder(folder, "inverts links"):
        pass
    with locked_folder(folder, "inverts links") as given:
        assert given == folder


def test_errors_of_the_work_stay_what_they_are(tmp_path: Path) -> None:
    with pytest.raises(BlockingIOError), locked_folder(tmp_path / "work", "builds facets"):
        raise BlockingIOError


def test_a_place_that_is_no_folder_is_named(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(EngineError, match="cannot be written"), locked_folder(file, "builds"):
        pass
