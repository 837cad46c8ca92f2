"""Index maintenance in the Python API: imports, dates, CDX files, checks, backups, sizes."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nwx.archive_work import ArchiveWork, Paths, paths_of
from nwx.bulk.progress import ShowProgress, no_progress
from nwx.engine.base import is_server, open_engine
from nwx.model import MAIN_DATES, IndexName
from nwx.values.arguments import chosen

if TYPE_CHECKING:  # a program loads the areas that it uses
    from nwx.cdx.inputs import CdxSource
    from nwx.cdxserver.loaded_lines import Loaded
    from nwx.dedup.added_dates import DatesLists, DatesReport
    from nwx.dedup.digest_lists import DigestComparison, DigestReport, FurtherDigestsReport, Payload
    from nwx.dedup.exclusion_lists import ExclusionList
    from nwx.engine.capabilities import Upgrade
    from nwx.exports import PackOptions, PackReport, WaczSelection
    from nwx.facets.build import FacetBuildReport
    from nwx.importing import ExclusionReport, ImportOptions, ImportReport
    from nwx.importing.enrichment import EnrichReport
    from nwx.importing.importer import ListenerOfPages
    from nwx.maintenance.agreement import Disagreement
    from nwx.maintenance.cdx_comparison import CdxComparison
    from nwx.maintenance.holdings import ImportedFile, MissingFile, NeededFile
    from nwx.model import Capture, Dates, NamedDates, ReadError
    from nwx.searching.documents import ShownDocument, UrlVersion
    from nwx.warc.sources import ArchiveSource


class ArchiveIndices(ArchiveWork):
    """Import, check, backup and size operations on the indices of an archive."""

    @contextmanager
    def bulk_loading(self, *, wanted: bool = True) -> Iterator[None]:
        """Apply bulk-loading settings to a search server within a context."""
        if not (wanted and is_server(self.settings.engine)):
            yield
            return
        with self._writable() as engine:
            engine.create()
            with engine.shards().loading(self.settings):
                yield

    def original(self, digest: str, collection: str = "") -> "Capture | None":
        """Return the newest capture with a payload, in one collection or any, else None.

        The digest may be in any spelling.
        """
        from nwx.values.digests import normal_digest

        found = self._seen().captures_by_digest(normal_digest(digest))
        return next((one for one in found if collection in ("", one.collection)), None)

    def required_file(self, collection: str, name: str) -> "dict[str, str | int] | None":
        """Return the `relation.requires` entry of a stored file, None if it was not imported."""
        from nwx.maintenance.holdings import required_file

        return required_file(self._seen(), collection, name)

    def originals_by_digest(
        self, algorithm: str, collection: str = ""
    ) -> "Iterator[tuple[str, Capture]]":
        """Yield pairs of a digest of an algorithm (normal form) and a capture with its payload.

        A payload is yielded once for each capture with such a digest of its own, and once for each
        additional digest (`nwx add-digests`).
        """
        engine, kind = self._seen(), f"{algorithm}:"
        for one in engine.captures("", chr(0x10FFFF)):
            is_original = one.record_type != "revisit" and one.digest.startswith(kind)
            if is_original and collection in ("", one.collection):
                yield one.digest, one
        for further in dict.fromkeys(further for further, _ in self._whole().digests.pairs()):
            found = self.original(further, collection) if further.startswith(kind) else None
            if found is not None:
                yield further, found

    def create(self) -> None:
        """Create the archive if it is missing."""
        with self._writable() as engine:
            engine.create()

    def import_sources(
        self,
        sources: "Sequence[ArchiveSource | ReadError]",
        options: "ImportOptions",
        *,
        progress: ShowProgress = no_progress,
        stopping: Callable[[], bool] = lambda: False,
        excluded: "ExclusionList | None" = None,
        heard: "ListenerOfPages | None" = None,
    ) -> "tuple[ImportReport, ExclusionReport | None]":
        """Import sources with `import_files`; return its report and that of the exclusion list."""
        from nwx.importing import import_files, report_exclusion

        with self._writable(progress) as engine:
            engine.create()
            report = import_files(
                engine, self.settings, sources, options, progress, stopping, excluded, heard
            )
            if excluded is None:
                return report, None
            before = 0 if report.interrupted else report.excluded_before
            return report, report_exclusion(engine, excluded, options.collection, before)

    def load_cdx(
        self, files: Paths, collection: str = "default", *, strict: bool = False, at_once: int = 0
    ) -> "Loaded":
        """Load the captures of CDX files, without text; return their counts and errors."""
        from nwx.cdxserver.loaded_lines import load_cdx_files

        names = paths_of(files)
        with self._writable() as engine:
            return load_cdx_files(engine, names, collection, strict=strict, at_once=at_once)

    def load_facets(self, folder: Path, progress: ShowProgress = no_progress) -> "FacetBuildReport":
        """Load facets counted by `nwx spark facets` from a folder."""
        from nwx.facets.counted_facets import load_counted_facets

        return load_counted_facets(self._whole(), folder, progress)

    def imported_files(self) -> "list[ImportedFile]":
        """Return the files of the archive, including those being imported."""
        from nwx.maintenance.holdings import imported_files

        return imported_files(self._seen())

    def missing_files(self) -> "list[MissingFile]":
        """Return the files that WACZ files require for their revisits, but the archive lacks."""
        from nwx.maintenance.holdings import missing_files

        return list(missing_files(self._seen()))

    def closure(self, files: Sequence[str]) -> "list[NeededFile]":
        """Return all files that files of the archive need to replay their revisits."""
        from nwx.maintenance.holdings import closure

        return closure(self._seen(), files)

    def dump(self, index: str) -> Iterator[Mapping[str, Any]]:
        """Stream the entries of an index in the order of their ids."""
        return self._seen().scan(chosen(IndexName, index))

    @property
    def address(self) -> str:
        """The folder or address of the archive, as named in messages."""
        return self._whole().address

    def document_or_versions(self, key: str) -> "ShownDocument | list[UrlVersion] | None":
        """Return a document by its id, key or URL, or all versions of a URL that has several."""
        from nwx.searching.documents import id_of_key, show, versions

        engine, id = self._seen(), id_of_key(key)
        if id is None:
            found = versions(engine, key)
            if len(found) > 1:
                return found
            id = found[0].id if found else None
        return show(engine, id) if id else None

    def sizes(self) -> tuple[dict[str, Any], dict[str, dict[str, Any]]]:
        """Return entries and bytes of each index, and the health of its shards on a server."""
        from nwx.maintenance.holdings import sizes_and_health

        return sizes_and_health(self._whole().shards(), self._seen)

    def reshard(
        self, index: str, shards: int | None, progress: ShowProgress = no_progress
    ) -> dict[str, Any]:
        """Change the shards of an index on a search server, or undo an interrupted attempt."""
        from nwx.maintenance.holdings import resharded

        with self._writable() as engine:
            return resharded(engine.shards(), IndexName(index), shards, progress)

    def upgrade(self, progress: ShowProgress = no_progress) -> "Upgrade":
        """Upgrade an archive made by an older nwx; return what was done.

        On a search server, indices of an older form are copied as `reshard` does.
        """
        with self._writable(progress) as engine:
            return engine.upgrade(progress)

    def end_loading(self) -> None:
        """Restore the settings that killed imports left in bulk-loading mode."""
        shards = self._whole().shards()
        shards.end_loading(shards.loaders())

    def check(
        self, progress: ShowProgress = no_progress, *, deep: bool = False
    ) -> "Iterator[Disagreement]":
        """Yield damage, also of the accounts file, and disagreements of the indices and ledger.

        `deep` also compares each capture with its record.
        """
        from nwx.access.account_damage import account_faults
        from nwx.maintenance.agreement import Disagreement, check

        yield from check(self._whole(), progress, deep=deep)
        yield from (Disagreement("users", "users", *one) for one in account_faults(self.settings))

    def backup(
        self,
        place: str | PathLike[str],
        *,
        keep: int = 0,
        check: bool = False,
        progress: ShowProgress = no_progress,
    ) -> str:
        """Make a backup, safe while others write to the archive; return its path, `place`/name.

        `place` is a folder or, for an archive on a server, the name of a snapshot repository. With
        `keep`, only that many backups are kept. With `check`, an inconsistent backup is an error.
        """
        from nwx.maintenance.backups import back_up, checked

        verify = partial(checked, self.settings, progress) if check else None
        return back_up(self._whole(), fspath(place), keep, verify, progress)

    def restore(
        self,
        backup: str | PathLike[str],
        *,
        replace: bool = False,
        progress: ShowProgress = no_progress,
    ) -> None:
        """Restore the archive from a backup, after the backup is upgraded and checked.

        An existing archive needs `replace`; nobody may write to it during the restore.
        """
        from nwx.maintenance.backups import checked, restore_backup

        self.close()
        verify = partial(checked, self.settings, progress, read_only=False)
        with open_engine(self.settings) as engine:
            restore_backup(engine, fspath(backup), verify, progress, replaced=replace)

    def cdx_comparison(
        self, collection: str = "", excluded: "ExclusionList | None" = None
    ) -> "CdxComparison":
        """Return a comparison of the archive with CDX files; `excluded` captures may be missing."""
        from nwx.maintenance.cdx_comparison import CdxComparison

        return CdxComparison(self._whole(), collection, excluded.covers if excluded else None)

    def dates_indices(self) -> "list[NamedDates]":
        """Return the dates indices, attached or not."""
        return self._seen().dates_indices()

    def attach_dates(self, name: str, place: str = "") -> None:
        """Attach a dates index: a folder, or an index on the archive's server."""
        with self._writable() as engine:
            engine.attach_dates(name, place)
            engine.access_index().renew()

    def detach_dates(self, name: str, *, drop: bool = False) -> None:
        """Detach a dates index; with `drop`, also delete it if the archive made it."""
        with self._writable() as engine:
            (engine.drop_dates if drop else engine.detach_dates)(name)
            engine.access_index().renew()

    def orphan_dates(self, progress: ShowProgress = no_progress) -> "Iterator[Dates]":
        """Yield the dates of document keys without a document."""
        from nwx.dedup.added_dates import orphans

        return orphans(self._seen(), progress)

    def add_dates(
        self,
        lists: "DatesLists",
        into: str = MAIN_DATES,
        *,
        build: str = "",
        sources: Sequence[str] = (),
        documents_only: bool = False,
        progress: ShowProgress = no_progress,
    ) -> "DatesReport":
        """Add dates from lists to a dates index, or `build` one from other indices and lists."""
        from nwx.dedup.added_dates import add_dates, build_dates

        with self._writable() as engine:
            if not build:
                return add_dates(engine, lists, into, progress)
            return build_dates(
                engine, sources, build, lists, documents_only=documents_only, progress=progress
            )

    def dedup_scope(self, collection: str) -> str:
        """Return which captures a collection's crawlers are offered: archive or collection."""
        return self._whole().digests.scope(collection)

    def keep_dedup_scope(self, scope: str, collections: Sequence[str] = ()) -> None:
        """Store the deduplication scope of some collections, or the default of all others."""
        with self._writable() as engine:
            engine.digests.keep_scope(scope, collections or ("",))

    def add_digests(
        self, workers: int | None = None, progress: ShowProgress = no_progress
    ) -> "FurtherDigestsReport":
        """Add the SHA-1 and SHA-256 of all payloads, now and at each import; return the report.

        Each file is read once: an interrupted call resumes where it stopped.
        """
        from nwx.bulk.pool import hidden_main_module
        from nwx.dedup.digest_lists import add_digests

        with self._writable(makes=False) as engine, hidden_main_module():
            return add_digests(engine, workers, progress)

    def enrich(
        self,
        names: Iterable[str] = (),
        workers: int | None = None,
        progress: ShowProgress = no_progress,
    ) -> "EnrichReport":
        """Run enrichers on all payloads, now and at each import; return the report.

        `names` are of `nwx.extract.enrichers`, or "all"; by default those the archive already runs.
        Each file is read once: an interrupted call resumes where it stopped.
        """
        from nwx.bulk.pool import hidden_main_module
        from nwx.importing.enrichment import enrich_archive

        with self._writable(makes=False) as engine, hidden_main_module():
            return enrich_archive(engine, names, workers, progress)

    def enrichers(self) -> tuple[str, ...]:
        """Return the names of the enrichers that run when this archive imports files."""
        return self._whole().digests.enrichers()

    def export_digests(
        self,
        path: Path,
        cdx: "Sequence[CdxSource]" = (),
        rate: float = 0.0,
        progress: ShowProgress = no_progress,
        *,
        algorithm: str = "",
    ) -> "DigestReport":
        """Write the payload digests of the archive or of CDX files; with `rate`, as a filter.

        Digests of the archive are of an `algorithm` (sha1, sha256) where that digest is known.
        """
        from nwx.dedup.capture_filter import CaptureFilter
        from nwx.dedup.digest_lists import archive_payloads, cdx_payloads, export_digests
        from nwx.dedup.policies import Revisits

        def payloads(report: "DigestReport", folder: Path) -> "Iterator[Payload]":
            if cdx:
                return cdx_payloads(cdx, CaptureFilter(revisits=Revisits.OUT), report, folder)
            return archive_payloads(self._captures_at("", algorithm), report, progress)

        return export_digests(payloads, path, rate)

    def compare_digests(
        self, first: str, second: str = "", *, algorithm: str = ""
    ) -> "DigestComparison":
        """Return the digests shared by two archives, CDX files or files of `export_digests`.

        `second` defaults to this archive. Archive digests are chosen as by `export_digests`.
        """
        from nwx.dedup.digest_lists import compare_digests

        return compare_digests(first, second, lambda place: self._captures_at(place, algorithm))

    def _captures_at(self, place: str, algorithm: str) -> Iterator[Mapping[str, Any]]:
        """Yield the capture entries of an archive that this viewer may see."""
        from nwx.dedup.digest_lists import entries_by_algorithm

        if place:
            other = type(self)(replace(self.settings, engine=place), self.viewer)
            try:
                yield from other._captures_at("", algorithm)
            finally:
                other.close()
            return
        engine = self._seen()
        entries = engine.scan(IndexName.CAPTURES)
        if algorithm and engine.digests.is_made():
            entries = entries_by_algorithm(engine.digests, entries, algorithm)
        yield from entries

    def export_wacz(
        self,
        path: Path,
        selection: "WaczSelection",
        options: "PackOptions",
        progress: ShowProgress = no_progress,
    ) -> "PackReport":
        """Pack a selection of captures into a WACZ file."""
        from nwx.exports import pack

        return pack(self._seen(), selection, path, options, progress)
