"""nwx closure, and how files, check and wacz report required files."""

from pathlib import Path

from tests.cli.conftest import Nwx
from tests.unit.maintenance.test_holdings import AGAIN, FIRST, wacz


def test_required_files_are_named_until_they_are_imported(nwx: Nwx, tmp_path: Path) -> None:
    again = wacz(tmp_path / "again.wacz", [{"filename": "first.wacz"}], AGAIN)
    nwx("import", again)
    assert "again.wacz requires first.wacz, which is not imported: 1 revisit" in nwx("files").out
    assert "which was not imported: 1 of its revisits" in nwx("check").out
    assert "first.wacz  missing, 1 revisit" in nwx("closure", "again.wacz", code=1).out
    assert "requires first.wacz" in nwx("wacz", tmp_path / "out.wacz").out
    nwx("import", wacz(tmp_path / "first.wacz", [], FIRST))
    (one,) = nwx("closure", again, "--json").json
    assert (one["file"], one["held"]) == ("first.wacz", True)
    assert "requires" not in nwx("files").out
    packed = nwx("wacz", tmp_path / "out.wacz", "--from", "2025", "--without-originals").out
    assert "requires first.wacz" in packed
    assert "no file x was imported" in nwx("closure", "x", code=2).err
