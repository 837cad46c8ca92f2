"""Builds killed at any point."""

import signal
import subprocess
import sys
from pathlib import Path

from nwx.engine.base import open_engine
from nwx.engine.facet_store import BlobFolder
from nwx.exports.captures import export_captures
from nwx.facets.build import FacetBuildOptions, build_facets
from nwx.facets.sources import ParquetSource
from nwx.model import Capture
from nwx.settings import Settings
from tests.facets import batch, by_chance, stored_build, stored_entries

BUILD = """
import os, signal, sys
from pathlib import Path
from nwx.engine.facet_store import BlobFolder
from nwx.facets import build as building
from nwx.facets.sources import ParquetSource

export, folder, left = Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3])
fsync = os.fsync

def dying(handle):
    global left
    left -= 1
    if left == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    fsync(handle)

os.fsync = dying
building._FEWEST_AT_ONCE = 40
store, options = BlobFolder(folder), building.FacetBuildOptions(3, memory_bytes=1)
building.build_facets(ParquetSource(export), store, options)
"""
"""A build that is killed when it writes file number `left`."""


def export(folder: Path, captures: list[Capture]) -> Path:
    with open_engine(Settings(str(folder / "archive"))) as engine:
        engine.write(batch(captures))
        engine.refresh()
        export_captures(engine, folder / "export")
    return folder / "export"


def entries(folder: Path) -> dict[str, dict[str, object]]:
    sizes = stored_build(folder).stored.blobs
    assert all((folder / name).stat().st_size == size for name, size in sizes.items())
    return stored_entries(folder)


def test_killed_builds_leave_the_one_before_and_are_gone_on_with(tmp_path: Path) -> None:
    captures = by_chance(1, 300)
    early = export(tmp_path / "early", [one for one in captures if one.timestamp < "201303"])
    late = export(tmp_path / "late", captures)
    folder, whole = tmp_path / "facets", tmp_path / "whole"
    build_facets(ParquetSource(early), BlobFolder(folder), FacetBuildOptions(3))
    build_facets(ParquetSource(late), BlobFolder(whole), FacetBuildOptions(3))
    before, after = entries(folder), entries(whole)
    killed, parts = 0, set()
    for files in (2, 5, 9, 13, 17, 21, 0):
        command = [sys.executable, "-c", BUILD, str(late), str(folder), str(files)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode in (0, -signal.SIGKILL), done.stderr
        killed += done.returncode != 0
        assert entries(folder) == (before if done.returncode else after)
        parts.add(len(list((folder / "work" / "parts").glob("*.json"))))
    assert killed >= 4
    assert done.returncode == 0
    # Each continued from the months that earlier ones had read.
    assert len(parts) >= 3
    assert not (folder / "work" / "parts").exists()
