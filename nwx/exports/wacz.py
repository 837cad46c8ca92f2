"""Packing of a selection: records, index, pages and file list as a WACZ, or records as a WARC."""

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import BinaryIO

from isal import igzip_lib

from nwx import __version__
from nwx.bulk.progress import ShowProgress, WorkProgress, batches, no_progress
from nwx.bulk.resources import temporary_folder
from nwx.bulk.whole_files import whole_file
from nwx.cdx.files import ZipNumBlock, block_key, format_meta, format_wacz_line
from nwx.cdx.rows import REVISIT, CdxRow, format_cdxj
from nwx.engine.base import Engine
from nwx.errors import ErrorText, FormatError, SourceError
from nwx.exports.wacz_records import HashedFile, WaczWriter, copied_record, new_record
from nwx.exports.wacz_selection import Catalogue, WaczSelection, select_captures
from nwx.keys import makes_document
from nwx.maintenance.holdings import required_files
from nwx.model import Capture, Document, ReadError, SourceFile
from nwx.values.timestamps import parse_timestamp
from nwx.warc.members import READ_FAILURES
from nwx.warc.sources import ArchiveSource, stored_source

_LINES_A_BLOCK = 300
"""As in cdxj-indexer for WACZ files."""
WARC_BYTES = 1 << 30
"""The size in bytes at which another WARC is begun in a WACZ."""

_SPOOLED_BYTES = 16 << 20
_COPIED_BYTES = 1 << 20
_LEVEL = 2
_DOCUMENTS_AT_ONCE = 200
_SHOWN_EACH = 100
_PAGE_TYPES = frozenset(("html", "pdf", "text", "word"))


@dataclass(frozen=True, slots=True)
class PackOptions:
    """The metadata of a WACZ, and whether its pages include their text."""

    title: str = ""
    description: str = ""
    text: bool = True


@dataclass(slots=True)
class PackReport:
    """The counts of a package; `missing` counts captures whose record could not be read.

    `requires` names the files needed to play revisits of the package.
    """

    captures: int = 0
    pages: int = 0
    files: int = 0
    bytes: int = 0
    missing: int = 0
    errors: list[ReadError] = field(default_factory=list)
    requires: list[str] = field(default_factory=list)


def pack(
    engine: Engine,
    selection: WaczSelection,
    out: Path,
    options: PackOptions,
    progress: ShowProgress = no_progress,
) -> PackReport:
    """Write a selection of an archive as a WACZ, which appears when it is complete.

    Records that cannot be read are reported, with the errors. Raises SourceError if nothing can be
    packed, QueryError on an invalid query.
    """
    report = PackReport()
    nothing = ErrorText("the selection has no captures; there is nothing to pack")
    _check_not_held(engine, out)
    with _selected(engine, selection, report, progress, nothing) as catalogue:
        with whole_file(out) as stream, closing(WaczWriter(stream, datetime.now(UTC))) as wacz:
            records = RecordCopies(
                lambda name: wacz.entry(f"archive/{name}"), catalogue, report, WARC_BYTES
            )
            records.write(engine.files(), progress)
            _write_index(wacz, catalogue)
            _write_pages(wacz, engine, catalogue, report, text=options.text)
            about = {"title": options.title, "description": options.description}
            revisits = catalogue.lone_revisits()
            needed = list(required_files(engine, revisits, catalogue.holds))
            report.requires = [one["filename"] for one in needed]
            relation = {"relation": {"requires": needed}} if needed else {}
            wacz.finish({"software": f"nwx {__version__}", **about, **relation})
        report.bytes = out.stat().st_size
    return report


def _check_not_held(engine: Engine, out: Path) -> None:
    """Raise SourceError if an export would replace a file that holds records of the archive."""
    place = out.resolve()
    if out.exists() and any(Path(file.path).resolve() == place for file in engine.files()):
        raise SourceError(f"{out} holds records of this archive; name another file")


