"""Builds that are stopped, and builds at the same time."""

from pathlib import Path

import pytest

from nwx.bulk.progress import WorkProgress
from nwx.engine.base import open_engine
from nwx.engine.facet_store import BlobFolder
from nwx.errors import EngineBusyError, EngineError
from nwx.exports.captures import export_captures
from nwx.facets.builds.build import FacetBuildOptions, build_archive_facets, build_facets
from nwx.facets.builds.sources import ParquetSource
from nwx.facets.stored_build import current_build
from nwx.settings import Settings
from tests.facets import batch, by_chance, stored_entries


class StoppedError(Exception):
    """What ends a build on its way."""


@pytest.fixture
def export(tmp_path: Path) -> Path:
    with open_engine(Settings(str(tmp_path / "archive"))) as engine:
        engine.write(batch(by_chance(1, 400)))
        engine.refresh()
        build_archive_facets(engine, FacetBuildOptions(min_captures=3))
        export_captures(engine, tmp_path / "export")
    return tmp_path / "export"


@pytest.mark.parametrize("stage", ["reading", "combining"])
def test_a_stopped_build_goes_on(
    tmp_path: Path, export: Path, stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nwx.facets.builds.build._FEWEST_AT_ONCE", 50)
    options = FacetBuildOptions(min_captures=3, memory_bytes=1)
    seen = 0

    def stop(progress: WorkProgress) -> None:
        nonlocal seen
        seen += progress.step == stage
        if seen == 4:
            raise StoppedError

    folder = tmp_path / "facets"
    with pytest.raises(StoppedError):
        build_facets(ParquetSource(export), BlobFolder(folder), options, stop)
    assert BlobFolder(folder).current() is None
    read: list[int] = []

    def note(progress: WorkProgress) -> None:
        if progress.step == "reading":
            read.append(progress.done)

    build_facets(ParquetSource(export), BlobFolder(folder), options, note)
    assert stored_entries(folder) == stored_entries(tmp_path / "archive" / "facets")
    # What had been read was not read again.
    assert not read or read[0] > 80
    assert {path.suffix for path in folder.iterdir()} <= {".arrays", ".json", ""}
    assert not (folder / "work" / "parts").exists()


def test_two_builds_at_once(tmp_path: Path, export: Path) -> None:
    folder = tmp_path / "facets"

    def again(_: WorkProgress) -> None:
        build_facets(ParquetSource(export), BlobFolder(folder), FacetBuildOptions())

    with pytest.raises(EngineBusyError):
        build_facets(ParquetSource(export), BlobFolder(folder), FacetBuildOptions(), again)


def test_an_export_builds_what_its_archive_builds(tmp_path: Path, export: Path) -> None:
    with open_engine(Settings(str(tmp_path / "archive"))) as engine:
        before = stored_entries(tmp_path / "archive" / "facets")
        report = build_archive_facets(
            engine, FacetBuildOptions(min_captures=3, anew=True), export=export
        )
        assert report.captures == 400
        assert report.build.notes.stamp == engine.facet_store().stamp()
    assert stored_entries(tmp_path / "archive" / "facets") == before


def test_a_damaged_build_says_what_to_do(tmp_path: Path, export: Path) -> None:
    facets = tmp_path / "archive" / "facets"
    (facets / "current.json").write_text("{")
    with pytest.raises(EngineError, match="build-facets --anew"):
        current_build(BlobFolder(facets))
