"""Facets that were counted elsewhere, made the current build of an archive."""

import time
from collections.abc import Mapping
from pathlib import Path

from nwx.bulk.progress import ShowProgress, WorkProgress, no_progress
from nwx.bulk.work_folder import locked_folder
from nwx.engine.base import Engine
from nwx.errors import SourceError
from nwx.facets.builds.build import BUILDING, WORK_FOLDER, FacetBuildReport
from nwx.facets.builds.counted_parquet import CountedFacets
from nwx.facets.criteria import Criterion
from nwx.facets.stored_build import BuildDraft
from nwx.model import IndexName

Checks = tuple[str, Mapping[str, str]]
"""The stamp of captures, and those of their months."""


def load_counted_facets(
    engine: Engine, folder: Path, progress: ShowProgress = no_progress
) -> FacetBuildReport:
    """Make counted facets the current build of an archive, at once.

    Raises SourceError where they cannot be read, are not whole, or were
    counted from CDX files that hold other captures than the archive;
    EngineBusyError where another build is made, or came first.
    """
    began = time.monotonic()
    counted = CountedFacets(folder)
    store = engine.facet_store()
    with locked_folder(store.folder / WORK_FOLDER, BUILDING) as work:
        stamp, checks = _stamps(counted, engine)
        draft = BuildDraft(store, work / "draft", None)
        combinations = _write(draft, counted, progress)
        notes = counted.notes
        build = draft.publish(
            stamp=stamp,
            checks=checks,
            seeds=notes.seeds,
            hashed_by=notes.hashed_by,
            sites=notes.sites,
            min_captures=notes.min_captures,
            captures=notes.captures,
            combinations=combinations,
            ids=notes.ids,
        )
        (work / "draft").rmdir()
    seconds = time.monotonic() - began
    return FacetBuildReport(build, notes.captures, len(draft.made), 0, combinations, seconds)


def _stamps(counted: CountedFacets, engine: Engine) -> Checks:
    """Return the stamps that facets were counted at.

    CDX files have none. Where they name as many captures as the archive
    has, of the same months, its own count.
    """
    notes = counted.notes
    if notes.checks is not None:
        return notes.stamp, notes.checks
    store = engine.facet_store()
    stamp, checks = store.stamp(), store.month_stamps()
    captures = engine.count(IndexName.CAPTURES)
    if captures != notes.captures or {*map(_month, checks)} != {*counted.months}:
        raise SourceError(
            f"these facets were counted from CDX files with {notes.captures:,} captures, and the"
            f" archive has {captures:,}; load the same files with `nwx cdx-load`, or count an"
            " export of the archive"
        )
    return stamp, checks


def _month(digits: str) -> str:
    return Criterion.MONTH.definition.of_value(digits)


def _write(draft: BuildDraft, counted: CountedFacets, progress: ShowProgress) -> int:
    """Write the blobs of a build, and return how many combinations it has."""
    names = counted.months
    months = {}
    for done, name in enumerate(names, 1):
        months[name] = draft.write_month(name, counted.month(name))
        progress(WorkProgress("reading", done, len(names)))
    draft.write_labels(counted.labels)
    draft.write_ids([counted.hashes()])
    draft.write_sizes(months, counted.notes.ids["digest"])
    groupings = counted.groupings()
    draft.write_combinations(groupings)
    return sum(len(columns["status"]) for columns in groupings.values())
