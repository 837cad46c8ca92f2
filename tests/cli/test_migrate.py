"""nwx migrate pywb, on collections in the layout of wb-manager."""

import json
from pathlib import Path

import pytest

from tests.cli.conftest import run_nwx

SAMPLE = Path("sample/archive").resolve()
ACL = """\
example,lantern)/museum - {"access": "exclude", "url": "http://www.lantern.example/museum"}
nonsense
"""
CONFIG = f"""\
collections:
  closed:
    index_paths: nowhere.cdxj
    archive_paths: [{SAMPLE / "LANTERN-2010-00000.warc.gz"}, "http://warcs.example/"]
    default_access: block
  all: $all
  far:
    index: memento+http://web.example/
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    archive = tmp_path / "pywb" / "collections" / "lamps" / "archive"
    archive.mkdir(parents=True)
    (archive / "a.arc.gz").write_bytes((SAMPLE / "LANTERN-2008-00000.arc.gz").read_bytes())
    (archive.parent / "acl").mkdir()
    (archive.parent / "acl" / "access-rules.aclj").write_text(ACL)
    (tmp_path / "pywb" / "config.yaml").write_text(CONFIG)
    return tmp_path / "pywb"


def test_collections_are_taken_over_with_their_rules(tmp_path: Path, folder: Path) -> None:
    archive = tmp_path / "archive"
    told = run_nwx(archive, "migrate", "pywb", folder, code=1)
    assert "closed: 1 file, 61 captures new, 0 rules, default: block" in told.out
    assert "lamps: 1 file, 56 captures new, 1 rule" in told.out
    for line in ("line 2:", "http://warcs.example/: not a folder", "far: index memento+http"):
        assert line in told.err
    rules = json.loads(run_nwx(archive, "--unrestricted", "access", "list", "--json").out)
    assert {(one["action"], one["collection"]) for one in rules} == {
        ("exclude", "lamps"),
        ("block", "closed"),
    }
    shown = run_nwx(archive, "search", "herring", "--json", code=None).out
    assert "/museum" not in shown
    again = run_nwx(archive, "migrate", "pywb", folder, "--json", code=1)
    assert [one.get("captures") for one in json.loads(again.out)] == [0, None, 0]


def test_a_dry_run_changes_nothing(tmp_path: Path, folder: Path) -> None:
    told = run_nwx(tmp_path / "archive", "migrate", "pywb", folder, "--dry-run", "--json", code=1)
    names = [one["collection"] for one in json.loads(told.out)]
    assert names == ["closed", "far", "lamps"]
    assert not (tmp_path / "archive").exists()


@pytest.mark.parametrize(("config", "words"), [("a: [", "cannot be read"), ("- a", "no settings")])
def test_settings_that_cannot_be_read_are_an_error(
    tmp_path: Path, folder: Path, config: str, words: str
) -> None:
    (folder / "config.yaml").write_text(config)
    assert words in run_nwx(tmp_path / "archive", "migrate", "pywb", folder, code=2).err


def test_a_folder_without_collections_is_an_error(tmp_path: Path) -> None:
    told = run_nwx(tmp_path / "archive", "migrate", "pywb", tmp_path, code=None)
    assert told.code in (1, 2)
    assert "no collections of pywb" in told.err
