"""The blobs of a build of inlinks in progress, in a separate folder."""

import os
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import polars as pl

from nwx.bulk.arrays import read_arrays, write_arrays
from nwx.bulk.pool import Pool
from nwx.bulk.progress import ShowProgress
from nwx.engine.analyzer import tokens
from nwx.engine.facet_store import StoredBuild
from nwx.engine.inlinks.anchor_writer import write_anchor_table
from nwx.engine.inlinks.counts import Texts
from nwx.engine.inlinks.inlink_index import InlinkNotes, RangeNotes
from nwx.engine.inlinks.table import InlinkTable, TargetRange
from nwx.links.document_table import DocumentTable, document_table, no_documents
from nwx.links.parts import LinkPart
from nwx.links.ranges import (
    RANGE_LINKS,
    RangeSource,
    cut_range,
    empty_range,
    is_untouched,
    range_starts,
    write_range,
)

_NUMBERS = "numbers.arrays"
_MANY_RANGES = 16
"""The number of ranges that justifies starting processes; few are if little has changed."""
_CROWDED = 2
"""A range with more than this multiple of RANGE_LINKS is split in two."""


class InlinkDraft:
    """A build in progress, made from the previous build and parts."""

    def __init__(self, folder: Path, base: InlinkTable | None, number: int) -> None:
        self._folder, self._base = folder, base
        self.number = number
        self._mark = f"{number}-{os.urandom(4).hex()}"
        self.documents = f"documents.{self._mark}.arrays"
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()

    def write_documents(self, parts: Sequence[LinkPart], states: pl.DataFrame) -> DocumentTable:
        """Write the current linking documents (columns id and state), and return them."""
        base, cells = no_documents(), []
        if self._base is not None:
            base = dict(self._base.documents)
            cells = [(one.year, one.collection) for one in self._base.cells]
        table = document_table(base, cells, parts, states)
        write_arrays(self._folder / self.documents, table.arrays)
        numbers = {str(place): one for place, one in enumerate(table.numbers)}
        write_arrays(self._folder / _NUMBERS, {"removed": table.removed, **numbers})
        return table

    def write_ranges(
        self,
        parts: Sequence[LinkPart],
        table: DocumentTable,
        workers: int,
        progress: ShowProgress,
    ) -> list[RangeNotes]:
        """Write the ranges affected by parts or removed documents; return all ranges."""
        starts = self._starts(parts)
        folders = tuple(part.folder for part in parts)
        place = (self._folder, self.documents, folders)
        work = []
        for number, (first, last) in enumerate(zip(starts, [*starts[1:], None], strict=True)):
            name = f"range-{number:05d}.{self._mark}.arrays"
            work.append((*place, name, first, last, self._covering(first)))
        stretches = (one for part in parts for one in part.stretches)
        links = sum(len(one.arrays["document"]) for one in stretches)
        is_large = len(work) >= _MANY_RANGES or links > RANGE_LINKS
        with Pool(workers if is_large else 1) as pool:
            found = list(pool.map_shown(_write_one, work, progress, "counting"))
        return [notes for notes in found if notes is not None]

    def _starts(self, parts: Sequence[LinkPart]) -> list[str]:
        """Return the first urlkeys of the ranges: those of the base, and additional ones."""
        starts = set(range_starts(parts))
        if self._base is not None:
            for number, notes in enumerate(self._base.notes.ranges):
                if number:
                    starts.add(notes.first)
                if notes.links > _CROWDED * RANGE_LINKS and notes.targets > 1:
                    starts.add(self._base.range(number).keys[notes.targets // 2])
        return sorted(starts)

    def _covering(self, first: str) -> tuple[Path, RangeNotes] | None:
        """Return the folder and notes of the base's range that contains a urlkey, or None."""
        if self._base is None or not self._base.notes.ranges:
            return None
        ranges = self._base.notes.ranges
        before = [one for one in ranges if one.first <= first] or ranges[:1]
        return self._base.folder, before[-1]

    def write_anchors(self, notes: InlinkNotes) -> InlinkNotes:
        """Write the anchor table for searches, and return the notes with its blob."""
        anchors = f"anchors.{self._mark}.arrays"
        for name in notes.blobs:
            if not (self._folder / name).exists():
                (self._folder / name).hardlink_to(self._kept_folder() / name)
        built = InlinkTable(self._folder, StoredBuild({}, notes.as_json()))
        write_anchor_table(built, self._folder / anchors, tokens)
        return replace(notes, anchors=anchors)

    def _kept_folder(self) -> Path:
        assert self._base is not None  # blobs that are not in the draft are in the base
        return self._base.folder

    def stored(self, notes: InlinkNotes) -> StoredBuild:
        """Return the build, with the blobs kept from the base."""
        base = self._base.stored if self._base else None
        return StoredBuild.of_files(notes.blobs, self._folder, base, notes.as_json())

    def made(self) -> Iterator[Path]:
        """Yield the files of new blobs."""
        kept = self._base.stored.blobs if self._base else {}
        for path in sorted(self._folder.iterdir()):
            if path.name != _NUMBERS and path.name not in kept:
                yield path

    def remove(self) -> None:
        """Remove the remaining files of the draft."""
        shutil.rmtree(self._folder, ignore_errors=True)


def _write_one(
    folder: Path,
    documents: str,
    parts: tuple[Path, ...],
    name: str,
    first: str,
    last: str | None,
    covering: tuple[Path, RangeNotes] | None,
) -> RangeNotes | None:
    """Write a range, or keep that of the base; return its notes, None if it is empty."""
    source = _source(folder, documents, parts)
    if covering is None:
        return write_range(source, empty_range(), first, last, folder / name)
    base, notes = covering
    whole = TargetRange(read_arrays(base / notes.blob))
    cut = cut_range(whole, first, last)
    if cut is whole and is_untouched(source, cut, first, last):
        return notes
    return write_range(source, cut, first, last, folder / name)


@lru_cache(1)
def _source(folder: Path, documents: str, parts: tuple[Path, ...]) -> RangeSource:
    arrays = read_arrays(folder / documents)
    found = read_arrays(folder / _NUMBERS)
    stretches = [
        (stretch, found[str(place)])
        for place, part in enumerate(parts)
        for stretch in LinkPart(part).stretches
    ]
    return RangeSource(
        [stretch for stretch, _ in stretches],
        [numbers for _, numbers in stretches],
        arrays,
        found["removed"],
        pl.Series(Texts(arrays, "source").all(), dtype=pl.String),
        pl.Series(Texts(arrays, "host").all(), dtype=pl.String),
    )
