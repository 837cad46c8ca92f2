"""The inlinks of one build, read from its blobs."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from nwx.bulk.arrays import Array, read_arrays
from nwx.engine.facet_store import BlobStore, StoredBuild
from nwx.engine.inlinks.counts import Texts
from nwx.engine.inlinks.inlink_index import ADVICE, InlinkNotes
from nwx.errors import BlobError
from nwx.model import LinkCell

OWN_HOST, SELF = 1, 2
"""Flags of a link: it comes from the same host, from the same URL."""


class TargetRange:
    """The targets of one range and their links, by place."""

    def __init__(self, arrays: Mapping[str, Array]) -> None:
        self.arrays = arrays
        self.keys = Texts(arrays, "key")
        self.anchors = Texts(arrays, "anchor")

    def links(self, place: int) -> slice:
        """Return where the links of a target are."""
        starts = self.arrays["link_starts"]
        return slice(int(starts[place]), int(starts[place + 1]))


class InlinkTable:
    """The inlinks of one build, with its blobs in a folder."""

    def __init__(self, folder: Path, stored: StoredBuild) -> None:
        self.folder = folder
        self.stored = stored
        self.notes = InlinkNotes.from_json(stored.notes, str(folder))
        self.cells = [LinkCell(year, collection) for year, collection in self.notes.cells]
        self.cell_codes = {cell: code for code, cell in enumerate(self.cells)}
        self.documents = self._arrays(self.notes.documents)
        self.sources = Texts(self.documents, "source")
        self.hosts = Texts(self.documents, "host")
        self.urls = Texts(self.documents, "url")
        # Opened now: a later build removes the files.
        self._ranges = [TargetRange(self._arrays(one.blob)) for one in self.notes.ranges]

    def _arrays(self, blob: str) -> dict[str, Array]:
        try:
            return read_arrays(self.folder / blob)
        except BlobError as error:
            raise BlobError.translated(
                "%(reason)s; %(advice)s", reason=error, advice=ADVICE
            ) from error

    def years(self) -> list[int]:
        """Return the years of captures that have links."""
        return [one.year for one in self.cells if one.year is not None and not one.collection]

    def range(self, number: int) -> TargetRange:
        """Return a range by its number."""
        return self._ranges[number]

    def ranges(self, first: str = "", last: str | None = None) -> Iterator[int]:
        """Yield the numbers of the ranges that may have urlkeys from `first` up to `last`."""
        notes = self.notes.ranges
        for number, one in enumerate(notes):
            if last is not None and one.first.encode() > last.encode():
                return
            if number + 1 == len(notes) or notes[number + 1].first.encode() > first.encode():
                yield number

    def place(self, urlkey: str) -> tuple[TargetRange, int] | None:
        """Return the range of a target and its place there, None where nothing links to it."""
        for number in self.ranges(urlkey, urlkey):
            found = self.range(number)
            place = found.keys.find(urlkey)
            if place is not None:
                return found, place
        return None

    def places(self, first: str, last: str) -> Iterator[tuple[TargetRange, int, int]]:
        """Yield the targets from a urlkey up to and without another: places from, up to."""
        for number in self.ranges(first, last):
            found = self.range(number)
            begin, end = found.keys.place(first), found.keys.place(last)
            if end > begin:
                yield found, begin, end


def inlink_table(store: BlobStore) -> InlinkTable | None:
    """Return the current build with its blobs on this machine, None without a build.

    If another build becomes current meanwhile, the new one is returned.
    """
    while True:
        version = store.version()
        stored = store.current()
        if stored is None:
            return None
        try:
            store.get(stored.blobs)
            return InlinkTable(store.folder, stored)
        except BlobError:
            if store.version() == version:
                raise
