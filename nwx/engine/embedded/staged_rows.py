"""The SQLite rows of a batch, without the values that only the writer can assign."""

import fcntl
import os
import pickle
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from nwx.bulk.whole_files import sealed_json
from nwx.captures import values_of
from nwx.data_classes import dataclass
from nwx.engine.embedded.database import DOCUMENT_FACETS
from nwx.engine.entries import IndexEntry, clean_text, document_entry, file_entry
from nwx.errors import EngineError
from nwx.keys import document_id, document_key
from nwx.model import Batch, Capture, Dates, Document, SourceFile


class DocumentRow(NamedTuple):
    """The data of a document except its text.

    `num` is its number in a segment, 0 if its text is in none; then its entry is included. A row
    that `amends` replaces a document of the same capture.
    """

    id: bytes
    num: int
    precedence: int
    id_start: int
    url_hash: int
    text_hash: int
    facets: tuple[str | None, ...]
    entry: IndexEntry | None
    amends: bool = False


class FileCaptures(NamedTuple):
    """The captures of one file: values in the order of VALUE_FIELDS without these two."""

    collection: str
    source_file: str
    rows: tuple[tuple[Any, ...], ...]


class DatesRow(NamedTuple):
    """The dates of a key: pairs of timestamp, as a number, and collection."""

    id: bytes
    key: str
    seen: tuple[tuple[int, str], ...]


class FileRow(NamedTuple):
    """A ledger entry."""

    collection: str
    name: str
    entry: str


@dataclass(frozen=True, slots=True)
class BatchRows:
    """A batch, ready for the writer; `characters` counts the text of all documents."""

    documents: tuple[DocumentRow, ...] = ()
    captures: tuple[FileCaptures, ...] = ()
    dates: tuple[DatesRow, ...] = ()
    files: tuple[FileRow, ...] = ()
    characters: int = 0


@dataclass(frozen=True, slots=True)
class PackedBatches:
    """Batches pickled until they are iterated over, in a tenth of the memory."""

    packed: tuple[bytes, ...]

    def __iter__(self) -> Iterator[BatchRows]:
        return map(pickle.loads, self.packed)


@dataclass(frozen=True, slots=True)
class StagedRows:
    """Batches to be written in order.

    `segment` is the folder of an index with the texts of the documents that have a number, "" if
    none has.
    """

    batches: Iterable[BatchRows]
    segment: str = ""


def batch_rows(batch: Batch) -> BatchRows:
    """Return the rows of a batch, documents with their entries; of two with one id the better."""
    best: dict[str, IndexEntry] = {}
    for entry in map(document_entry, batch.documents):
        known = best.get(entry["id"])
        if known is None or known["precedence"] < entry["precedence"]:
            best[entry["id"]] = entry
    rows = {id: document_row(entry) for id, entry in best.items()}
    for entry in map(document_entry, batch.amended):
        if entry["id"] not in rows or rows[entry["id"]].precedence <= entry["precedence"]:
            rows[entry["id"]] = document_row(entry)._replace(amends=True)
    return BatchRows(
        tuple(rows.values()),
        capture_rows(batch.captures),
        dates_rows([*batch.dates, *own_dates((*batch.documents, *batch.amended))]),
        tuple(map(_file_row, batch.files)),
        characters=sum(len((row.entry or {}).get("content", "")) for row in rows.values()),
    )


def document_row(entry: IndexEntry) -> DocumentRow:
    """Return the row of a document that has no number yet."""
    facets = (entry.get(name) for name in DOCUMENT_FACETS)
    return DocumentRow(
        bytes.fromhex(entry["id"]),
        0,
        entry["precedence"],
        int(entry["id"][:16], 16) >> 1,
        _hash(entry.get("url", "")),
        _hash(entry["signature"]) if entry.get("signature") else 0,
        tuple(None if value is None else str(value) for value in facets),
        entry,
    )


def capture_rows(captures: Iterable[Capture]) -> tuple[FileCaptures, ...]:
    """Return captures grouped by file."""
    by_file: defaultdict[tuple[str, str], list[tuple[Any, ...]]] = defaultdict(list)
    for row in values_of(captures):
        by_file[row[:2]].append(row[2:])
    return tuple(FileCaptures(*file, tuple(rows)) for file, rows in by_file.items())


def dates_rows(dates: Sequence[Dates]) -> tuple[DatesRow, ...]:
    """Return the dates of keys, each key once."""
    by_key: defaultdict[str, dict[tuple[int, str], None]] = defaultdict(dict)
    for one in dates:
        if one.seen:
            pairs = ((int(timestamp), collection) for timestamp, collection in one.seen)
            by_key[one.key].update(dict.fromkeys(pairs))
    return tuple(
        DatesRow(bytes.fromhex(document_id(key)), clean_text(key), tuple(pairs))
        for key, pairs in by_key.items()
    )


def own_dates(documents: Iterable[Document]) -> Iterator[Dates]:
    """Yield the date of each document's own capture, so that no document lacks dates."""
    for document in documents:
        capture = document.capture
        key = document_key(capture.url, capture.digest)
        yield Dates(key, ((capture.timestamp, capture.collection),))


def _file_row(file: SourceFile) -> FileRow:
    return FileRow(file.collection, file.name, sealed_json(file_entry(file)))


def _hash(text: str) -> int:
    """Return a 63-bit hash of a text, never 0."""
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> 1 or 1


_WIDTH = 8


class Numbers:
    """The next free document number, in a file whose lock the system releases on process death."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def begin(self, first: int) -> None:
        """Set the next number to `first`, in a new file.

        A staging process that outlived its killed import may take numbers meanwhile.
        """
        new = self._file.with_suffix(".new")
        new.write_bytes(first.to_bytes(_WIDTH, "big"))
        new.rename(self._file)

    def take(self, count: int) -> int:
        """Reserve `count` consecutive numbers for this caller; return the first.

        Raises EngineError if no writer has the archive open.
        """
        try:
            handle = os.open(self._file, os.O_RDWR | os.O_CLOEXEC)
        except FileNotFoundError as error:
            raise EngineError(
                f"no process has the archive open for writing: {self._file} is missing"
            ) from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            first = int.from_bytes(os.pread(handle, _WIDTH, 0), "big")
            os.pwrite(handle, (first + count).to_bytes(_WIDTH, "big"), 0)
        finally:
            os.close(handle)
        return first