@contextmanager
def _selected(
    engine: Engine,
    selection: WaczSelection,
    report: PackReport,
    progress: ShowProgress,
    nothing: ErrorText,
) -> Iterator[Catalogue]:
    """Yield the catalogue of a selection; raises `nothing` as a SourceError if it is empty."""
    with (
        temporary_folder() as scratch,
        SourceError.instead_of(sqlite3.OperationalError, f"{scratch} cannot be written"),
        closing(Catalogue(scratch / "catalogue.sqlite")) as catalogue,
    ):
        captures = select_captures(engine, selection, report.errors)
        if not catalogue.add(shown_selection(captures, progress)):
            raise SourceError(nothing)
        yield catalogue


def shown_selection(captures: Iterator[Capture], progress: ShowProgress) -> Iterator[Capture]:
    """Yield captures and report the number selected so far."""
    for number, capture in enumerate(captures):
        if number % _SHOWN_EACH == 0:
            progress(WorkProgress("selecting", number))
        yield capture


def nothing_packed(report: PackReport) -> ErrorText:
    """Return the error for an empty package."""
    first = report.errors[0]
    return ErrorText(
        "none of %(count)s captures can be packed; the first fault: %(file)s: %(reason)s",
        count=report.missing,
        file=first.file,
        reason=first.message,
    )


class RecordCopies:
    """Writes records into WARCs and records their new offsets.

    `open_warc` opens a WARC by its name; after a WARC reaches `most_bytes`, another one is opened.
    """

    def __init__(
        self,
        open_warc: Callable[[str], AbstractContextManager[HashedFile]],
        catalogue: Catalogue,
        report: PackReport,
        most_bytes: int,
    ) -> None:
        self._open_warc, self._most_bytes = open_warc, most_bytes
        self._catalogue = catalogue
        self._report = report
        self._warc: HashedFile | None = None
        self._name = ""
        self._number = 0
        self._open = ExitStack()

    def write(self, ledger: list[SourceFile], progress: ShowProgress) -> None:
        """Write the records of all captures, file by file; raises SourceError without any."""
        sources = {(file.collection, file.name): stored_source(file) for file in ledger}
        files = self._catalogue.files()
        passed, total = 0, sum(count for _, _, count in files)
        with self._open:
            for collection, name, count in files:
                source = sources.get((collection, name))
                if source is None:
                    message = "no archive file of this name was imported"
                    self._miss(ReadError(name, None, "missing", message), count)
                else:
                    self._write_file(source, collection, count)
                passed += count
                progress(WorkProgress("records", passed, total))
        if not self._report.captures:
            raise SourceError(nothing_packed(self._report))

    def _write_file(self, source: ArchiveSource, collection: str, count: int) -> None:
        before = self._report.captures + self._report.missing
        try:
            with source.open() as handle:
                self._report.files += 1
                for capture in self._catalogue.captures(collection, source.name):
                    self._write_record(source, handle, capture)
        except (SourceError, *READ_FAILURES) as error:
            left = count - (self._report.captures + self._report.missing - before)
            self._miss(ReadError(source.name, None, "missing", str(error)), left)

    def _write_record(self, source: ArchiveSource, handle: BinaryIO, capture: Capture) -> None:
        # Read the whole record first, so that the WARC never has half a record.
        with SpooledTemporaryFile(_SPOOLED_BYTES) as whole:
            try:
                whole.writelines(copied_record(source, handle, capture))
            except FormatError as error:
                offset = capture.source_file_offset
                self._miss(ReadError(source.name, offset, "record", str(error)), 1)
                return
            length = whole.tell()
            whole.seek(0)
            warc = self._warc_with_room()
            offset = warc.size
            while block := whole.read(_COPIED_BYTES):
                warc.write(block)
        self._note(capture, offset, length)

    def _warc_with_room(self) -> HashedFile:
        if self._warc is None or self._warc.size >= self._most_bytes:
            self._open.close()
            self._name = f"data-{self._number:05d}.warc.gz"
            self._number += 1
            self._warc = self._open.enter_context(self._open_warc(self._name))
            info = f"software: nwx {__version__}\r\nformat: WARC File Format 1.1\r\n".encode()
            fields = {
                "WARC-Date": f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
                "WARC-Filename": self._name,
                "Content-Type": "application/warc-fields",
            }
            self._warc.write(new_record("warcinfo", fields, info))
        return self._warc

    def _note(self, capture: Capture, offset: int, length: int) -> None:
        self._report.captures += 1
        self._catalogue.add_line(_index_line(capture, self._name, offset, length))
        if _is_page(capture):
            self._catalogue.add_page(capture)

    def _miss(self, error: ReadError, captures: int) -> None:
        self._report.missing += captures
        self._report.errors.append(error)


