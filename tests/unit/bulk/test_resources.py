"""The number of processes, and the location of temporary files."""

from pathlib import Path

import pytest

from nwx.bulk import resources
from nwx.bulk.resources import Resources, processors, temporary_folder, workers_for
from nwx.errors import SourceError

GIGABYTE = 1 << 30


def test_little_work_needs_no_processes() -> None:
    assert workers_for(1 << 20, Resources()) == 1
    assert workers_for(1 << 20, Resources(workers=2)) == 2


def test_there_are_as_many_as_memory_has_room_for() -> None:
    assert workers_for(GIGABYTE, Resources(100 << 20, workers=8)) == 1
    assert workers_for(GIGABYTE, Resources(300 << 20, workers=8)) == 3
    assert workers_for(GIGABYTE, Resources(100 * GIGABYTE)) == processors()


def test_a_temporary_folder_goes_away(tmp_path: Path) -> None:
    with temporary_folder(tmp_path) as folder:
        (folder / "file").touch()
        assert folder.parent == tmp_path
    assert list(tmp_path.iterdir()) == []


def test_a_temporary_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be written"), temporary_folder(tmp_path / "none"):
        pass


def test_no_more_than_four_processes_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    for available, answering in ((1, 1), (2, 2), (4, 4), (64, 4)):
        monkeypatch.setattr(resources, "processors", lambda found=available: found)
        assert resources.usual_workers() == answering
