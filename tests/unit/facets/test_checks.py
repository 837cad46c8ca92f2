"""A build that does not match the captures is detected."""

from pathlib import Path

import numpy as np

from nwx.bulk.arrays import read_arrays, write_arrays
from nwx.engine.base import open_engine
from nwx.facets.build import FacetBuildOptions, build_archive_facets
from nwx.facets.checks import check_facets
from nwx.maintenance.agreement import check
from nwx.settings import Settings
from tests.facets import batch, by_chance, stored_build


def make(folder: Path, least: int) -> Path:
    with open_engine(Settings(str(folder))) as engine:
        engine.write(batch(by_chance(1, 200)))
        engine.refresh()
        build_archive_facets(engine, FacetBuildOptions(min_captures=least))
    return folder / "facets"


def problems(folder: Path) -> dict[str, str]:
    with open_engine(Settings(str(folder)), read_only=True) as engine:
        return dict(check_facets(engine))


def damage(facets: Path, file: str, column: str) -> None:
    arrays = {name: array.copy() for name, array in read_arrays(facets / file).items()}
    highest = arrays[column].max()
    arrays[column][0] = highest - 1 if arrays[column][0] == highest else highest
    (facets / file).unlink()
    write_arrays(facets / file, arrays)


def test_what_was_built_agrees(tmp_path: Path) -> None:
    for least in (1, 20):
        make(tmp_path / str(least), least)
        assert problems(tmp_path / str(least)) == {}


def test_wrong_codes_are_found(tmp_path: Path) -> None:
    facets = make(tmp_path, 1)
    damage(facets, stored_build(facets).notes.months["2013-01"], "depth")
    found = problems(tmp_path)
    assert any(name.startswith("depth=") for name in found)


def test_codes_without_a_value_are_found(tmp_path: Path) -> None:
    facets = make(tmp_path, 1)
    file = stored_build(facets).notes.months["2013-01"]
    arrays = {name: array.copy() for name, array in read_arrays(facets / file).items()}
    arrays["status"][0] = np.iinfo(arrays["status"].dtype).max
    (facets / file).unlink()
    write_arrays(facets / file, arrays)
    assert set(problems(tmp_path)) == {"status in 2013-01"}


def test_wrong_numbers_are_found(tmp_path: Path) -> None:
    facets = make(tmp_path, 1)
    damage(facets, stored_build(facets).notes.cube, "month/unique_urls")
    assert any("is stored" in message for message in problems(tmp_path).values())
    with open_engine(Settings(str(tmp_path)), read_only=True) as engine:
        assert "facets" in {finding.index for finding in check(engine)}


def test_a_build_of_before_is_not_looked_at(tmp_path: Path) -> None:
    make(tmp_path, 1)
    with open_engine(Settings(str(tmp_path))) as engine:
        engine.write(batch(by_chance(2, 300)))
    assert problems(tmp_path) == {}
