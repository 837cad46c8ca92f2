"""The stored facet build: reading it, and writing the next one."""

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from nwx.bulk.arrays import Array, narrow, read_arrays, write_arrays
from nwx.engine.entries import EntryColumns, TextsFile
from nwx.engine.facet_store import BlobStore, StoredBuild
from nwx.errors import BlobError, EngineVersionError
from nwx.facets.codes import Labels, MonthColumns, document_sizes
from nwx.facets.criteria import CUBE, Criterion

VARIED_ROWS = "rows-"
"""The prefix of arrays that list captures of documents of several sizes, by month."""

_FORMAT = 2
Result = TypeVar("Result")

_ADVICE = "run `nwx build-facets --anew`"


@dataclass(frozen=True, slots=True)
class BuildNotes:
    """The metadata of a build; the fields from `months` on name blobs.

    `stamp` and `checks` are the stamps of the captures that it was made from, in total and by month
    (`201301`). `seeds` are the seeds of the hashes, `hashed_by` the polars version that made them.
    `sites` are names by urlkey prefixes. Combinations have at least `min_captures` captures; `cube`
    is "" if none were built. `ids` has the counts of URL and digest numbers.
    """

    format: int
    number: int
    stamp: str
    checks: dict[str, str]
    seeds: Sequence[int]
    hashed_by: str
    sites: dict[str, str]
    min_captures: int
    captures: int
    combinations: int
    ids: dict[str, int]
    built: str
    months: dict[str, str] = field(default_factory=dict)
    labels: dict[str, str] = field(default_factory=dict)
    id_files: Sequence[str] = ()
    sizes: str = ""
    cube: str = ""

    def blobs(self) -> list[str]:
        """Return the names of all blobs of the build."""
        named = [*self.months.values(), *self.labels.values(), *self.id_files, self.sizes]
        return [*named, self.cube] if self.cube else named


class Build:
    """A build whose blobs are stored in a folder."""

    def __init__(self, folder: Path, stored: StoredBuild) -> None:
        self.stored = stored
        self._folder = folder
        self.notes = BuildNotes(**stored.notes)

    @property
    def bytes(self) -> int:
        """The bytes of all blobs."""
        return sum(self.stored.blobs.values())

    def path(self, blob: str) -> Path:
        """Return the file of a blob."""
        return self._folder / blob

    def arrays(self, blob: str) -> dict[str, Array]:
        """Return the arrays of a blob by name, mapped into memory.

        Raises BlobError on a missing or damaged blob.
        """
        with _advising():
            return read_arrays(self._folder / blob)

    def month(self, name: str) -> MonthColumns:
        """Return the columns of a month (`2013-01`)."""
        return self.arrays(self.notes.months[name])

    def labels(self) -> Callable[[str], list[str]]:
        """Return a function that reads a criterion's values, or the archive files, by code.

        It may be called after the files of the build are removed.
        """
        with _advising():
            files = {name: TextsFile(self.path(blob)) for name, blob in self.notes.labels.items()}

        def read(name: str) -> list[str]:
            with _advising():
                return files[name].read()

        return read

    def groupings(self) -> dict[str, dict[str, Array]]:
        """Return the columns of the combinations by grouping, such as `month,type`.

        Columns are the codes of the status and of the grouping's criteria, and one column per
        stored feature (STORED_FEATURES).
        """
        found: dict[str, dict[str, Array]] = {}
        if self.notes.cube:
            for name, array in self.arrays(self.notes.cube).items():
                grouping, _, column = name.partition("/")
                found.setdefault(grouping, {})[column] = array
        return found


def current_build(store: BlobStore) -> Build | None:
    """Return the description of the current build, None without a build.

    Its blobs may be on another machine. Raises EngineVersionError on a build that this version of
    nwx cannot read.
    """
    with _advising():
        stored = store.current()
        if stored is None:
            return None
        found = stored.notes.get("format")
        if found != _FORMAT:
            raise EngineVersionError.translated(
                "the facets in %(folder)s have format %(found)s, this nwx reads %(format)s",
                folder=store.folder,
                found=found,
                format=_FORMAT,
            )
    return Build(store.folder, stored)


def fetched_build(store: BlobStore) -> Build | None:
    """Return the current build with its blobs on this machine, None without a build."""
    return with_fetched(store, lambda build: build)


def with_fetched(store: BlobStore, use: Callable[[Build], Result]) -> Result | None:
    """Return the result of `use` for the current build, once its blobs are on this machine.

    None if no build exists. If another build becomes current meanwhile and removes blobs, the new
    one is used instead.
    """
    while True:
        version = store.version()
        build = current_build(store)
        if build is None:
            return None
        try:
            with _advising():
                store.get(build.stored.blobs)
            return use(build)
        except BlobError:
            if store.version() == version:
                raise


