"""Folders that jobs write into."""

from pathlib import Path

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from nwx.errors import JobError, SourceError
from nwx.jobs.folders import JobFolder, fsspec_address


@pytest.fixture(params=["here", "memory"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> JobFolder:
    """A folder here, or on a file system of fsspec that has no rename of its own."""
    return JobFolder(str(tmp_path) if request.param == "here" else f"memory:/{tmp_path}")


def test_files_are_written_listed_renamed_and_deleted(folder: JobFolder) -> None:
    inner = folder.inner("out")
    assert inner.is_empty()
    inner.write("a/b.cdx", b"b")
    inner.write("c", b"c")
    inner.write("c", b"new")
    assert inner.names() == ["a/b.cdx", "c"]
    assert inner.names("a") == ["a/b.cdx"]
    assert inner.names("none") == []
    assert inner.read("c") == b"new"
    inner.rename("c", "a/b.cdx")
    assert (inner.names(), inner.read("a/b.cdx")) == (["a/b.cdx"], b"new")
    inner.delete("none")
    inner.delete("a")
    assert not inner.exists("a/b.cdx")


def test_a_file_that_fails_does_not_appear_and_one_there_stays(folder: JobFolder) -> None:
    folder.write("kept", b"old")
    for name in ("kept", "new"):
        with pytest.raises(ZeroDivisionError), folder.new_file(name) as stream:
            stream.write(b"half")
            raise ZeroDivisionError
    assert (folder.names(), folder.read("kept")) == (["kept"], b"old")


def test_a_file_of_that_name_is_replaced_also_where_a_rename_refuses(
    folder: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refusing(self: MemoryFileSystem, path: str, target: str) -> None:
        if self.exists(target):
            raise FileExistsError(target)
        self.copy(path, target)
        self.rm(path)

    monkeypatch.setattr(MemoryFileSystem, "mv", refusing)
    folder.write("new", b"new")
    folder.write("old", b"old")
    folder.rename("new", "old")
    assert (folder.names(), folder.read("old")) == (["old"], b"new")


def test_what_cannot_be_written_fails_the_job_and_what_cannot_be_read_does_not(
    folder: JobFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SourceError, match="503"), folder.new_file("a"):
        raise SourceError("503")

    def full(*given: object, **named: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(MemoryFileSystem, "_open", full)
    monkeypatch.setattr(Path, "replace", full)
    with pytest.raises(JobError, match="a cannot be written: No space left"):
        folder.write("a", b"a")


def test_failures_name_the_file(folder: JobFolder) -> None:
    with pytest.raises(SourceError, match=r"none cannot be read"):
        folder.read("none")
    with pytest.raises(SourceError, match="cannot be looked up"):
        JobFolder("nosuch://bucket/x").exists()


def test_addresses_of_hadoop_are_known() -> None:
    assert fsspec_address("s3a://bucket/x") == "s3://bucket/x"
    assert fsspec_address("hdfs://node/x") == "hdfs://node/x"
    assert fsspec_address("/a/s3a") == "/a/s3a"
