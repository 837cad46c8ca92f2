"""Enricher fields of records, and of documents already in an archive."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import blake2b

from nwx.bulk.progress import ShowProgress, batches, no_progress
from nwx.engine.base import Engine
from nwx.engine.indices.stored_pieces import StoredFilesReport, StoredPiece, read_stored_files
from nwx.extract.enrichers import Exchange, check_enrichers, enriched, reads_payload
from nwx.importing.late_outlinks import possible_ids
from nwx.keys import makes_document
from nwx.mappings import FieldValue
from nwx.model import Batch, Capture, Document, ReadError, SourceFile
from nwx.values.http import to_text
from nwx.warc.reader import CaptureRecord, StoredPayload


def enriched_record(
    names: Sequence[str], record: CaptureRecord, payload: StoredPayload, content: str = ""
) -> dict[str, FieldValue]:
    """Return the enricher fields of a record and its extracted text."""
    exchange = Exchange(
        record.capture,
        bytes(payload.data),
        charset=payload.charset,
        head=record.head,
        ip_address=to_text(record.ip_address),
        content=content,
    )
    return enriched(names, exchange)


_DOCUMENTS_AT_ONCE = 200
NO_PAYLOAD = StoredPayload(b"")


@dataclass(slots=True)
class EnrichReport(StoredFilesReport):
    """The number of files read, captures in them, and documents changed."""

    captures: int = 0
    documents: int = 0


@dataclass(frozen=True, slots=True)
class _CaptureFields:
    """The enricher fields of a capture, and the possible ids of its document."""

    capture: Capture
    ids: tuple[str, ...]
    fields: dict[str, FieldValue]


@dataclass(slots=True)
class _Read:
    """The enricher fields of the captures in a piece of a file, and the offset after it."""

    end: int
    captures: list[_CaptureFields] = field(default_factory=list)
    error: ReadError | None = None


def enrich_archive(
    engine: Engine,
    names: Iterable[str] = (),
    workers: int | None = None,
    progress: ShowProgress = no_progress,
) -> EnrichReport:
    """Run enrichers on all imported files and on later imports; default: the archive's, or all.

    Each payload is read once. A call that was stopped is continued by the next with the same names.
    """
    report = EnrichReport()
    found = check_enrichers(names or engine.digests.enrichers() or ("all",))
    engine.digests.keep_enrichers(found)

    def take(read: _Read) -> None:
        report.captures += len(read.captures)
        for some in batches(read.captures, _DOCUMENTS_AT_ONCE):
            amended = tuple(_amended(engine, some, found))
            report.documents += len(amended)
            if amended:
                engine.write(Batch(amended=amended))

    task = f"enriched-{blake2b(' '.join(found).encode(), digest_size=4).hexdigest()}"
    if found:
        read_stored_files(
            engine,
            task,
            partial(_read, found),
            take,
            report,
            is_done=_is_never_done,
            workers=workers,
            progress=progress,
        )
        engine.refresh()
    return report


def _is_never_done(_: SourceFile) -> bool:
    return False


def _read(names: Sequence[str], piece: StoredPiece) -> _Read:
    found = _Read(piece.start)
    for record in piece.captures(found, partial(_is_read, names)):
        if makes_document(capture := record.capture):
            payload = record.payload() if record.kept else NO_PAYLOAD
            fields = enriched_record(names, record, payload)
            found.captures.append(_CaptureFields(capture, possible_ids(capture), fields))
    return found


def _is_read(names: Sequence[str], capture: Capture) -> bool:
    return makes_document(capture) and reads_payload(names, capture)


def _amended(
    engine: Engine, some: Sequence[_CaptureFields], names: Sequence[str]
) -> Iterator[Document]:
    """Yield the documents whose fields change, with their new fields."""
    held = engine.documents([id for one in some for id in one.ids])
    for one in some:
        for document in filter(None, map(held.get, one.ids)):
            if _place(document.capture) != _place(one.capture):
                continue
            of_text = [name for name in names if name == "text-hash"]
            text = enriched(of_text, Exchange(one.capture, content=document.extract.content))
            fields = {**document.extract.fields, **one.fields, **text}
            if fields != document.extract.fields:
                yield replace(document, extract=replace(document.extract, fields=fields))


def _place(capture: Capture) -> tuple[str, str, int]:
    return capture.collection, capture.source_file, capture.source_file_offset
