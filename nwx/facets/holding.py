"""What is at hand to answer facet questions from, of the captures as they are now."""

import tempfile
import threading
from dataclasses import dataclass, replace
from pathlib import Path

from nwx.engine.base import Engine
from nwx.engine.cube import Build, write_manifest
from nwx.errors import EngineError
from nwx.facets.opened import Opened
from nwx.facets.sites import Sites
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
        found = self.build.manifest["sites"] if self.build else {}
        return Sites(found) if found else None


class Holding:
    """The columns of an archive, opened once for all questions until captures change."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._cube = engine.cube()
        self._guard = threading.Lock()
        self._held = Held(("", ""), None)

    def look(self) -> Held:
        """Return what is at hand of the captures as they are now."""
        state = self._cube.stamp(), self._cube.version()
        with self._guard:
            if self._held.state != state:
                self._held = self._found(state)
            return self._held

    def _found(self, state: tuple[str, str]) -> Held:
        build = self._cube.newest()
        if build is None or build.stamp != state[0]:
            return Held(state, build)
        build = self._cube.fetch()
        if build is None or build.stamp != state[0]:
            return Held(state, build)
        return Held(state, build, Opened.of_build(build), live=False)

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
        from nwx.facets.sources import CubeSource

        build = self._cube.fetch()
        known = int(build.manifest["captures"]) if build else 0
        new = self._engine.count(IndexName.CAPTURES) - known
        if new > MOST_READ:
            raise EngineError(
                f"{new:,} captures were imported since facets were built; run `nwx build-facets`"
            )
        with tempfile.TemporaryDirectory(prefix="nwx-facets-") as folder:
            if build:
                _link(build, Path(folder))
            options = FacetBuildOptions(cube=False)
            report = build_facets(CubeSource(self._cube), Path(folder), options)
            return Opened.of_build(report.build, whole=True)


def _link(build: Build, folder: Path) -> None:
    """Put a build into another folder, by links where that goes."""
    for file in build.files:
        (folder / file).symlink_to((build.folder / file).resolve())
    write_manifest(folder, build.manifest)
