"""Damage in an archive's folder is reported as such; programming errors are not."""

import errno
import json
import os
import resource
import sqlite3
import threading
from collections import namedtuple
from contextlib import closing
from pathlib import Path

import pytest

from nwx.bulk.progress import WorkProgress
from nwx.bulk.resources import exceeded_limit, full_temporary_folder
from nwx.engine.base import Migration, pending_migrations
from nwx.engine.capabilities import Upgrade
from nwx.engine.embedded import EmbeddedEngine, folder
from nwx.engine.embedded.documents import results
from nwx.engine.embedded.documents.tantivy_index import tantivy_errors
from nwx.engine.embedded.folder import (
    MIGRATIONS,
    Folder,
    TantivyError,
)
from nwx.errors import EngineError, EngineFullError, EngineVersionError
from nwx.model import Batch, IndexName, SourceFile
from nwx.query.question import Question
from tests.conformance.engines.embedded import make_older
from tests.unit.engine.embedded.making import batch, page


def test_an_error_of_our_own_is_not_taken_for_damage(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with EmbeddedEngine(tmp_path / "a") as engine:
        engine.write(batch(page(1)))
        engine.refresh()
        # A module with the name `tantivy` in its namespace.
        monkeypatch.setattr(results, "tantivy", object(), raising=False)
        monkeypatch.setattr(results, "_most_frequent", lambda *_: int("not a number"))
        with pytest.raises(ValueError, match="invalid literal"):
            engine.search(Question(facets=("domain",)))


def test_what_tantivy_says_of_damage_is_damage(tmp_path: Path) -> None:
    with EmbeddedEngine(tmp_path / "a") as engine:
        engine.write(batch(page(1)))
    for file in (tmp_path / "a" / "documents").glob("*.store"):
        file.write_bytes(b"garbage")
    with (
        EmbeddedEngine(tmp_path / "a", read_only=True) as engine,
        pytest.raises(EngineError, match=r"documents cannot be used .*restore it from a copy"),
    ):
        engine.search(Question("page"))


@pytest.mark.parametrize(
    ("number", "place", "advice"),
    [
        (errno.EMFILE, "documents/meta.json", "ulimit -n"),
        (errno.EACCES, "documents/meta.json", "permissions"),
        (errno.EROFS, "columns.arrays", "can be written to"),
        (errno.ENOENT, "documents/meta.json", "restore it from a copy"),
        (errno.ENOSPC, "/elsewhere/tmp/spill", "free space there"),
    ],
)
def test_errors_of_the_system_get_fitting_advice(
    tmp_path: Path, number: int, place: str, advice: str
) -> None:
    with (
        pytest.raises(EngineError, match=advice) as caught,
        Folder(tmp_path).our_errors(),
    ):
        raise OSError(number, os.strerror(number), str(tmp_path / place))
    assert place in str(caught.value)
    assert not isinstance(caught.value, EngineFullError)


def test_a_full_disk_is_full(tmp_path: Path) -> None:
    with pytest.raises(EngineFullError), Folder(tmp_path).our_errors():
        raise OSError(errno.ENOSPC, "No space left on device", str(tmp_path / "columns.arrays"))
    with pytest.raises(EngineFullError), Folder(tmp_path).our_errors():
        raise TantivyError("An IO error occurred: 'No space left on device (os error 28)'")


@pytest.mark.parametrize("code", [sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY])
def test_a_database_in_a_read_only_folder(
    tmp_path: Path, code: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path)
    error = sqlite3.OperationalError("unable to open database file")
    error.sqlite_errorcode = code
    with (
        pytest.raises(EngineError, match=r"queue\.db cannot be used \(it is read-only\); check"),
        Folder(tmp_path).our_errors(tmp_path / "queue.db"),
    ):
        raise error


def test_only_what_tantivy_does_is_its_error() -> None:
    with pytest.raises(TantivyError), tantivy_errors():
        raise ValueError("Schema error")
    with pytest.raises(TantivyError, match=r"^Is a directory$"), tantivy_errors():
        Path("/").read_bytes()
    with pytest.raises(KeyError), tantivy_errors():
        raise KeyError("x")


def test_who_makes_the_archive_at_the_same_moment_is_waited_for(tmp_path: Path) -> None:
    others = Folder(tmp_path / "new")
    ending = threading.Timer(0.2, os.close, [others.lock()])
    ending.start()
    with EmbeddedEngine(tmp_path / "new") as engine:
        engine.create()
    ending.join()
    assert others.exists()


def test_a_place_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with (
        EmbeddedEngine(tmp_path / "file" / "archive") as engine,
        pytest.raises(EngineError, match=r"cannot be written .*choose another"),
    ):
        engine.create()


FILE = Batch(files=(SourceFile("default", "a.warc.gz", "/a.warc.gz", 1, "x"),))


def test_limits_of_the_process_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    limits = {resource.RLIMIT_NOFILE: 1024, resource.RLIMIT_FSIZE: resource.RLIM_INFINITY}
    monkeypatch.setattr(resource, "getrlimit", lambda which: (limits[which], -1))
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
        folder.shutil, "disk_usage", lambda path: usage(free.get(str(path), 1 << 40))
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


@pytest.fixture
def older(tmp_path: Path) -> Path:
    with EmbeddedEngine(tmp_path / "a") as engine:
        engine.write(batch(page(1), page(2)))
    make_older(engine)
    return tmp_path / "a"


def format_of(archive: Path) -> int:
    found: int = json.loads((archive / "nwx.json").read_text())["format"]
    return found


def tables_of(archive: Path) -> set[str]:
    with closing(sqlite3.connect(archive / "archive.sqlite")) as db:
        return {name for (name,) in db.execute("SELECT name FROM sqlite_master")}


def test_the_format_is_the_number_of_the_last_step() -> None:
    assert [one.number for one in MIGRATIONS] == list(range(2, folder.FORMAT + 1))
    assert all(one.what for one in MIGRATIONS)


def test_only_steps_that_were_not_taken_are_pending() -> None:
    steps = tuple(Migration(number, "x", print) for number in (3, 2, 4))
    assert [one.number for one in pending_migrations(steps, 2)] == [3, 4]
    assert pending_migrations(steps, 4) == ()


def test_reading_changes_nothing_and_says_what_does(
    older: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(EngineVersionError, match="run `nwx upgrade`"):
        EmbeddedEngine(older, read_only=True)
    monkeypatch.setattr(os, "access", lambda *_: False)
    with pytest.raises(EngineVersionError, match=r"copy it to where .* run `nwx upgrade` there"):
        EmbeddedEngine(older, read_only=True)
    (older / "lock").unlink()
    (older / "lock").mkdir()
    with (
        EmbeddedEngine(older) as engine,
        pytest.raises(EngineVersionError, match=r"copy it to where .* run `nwx upgrade` there"),
    ):
        engine.upgrade()
    assert format_of(older) == 1


def test_an_upgrade_shows_its_progress_and_what_it_did(
    older: Path, caplog: pytest.LogCaptureFixture
) -> None:
    shown: list[WorkProgress] = []
    size = (older / "archive.sqlite").stat().st_size
    with EmbeddedEngine(older, progress=shown.append) as engine:
        done = engine.upgrade()
        assert list(engine.captures(page(1).capture.urlkey)) == [page(1).capture]
    assert shown == [WorkProgress("packing captures", 2, 2)]
    assert (done.formats, done.captures, done.bytes[0]) == ((1, folder.FORMAT), 2, size)
    assert f"from format 1 to {folder.FORMAT}" in caplog.text
    with EmbeddedEngine(older) as engine:
        assert engine.upgrade() == Upgrade()


def test_writing_takes_the_steps(older: Path) -> None:
    assert {"facets"} <= tables_of(older)
    with EmbeddedEngine(older) as engine:
        engine.create()
        assert [one.via for one in engine.captures(page(1).capture.urlkey)] == [""]
    assert format_of(older) == folder.FORMAT
    assert {"attached", "blocks", "lookups"} <= tables_of(older)
    assert not {"facets", "captures", "captures_by_urlkey"} & tables_of(older)


def test_a_step_is_taken_again_where_the_process_was_killed_behind_it(
    older: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(folder.Folder, "write_manifest", lambda *_: None)
    for _ in range(2):
        with EmbeddedEngine(older) as engine:
            engine.create()
        assert format_of(older) == 1
    monkeypatch.undo()
    with EmbeddedEngine(older) as engine:
        engine.create()
        assert len(list(engine.captures("org,", "org-"))) == 2
    assert format_of(older) == folder.FORMAT


def test_steps_that_fail_change_nothing(older: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(db: sqlite3.Connection) -> None:
        raise RuntimeError("stopped")

    before = tables_of(older)
    monkeypatch.setattr(folder, "MIGRATIONS", (*MIGRATIONS, Migration(9, "fails", fail)))
    with pytest.raises(RuntimeError, match="stopped"), EmbeddedEngine(older) as engine:
        engine.create()
    assert format_of(older) == 1
    assert {"facets"} <= tables_of(older) and "attached" not in before
    monkeypatch.undo()
    with EmbeddedEngine(older) as engine:
        engine.create()
        assert engine.count(IndexName.DOCUMENTS) == 2
    assert format_of(older) == folder.FORMAT
