"""Facets counted elsewhere become the current build of an archive."""

import json
from pathlib import Path

import pytest

from nwx.bulk.arrays import Array
from nwx.engine.base import open_engine
from nwx.errors import SourceError
from nwx.facets.build import FacetBuildOptions, build_archive_facets
from nwx.facets.counted_facets import (
    COUNTED_COMBINATIONS,
    COUNTED_NOTES,
    SUCCESS_FILE,
    CountedFacets,
    load_counted_facets,
)
from nwx.facets.stored_build import Build
from nwx.model import Capture
from nwx.settings import Settings
from tests.counted_facets import write_counted
from tests.facets import batch, by_chance, stored_entries


@pytest.mark.parametrize("of_cdx", [True, False])
def test_a_loaded_build_is_the_one_that_was_counted(tmp_path: Path, of_cdx: bool) -> None:
    captures = by_chance(3, 200)
    options = FacetBuildOptions(min_captures=2)
    with open_engine(Settings(str(tmp_path / "archive"))) as engine:
        engine.write(batch(captures[:150]))
        built = build_archive_facets(engine, options)
        facets = tmp_path / "archive" / "facets"
        known = stored_entries(facets)
        write_counted(tmp_path / "counted", built.build, of_cdx=of_cdx)
        report = load_counted_facets(engine, tmp_path / "counted")
        assert (report.captures, report.combinations) == (150, built.combinations)
        assert report.build.notes.stamp == engine.facet_store().stamp()
        assert stored_entries(facets) == known
        # The next build continues from it, as from any other.
        assert build_archive_facets(engine, options).months == 0
        engine.write(batch(captures[150:]))
        again = build_archive_facets(engine, options)
        assert stored_entries(facets) == _from_scratch(tmp_path / "other", captures)
        assert again.captures == 200
        if of_cdx:
            with pytest.raises(SourceError, match="150 captures, and the archive has 200"):
                load_counted_facets(engine, tmp_path / "counted")


def _from_scratch(folder: Path, captures: list[Capture]) -> dict[str, dict[str, object]]:
    with open_engine(Settings(str(folder))) as engine:
        engine.write(batch(captures))
        build_archive_facets(engine, FacetBuildOptions(min_captures=2))
    return stored_entries(folder / "facets")


@pytest.fixture(scope="module")
def build(tmp_path_factory: pytest.TempPathFactory) -> Build:
    folder = tmp_path_factory.mktemp("archive")
    with open_engine(Settings(str(folder))) as engine:
        engine.write(batch(by_chance(3, 200)))
        return build_archive_facets(engine, FacetBuildOptions(min_captures=2)).build


def test_what_is_read_is_the_build_that_was_written(build: Build, tmp_path: Path) -> None:
    write_counted(tmp_path, build)
    found = CountedFacets(tmp_path)
    assert found.months == sorted(build.notes.months)
    for name in found.months:
        columns, known = found.month(name), build.month(name)
        assert {one: columns[one].tolist() for one in columns} == {
            one: known[one].tolist() for one in known
        }
    assert found.labels.values["site"] == build.labels()("site")
    (blob,) = build.notes.id_files
    hashes, ids = found.hashes(), build.arrays(blob)
    assert {one: hashes[one].tolist() for one in hashes} == {one: ids[one].tolist() for one in ids}
    groupings, before = found.groupings(), build.groupings()
    assert {name: _rows(columns) for name, columns in groupings.items()} == {
        name: _rows(columns) for name, columns in before.items()
    }


def _rows(columns: dict[str, Array]) -> list[tuple[int, ...]]:
    names = sorted(columns)
    return sorted(zip(*(columns[name].tolist() for name in names), strict=True))


def test_what_is_not_whole_or_of_another_form_is_refused(build: Build, tmp_path: Path) -> None:
    write_counted(tmp_path, build)
    (tmp_path / COUNTED_COMBINATIONS).write_bytes(b"PAR1")
    with pytest.raises(SourceError, match=r"combinations\.parquet cannot be read"):
        CountedFacets(tmp_path).groupings()
    notes = json.loads((tmp_path / COUNTED_NOTES).read_text())
    (tmp_path / COUNTED_NOTES).write_text(json.dumps({**notes, "format": 7}))
    with pytest.raises(SourceError, match="has format 7, this nwx reads 1"):
        CountedFacets(tmp_path)
    (tmp_path / COUNTED_NOTES).write_text(json.dumps({"format": 1}))
    with pytest.raises(SourceError, match=r"facets\.json cannot be read"):
        CountedFacets(tmp_path)
    (tmp_path / COUNTED_NOTES).write_text("{")
    with pytest.raises(SourceError, match=r"facets\.json cannot be read"):
        CountedFacets(tmp_path)
    (tmp_path / SUCCESS_FILE).unlink()
    with pytest.raises(SourceError, match="not a complete output"):
        CountedFacets(tmp_path)
