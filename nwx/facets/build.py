"""Building facets: columns of captures by month, and stored combinations."""

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from nwx.bulk.arrays import narrow
from nwx.bulk.progress import ShowProgress, WorkProgress, no_progress
from nwx.bulk.whole_files import locked_folder, whole_file
from nwx.engine.base import Engine
from nwx.engine.facet_store import BlobStore
from nwx.errors import EngineVersionError, UsageError
from nwx.facets.codes import (
    LABEL_TABLES,
    DenseNumbers,
    Labels,
    MonthColumns,
    encode,
    resolve_revisits,
    with_own,
)
from nwx.facets.criteria import Criterion, month_name
from nwx.facets.groupings import store_combinations
from nwx.facets.sites import Sites
from nwx.facets.sources import (
    NUMBERED,
    ArchiveCaptures,
    CaptureParts,
    CaptureSource,
    ParquetSource,
)
from nwx.facets.stored_build import Build, BuildDraft, current_build, fetched_build, restamped
from nwx.model import IndexName

DEFAULT_MIN_CAPTURES = 100
_MEMORY_A_ROW = 400
_FEWEST_AT_ONCE = 10_000
WORK_FOLDER, BUILDING = "work", "builds facets"
_SEEDS = "seeds"


@dataclass(frozen=True, slots=True)
class FacetBuildOptions:
    """Options of a facet build.

    Combinations of at least `min_captures` captures are stored; without `combinations` only the
    columns are built. `sites` names URLs, None uses the list of the previous build. Captures are
    read in parts of about `memory_bytes`. `anew` reads all months, not only changed ones.
    """

    min_captures: int = DEFAULT_MIN_CAPTURES
    sites: Sites | None = None
    memory_bytes: int = 2 << 30
    anew: bool = False
    combinations: bool = True


@dataclass(frozen=True, slots=True)
class FacetBuildReport:
    """The result of a build: `months` were built, `months_kept` reused."""

    build: Build
    captures: int
    months: int
    months_kept: int
    combinations: int
    seconds: float

    @property
    def bytes(self) -> int:
        """The bytes of all blobs of the build."""
        return self.build.bytes


def build_archive_facets(
    engine: Engine,
    options: FacetBuildOptions,
    progress: ShowProgress = no_progress,
    export: Path | None = None,
) -> FacetBuildReport:
    """Build the facets of an archive, from its captures or from an export of them.

    Raises the same errors as `build_facets`.
    """
    store = engine.facet_store()
    source: CaptureSource = ParquetSource(export) if export else ArchiveCaptures(store)
    return build_facets(source, store, options, progress, engine.count(IndexName.CAPTURES))


def build_facets(
    source: CaptureSource,
    store: BlobStore,
    options: FacetBuildOptions,
    progress: ShowProgress = no_progress,
    expected: int = 0,
) -> FacetBuildReport:
    """Build the facets of a source into a store, replacing the previous build atomically.

    Only changes since the previous build are read, and its list of sites is used if none is given.
    After an interruption, the next build resumes with the captures already read. `expected` is the
    number of captures; `progress` is called with the steps `reading` and `combining`. Raises
    EngineBusyError if another process builds on this machine, or another build was published first.
    """
    if options.min_captures < 1:
        raise UsageError(f"combinations have at least 1 capture, not {options.min_captures}")
    began = time.monotonic()
    with locked_folder(store.folder / WORK_FOLDER, BUILDING) as folder:
        base = None if options.anew else _usable_base(store, options.sites)
        if base is not None and base.notes.sites:
            options = replace(options, sites=Sites(base.notes.sites))
        # Read the stamp first: later writes then make the build stale, and are detected.
        stamp, checks = source.stamp(), source.month_stamps()
        if base is not None and _is_same(base, checks, options):
            return _unchanged(restamped(store, base, stamp), began)
        builder = _Builder(source, store, folder, options, base, (stamp, checks), progress, began)
        builder.read(expected)
        report = builder.finish()
        builder.clean()
        return report


def _usable_base(store: BlobStore, sites: Sites | None) -> Build | None:
    """Return the previous build, None if it cannot be extended."""
    try:
        base = current_build(store)
    except EngineVersionError:
        return None
    if base is None or base.notes.hashed_by != pl.__version__:
        return None
    return fetched_build(store) if sites is None or base.notes.sites == sites.by_key else None


def _by_key(sites: Sites | None) -> dict[str, str]:
    return sites.by_key if sites else {}


def _is_same(base: Build, checks: Mapping[str, str], options: FacetBuildOptions) -> bool:
    """Return whether a build is up to date and was made with the same options."""
    known = base.notes
    wanted = not options.combinations or (known.cube and known.min_captures == options.min_captures)
    return bool(wanted) and known.checks == checks


def _unchanged(build: Build, began: float) -> FacetBuildReport:
    known, seconds = build.notes, time.monotonic() - began
    return FacetBuildReport(
        build, known.captures, 0, len(known.months), known.combinations, seconds
    )


