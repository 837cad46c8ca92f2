"""Which files are whole."""

import fcntl
import os
import time
from pathlib import Path

import pytest

from nwx.errors import SourceError
from nwx.watching.folders import Folders, held, is_locked

NEVER = 3_600.0


def old(path: Path, content: bytes = b"x", seconds: float = 7_200) -> Path:
    """Write a file that was last changed some time ago."""
    path.write_bytes(content)
    then = time.time() - seconds
    os.utime(path, (then, then))
    return path


def test_what_has_not_changed_for_long_is_whole_at_the_second_look(tmp_path: Path) -> None:
    second, first = (
        old(tmp_path / "a.warc.gz", seconds=7_200),
        old(tmp_path / "b.warc", seconds=9_000),
    )
    folders = Folders([tmp_path], NEVER)
    assert folders.look() == []
    assert folders.settling()
    assert folders.look() == [first, second]
    assert not folders.settling()


def test_what_was_written_just_now_is_not_whole(tmp_path: Path) -> None:
    (tmp_path / "a.warc.gz").write_bytes(b"x")
    folders = Folders([tmp_path], NEVER)
    assert [folders.look() for _ in range(3)] == [[], [], []]


def test_a_clock_that_is_behind_does_not_make_a_growing_file_whole(tmp_path: Path) -> None:
    folders = Folders([tmp_path], NEVER)
    for size in range(1, 5):
        old(tmp_path / "a.warc.gz", b"x" * size)
        assert folders.look() == []


def test_a_clock_that_is_ahead_does_not_keep_a_file_for_ever(tmp_path: Path) -> None:
    old(tmp_path / "a.warc.gz", seconds=-7_200)
    folders = Folders([tmp_path], 0.01)
    folders.look()
    time.sleep(0.02)
    assert folders.look() == [tmp_path / "a.warc.gz"]


@pytest.mark.parametrize("ending", [".open", ".part"])
def test_a_file_that_its_writer_has_renamed_is_whole_at_once(tmp_path: Path, ending: str) -> None:
    writing = tmp_path / f"a.warc.gz{ending}"
    writing.write_bytes(b"x")
    folders = Folders([tmp_path], NEVER)
    assert folders.look() == []
    writing.rename(tmp_path / "a.warc.gz")
    assert folders.look() == [tmp_path / "a.warc.gz"]


def test_what_is_dealt_with_comes_again_only_when_it_changes(tmp_path: Path) -> None:
    path = old(tmp_path / "a.warc.gz")
    folders = Folders([tmp_path], NEVER)
    folders.look()
    folders.dealt_with(folders.look()[0])
    assert folders.look() == []
    old(path, b"longer")
    assert folders.look() == []
    assert folders.look() == [path]


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    for name in (".hidden.warc.gz", "notes.txt", "a.warc.gz.open", "b.cdx"):
        old(tmp_path / name)
    (tmp_path / "folder.warc.gz").mkdir()
    os.mkfifo(tmp_path / "pipe.warc.gz")
    (tmp_path / "nowhere.warc.gz").symlink_to(tmp_path / "gone")
    folders = Folders([tmp_path], 0)
    assert [folders.look(), folders.look()] == [[], []]


def test_folders_below_are_looked_into_but_those_that_files_are_moved_to(tmp_path: Path) -> None:
    for name in ("job", "done"):
        (tmp_path / name).mkdir()
        old(tmp_path / name / f"{name}.warc.gz")
    folders = Folders([tmp_path], 0, without=[tmp_path / "done"])
    folders.look()
    assert folders.look() == [tmp_path / "job" / "job.warc.gz"]


@pytest.mark.parametrize("lock", [fcntl.lockf, fcntl.flock])
def test_a_file_is_not_whole_while_its_writer_holds_a_lock(tmp_path: Path, lock: object) -> None:
    path = old(tmp_path / "a.warc.gz")
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # locks of the same process do not count
        with path.open("ab") as handle:
            lock(handle, fcntl.LOCK_EX)  # type: ignore[operator]
            os.write(write, b"1")
            time.sleep(60)
        os._exit(0)
    try:
        os.read(read, 1)
        folders = Folders([tmp_path], 0)
        assert [folders.look(), folders.look()] == [[], []]
    finally:
        os.kill(child, 9)
        os.waitpid(child, 0)
        os.close(read)
        os.close(write)
    assert folders.look() == [path]
    assert not is_locked(str(path))


def test_a_folder_that_cannot_be_read_is_told(tmp_path: Path) -> None:
    met: list[OSError] = []
    Folders([tmp_path / "gone"], 0, on_error=met.append).look()
    assert [error.filename for error in met] == [str(tmp_path / "gone")]


def test_a_folder_is_watched_by_one_at_a_time(tmp_path: Path) -> None:
    with (
        held([tmp_path]),
        pytest.raises(SourceError, match="watched by another process"),
        held([tmp_path]),
    ):
        pass
    with held([tmp_path]):
        pass


def test_a_folder_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be watched"), held([tmp_path / "gone"]):
        pass
