"""nwx upgrade from the command line."""

from pathlib import Path

from nwx.engine.embedded import EmbeddedEngine
from nwx.engine.embedded.folder import FORMAT
from tests.cli.conftest import Nwx, run_nwx
from tests.conformance.engines.embedded import make_older


def test_an_older_archive_is_brought_forward(nwx: Nwx, warc: Path, tmp_path: Path) -> None:
    assert "no archive" in nwx("upgrade", code=1).err
    nwx("import", "--quiet", warc)
    held = nwx("dump", "captures").out
    with EmbeddedEngine(tmp_path / "archive") as engine:
        pass
    make_older(engine)
    for command in (("search", "words"), ("stats",), ("files",), ("check",), ("serve",)):
        assert "run `nwx upgrade`" in nwx(*command, code=1).err
    done = nwx("upgrade")
    assert done.out.startswith(f"archive: format 1 -> {FORMAT}, {len(held.splitlines())} capture")
    assert f"from format 1 to {FORMAT}" in done.err
    assert nwx("dump", "captures").out == held
    assert nwx("upgrade").out == "the archive is up to date\n"
    nothing = {"formats": [], "captures": 0, "bytes": [], "indices": []}
    assert nwx("upgrade", "--json").json == nothing
    with EmbeddedEngine(Path(nwx("backup", tmp_path).out.strip())) as backup:
        pass
    make_older(backup)
    assert "run `nwx upgrade`" in run_nwx(backup.address, "stats", code=1).err
    nwx("restore", backup.address, tmp_path / "again")
    assert run_nwx(tmp_path / "again", "dump", "captures").out == held
    make_older(engine)
    assert f"from format 1 to {FORMAT}" in nwx("import", "--quiet", warc).err
