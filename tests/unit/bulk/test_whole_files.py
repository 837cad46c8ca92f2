"""Files appear whole or not at all, and steps of work are done once."""

from pathlib import Path

import pytest

from nwx.bulk.whole_files import done_once, whole_file, whole_folder, writing
from nwx.errors import SourceError


def test_a_file_appears_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with whole_file(path) as stream:
        stream.write(b"new")
        assert not path.exists()
    assert path.read_bytes() == b"new"


def test_what_was_there_stays_when_something_fails(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with pytest.raises(ValueError, match="no"), whole_file(path) as stream:
        stream.write(b"new")
        raise ValueError("no")
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_what_cannot_be_written_is_told_with_its_path(tmp_path: Path) -> None:
    with (
        pytest.raises(SourceError, match="none/file cannot be written"),
        whole_file(tmp_path / "none" / "file"),
    ):
        pass
    with pytest.raises(SourceError, match="name another folder"), writing(tmp_path):
        raise OSError(28, "No space left on device")


def test_a_step_is_done_once(tmp_path: Path) -> None:
    done = []

    def work() -> list[int]:
        done.append(1)
        return [1, 2]

    report = tmp_path / "report.json"
    assert [done_once(report, work), done_once(report, work)] == [[1, 2], [1, 2]]
    assert done == [1]


def test_a_step_that_failed_is_done_again(tmp_path: Path) -> None:
    report = tmp_path / "report.json"
    with pytest.raises(ZeroDivisionError):
        done_once(report, lambda: 1 // 0)
    assert done_once(report, lambda: 2) == 2


def test_a_folder_appears_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "parents" / "folder"
    with whole_folder(path) as new:
        (new / "file").write_bytes(b"new")
        assert not path.exists()
    assert (path / "file").read_bytes() == b"new"
    assert list(path.parent.iterdir()) == [path]


def test_nothing_of_a_folder_is_left_when_something_fails(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    with pytest.raises(ValueError, match="no"), whole_folder(path) as new:
        (new / "file").write_bytes(b"new")
        raise ValueError("no")
    with pytest.raises(SourceError, match="No space left"), whole_folder(path):
        raise OSError(28, "No space left on device")
    assert list(tmp_path.iterdir()) == []


def test_a_folder_takes_the_place_of_an_empty_one_only(tmp_path: Path) -> None:
    path = tmp_path / "folder"
    path.mkdir()
    with whole_folder(path) as new:
        (new / "file").write_bytes(b"first")
    with (
        pytest.raises(SourceError, match="there already; name a new"),
        whole_folder(path),
    ):
        pass
    assert (path / "file").read_bytes() == b"first"
