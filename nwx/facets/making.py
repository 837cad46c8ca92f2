"""Building the facets of an archive, from its captures or from an export of them."""

from pathlib import Path

from nwx.bulk.progress import ShowProgress, no_progress
from nwx.engine.base import Engine
from nwx.facets.building import FacetBuildOptions, FacetBuildReport, FacetSource, build_facets
from nwx.facets.parquet import ParquetSource
from nwx.facets.sources import ArchiveSource
from nwx.model import IndexName


def make_facets(
    engine: Engine,
    options: FacetBuildOptions,
    progress: ShowProgress = no_progress,
    export: Path | None = None,
) -> FacetBuildReport:
    """Build the facets of an archive, from its captures or from an export of them."""
    store = engine.facet_store()
    source: FacetSource = ParquetSource(export) if export else ArchiveSource(store)
    expected = engine.count(IndexName.CAPTURES)
    return build_facets(source, store, options, progress, expected)
