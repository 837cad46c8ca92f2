"""Files go elsewhere whole, and never over others."""

import errno
import os
from pathlib import Path
from typing import Any

import pytest

from nwx.errors import SourceConflictError, SourceError
from nwx.watching.file_moves import move_file


@pytest.fixture
def done(tmp_path: Path) -> Path:
    """The folder that files go to."""
    (tmp_path / "done").mkdir()
    return tmp_path / "done"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A file to be moved."""
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
