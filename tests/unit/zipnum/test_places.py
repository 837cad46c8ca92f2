"""Where the files of a cluster are, and which may be opened."""

import zipfile
from pathlib import Path

import pytest

from nwx.errors import SourceError
from nwx.zipnum.places import ClusterPlaces, WaczPlaces


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "cluster"
    made.mkdir()
    (made / "cluster.idx").touch()
    (made / "a.gz").write_bytes(b"beside")
    (tmp_path / "secret.gz").write_bytes(b"secret")
    return made


def places(folder: Path, locations: str, *allowed: str) -> ClusterPlaces:
    (folder / "cluster.loc").write_text(locations)
    return ClusterPlaces(str(folder / "cluster.idx"), allowed)


def content(found: ClusterPlaces | WaczPlaces, part: str) -> bytes:
    stored = found.open(part)
    try:
        return stored.read(0, 100)
    finally:
        stored.close()


def test_a_part_is_where_the_loc_file_says_or_beside_the_index(folder: Path) -> None:
    assert content(places(folder, "one\ta.gz\n"), "one") == b"beside"
    (folder / "cluster.loc").unlink()
    assert content(ClusterPlaces(str(folder / "cluster.idx")), "a") == b"beside"


def test_the_first_place_that_can_be_opened_counts(folder: Path) -> None:
    assert content(places(folder, "one\tgone.gz\ta.gz\n"), "one") == b"beside"


@pytest.mark.parametrize("path", ["../secret.gz", "/etc/passwd", "http://127.0.0.1:1/x", "x\0y"])
def test_nothing_outside_the_folder_is_opened(folder: Path, path: str) -> None:
    with pytest.raises(SourceError):
        places(folder, f"one\t{path}\n").open("one")


def test_a_link_out_of_the_folder_is_not_followed(folder: Path) -> None:
    (folder / "link.gz").symlink_to(folder.parent / "secret.gz")
    with pytest.raises(SourceError, match="outside the cluster"):
        places(folder, "one\tlink.gz\n").open("one")
    allowed = places(folder, "one\tlink.gz\n", str(folder.parent))
    assert content(allowed, "one") == b"secret"


def test_the_index_of_a_wacz(tmp_path: Path) -> None:
    path = tmp_path / "a.wacz"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("indexes/index.idx", b"!meta 0 {}")
        archive.writestr("indexes/index.cdx.gz", b"blocks")
    found = WaczPlaces(path)
    index = found.open_index()
    assert index.read(0, 5) == b"!meta"
    index.close()
    assert content(found, "index.cdx.gz") == b"blocks"
    with pytest.raises(SourceError, match="no name of a file"):
        found.open("../datapackage.json")


def test_a_wacz_without_an_index_is_an_error(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "a.wacz", "w"):
        pass
    with pytest.raises(SourceError, match="one is needed"):
        WaczPlaces(tmp_path / "a.wacz").open_index()
