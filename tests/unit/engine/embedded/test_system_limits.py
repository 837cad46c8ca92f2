"""What failed where a library does not say why."""

import os
import resource
from collections import namedtuple
from pathlib import Path

import pytest

from nwx.engine.embedded import EmbeddedEngine, system_limits
from nwx.engine.embedded.folder import Folder
from nwx.engine.embedded.system_limits import exceeded_limit, full_temporary_folder
from nwx.errors import EngineError, EngineFullError
from nwx.model import Batch, SourceFile

FILE = Batch(files=(SourceFile("default", "a.warc.gz", "/a.warc.gz", 1, "x"),))


def test_limits_of_the_process_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {resource.RLIMIT_NOFILE: 1024, resource.RLIMIT_FSIZE: resource.RLIM_INFINITY}
    monkeypatch.setattr(system_limits.resource, "getrlimit", lambda which: (limits[which], -1))
    assert exceeded_limit() is None
    limits[resource.RLIMIT_FSIZE] = 4096
    assert "ulimit -f" in str(exceeded_limit())
    limits[resource.RLIMIT_NOFILE] = 20
    assert "ulimit -n" in str(exceeded_limit())

    def no_more(*_: object) -> int:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(os, "open", no_more)
    assert "too many files are open" in str(exceeded_limit())


def test_a_full_folder_for_temporary_files_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = namedtuple("usage", "free")
    free = {str(tmp_path): 0}
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(
        system_limits.shutil, "disk_usage", lambda path: usage(free.get(str(path), 1 << 40))
    )
    assert full_temporary_folder() == tmp_path
    archive = Folder(tmp_path / "archive")
    assert f"{tmp_path}, the folder for temporary files" in str(archive.full_error())
    free[str(tmp_path / "archive")] = 0
    assert f"at {tmp_path / 'archive'};" in str(archive.full_error())


def test_a_writer_that_is_killed_by_a_limit_asks_for_no_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "nwx.engine.embedded.folder.exceeded_limit", lambda: "allow more (ulimit -f)"
    )
    error = Folder(tmp_path)._of_documents("An index writer was killed..")
    assert "ulimit -f" in str(error)
    assert "copy" not in str(error)


def test_nothing_is_committed_where_hardly_any_space_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(EngineError), EmbeddedEngine(tmp_path) as engine:
        engine.create()
        engine.refresh()
        engine.write(FILE)
        with monkeypatch.context() as full:
            full.setattr(Folder, "is_full", lambda _: True)
            with pytest.raises(EngineFullError):
                engine.refresh()
        engine.write(FILE)
    with EmbeddedEngine(tmp_path) as engine:
        assert engine.files() == []
        engine.write(FILE)
    with EmbeddedEngine(tmp_path, read_only=True) as engine:
        assert [file.name for file in engine.files()] == ["a.warc.gz"]
