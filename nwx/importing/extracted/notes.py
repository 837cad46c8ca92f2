"""Metadata of a documents file: how each archive file was read.

The notes are JSON in the metadata of the Parquet file, under NOTES_KEY.
"""

from collections.abc import Mapping
from dataclasses import field
from typing import Any

import msgspec

from nwx.data_classes import dataclass
from nwx.errors import SourceError
from nwx.importing.late_outlinks import LateOutlinks
from nwx.model import ReadError
from nwx.warc.record_groups import Outlink, RecordedOutlinks
from nwx.warc.sources import ArchiveSource

DOCUMENTS_FORMAT = 1
"""The version of documents files that this version of nwx writes and reads."""

NOTES_KEY = "nwx.documents"


@dataclass(frozen=True, slots=True)
class LateNotes:
    """The fields of `LateOutlinks`, with bytes as Latin-1 text.

    `place` is the offset of the metadata record.
    """

    documents: tuple[str, ...]
    offset: int | None
    place: int
    names: tuple[str, ...]
    url: str
    date: str
    outlinks: tuple[Outlink, ...]
    cut: bool

    @classmethod
    def from_late(cls, late: LateOutlinks) -> "LateNotes":
        """Return the notes of late outlinks."""
        place, names, url, date, outlinks, cut = late.recorded
        texts = tuple(name.decode("latin-1") for name in names)
        url_text, date_text = url.decode("latin-1"), date.decode("latin-1")
        return cls(late.documents, late.offset, place, texts, url_text, date_text, outlinks, cut)

    def late_outlinks(self) -> LateOutlinks:
        """Return these notes as late outlinks."""
        names = tuple(name.encode("latin-1") for name in self.names)
        url, date = self.url.encode("latin-1"), self.date.encode("latin-1")
        recorded = RecordedOutlinks(self.place, names, url, date, self.outlinks, self.cut)
        return LateOutlinks(recorded, self.documents, self.offset)


@dataclass(frozen=True, slots=True)
class PartNotes:
    """Metadata of a part, as in `FilePart`.

    `rows` is the number of its captures. `counts` are the ledger entry's, for the whole file up to
    `done_to`, None if the part has no entry; `marked` is the number of captures of the file up to
    `done_to`. `more_errors` counts, by kind, the errors that are not in `errors`.
    """

    rows: int
    records: Mapping[str, int]
    bytes: int
    done_to: int = 0
    finished: bool = False
    counts: Mapping[str, int] | None = None
    marked: int = 0
    errors: tuple[ReadError, ...] = ()
    more_errors: Mapping[str, int] = field(default_factory=dict)
    late: tuple[LateNotes, ...] = ()


@dataclass(frozen=True, slots=True)
class FileNotes:
    """Metadata of an archive file: its identity, its parts in order, and its outcome.

    `path`, `name`, `size` and `member` are as in `ArchiveSource`; `checksum` is "" if the file
    could not be opened. `outcome` and `errors` are the verdict's.
    """

    name: str
    path: str
    size: int | None
    member: str
    checksum: str
    outcome: str
    errors: tuple[ReadError, ...]
    parts: tuple[PartNotes, ...]

    @property
    def rows(self) -> int:
        """The number of rows of all parts."""
        return sum(part.rows for part in self.parts)


@dataclass(frozen=True, slots=True)
class FaultNotes:
    """An error about a whole file, as in `FileError`."""

    error: ReadError
    path: str
    size: int | None
    is_refused: bool


@dataclass(frozen=True, slots=True)
class DocumentsNotes:
    """The notes of a documents file: its collection, and its archive files in row order.

    `deduplicated` means that only one capture of each document has its text. `faults` are errors
    about whole files, both refused files and files that were read anyway.
    """

    collection: str
    deduplicated: bool
    files: tuple[FileNotes, ...]
    faults: tuple[FaultNotes, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the notes as JSON values."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found | {"format": DOCUMENTS_FORMAT}

    @classmethod
    def from_json(cls, found: Any, place: str) -> "DocumentsNotes":
        """Return the notes in a documents file; raises SourceError on another version."""
        if not isinstance(found, Mapping):
            raise SourceError(f"the notes of {place} cannot be read; extract the documents again")
        if found.get("format") != DOCUMENTS_FORMAT:
            raise SourceError(
                f"{place} has documents of format {found.get('format')}, this nwx reads "
                f"{DOCUMENTS_FORMAT}; extract them again with the nwx that imports them"
            )
        try:
            return msgspec.convert(found, cls)
        except msgspec.ValidationError as error:
            raise SourceError(
                f"the notes of {place} cannot be read ({error!r}); extract the documents again"
            ) from error


@dataclass(frozen=True, slots=True)
class ExtractedFile(ArchiveSource):
    """An archive file that was extracted already.

    `path` is its path at extraction, `documents` the path of the documents file, `number` its
    position among the archive files in the documents file.
    """

    documents: str = ""
    number: int = 0
