"""What a documents file tells beside its rows: of each archive file how it was read.

The notes are JSON in the metadata of the Parquet file, under NOTES_KEY.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from nwx.errors import SourceError
from nwx.importing.late_outlinks import LateOutlinks
from nwx.model import ReadError
from nwx.warc.record_groups import Outlink, RecordedOutlinks

DOCUMENTS_FORMAT = 1
"""The version of documents files that this nwx writes and reads."""

NOTES_KEY = "nwx.documents"


@dataclass(frozen=True, slots=True)
class PartNotes:
    """What is known of a part beside its rows, as `FilePart` has it.

    `rows` is the number of its captures. `counts` are those of the ledger
    entry, of the whole file up to `done_to`, None where the part has no
    entry; `marked` is the number of captures of the file up to there.
    `more_errors` counts, by kind, those that are not among `errors`.
    """

    rows: int
    records: Mapping[str, int]
    bytes: int
    done_to: int = 0
    finished: bool = False
    counts: Mapping[str, int] | None = None
    marked: int = 0
    errors: Sequence[ReadError] = ()
    more_errors: Mapping[str, int] = field(default_factory=dict)
    late: Sequence[LateOutlinks] = ()


@dataclass(frozen=True, slots=True)
class FileNotes:
    """What is known of an archive file: what it is, its parts in order, and what became of it.

    `path`, `name`, `size` and `member` are as in `ArchiveSource`; `checksum`
    is "" where the file could not be opened. `outcome` and `errors` are
    those of the verdict.
    """

    name: str
    path: str
    size: int | None
    member: str
    checksum: str
    outcome: str
    errors: Sequence[ReadError]
    parts: Sequence[PartNotes]

    @property
    def rows(self) -> int:
        """The number of its rows."""
        return sum(part.rows for part in self.parts)


@dataclass(frozen=True, slots=True)
class FaultNotes:
    """What is wrong with a file as a whole, as `FileError` has it."""

    error: ReadError
    path: str
    size: int | None
    is_refused: bool


@dataclass(frozen=True, slots=True)
class DocumentsNotes:
    """The notes of a documents file: its collection, and its archive files in the order of rows.

    `deduplicated` tells that of the captures of a document only one has its text.
    `faults` are of files that were not read, or not only.
    """

    collection: str
    deduplicated: bool
    files: Sequence[FileNotes]
    faults: Sequence[FaultNotes] = ()

    def as_json(self) -> dict[str, Any]:
        """Return the notes as JSON values."""
        found = asdict(self) | {"format": DOCUMENTS_FORMAT}
        for file, notes in zip(found["files"], self.files, strict=True):
            for part, own in zip(file["parts"], notes.parts, strict=True):
                part["late"] = [_late_json(one) for one in own.late]
        return found

    @classmethod
    def from_json(cls, found: Any, place: str) -> "DocumentsNotes":
        """Return the notes in a documents file; raises SourceError on those of another version."""
        if not isinstance(found, Mapping):
            raise SourceError(f"the notes of {place} cannot be read; extract the documents again")
        if found.get("format") != DOCUMENTS_FORMAT:
            raise SourceError(
                f"{place} has documents of format {found.get('format')}, this nwx reads "
                f"{DOCUMENTS_FORMAT}; extract them again with the nwx that imports them"
            )
        try:
            return cls(
                collection=found["collection"],
                deduplicated=found["deduplicated"],
                files=tuple(_file(one) for one in found["files"]),
                faults=tuple(
                    FaultNotes(**{**one, "error": ReadError(**one["error"])})
                    for one in found["faults"]
                ),
            )
        except (KeyError, TypeError, ValueError) as error:
            raise SourceError(
                f"the notes of {place} cannot be read ({error!r}); extract the documents again"
            ) from error


def _file(found: Mapping[str, Any]) -> FileNotes:
    return FileNotes(
        **{
            **found,
            "errors": tuple(ReadError(**one) for one in found["errors"]),
            "parts": tuple(_part(one) for one in found["parts"]),
        }
    )


def _part(found: Mapping[str, Any]) -> PartNotes:
    errors = tuple(ReadError(**one) for one in found["errors"])
    late = tuple(_late(one) for one in found["late"])
    return PartNotes(**{**found, "errors": errors, "late": late})


def _late_json(late: LateOutlinks) -> dict[str, Any]:
    """Return outlinks as JSON values; bytes as texts of the same signs."""
    recorded = late.recorded
    return {
        "documents": list(late.documents),
        "offset": late.offset,
        "place": recorded.offset,
        "names": [name.decode("latin-1") for name in recorded.names],
        "url": recorded.url.decode("latin-1"),
        "date": recorded.date.decode("latin-1"),
        "outlinks": [list(one) for one in recorded.outlinks],
        "cut": recorded.cut,
    }


def _late(found: Mapping[str, Any]) -> LateOutlinks:
    recorded = RecordedOutlinks(
        found["place"],
        tuple(name.encode("latin-1") for name in found["names"]),
        found["url"].encode("latin-1"),
        found["date"].encode("latin-1"),
        tuple(Outlink(*one) for one in found["outlinks"]),
        found["cut"],
    )
    return LateOutlinks(recorded, tuple(found["documents"]), found["offset"])
