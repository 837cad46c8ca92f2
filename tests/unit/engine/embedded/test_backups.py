"""Backups of folders during writes, and their restoration, killed or not."""

import errno
import fcntl
import os
import random
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import nwx
from nwx.bulk.progress import no_progress
from nwx.engine.base import open_engine
from nwx.engine.capabilities import accept
from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.embedded.folder import Folder
from nwx.engine.embedded.text_writer import TextWriter
from nwx.errors import (
    EngineBusyError,
    EngineError,
    EngineFullError,
    NwxError,
    SourceError,
    UsageError,
)
from nwx.model import IndexName
from nwx.settings import Settings
from tests.conformance.archive import dates_of
from tests.conformance.planted import SHOWN, Archive, fill
from tests.unit.engine.embedded import test_embedded_killing as killing
from tests.unit.engine.embedded.importer import BATCHES
from tests.unit.engine.embedded.making import batch, page
from tests.warc_records import write_records

_COMMAND = "import sys, nwx; print(nwx.open(sys.argv[1]).backup(sys.argv[2], keep=3))"
KILLS = 8


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An archive with entries in every index, and triples."""
    folder = tmp_path_factory.mktemp("whole")
    with open_engine(Settings(engine=str(folder / "archive"))) as engine:
        archive = Archive(engine, folder, folder / "archive" / "triples")
        fill(archive, [write_records(folder / "quarry.warc.gz", SHOWN)])
        held = next(engine.captures("example,quarry)/"))
        engine.append_dates(dates_of(held), into="further")
    return folder / "archive"


def backed_up(archive: Path, place: Path, **options: Any) -> Path:
    return Path(nwx.open(archive).backup(place, check=True, **options))


def content(archive: Path) -> dict[str, Any]:
    with nwx.open(archive, viewer="administrator") as opened:
        return {index: list(opened.dump(index)) for index in IndexName}


def files_of(folder: Path) -> dict[str, os.stat_result]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.stat() for path in files}


def test_a_restored_backup_is_what_the_archive_was(whole: Path, tmp_path: Path) -> None:
    made = backed_up(whole, tmp_path / "backups")
    restored = tmp_path / "again" / "archive"
    nwx.open(restored).restore(made)
    assert content(restored) == content(whole) == content(made)
    assert list(nwx.open(restored).check()) == []
    assert [one.name for one in nwx.open(restored).dates_indices()] == ["main", "further"]
    assert (restored / "triples" / "store" / "CURRENT").exists()
    assert "columns.arrays" in files_of(restored)


def test_a_full_disk_of_the_backups_is_named(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_space(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(shutil, "copyfileobj", no_space)
    with pytest.raises(EngineFullError, match=f"no space is left at {tmp_path / 'backups'};"):
        backed_up(whole, tmp_path / "backups")
    assert list((tmp_path / "backups").iterdir()) == []


@pytest.mark.parametrize("other_disk", [False, True])
def test_what_is_the_same_is_stored_once(
    whole: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other_disk: bool
) -> None:
    link = os.link

    def linked(one: Path, other: Path) -> None:
        if Path(one).is_relative_to(whole):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV), str(one))
        link(one, other)

    if other_disk:
        monkeypatch.setattr(os, "link", linked)
    one, other = (files_of(backed_up(whole, tmp_path / "backups")) for _ in range(2))
    new = {name for name in other if other[name].st_ino != one.get(name, other[name]).st_ino}
    assert {name for name in new if not name.startswith(("triples/store", "documents/."))} == set()
    assert other_disk == (
        other["columns.arrays"].st_ino != (whole / "columns.arrays").stat().st_ino
    )
    assert other["archive.sqlite"].st_ino != (whole / "archive.sqlite").stat().st_ino


def test_only_the_newest_are_kept(whole: Path, tmp_path: Path) -> None:
    made = [backed_up(whole, tmp_path, keep=2).name for _ in range(3)]
    assert sorted(path.name for path in tmp_path.iterdir()) == made[1:]


def test_no_backup_reads_between_the_commits_of_both_stores(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit, refused = TextWriter.commit, []

    def committed(texts: TextWriter) -> None:
        commit(texts)
        with (tmp_path / "commit.lock").open() as lock, suppress(BlockingIOError):
            refused.append(True)
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
            refused.pop()

    with EmbeddedEngine(tmp_path) as engine:
        engine.create()
        monkeypatch.setattr(TextWriter, "commit", committed)
        engine.write(batch(page(1), done_to=1))
        engine.refresh()
    assert refused == [True]


def cut_off_commit(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Replace a document by an earlier capture; end between the commits of the two stores."""
    commit = TextWriter.commit
    writer = EmbeddedEngine(archive)
    writer.write(batch(page(1, "early", timestamp="20090101000000")))
    with monkeypatch.context() as patch, pytest.raises(ZeroDivisionError):
        patch.setattr(TextWriter, "commit", lambda self: (commit(self), 1 // 0))
        writer.refresh()
    writer.close()


@pytest.fixture
def late(tmp_path: Path) -> Path:
    with EmbeddedEngine(tmp_path / "archive") as engine:
        engine.write(batch(page(1, "late")))
    return tmp_path / "archive"


@pytest.mark.parametrize("is_backed_up", [False, True])
def test_a_cut_off_commit_is_finished_by_checks_and_backups_of_its_user(
    late: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_backed_up: bool
) -> None:
    cut_off_commit(late, monkeypatch)
    with monkeypatch.context() as patch:
        patch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        assert [one for one in nwx.open(late).check() if one.kind == "unchecked"]
    made = backed_up(late, tmp_path / "backups") if is_backed_up else late
    assert list(nwx.open(made).check()) == list(nwx.open(late).check()) == []
    (document,) = content(made)[IndexName.DOCUMENTS]
    assert document["content"] == "early"


def test_a_commit_cut_off_at_the_moment_of_a_backup_is_finished_first(
    late: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lock, killed = Folder.commit_lock, list[bool]()

    def killed_in_a_commit(folder: Folder, *, shared: bool = False) -> Any:
        if shared and not killed:
            killed.append(True)
            cut_off_commit(late, monkeypatch)
        return lock(folder, shared=shared)

    monkeypatch.setattr(Folder, "commit_lock", killed_in_a_commit)
    made = backed_up(late, tmp_path / "backups")
    assert killed
    assert list(nwx.open(made).check()) == []
    assert not list(made.glob("replacing*"))


def test_a_cut_off_commit_in_a_backup_is_told_and_left(tmp_path: Path) -> None:
    archive = tmp_path / "archive"
    with EmbeddedEngine(archive) as engine:
        engine.write(batch(page(1)))
    one, other = (backed_up(archive, tmp_path / "backups") for _ in range(2))
    assert (one / "archive.sqlite").stat().st_nlink == 2
    (one / "replacing.json").write_text("[1]")
    (found,) = nwx.open(one).check()
    assert (found.kind, found.id) == ("unchecked", str(one / "replacing.json"))
    copied = Path(nwx.open(one).backup(tmp_path / "further", check=True))
    assert not (copied / "replacing.json").exists()  # a separate copy can finish the replacement
    assert list(nwx.open(other).check()) == []


def test_backups_during_an_import_hold_a_part_of_it(tmp_path: Path) -> None:
    archive, parts = tmp_path / "archive", []
    with killing.start(archive) as importer:
        assert importer.stdout is not None
        importer.stdout.readline()
        while importer.poll() is None:
            parts.append(killing.check(backed_up(archive, tmp_path / "backups", keep=2)))
            importer.stdout.readline()
    assert importer.returncode == 0
    assert parts == sorted(parts)
    made = backed_up(archive, tmp_path / "backups")
    shutil.rmtree(archive)
    nwx.open(archive).restore(made)
    assert killing.check(archive) == BATCHES


def test_killed_backups_leave_nothing_that_looks_whole(tmp_path: Path) -> None:
    archive, place, chance = tmp_path / "archive", tmp_path / "backups", random.Random(5)
    command = [sys.executable, "-c", _COMMAND, str(archive), str(place)]
    with killing.start(archive) as importer:
        assert importer.stdout is not None
        importer.stdout.readline()
        for _ in range(KILLS):
            with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
                try:
                    process.wait(0.1 + 0.3 * chance.random())
                except subprocess.TimeoutExpired:
                    os.kill(process.pid, signal.SIGKILL)
        importer.kill()
    made = Path(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())
    assert [path for path in place.iterdir() if path.name.startswith(".")] == []
    for backup in place.iterdir():
        assert list(nwx.open(backup).check()) == []
    assert content(made) == content(archive)


def test_an_archive_is_replaced_only_when_told_and_whole(whole: Path, tmp_path: Path) -> None:
    archive, place = tmp_path / "archive", tmp_path / "backups"
    with EmbeddedEngine(archive) as engine:
        engine.write(batch(page(1), done_to=1))
    made = backed_up(archive, place)
    with EmbeddedEngine(archive) as engine:
        engine.write(batch(page(2), done_to=2))
        with pytest.raises(EngineBusyError, match="another process is writing"):
            nwx.open(archive).restore(made, replace=True)
    opened = nwx.open(archive)
    with pytest.raises(UsageError, match="with replace, the backup"):
        opened.restore(made)
    (archive / "warcs").mkdir()
    with pytest.raises(UsageError, match="warcs does not belong to an archive"):
        opened.restore(made, replace=True)
    (archive / "warcs").rmdir()
    (text,) = made.glob("documents/*.store")
    damaged = shutil.copytree(made, place / "20000101-000000-000")
    (damaged / "documents" / text.name).write_bytes(b"x" * text.stat().st_size)
    with pytest.raises(EngineError, match="is inconsistent"):
        opened.restore(damaged, replace=True)
    assert len(content(archive)["documents"]) == 2
    opened.restore(made, replace=True)
    assert content(archive) == content(made)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["archive", "backups"]


def test_what_cannot_be_done_is_said(whole: Path, tmp_path: Path) -> None:
    for work, kind, words in (
        (lambda: nwx.open(tmp_path / "none").backup(tmp_path), EngineError, "no archive"),
        (lambda: nwx.open(whole).backup(whole / "b"), UsageError, "name a folder outside"),
        (lambda: nwx.open(tmp_path / "a").restore(tmp_path / "b"), UsageError, "is not a backup"),
    ):
        with pytest.raises(kind, match=words):
            work()
    made = backed_up(whole, tmp_path / "backups")
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letter").write_text("mine")
    with pytest.raises(SourceError, match="already exists"):
        nwx.open(tmp_path / "mine").restore(made, replace=True)
    (tmp_path / "file").touch()
    with pytest.raises(NwxError, match="file"):
        nwx.open(whole).backup(tmp_path / "file")
    backups = EmbeddedEngine(whole).backups(str(tmp_path / "other"))
    with pytest.raises(NwxError):
        backups.make("20000101-000000-000", _refuse, no_progress)
    assert backups.names() == []
    backups.make("20000101-000000-000", accept, no_progress)
    assert backups.names() == ["20000101-000000-000"]


def test_a_backup_without_its_database_is_not_restored(whole: Path, tmp_path: Path) -> None:
    made = backed_up(whole, tmp_path / "backups")
    database = made / "archive.sqlite"
    database.write_bytes(b"damage" + database.read_bytes()[6:])
    for restored in (tmp_path / "damaged", tmp_path / "missing"):
        with pytest.raises(EngineError, match=r"archive\.sqlite is damaged"):
            nwx.open(restored).restore(made)
        assert not restored.exists()
        database.unlink(missing_ok=True)


def _refuse(_: str) -> None:
    raise EngineError("it is wrong")
