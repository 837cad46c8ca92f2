"""What is at hand to answer facet questions from, of the captures as they are now."""

import threading
from dataclasses import dataclass, replace

from nwx.bulk.resources import temporary_folder
from nwx.engine.base import Engine
from nwx.engine.blob_folder import BlobFolder
from nwx.errors import EngineError
from nwx.facets.opened import Opened
from nwx.facets.sites import Sites
from nwx.facets.stored_build import Build, current_build, fetched_build, with_fetched
from nwx.model import IndexName

MOST_READ = 3_000_000
"""So many captures are read for questions at most; more want `nwx build-facets`."""


@dataclass(frozen=True, slots=True)
class Held:
    """Columns of the captures of a moment, `live` where they are not those of a build.

    None where captures would have to be read for them. `build` is the last
    build, whose files need not be at hand.
    """

    state: tuple[str, str]
    build: Build | None
    opened: Opened | None = None
    live: bool = True

    @property
    def sites(self) -> Sites | None:
        """The list of sites of the last build, None where it had none."""
        found = self.build.notes.sites if self.build else {}
        return Sites(found) if found else None


class Holding:
    """The columns of an archive, opened once for all questions until captures change."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._store = engine.facet_store()
        self._guard = threading.Lock()
        self._held = Held(("", ""), None)

    def look(self) -> Held:
        """Return what is at hand of the captures as they are now."""
        state = self._store.stamp(), self._store.version()
        with self._guard:
            if self._held.state != state:
                self._held = self._found(state)
            return self._held

    def _found(self, state: tuple[str, str]) -> Held:
        build = current_build(self._store)
        if build is None or build.notes.stamp != state[0]:
            return Held(state, build)
        opened = with_fetched(self._store, lambda found: (found, Opened.of_build(found)))
        if opened is None or opened[0].notes.stamp != state[0]:
            return Held(state, build)
        return Held(state, *opened, live=False)

    def read(self, held: Held) -> Opened:
        """Return columns of all captures, made anew of what changed since the last build.

        They are kept for other questions. Raises EngineError where that is too much.
        """
        with self._guard:
            if self._held.state == held.state and self._held.opened is not None:
                return self._held.opened
            opened = self._made()
            self._held = replace(held, opened=opened)
            return opened

    def _made(self) -> Opened:
        from nwx.facets.building import FacetBuildOptions, build_facets
        from nwx.facets.sources import ArchiveSource

        build = fetched_build(self._store)
        known = build.notes.captures if build else 0
        new = self._engine.count(IndexName.CAPTURES) - known
        if new > MOST_READ:
            raise EngineError(
                f"{new:,} captures were imported since facets were built; run `nwx build-facets`"
            )
        with temporary_folder() as folder:
            store = BlobFolder(folder)
            if build:
                _link(build, store)
            options = FacetBuildOptions(cube=False)
            report = build_facets(ArchiveSource(self._store), store, options)
            return Opened.of_build(report.build)


def _link(build: Build, store: BlobFolder) -> None:
    """Put a build into another folder, by links."""
    for name in build.stored.blobs:
        (store.folder / name).symlink_to(build.path(name).resolve())
    store.swap(build.stored, "")
