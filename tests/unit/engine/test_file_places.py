"""Paths of files, looked up repeatedly."""

from pathlib import Path
from typing import Any, cast

import pytest

from nwx.engine import file_places
from nwx.engine.base import Engine
from nwx.engine.file_places import FilePlaces
from nwx.model import SourceFile
from tests.conformance.archive import capture

HELD = capture("http://a.example/", source_file="a.warc.gz", collection="web")


class Files:
    """The only engine method that is called."""

    def __init__(self, *paths: str) -> None:
        self.paths, self.asked = list(paths), 0

    def files(self) -> list[SourceFile]:
        self.asked += 1
        return [SourceFile("web", path.rpartition("/")[2], path, 1, "") for path in self.paths]


def of(files: Files) -> FilePlaces:
    return FilePlaces(cast(Engine, cast(Any, files)))


def test_it_is_read_once_for_files_that_stay(tmp_path: Path) -> None:
    (tmp_path / "a.warc.gz").touch()
    files = Files(str(tmp_path / "a.warc.gz"))
    known = of(files)
    assert [known.is_there(HELD) for _ in range(3)] == [True, True, True]
    assert known.path("web", "a.warc.gz") == str(tmp_path / "a.warc.gz")
    assert files.asked == 1


def test_a_file_that_was_moved_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_places, "_PATIENCE_SECONDS", 0.0)
    (tmp_path / "a.warc.gz").touch()
    (tmp_path / "done").mkdir()
    files = Files(str(tmp_path / "a.warc.gz"))
    known = of(files)
    assert known.is_there(HELD)
    (tmp_path / "a.warc.gz").rename(tmp_path / "done" / "a.warc.gz")
    assert not known.is_there(HELD)
    files.paths = [str(tmp_path / "done" / "a.warc.gz")]
    assert known.is_there(HELD)


def test_what_nobody_knows_is_not_asked_for_all_the_time() -> None:
    files = Files()
    known = of(files)
    assert [known.is_there(HELD) for _ in range(50)] == [False] * 50
    assert files.asked == 1


def test_an_address_is_there_when_it_is_known() -> None:
    assert of(Files("https://files.example/a.warc.gz")).is_there(HELD)