@contextmanager
def _advising() -> Iterator[None]:
    """Add advice to the error of a build that cannot be used."""
    try:
        yield
    except (BlobError, EngineVersionError) as error:
        if _ADVICE in str(error):
            raise
        raise type(error)(f"{error}; {_ADVICE}") from error


class BuildDraft:
    """The blobs of a build in progress, in a separate folder."""

    def __init__(self, store: BlobStore, folder: Path, base: Build | None) -> None:
        self._store = store
        self._folder = folder
        self._base = base
        # Blob names are unique, even for builds made on different machines.
        self.number = (base.notes.number if base else 0) + 1
        self._mark = f"{self.number}-{os.urandom(4).hex()}"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        self.made: set[str] = set()
        self._months: dict[str, str] = {}
        self._labels: dict[str, str] = {}
        self._id_files = list(base.notes.id_files) if base else []
        self._sizes = self._cube = ""

    def write_month(self, name: str, columns: MonthColumns) -> MonthColumns:
        """Write the columns of a month and return them as read back."""
        self.made.add(name)
        self._months[name] = self._write(f"month-{name}", columns)
        return read_arrays(self._folder / self._months[name])

    def keep_month(self, name: str) -> MonthColumns:
        """Reuse a month of the previous build and return its columns."""
        assert self._base is not None
        self._months[name] = self._base.notes.months[name]
        return self._base.month(name)

    def write_labels(self, labels: Labels) -> None:
        """Write the values of all criteria, and the archive files."""
        for name, values in labels.values.items():
            self._labels[name] = file = f"labels-{name}.{self._mark}.json"
            with (self._folder / file).open("w", encoding="utf-8") as opened:
                json.dump(values, opened)
                opened.flush()
                os.fsync(opened.fileno())

    def write_ids(self, new: Sequence[Mapping[str, Array]]) -> None:
        """Write the hashes of new numbers, next to the previous build's."""
        if new:
            together = {key: np.concatenate([one[key] for one in new]) for key in new[0]}
            self._id_files.append(self._write("ids", together))

    def write_sizes(
        self, months: Mapping[str, MonthColumns], documents: int
    ) -> tuple[Array, Array]:
        """Write the bytes of each document, and which documents differ between captures.

        Returns both: `int64[documents]` bytes, 0 where they differ, and `bool[documents]`, true
        where they differ.
        """
        sizes, varied, rows = document_sizes(months, documents)
        listed = {f"{VARIED_ROWS}{name}": narrow(one) for name, one in rows.items()}
        self._sizes = self._write("sizes", {"sizes": narrow(sizes), **listed})
        return sizes, varied

    def write_combinations(self, groupings: Mapping[str, Mapping[str, Array]]) -> None:
        """Write the combinations, columns by grouping."""
        arrays = {
            f"{grouping}/{name}": column
            for grouping, columns in groupings.items()
            for name, column in columns.items()
        }
        self._cube = self._write("cube", arrays)

    def publish(self, **facts: Any) -> Build:
        """Make the draft the current build of the store and return it.

        `facts` are the fields of BuildNotes not set by the draft. Raises EngineBusyError if another
        build has become current meanwhile.
        """
        notes = BuildNotes(
            format=_FORMAT,
            number=self.number,
            built=datetime.now(UTC).isoformat(timespec="seconds"),
            months=self._months,
            labels=self._labels,
            id_files=self._id_files,
            sizes=self._sizes,
            cube=self._cube,
            **facts,
        )
        version, known = self._store.version(), self._store.blobs()
        base = self._base.stored if self._base else None
        stored = StoredBuild.of_files(
            notes.blobs(), self._folder, base, asdict(notes), _entry_columns(notes)
        )
        for path in sorted(self._folder.iterdir()):
            self._store.put(path)
        self._store.swap(stored, version)
        self._store.delete(known - set(stored.blobs))
        return Build(self._store.folder, stored)

    def _write(self, name: str, arrays: Mapping[str, Array]) -> str:
        file = f"{name}.{self._mark}.arrays"
        # Replace the file instead of overwriting it: the old one may be mapped into memory.
        new = self._folder / f"{file}.new"
        write_arrays(new, arrays)
        new.replace(self._folder / file)
        return file


def restamped(store: BlobStore, build: Build, stamp: str) -> Build:
    """Change the stamp of a store's current build; return the changed build."""
    notes = {**build.stored.notes, "stamp": stamp}
    stored = replace(build.stored, notes=notes)
    store.swap(stored, store.version())
    return Build(store.folder, stored)


def _entry_columns(notes: BuildNotes) -> EntryColumns | None:
    if not notes.cube:
        return None
    fields = {one.value: one.definition.facets_field for one in (Criterion.STATUS, *CUBE)}
    labels = {name: notes.labels[name] for name in fields}
    return EntryColumns(notes.cube, notes.combinations, labels, fields)
