"""Bytes at any offset, from any location."""

import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from nwx.errors import SourceError
from nwx.zipnum.remote_bytes import (
    FsspecFile,
    LocalFile,
    Paged,
    StoredBytes,
    StoredZipEntry,
    is_remote,
)

CONTENT = bytes(range(256)) * 400


@pytest.fixture(params=["file", "stored", "deflated", "paged", "fsspec"])
def stored(tmp_path: Path, request: pytest.FixtureRequest) -> StoredBytes:
    path = tmp_path / "file"
    path.write_bytes(CONTENT)
    if request.param == "fsspec":
        return FsspecFile(f"file://{path}")
    if request.param in ("file", "paged"):
        return LocalFile(path) if request.param == "file" else Paged(LocalFile(path))
    how = zipfile.ZIP_STORED if request.param == "stored" else zipfile.ZIP_DEFLATED
    with zipfile.ZipFile(tmp_path / "a.zip", "w", how) as archive:
        archive.writestr("entry", CONTENT)
    return StoredZipEntry(tmp_path / "a.zip", "entry")


def test_bytes_are_read_in_any_order_and_fewer_at_the_end(stored: StoredBytes) -> None:
    with closing(stored):
        assert stored.size == len(CONTENT)
        for offset in (70_000, 5, len(CONTENT) - 3, len(CONTENT), 0):
            assert stored.read(offset, 1_000) == CONTENT[offset : offset + 1_000]


def test_an_address_that_cannot_be_opened_is_told() -> None:
    for address, reason in (("file:///none/x", "No such file"), ("nosuch://x", "not known")):
        with pytest.raises(SourceError, match=f"^{address} cannot be opened: .*{reason}"):
            FsspecFile(address)


def test_a_file_that_was_replaced_is_told(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with closing(LocalFile(path)) as found:
        assert not found.is_replaced()
        (tmp_path / "new").write_bytes(b"new")
        (tmp_path / "new").replace(path)
        assert found.is_replaced()
        assert found.read(0, 10) == b"old"


def test_what_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be opened"):
        LocalFile(tmp_path / "none")
    with zipfile.ZipFile(tmp_path / "a.zip", "w"):
        pass
    with pytest.raises(SourceError, match="cannot be opened"):
        StoredZipEntry(tmp_path / "a.zip", "none")


def test_an_address_is_told_from_a_path() -> None:
    assert [is_remote(place) for place in ("https://a/b", "s3://a/b", "/a/b", "a:b")] == [
        True,
        True,
        False,
        False,
    ]
