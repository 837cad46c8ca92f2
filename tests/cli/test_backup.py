"""nwx backup and restore from the command line."""

from pathlib import Path

from tests.cli.conftest import Nwx, run_nwx


def test_an_archive_is_backed_up_and_restored(nwx: Nwx, warc: Path, tmp_path: Path) -> None:
    place, again = tmp_path / "backups", tmp_path / "again"
    assert "no archive" in nwx("backup", place, code=1).err
    nwx("import", "--quiet", warc)
    first = nwx("backup", "--keep", 2, f"{place}/").out.strip()
    assert Path(first).parent == place
    assert "the place of the backup is empty" in nwx("backup", "", code=2).err
    second = nwx("backup", "--check", "--json", "--keep", 1, place).json["backup"]
    assert [str(path) for path in place.iterdir()] == [second]
    assert first in nwx("restore", first, again, code=2).err
    assert f"the newest one there is {Path(second).name}" in nwx("restore", first, code=2).err
    assert nwx("restore", second, again).out == f"restored to {again}\n"
    for index in ("documents", "dates", "captures", "files"):
        assert run_nwx(again, "dump", index).out == nwx("dump", index).out
    assert "with replace" in nwx("restore", second, code=2).err
    assert nwx("restore", second, "--replace", "--quiet").out == ""
    assert nwx("check").out == "the indices agree\n"