class _Builder:
    """A run of a build: reads changed months, and publishes the result in a store."""

    def __init__(
        self,
        source: CaptureSource,
        store: BlobStore,
        folder: Path,
        options: FacetBuildOptions,
        base: Build | None,
        state: tuple[str, dict[str, str]],
        progress: ShowProgress,
        began: float,
    ) -> None:
        self._source, self._store, self._folder, self._options = source, store, folder, options
        self._base, self._progress, self._began = base, progress, began
        self._stamp, self._checks = state
        self._changed, self._kept = _compare(self._checks, base)
        self._seeds = tuple(base.notes.seeds) if base else _new_seeds(folder)
        ids = _numbers(base) if base else {name: DenseNumbers() for name in NUMBERED}
        self._parts = CaptureParts(
            folder / "parts", Labels(_base_labels(base)), ids, self._key(sorted(self._changed))
        )

    def _key(self, months: list[str]) -> dict[str, Any]:
        """Return the key under which parts of an interrupted build can be reused."""
        return {
            "base": self._base.notes.number if self._base else 0,
            "seeds": self._seeds,
            "hashed_by": pl.__version__,
            "marks": "places",
            "sites": _by_key(self._options.sites),
            "checks": {month: self._checks[month] for month in months},
        }

    def read(self, expected: int) -> None:
        """Read the captures of the months that changed."""
        if not self._changed:
            return
        months = sorted(self._changed) if self._kept else None
        most = max(self._options.memory_bytes // _MEMORY_A_ROW, _FEWEST_AT_ONCE)
        waiting: list[pl.DataFrame] = []
        after = self._parts.after
        for found in self._source.frames(months, after):
            if sum(map(len, waiting)) + len(found.frame) > most and waiting:
                self._add(waiting, after)
                waiting = []
            waiting.append(found.frame)
            after = found.after
            done = self._parts.rows + sum(map(len, waiting))
            self._progress(WorkProgress("reading", done, expected))
        if waiting:
            self._add(waiting, after)

    def _add(self, frames: list[pl.DataFrame], after: str) -> None:
        seeds = (self._seeds[0], self._seeds[1])
        frame = pl.concat(frames) if len(frames) > 1 else frames[0]
        self._parts.add(encode(frame, self._parts.labels, self._options.sites, seeds), after)

    def finish(self) -> FacetBuildReport:
        """Write the build, make it the current one, and return its report."""
        draft = BuildDraft(self._store, self._folder / "draft", self._base)
        months = self._month_columns(draft)
        labels = self._parts.labels
        resolved = resolve_revisits(months, labels.values[Criterion.TYPE]) if months else {}
        for name, columns in resolved.items():
            months[name] = draft.write_month(name, _narrow(columns))
        captures = sum(len(columns["status"]) for columns in months.values())
        draft.write_labels(labels)
        draft.write_ids(list(self._parts.new_hashes()))
        sizes = draft.write_sizes(months, self._parts.ids["digest"].count)
        stored = 0
        if self._options.combinations:
            stored = store_combinations(
                draft,
                months,
                labels,
                sizes,
                self._options.min_captures,
                self._progress,
                self._extended(draft),
            )
        build = draft.publish(
            stamp=self._stamp,
            checks=self._checks,
            seeds=self._seeds,
            hashed_by=pl.__version__,
            sites=_by_key(self._options.sites),
            min_captures=self._options.min_captures,
            captures=captures,
            combinations=stored,
            ids={name: self._parts.ids[name].count for name in NUMBERED},
        )
        made = len({*draft.made})
        seconds = time.monotonic() - self._began
        return FacetBuildReport(build, captures, made, len(months) - made, stored, seconds)

    def _extended(self, draft: BuildDraft) -> Build | None:
        """Return the previous build if this build only adds months to it, else None."""
        base = self._base
        if base is None or not base.notes.cube:
            return None
        if base.notes.min_captures != self._options.min_captures:
            return None
        before = set(base.notes.months)
        return base if before == self._kept and not before & draft.made else None

    def _month_columns(self, draft: BuildDraft) -> dict[str, MonthColumns]:
        """Return the columns of all months, in order; write the changed ones."""
        months: dict[str, MonthColumns] = {}
        for name in self._parts.months():
            months[name] = draft.write_month(name, _narrow(with_own(self._parts.month(name))))
        if self._base:
            for name in self._kept:
                months[name] = draft.keep_month(name)
        return dict(sorted(months.items()))

    def clean(self) -> None:
        """Remove the build's temporary files."""
        self._parts.remove()
        (self._folder / _SEEDS).unlink(missing_ok=True)
        (self._folder / "draft").rmdir()


def _compare(checks: Mapping[str, str], base: Build | None) -> tuple[set[str], set[str]]:
    """Return the source's months that changed, and the build's months that did not."""
    if base is None:
        return set(checks), set()
    before: Mapping[str, str] = base.notes.checks
    differ = {month for month in {*checks, *before} if checks.get(month) != before.get(month)}
    # Captures without a valid month form one month of the build.
    changed = {month_name(month) for month in differ}
    kept = set(base.notes.months) - changed
    return {month for month in checks if month_name(month) in changed}, kept


def _new_seeds(folder: Path) -> tuple[int, int]:
    """Return the seeds of a build from scratch: reused from an interrupted one, or new."""
    path = folder / _SEEDS
    if path.exists():
        first, second = np.frombuffer(path.read_bytes(), dtype=np.uint64).tolist()
        return first, second
    seeds = os.urandom(16)
    with whole_file(path) as stream:
        stream.write(seeds)
    first, second = np.frombuffer(seeds, dtype=np.uint64).tolist()
    return first, second


def _numbers(base: Build) -> dict[str, DenseNumbers]:
    """Return the numbers of URLs and digests in a build."""
    found = {name: DenseNumbers() for name in NUMBERED}
    for blob in base.notes.id_files:
        arrays = base.arrays(blob)
        for name in NUMBERED:
            found[name].extend(arrays[f"{name}_first"], arrays[f"{name}_second"])
    return found


def _base_labels(base: Build | None) -> dict[str, list[str]] | None:
    if base is None:
        return None
    read = base.labels()
    return {name: read(name) for name in LABEL_TABLES}


def _narrow(columns: MonthColumns) -> MonthColumns:
    return {name: narrow(column) for name, column in columns.items()}
