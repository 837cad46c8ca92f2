"""Write operations of the Python API: import, build, export."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Self, TypeVar

from nwx.bulk.progress import ShowProgress, no_progress
from nwx.engine.access.rules import EVERYBODY, Role, Viewer
from nwx.engine.base import open_engine
from nwx.settings import Settings
from nwx.values.arguments import check_built
from nwx.values.timestamps import DateOption, date_bounds

if TYPE_CHECKING:  # a program loads the areas that it uses
    import polars as pl

    from nwx.access.restricted_engine import RestrictedEngines
    from nwx.cdx.inputs import CdxSource
    from nwx.engine.base import Engine
    from nwx.exports import PackReport
    from nwx.exports.archive_inputs import ExtractReport
    from nwx.exports.captures import ExportReport
    from nwx.exports.cc_index_files import CcIndexReport
    from nwx.exports.hosts import HostExportReport
    from nwx.exports.links import LinkExportReport
    from nwx.facets.build import FacetBuildReport
    from nwx.importing import ImportReport
    from nwx.links.build import InlinkBuildReport
    from nwx.pictures.build import PictureBuildReport
    from nwx.searching.vectors import VectorBuildReport
    from nwx.warc.sources import FilePlaces

    BuildReport = FacetBuildReport | InlinkBuildReport | PictureBuildReport | VectorBuildReport

_Made = TypeVar("_Made")
Paths = str | PathLike[str] | Iterable[str | PathLike[str]]
_SORT_BYTES = 128 << 20
BUILT_INDICES = ("facets", "links", "pictures", "vectors")
"""The indices that `Archive.build` builds."""


class ArchiveWork:
    """An archive opened on first use; imports, builds and exports."""

    def __init__(self, settings: Settings, viewer: Viewer = EVERYBODY) -> None:
        self.settings = settings
        self.viewer = viewer
        self._engine: Engine | None = None
        self._is_writing = False
        self._shown: RestrictedEngines | None = None
        self._files: FilePlaces | None = None
        self._guard = Lock()
        self._is_shared = False
        self._made: dict[object, tuple[Engine, Any]] = {}

    @classmethod
    def over(
        cls, engine: "Engine", settings: Settings | None = None, files: "FilePlaces | None" = None
    ) -> Self:
        """Return an archive over an open engine, with nothing hidden, for use by several threads.

        The caller closes the engine. `files` locates the archive files.
        """
        made = cls(settings or Settings(engine.address), Viewer(role=Role.ADMINISTRATOR))
        made._engine, made._files, made._is_shared = engine, files, True
        return made

    def close(self) -> None:
        """Close files and connections; the next query opens them again."""
        if self._is_shared:
            return
        if self._engine is not None:
            self._engine.close()
        self._engine = self._shown = self._files = None
        self._made.clear()

    def _kept(self, make: "Callable[[Engine], _Made]") -> _Made:
        """Return `make(engine)` for the engine as the viewer sees it, cached until it changes."""
        engine = self._seen()
        with self._guard:
            kept = self._made.get(make)
            if kept is None or kept[0] is not engine:
                kept = self._made[make] = engine, make(engine)
            found: _Made = kept[1]
            return found

    @contextmanager
    def _writable(
        self, progress: ShowProgress = no_progress, *, makes: bool = True
    ) -> "Iterator[Engine]":
        """Open the whole engine for writing; may be nested. It must exist unless it `makes` one."""
        if not makes:
            self._whole()
        if self._is_shared or self._is_writing:
            yield self._whole()
            return
        self.close()
        self._engine = open_engine(self.settings, progress=progress)
        self._is_writing = True
        try:
            yield self._engine
        finally:
            self._is_writing = False
            self.close()

    @contextmanager
    def _work(self, *, writes: bool = True) -> "Iterator[Engine]":
        """Open the engine as the viewer sees it within a context, for writing if `writes`."""
        with self._writable() if writes else nullcontext():
            yield self._seen()

    def _whole(self) -> "Engine":
        """Return the engine, including all data that access rules hide."""
        if self._engine is None:
            engine = open_engine(self.settings, read_only=True)
            engine.check()
            self._engine = engine
        return self._engine

    def _seen(self) -> "Engine":
        """Return the engine as the viewer sees it by the current access rules."""
        engine = self._whole()
        if self.viewer.sees_all or not engine.access_index().rules().rules:
            return engine
        if self._shown is None:
            # Imported here: most archives have no rules, and this loads all their readers.
            from nwx.access.restricted_engine import RestrictedEngines

            self._shown = RestrictedEngines(engine)
        return self._shown.for_viewer(self.viewer)

    def _places(self) -> "FilePlaces":
        if self._files is None:
            from nwx.warc.sources import FilePlaces

            self._files = FilePlaces(self._whole().files)
        return self._files

    def import_(
        self,
        files: Paths,
        *,
        collection: str = "default",
        exclude: Paths = (),
        manifests: Paths = (),
        progress: ShowProgress = no_progress,
        stopping: Callable[[], bool] = lambda: False,
        **options: Any,
    ) -> "ImportReport":
        """Import archive files (files, folders, globs, addresses); return a report.

        Creates a missing archive. `exclude` names lists written by `dedup_cdx`. `options` are the
        fields of `ImportOptions`: jobs, verify, deduplicate, parser … Captures already in the
        archive are skipped; an interrupted import resumes where it stopped.
        """
        from nwx.bulk.pool import hidden_main_module
        from nwx.dedup.exclusion_lists import ExclusionList
        from nwx.importing import import_files, import_options, report_of_errors
        from nwx.model import ReadError
        from nwx.warc.sources import expand

        wanted = import_options(collection, options)
        sources = list(expand(paths_of(files), paths_of(manifests)))
        missing = [source for source in sources if isinstance(source, ReadError)]
        if len(missing) == len(sources):  # then no archive is made
            return report_of_errors(missing)
        lists = paths_of(exclude)
        excluded = ExclusionList.load(lists, progress=progress) if lists else None
        sources += excluded.read_errors() if excluded else []
        try:
            with self._writable() as engine, hidden_main_module():
                engine.create()
                return import_files(
                    engine, self.settings, sources, wanted, progress, stopping, excluded
                )
        finally:
            if excluded is not None:
                excluded.close()

    def build(
        self,
        *names: str,
        anew: bool = False,
        workers: int | None = None,
        inverted: str | PathLike[str] | None = None,
        progress: ShowProgress = no_progress,
        **options: Any,
    ) -> "Mapping[str, BuildReport]":
        """Update built indices (facets, links, pictures, vectors); return a report of each.

        Without names, builds those stale or missing; vectors only if they were built before.
        Links in `inverted`, a folder written by `nwx spark links`, are loaded instead of read anew.
        `options` are the fields of `FacetBuildOptions`: min_captures, sites, memory_bytes.
        """
        check_built(names, BUILT_INDICES)
        builds: Mapping[str, Callable[[], BuildReport]] = {
            "facets": partial(self._build_facets, progress, anew=anew, **options),
            "links": partial(self._build_links, workers, inverted, progress, anew=anew),
            "pictures": partial(self._build_pictures, workers, progress, anew=anew),
            "vectors": partial(self._build_vectors, progress, anew=anew),
        }
        wanted = names or self.stale(anew=anew)
        return {name: builds[name]() for name in wanted}

    def is_built(self, name: str) -> bool:
        """Return whether facets, links, pictures or vectors were ever built."""
        check_built([name], BUILT_INDICES)
        engine = self._whole()
        if name == "vectors":
            return engine.vector_index().is_made()
        if name == "pictures":
            return engine.picture_index().is_made()
        store = engine.facet_store() if name == "facets" else engine.inlink_index()
        return bool(store.version())

    def stale(self, *, anew: bool = False, known: bool = False) -> tuple[str, ...]:
        """Return the built indices that are stale or missing (vectors: stale), all with `anew`.

        With `known`, returns only indices that were built before.
        """
        optional = BUILT_INDICES if known else ("vectors",)
        found = (name for name in BUILT_INDICES if name not in optional or self.is_built(name))
        return tuple(name for name in found if anew or self.is_stale(name))

    def is_stale(self, name: str) -> bool:
        """Return whether an index was never built, or the archive changed since its build."""
        check_built([name], BUILT_INDICES)
        engine = self._whole()
        if name == "pictures":
            from nwx.pictures.build import is_current

            return not is_current(engine)
        if name == "vectors":
            from nwx.searching.vectors import has_current_vectors

            return not has_current_vectors(engine)
        store = engine.facet_store() if name == "facets" else engine.inlink_index()
        build = store.current()
        return build is None or build.notes.get("stamp") != store.stamp()

    def _build_facets(
        self, progress: ShowProgress, source: Path | None = None, **options: Any
    ) -> "FacetBuildReport":
        from nwx.facets.build import FacetBuildOptions, build_archive_facets

        return build_archive_facets(self._whole(), FacetBuildOptions(**options), progress, source)

    def _build_links(
        self,
        workers: int | None,
        inverted: str | PathLike[str] | None,
        progress: ShowProgress,
        *,
        anew: bool,
    ) -> "InlinkBuildReport":
        from nwx.links.build import InlinkBuildOptions, invert_links
        from nwx.links.inverted import InvertedLinks

        reopen = partial(open_engine, self.settings, read_only=True)
        loaded = None if inverted is None else InvertedLinks(Path(inverted))
        options = InlinkBuildOptions(workers=workers, anew=anew, inverted=loaded)
        return invert_links(self._whole(), reopen, options, progress)

    def _build_pictures(
        self, workers: int | None, progress: ShowProgress, *, anew: bool
    ) -> "PictureBuildReport":
        from nwx.pictures.build import build_pictures

        with self._writable(makes=False) as engine:
            return build_pictures(engine, workers=workers, anew=anew, progress=progress)

    def _build_vectors(self, progress: ShowProgress, *, anew: bool) -> "VectorBuildReport":
        from nwx.searching.vectors import build_vectors

        with self._writable(makes=False) as engine:
            return build_vectors(engine, self.settings.embedder, anew=anew, progress=progress)

    def export_captures(
        self, folder: str | PathLike[str], progress: ShowProgress = no_progress
    ) -> "ExportReport":
        """Write the captures as Parquet into a new folder, with a subfolder for each month."""
        from nwx.exports.captures import export_captures

        return export_captures(self._seen(), Path(folder), progress)

    def export_cc_index(
        self,
        folder: str | PathLike[str],
        cdx: "Sequence[CdxSource]" = (),
        crawl: str = "",
        progress: ShowProgress = no_progress,
    ) -> "CcIndexReport":
        """Write the captures, or CDX files, as Common Crawl's columnar index in Parquet.

        `crawl` defaults to each capture's collection.
        """
        from nwx.exports.cc_index_files import (
            archive_frames,
            check_layouts,
            frames_of_lines,
            write_cc_index,
        )

        def frames(report: "CcIndexReport") -> "Iterator[pl.DataFrame]":
            if not cdx:
                return archive_frames(self._seen())
            from nwx.bulk.resources import Resources
            from nwx.zipnum.builds import sorted_lines

            check_layouts(cdx)
            lines = sorted_lines(cdx, Resources(_SORT_BYTES), report, progress)
            return frames_of_lines(lines, report.add_problem)

        return write_cc_index(Path(folder), frames, crawl, progress)

    def export_hosts(
        self, folder: str | PathLike[str], progress: ShowProgress = no_progress
    ) -> "HostExportReport":
        """Write counts of each host and month, and the host's centrality, as Parquet."""
        from nwx.exports.hosts import export_hosts

        return export_hosts(self._seen(), Path(folder), progress)

    def export_links(
        self,
        folder: str | PathLike[str],
        *,
        formats: Sequence[str] = (),
        year: int | None = None,
        collection: str = "",
        progress: ShowProgress = no_progress,
    ) -> "LinkExportReport":
        """Write the links and the graphs of hosts and domains into a new folder."""
        from nwx.exports.links import LINK_FORMATS, export_links
        from nwx.model import LinkCell

        cell = LinkCell(year, collection)
        return export_links(self._seen(), Path(folder), formats or LINK_FORMATS, cell, progress)

    def export_extracts(
        self,
        form: str,
        folder: str | PathLike[str],
        files: Sequence[str] = (),
        *,
        collection: str = "",
        workers: int | None = None,
        progress: ShowProgress = no_progress,
    ) -> "ExtractReport":
        """Write extracts of archive files: `form` is `wat`, `wet` or `derivatives`.

        `files` defaults to those of the archive, as the viewer sees them. WAT and WET files already
        in the folder are kept.
        """
        from nwx.exports.archive_inputs import given_inputs, ledger_inputs
        from nwx.exports.derivatives import export_derivatives
        from nwx.exports.file_exports import export_files

        if files:
            inputs = given_inputs(files)
        else:
            inputs = ledger_inputs(self._whole(), self._seen(), self.viewer, collection)
        if form == "derivatives":
            return export_derivatives(inputs, Path(folder), workers=workers, progress=progress)
        return export_files(form, inputs, Path(folder), workers=workers, progress=progress)

    def export_warc(
        self,
        path: str | PathLike[str],
        query: str = "",
        *,
        from_: DateOption = "",
        to: DateOption = "",
        collection: str = "",
        with_resources: bool = False,
        progress: ShowProgress = no_progress,
    ) -> "PackReport":
        """Write the records of all hits of a query to a WARC file."""
        from nwx.exports import WaczSelection, pack_warc

        first, last = date_bounds(from_, to)
        selection = WaczSelection(
            query=query,
            collections=(collection,) if collection else (),
            date_from=first,
            date_to=last,
            with_resources=with_resources,
        )
        return pack_warc(self._seen(), selection, Path(path), progress)


def paths_of(given: Paths) -> list[str]:
    """Return one path or several as a list of texts."""
    return [fspath(one) for one in ([given] if isinstance(given, str | PathLike) else given)]
