"""Counted facets become the current build of an archive."""

from pathlib import Path

import pytest

from nwx.engine.open import open_engine
from nwx.errors import SourceError
from nwx.facets.builds.build import FacetBuildOptions, build_archive_facets
from nwx.facets.builds.counted_build import load_counted_facets
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
        # The next build goes on from it, as from any other.
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
