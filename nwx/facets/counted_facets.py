"""Facets counted by `nwx spark facets`, as Parquet files.

A folder has `facets.json` (metadata), `labels.json` (the values of criteria by code),
`captures/month=2013-01/` (one row per capture), `ids/url/` and `ids/digest/` (the hashes of the
captures' numbers), and `combinations.parquet`, which has values instead of codes.
"""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from nwx.bulk.arrays import Array, narrow
from nwx.bulk.progress import ShowProgress, WorkProgress, no_progress
from nwx.bulk.whole_files import locked_folder
from nwx.engine.base import Engine
from nwx.errors import InsteadOf, SourceError
from nwx.facets.build import BUILDING, WORK_FOLDER, FacetBuildReport
from nwx.facets.codes import Labels, MonthColumns, with_own
from nwx.facets.criteria import CUBE, Criterion, month_name
from nwx.facets.question import STORED_FEATURES
from nwx.facets.stored_build import BuildDraft
from nwx.model import IndexName

COUNTED_NOTES = "facets.json"
COUNTED_LABELS = "labels.json"
COUNTED_CAPTURES = "captures"
COUNTED_IDS = "ids"
COUNTED_COMBINATIONS = "combinations.parquet"
COUNTED_FORMAT = 1
MONTH_FOLDER = "month="
SUCCESS_FILE = "_SUCCESS"

_KEPT = ("seeds", "hashed_by", "sites", "min_captures", "captures", "ids")
_UNREADABLE = (OSError, ValueError, TypeError, pl.exceptions.PolarsError)
_CRITERIA = (Criterion.STATUS, *CUBE)
_OWN = ("own_type", "own_size", "own_size_bytes")
_COLUMNS = (
    *(one.value for one in Criterion if one.source is one and one is not Criterion.MONTH),
    "source",
    "offset",
    "size_bytes",
    "url",
    "digest",
)


@dataclass(frozen=True, slots=True)
class CountedNotes:
    """Metadata of counted facets.

    `stamp` and `checks` are from the export that was counted, "" and empty if it was CDX. `ids` has
    the number of URLs and of digests.
    """

    seeds: Sequence[int]
    hashed_by: str
    sites: Mapping[str, str]
    min_captures: int
    captures: int
    ids: Mapping[str, int]
    stamp: str = ""
    checks: Mapping[str, str] | None = None
    format: int = COUNTED_FORMAT

    def to_json(self) -> bytes:
        """Return the notes as JSON."""
        return json.dumps(asdict(self)).encode()


