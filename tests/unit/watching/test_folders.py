"""Which files are complete."""

import errno
import fcntl
import os
import time
from pathlib import Path
from typing import Any

import pytest

from nwx.errors import SourceConflictError, SourceError
from nwx.watching.folders import Folders, held, is_locked, move_file

NEVER = 3_600.0


def old(path: Path, content: bytes = b"x", seconds: float = 7_200) -> Path:
    """Write a file whose last change was some time ago."""
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


@pytest.mark.parametrize("ending", ["", ".open"])
def test_a_file_that_is_written_is_growing_until_it_is_read(tmp_path: Path, ending: str) -> None:
    writing = tmp_path / f"a.warc.gz{ending}"
    (tmp_path / "b.warc.gz.part").write_bytes(b"x")
    folders = Folders([tmp_path], NEVER)
    for size in (1, 2):
        writing.write_bytes(b"x" * size)
        folders.look()
        (file,) = folders.growing()
        assert (file.path, file.size, file.is_quiet) == (tmp_path / "a.warc.gz", size, False)
    assert folders.pause(2.0) < 1
    folders.look()
    (file,) = folders.growing()
    assert file.is_quiet
    folders.is_read(file.path)
    folders.look()
    assert folders.growing() == []


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
    if child == 0:  # locks of the same process do not conflict
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


@pytest.fixture
def done(tmp_path: Path) -> Path:
    """The folder to which files are moved."""
    (tmp_path / "done").mkdir()
    return tmp_path / "done"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file to move."""
    (tmp_path / "a.warc.gz").write_bytes(b"content")
    return tmp_path / "a.warc.gz"


def no_links(monkeypatch: pytest.MonkeyPatch, code: int = errno.EXDEV) -> None:
    def link(*_: Any) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "link", link)


def test_a_file_has_both_names_until_the_old_one_is_given_up(file: Path, done: Path) -> None:
    target = move_file(file, done)
    assert target == done / "a.warc.gz"
    assert target.samefile(file)
    assert move_file(file, done) == target, "again, as after a kill"


@pytest.mark.parametrize("code", [errno.EXDEV, errno.EPERM])
def test_across_disks_it_is_copied(
    file: Path, done: Path, monkeypatch: pytest.MonkeyPatch, code: int
) -> None:
    os.utime(file, (1_000_000_000, 1_000_000_000))
    no_links(monkeypatch, code)
    target = move_file(file, done)
    assert target.read_bytes() == b"content"
    assert target.stat().st_mtime == 1_000_000_000
    assert [path.name for path in done.iterdir()] == ["a.warc.gz"]
    assert move_file(file, done) == target


def test_a_copy_that_was_killed_is_made_anew(
    file: Path, done: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    no_links(monkeypatch)
    with monkeypatch.context() as broken:
        broken.setattr(os, "fsync", _killed)
        with pytest.raises(KeyboardInterrupt):
            move_file(file, done)
    assert not (done / "a.warc.gz").exists()
    move_file(file, done)
    assert [path.name for path in done.iterdir()] == ["a.warc.gz"]


def _killed(_: int) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("content", [b"another", b"longer than it"])
def test_another_file_of_the_same_name_is_not_overwritten(
    file: Path, done: Path, content: bytes
) -> None:
    (done / "a.warc.gz").write_bytes(content)
    with pytest.raises(SourceConflictError, match="another file of the same name"):
        move_file(file, done)
    assert (done / "a.warc.gz").read_bytes() == content
    assert file.read_bytes() == b"content"


def test_a_folder_that_is_gone_is_told(file: Path, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be written: No such file"):
        move_file(file, tmp_path / "gone")
