"""What was built of an archive, built anew without what was purged."""

import shutil
from collections.abc import Iterator

from nwx.bulk.progress import ShowProgress
from nwx.bulk.whole_files import locked_folder
from nwx.engine.anchors.visible_anchors import forget_visible_anchors
from nwx.engine.base import Engine
from nwx.engine.facet_store import BlobStore
from nwx.errors import EngineVersionError
from nwx.facets.builds.build import FacetBuildOptions, build_archive_facets
from nwx.facets.sites import Sites
from nwx.facets.stored_build import current_build
from nwx.links.build import InlinkBuildOptions, OpenEngine, invert_links

_WORK, _LOCK = "work", "lock"


def rebuild(engine: Engine, open_engine: OpenEngine, progress: ShowProgress) -> Iterator[str]:
    """Build facets and inlinks anew where there are any; yield the names of what was built.

    What an interrupted build left behind is removed. Raises EngineBusyError
    where another process builds on this machine.
    """
    facets, inlinks = engine.facet_store(), engine.inlink_index()
    _remove_unfinished(facets, "builds facets")
    if facets.version():
        build_archive_facets(engine, _facet_options(facets), progress)
        yield "facets"
    _remove_unfinished(inlinks, "inverts links")
    if inlinks.version():
        invert_links(engine, open_engine, InlinkBuildOptions(anew=True), progress)
        forget_visible_anchors(inlinks)
        yield "inlinks"


def _facet_options(store: BlobStore) -> FacetBuildOptions:
    """Return how the current build was made."""
    try:
        before = current_build(store)
    except EngineVersionError:
        before = None
    if before is None:
        return FacetBuildOptions(anew=True)
    known = before.notes
    sites = Sites(known.sites) if known.sites else None
    return FacetBuildOptions(known.min_captures, sites, anew=True, combinations=bool(known.cube))


def _remove_unfinished(store: BlobStore, work: str) -> None:
    folder = store.folder / _WORK
    if not folder.exists():
        return
    with locked_folder(folder, work):
        for path in folder.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif path.name != _LOCK:
                path.unlink()
