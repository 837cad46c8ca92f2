"""Folders that jobs write into."""

from pathlib import Path

import pytest

from nwx.errors import SourceError
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


def test_failures_name_the_file(folder: JobFolder) -> None:
    with pytest.raises(SourceError, match=r"none cannot be read"):
        folder.read("none")
    with pytest.raises(SourceError, match="cannot be looked up"):
        JobFolder("nosuch://bucket/x").exists()


def test_addresses_of_hadoop_are_known() -> None:
    assert fsspec_address("s3a://bucket/x") == "s3://bucket/x"
    assert fsspec_address("hdfs://node/x") == "hdfs://node/x"
    assert fsspec_address("/a/s3a") == "/a/s3a"
