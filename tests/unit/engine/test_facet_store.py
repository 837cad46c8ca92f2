"""A folder of blobs; behaviour common to all stores is tested in the conformance suite."""

from pathlib import Path

import pytest

from nwx.engine.facet_store import CURRENT_BUILD, BlobFolder, StoredBuild
from nwx.errors import BlobError, EngineVersionError


@pytest.mark.parametrize("text", ["", "{", "[]", '{"format": 1, "files": {}}', '{"blobs": {}}'])
def test_a_build_that_cannot_be_read_is_an_error(tmp_path: Path, text: str) -> None:
    (tmp_path / CURRENT_BUILD).write_text(text)
    with pytest.raises(EngineVersionError, match="another version"):
        BlobFolder(tmp_path).current()


def test_bytes_that_are_no_text_are_an_error(tmp_path: Path) -> None:
    (tmp_path / CURRENT_BUILD).write_bytes(b"\xff")
    with pytest.raises(BlobError, match=CURRENT_BUILD):
        BlobFolder(tmp_path).current()


def test_what_a_stopped_swap_left_is_a_blob_to_delete(tmp_path: Path) -> None:
    store = BlobFolder(tmp_path)
    store.swap(StoredBuild({}), "")
    (tmp_path / f"{CURRENT_BUILD}.new").write_text("{")
    (tmp_path / "work").mkdir()
    assert store.blobs() == {f"{CURRENT_BUILD}.new"}
    store.delete(store.blobs())
    assert store.current() == StoredBuild({})


def test_a_folder_that_is_not_there_holds_nothing(tmp_path: Path) -> None:
    store = BlobFolder(tmp_path / "missing")
    assert (store.version(), store.current(), store.blobs()) == ("", None, set())


def test_a_blob_of_another_size_is_refused(tmp_path: Path) -> None:
    (tmp_path / "201301").write_bytes(b"short")
    store = BlobFolder(tmp_path)
    store.get({"201301": 5})
    with pytest.raises(BlobError, match="5 bytes instead of 6"):
        store.get({"201301": 6})
