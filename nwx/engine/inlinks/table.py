"""The inlinks of one build, read from its blobs."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from nwx.bulk.arrays import Array, read_arrays
from nwx.engine.facet_store import BlobStore, StoredBuild
from nwx.engine.inlinks.counts import Texts
from nwx.errors import BlobError, EngineVersionError, ErrorText
from nwx.model import IndexStats, LinkCell

INLINKS_FORMAT = 1
ADVICE = ErrorText("run `nwx invert-links --anew`")
"""What helps against a build that cannot be read."""


@dataclass(frozen=True, slots=True)
class RangeNotes:
    """A range of targets: its blob, its first urlkey, and how much is in it."""

    blob: str
    first: str
    targets: int
    links: int
    entries: int


@dataclass(frozen=True, slots=True)
class InlinkNotes:
    """What is known of a build beside its arrays.

    `stamp` is that of the documents that it was made from. `cells` are pairs
    of year and collection by their codes; the first is of all links.
    `kinds` are the kinds of links by their codes. `anchors` is the blob of
    what searches look at (`nwx.engine.anchors`), "" in builds without it.
    """

    format: int
    number: int
    stamp: str
    built: str
    cells: Sequence[Sequence[Any]]
    kinds: Sequence[str]
    documents: str
    linking: int
    refused: int
    ranges: Sequence[RangeNotes] = field(default_factory=list)
    anchors: str = ""

    @classmethod
    def from_json(cls, found: Mapping[str, Any], place: str) -> "InlinkNotes":
        """Return the notes of a build; raises EngineVersionError on those of another version."""
        if found.get("format") != INLINKS_FORMAT:
            raise EngineVersionError(
                ErrorText(
                    "the inlinks in %(place)s have format %(found)s, this nwx reads "
                    "%(known)s; %(advice)s",
                    place=place,
                    found=found.get("format"),
                    known=INLINKS_FORMAT,
                    advice=ADVICE,
                )
            )
        ranges = [RangeNotes(**one) for one in found["ranges"]]
        return cls(**{**found, "ranges": ranges})

    def as_json(self) -> dict[str, Any]:
        """Return the notes as JSON values."""
        return asdict(self)

    @property
    def blobs(self) -> list[str]:
        """The names of all blobs."""
        return [self.documents, *(one.blob for one in self.ranges), *filter(None, [self.anchors])]


def inlink_notes(store: BlobStore) -> InlinkNotes | None:
    """Return the notes of the current build of a store, None where there is none."""
    stored = store.current()
    return None if stored is None else InlinkNotes.from_json(stored.notes, str(store.folder))


def count_inlinks(store: BlobStore) -> int:
    """Return the number of entries of the current build."""
    notes = inlink_notes(store)
    return 0 if notes is None else sum(one.entries for one in notes.ranges)


def inlink_stats(store: BlobStore) -> IndexStats:
    """Return the size of the current build, the links included."""
    stored = store.current()
    return IndexStats(count_inlinks(store), sum(stored.blobs.values()) if stored else 0)


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
    """The inlinks of one build, whose blobs lie in a folder."""

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
            raise BlobError(
                ErrorText("%(reason)s; %(advice)s", reason=error, advice=ADVICE)
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
    """Return the current build with its blobs on this machine, None where there is none.

    Where another build becomes current meanwhile, that one is returned.
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
