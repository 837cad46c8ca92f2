"""Files appear atomically, and steps of work are done once."""

import errno
import fcntl
import io
import os
import subprocess
import sys
import time
import zlib
from pathlib import Path

import fsspec
import pytest

from nwx.bulk import whole_files
from nwx.bulk.resources import temporary_folder
from nwx.bulk.whole_files import (
    LEFT_SECONDS,
    address_stream,
    done_once,
    file_checksum,
    hold,
    is_address,
    locked_folder,
    remove_leftovers,
    sealed_json,
    standard_input,
    unfinished_path,
    unsealed_json,
    whole_file,
    whole_folder,
    writing,
)
from nwx.errors import EngineBusyError, EngineError, EngineFullError, SourceError

HOST = whole_files._HOST


@pytest.fixture
def dead() -> int:
    """The id of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


@pytest.fixture(autouse=True)
def _looks_again() -> None:
    remove_leftovers.cache_clear()


def made(path: Path, *, folder: bool = False, old: bool = False) -> Path:
    if folder:
        path.mkdir()
        (path / "entries-0").write_bytes(b"x")
    else:
        path.write_bytes(b"x")
    if old:
        os.utime(path, (time.time() - 2 * LEFT_SECONDS,) * 2)
    return path


def test_what_a_dead_process_left_goes_when_the_next_one_starts(tmp_path: Path, dead: int) -> None:
    left = [
        made(tmp_path / f".list.{HOST}.{dead}.unfinished"),
        made(tmp_path / f"nwx-{HOST}.{dead}.abcdefgh", folder=True),
        made(tmp_path / f".list.{dead}.unfinished", old=True),
        made(tmp_path / f".list.elsewhere.{os.getpid()}.unfinished", old=True),
    ]
    with whole_file(tmp_path / "other") as stream:
        stream.write(b"content")
    assert not [path for path in left if path.exists()]
    assert (tmp_path / "other").read_bytes() == b"content"


def test_what_a_process_left_goes_though_nobody_waited_for_it(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", ""], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.read()  # until it ends
        os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
        left = made(tmp_path / f".list.{HOST}.{process.pid}.unfinished")
        remove_leftovers(tmp_path)
    assert not left.exists()


def test_what_may_be_somebody_elses_stays(tmp_path: Path, dead: int) -> None:
    stay = [
        made(tmp_path / f".list.{HOST}.{os.getpid()}.unfinished"),
        made(tmp_path / f".list.elsewhere.{dead}.unfinished"),
        made(tmp_path / f".list.{dead}.unfinished"),
        made(tmp_path / "list.unfinished", old=True),
        made(tmp_path / "nwx-abcdefgh", folder=True, old=True),
        made(tmp_path / f"nwx-{HOST}.{dead}.longer-name", folder=True, old=True),
    ]
    target = made(tmp_path / "target", folder=True)
    (tmp_path / f"nwx-{HOST}.{dead}.linked00").symlink_to(target)
    held = made(tmp_path / f".held.{HOST}.{dead}.unfinished", old=True)
    with held.open("rb") as stream:
        hold(stream.fileno())
        with temporary_folder(tmp_path) as folder:
            assert folder.parent == tmp_path
    assert all(path.exists() for path in (*stay, held, target / "entries-0"))


def test_files_and_folders_of_living_processes_are_held(tmp_path: Path) -> None:
    with (
        whole_file(tmp_path / "list"),
        temporary_folder(tmp_path) as folder,
        unfinished_path(tmp_path / "list").open("rb") as file,
    ):
        descriptor = os.open(folder, os.O_RDONLY)
        for each in (file.fileno(), descriptor):
            with pytest.raises(BlockingIOError):
                fcntl.flock(each, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.close(descriptor)
    assert [path.name for path in tmp_path.iterdir()] == ["list"]


def test_files_of_the_longest_names_can_be_written(tmp_path: Path) -> None:
    with whole_file(tmp_path / ("x" * 255)) as stream:
        stream.write(b"content")
    assert (tmp_path / ("x" * 255)).read_bytes() == b"content"


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
        pytest.raises(SourceError, match="already exists; name a new"),
        whole_folder(path),
    ):
        pass
    assert (path / "file").read_bytes() == b"first"


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


def test_a_full_disk_is_told_with_the_folder_of_the_work(tmp_path: Path) -> None:
    folder = tmp_path / "work"
    full = pytest.raises(EngineFullError, match=r"no space is left at .*work;")
    with full, locked_folder(folder, "builds"), Path("/dev/full").open("wb", 0) as stream:
        stream.write(b"1")


def test_a_place_that_is_no_folder_is_named(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    with pytest.raises(EngineError, match="cannot be written"), locked_folder(file, "builds"):
        pass


ENTRY = {"name": "Köln", "sizes": [1, 2.5, None], "inner": {"b": 1, "a": True}}


def test_a_file_is_summed_up_to_a_position(tmp_path: Path) -> None:
    content = bytes(range(256)) * 5_000
    path = tmp_path / "file"
    path.write_bytes(content)
    assert file_checksum(path) == zlib.crc32(content)
    assert file_checksum(path, 1_100_000) == zlib.crc32(content[:1_100_000])


@pytest.mark.parametrize("indent", [None, 2])
def test_an_object_is_read_back_without_its_checksum(indent: int | None) -> None:
    assert unsealed_json(sealed_json(ENTRY, indent)) == ENTRY


def test_an_object_of_an_older_version_has_no_checksum() -> None:
    assert unsealed_json('{"a": 1}') == {"a": 1}


@pytest.mark.parametrize(
    "text", [sealed_json(ENTRY).replace("2.5", "2.6"), "[1]", "{", sealed_json(ENTRY)[:-9]]
)
def test_a_changed_object_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        unsealed_json(text)


def test_addresses_are_told_from_paths() -> None:
    assert all(map(is_address, ("http://a/", "s3://bucket/x", "memory://x")))
    assert not any(map(is_address, ("/a/b", "a:/b", "c://x", "", "-")))


def test_streams_and_what_has_none() -> None:
    with fsspec.open("memory://addresses/x", "wb") as stream:
        stream.write(b"bytes")
    with address_stream("memory://addresses/x") as found:
        assert found.read() == b"bytes"
    with pytest.raises(FileNotFoundError):
        address_stream("memory://addresses/none")
    with pytest.raises(SourceError, match=r"nosuch://x cannot be opened"):
        address_stream("nosuch://x")


def test_standard_input_that_is_closed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    given = io.TextIOWrapper(io.BytesIO(b"lines"))
    monkeypatch.setattr(sys, "stdin", given)
    assert standard_input().read() == b"lines"
    given.close()
    with pytest.raises(SourceError, match="only once"):
        standard_input()
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(SourceError, match="closed; pipe"):
        standard_input()


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EACCES])
def test_only_a_full_disk_is_said_to_need_room(tmp_path: Path, number: int) -> None:
    with pytest.raises(SourceError) as failed, writing(tmp_path):
        raise OSError(number, os.strerror(number))
    assert ("make room" in str(failed.value)) == (number == errno.ENOSPC)