def _index_line(capture: Capture, file: str, offset: int, length: int) -> bytes:
    line = CdxRow(
        urlkey=capture.urlkey,
        timestamp=capture.timestamp,
        url=capture.url,
        mime=REVISIT if capture.record_type == "revisit" else capture.content_type,
        status="" if capture.status_code is None else str(capture.status_code),
        digest=capture.digest,
        length=str(length),
        offset=str(offset),
        filename=file,
        extra="" if capture.method == "GET" else json.dumps({"method": capture.method}),
    )
    return format_cdxj(line).encode("utf-8", "surrogateescape")


def _is_page(capture: Capture) -> bool:
    return (
        makes_document(capture)
        and capture.method == "GET"
        and capture.content_type_norm in _PAGE_TYPES
        and capture.status_code in (200, None)
    )


def _write_index(wacz: WaczWriter, catalogue: Catalogue) -> None:
    """Write the index of all records as a ZipNum cluster of one file."""
    lines = catalogue.lines()
    index = [format_meta("index.cdx.gz")]
    with wacz.entry("indexes/index.cdx.gz") as entry:
        for block in batches(lines, _LINES_A_BLOCK):
            text = b"\n".join([*block, b""])
            stored = igzip_lib.compress(text, _LEVEL, igzip_lib.COMP_GZIP)
            offset = entry.write(stored)
            digest = f"sha256:{hashlib.sha256(stored).hexdigest()}"
            place = ZipNumBlock(block_key(block[0]), "", offset, len(stored), digest=digest)
            index.append(format_wacz_line(place))
    with wacz.entry("indexes/index.idx", deflated=True) as entry:
        entry.write(b"".join(index))


def _write_pages(
    wacz: WaczWriter, engine: Engine, catalogue: Catalogue, report: PackReport, *, text: bool
) -> None:
    """Write the list of pages with their titles, and with their texts if `text`."""
    pages = catalogue.pages()
    head = {"format": "json-pages-1.0", "id": "pages", "title": "All Pages", "hasText": text}
    with wacz.entry("pages/pages.jsonl", deflated=True) as entry:
        entry.write(_json_line(head))
        for some in batches(pages, _DOCUMENTS_AT_ONCE):
            documents = engine.documents([id for id, _, _ in some])
            for page in some:
                entry.write(_json_line(_page(*page, documents.get(page[0]), text=text)))
                report.pages += 1


def _page(
    id: str, url: str, timestamp: str, document: Document | None, *, text: bool
) -> dict[str, str]:
    page = {"id": id, "url": url, "ts": f"{parse_timestamp(timestamp):%Y-%m-%dT%H:%M:%SZ}"}
    if document is None:
        return page
    found = {"title": document.extract.title, "text": document.extract.content if text else ""}
    return {**page, **{name: value for name, value in found.items() if value}}


def _json_line(value: object) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace") + b"\n"


def pack_warc(
    engine: Engine, selection: WaczSelection, out: Path, progress: ShowProgress = no_progress
) -> PackReport:
    """Write the records of a selection into one gzipped WARC, which appears when complete.

    Raises the same errors as `pack`.
    """
    report = PackReport()
    nothing = ErrorText("the selection has no captures; there is nothing to write")
    _check_not_held(engine, out)
    with _selected(engine, selection, report, progress, nothing) as catalogue:
        with whole_file(out) as stream:
            sink = HashedFile(stream)

            @contextmanager
            def opened(name: str) -> Iterator[HashedFile]:
                del name
                yield sink

            copies = RecordCopies(opened, catalogue, report, most_bytes=1 << 62)
            copies.write(engine.files(), progress)
        report.bytes = out.stat().st_size
    return report