class CountedFacets:
    """Counted facets in a folder; raises SourceError if they cannot be read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        if not (folder / SUCCESS_FILE).exists():
            raise SourceError(
                f"{folder} is not a complete output of `nwx spark facets`: it has no {SUCCESS_FILE}"
            )
        found = self._json(COUNTED_NOTES)
        if not isinstance(found, dict) or found.get("format") != COUNTED_FORMAT:
            known = found.get("format") if isinstance(found, dict) else None
            raise SourceError(
                f"{folder} has format {known}, this nwx reads {COUNTED_FORMAT}; "
                "run `nwx spark facets` of this version"
            )
        with self._reading(COUNTED_NOTES):
            self.notes = CountedNotes(**found)
        with self._reading(COUNTED_LABELS):
            self.labels = Labels(self._json(COUNTED_LABELS))

    @property
    def months(self) -> list[str]:
        """The months (`2013-01`) that have captures, in order."""
        folders = (self._folder / COUNTED_CAPTURES).glob(f"{MONTH_FOLDER}*")
        return sorted(one.name.removeprefix(MONTH_FOLDER) for one in folders)

    def month(self, name: str) -> MonthColumns:
        """Return the columns of a month, in the order of the input."""
        frame = self._parquet(f"{COUNTED_CAPTURES}/{MONTH_FOLDER}{name}").sort("task", "row")
        columns: MonthColumns = {
            column: narrow(frame[column].to_numpy()) for column in (*_COLUMNS, "revisit")
        }
        own = with_own(columns)
        of_revisits = frame.filter(pl.col("revisit"))
        return own | {one: narrow(of_revisits[one].to_numpy()) for one in _OWN}

    def hashes(self) -> dict[str, Array]:
        """Return the hashes of URLs and digests in the order of their numbers (uint64)."""
        found = {}
        for kind in self.notes.ids:
            frame = self._parquet(f"{COUNTED_IDS}/{kind}").sort("number")
            for half in ("first", "second"):
                found[f"{kind}_{half}"] = frame[half].to_numpy().view(np.uint64)
        return found

    def groupings(self) -> dict[str, dict[str, Array]]:
        """Return the columns of the combinations by grouping, as in a build."""
        frame = self._parquet(COUNTED_COMBINATIONS)
        found = {}
        for (name,), part in sorted(frame.partition_by("grouping", as_dict=True).items()):
            named = [one for one in _CRITERIA if one is Criterion.STATUS or one in name.split(",")]
            columns = {one.value: narrow(self.labels.column(one, part[one.value])) for one in named}
            features = {one: narrow(part[one].to_numpy()) for one in STORED_FEATURES}
            found[str(name)] = columns | features
        return found

    def _json(self, name: str) -> Any:
        with self._reading(name):
            return json.loads((self._folder / name).read_text(encoding="utf-8"))

    def _parquet(self, name: str) -> pl.DataFrame:
        path = self._folder / name
        files = path / "*.parquet" if path.is_dir() else path
        with self._reading(name):
            return pl.read_parquet(files, hive_partitioning=False)

    def _reading(self, name: str) -> InsteadOf:
        return SourceError.instead_of(_UNREADABLE, f"{self._folder / name} cannot be read")


def labels_json(labels: Mapping[str, Sequence[str]]) -> bytes:
    """Return the values of criteria, in the order of their codes, as JSON."""
    return json.dumps(dict(labels)).encode()


def combinations_frame(
    groupings: Mapping[str, Mapping[str, Array]], labels: Callable[[str], Sequence[str]]
) -> pl.DataFrame:
    """Return combinations, given as columns of codes by grouping, as a table of values."""
    pieces = [_grouping_frame(name, columns, labels) for name, columns in groupings.items()]
    schema: dict[str, pl.DataType] = {"grouping": pl.String()}
    schema |= {one.value: pl.String() for one in _CRITERIA}
    schema |= {one: pl.Int64() for one in STORED_FEATURES}
    return pl.concat(pieces) if pieces else pl.DataFrame(schema=schema)


def _grouping_frame(
    name: str, columns: Mapping[str, Array], labels: Callable[[str], Sequence[str]]
) -> pl.DataFrame:
    size = len(columns[Criterion.STATUS])
    values = {"grouping": pl.Series([name], dtype=pl.String).new_from_index(0, size)}
    for one in _CRITERIA:
        if one in columns:
            values[one.value] = pl.Series(labels(one), dtype=pl.String)[columns[one]]
        else:
            values[one.value] = pl.Series([None], dtype=pl.String).new_from_index(0, size)
    values |= {one: pl.Series(columns[one], dtype=pl.Int64) for one in STORED_FEATURES}
    return pl.DataFrame(values)


Checks = tuple[str, Mapping[str, str]]
"""The stamp of captures, and those of their months."""


def load_counted_facets(
    engine: Engine, folder: Path, progress: ShowProgress = no_progress
) -> FacetBuildReport:
    """Make counted facets the current build of an archive, atomically.

    Raises SourceError if they cannot be read, are incomplete, or were counted from CDX files with
    other captures than the archive's; EngineBusyError if another build is running, or was published
    first.
    """
    began = time.monotonic()
    counted = CountedFacets(folder)
    store = engine.facet_store()
    with locked_folder(store.folder / WORK_FOLDER, BUILDING) as work:
        stamp, checks = _stamps(counted, engine)
        draft = BuildDraft(store, work / "draft", None)
        combinations = _write(draft, counted, progress)
        notes = counted.notes
        kept = {name: getattr(notes, name) for name in _KEPT}
        build = draft.publish(stamp=stamp, checks=checks, combinations=combinations, **kept)
        (work / "draft").rmdir()
    seconds = time.monotonic() - began
    return FacetBuildReport(build, notes.captures, len(draft.made), 0, combinations, seconds)


def _stamps(counted: CountedFacets, engine: Engine) -> Checks:
    """Return the stamps of the captures that facets were counted from.

    CDX files have none: if they have as many captures as the archive, of the same months, the
    archive's own stamps are used.
    """
    notes = counted.notes
    if notes.checks is not None:
        return notes.stamp, notes.checks
    store = engine.facet_store()
    stamp, checks = store.stamp(), store.month_stamps()
    captures = engine.count(IndexName.CAPTURES)
    if captures != notes.captures or {*map(month_name, checks)} != {*counted.months}:
        raise SourceError(
            f"these facets were counted from CDX files with {notes.captures:,} captures, and the"
            f" archive has {captures:,}; load the same files with `nwx cdx-load`, or count an"
            " export of the archive"
        )
    return stamp, checks


def _write(draft: BuildDraft, counted: CountedFacets, progress: ShowProgress) -> int:
    """Write the blobs of a build, and return its number of combinations."""
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
