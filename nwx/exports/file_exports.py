"""WAT and WET exports: one file per archive file. Existing files are not rewritten."""

import hashlib
import json
import re
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from email.utils import formatdate
from pathlib import Path
from typing import BinaryIO

from nwx import __version__
from nwx.bulk.pool import Pool
from nwx.bulk.progress import ShowProgress, no_progress
from nwx.bulk.resources import processors
from nwx.bulk.whole_files import whole_file, writing
from nwx.errors import FormatError, SourceError, TimestampError
from nwx.exports.archive_inputs import (
    FILE_FAILURES,
    ExtractReport,
    InputFile,
    Inputs,
    Visibility,
    VisibleRecords,
)
from nwx.exports.cc_index import iso639_3
from nwx.exports.wacz_records import new_record
from nwx.exports.wat import extract_page, page_text, pairs_of, wat_entry
from nwx.model import ReadError
from nwx.values.digests import digest_of
from nwx.values.http import to_text, unfolded_lines
from nwx.values.records import add_counts
from nwx.values.timestamps import normal_timestamp, parse_timestamp
from nwx.warc.gzip_members import GZIP_MAGIC
from nwx.warc.members import ZSTD_MAGIC
from nwx.warc.record import Record

_NOTE = "nwx-export.json"
_VERSION = "1.0"
_ENDING = re.compile(r"\.(?:gz|zst|zstd)$", re.I)
_LANGUAGE = "WARC-Identified-Content-Language"
_ABOUT_CRAWL = frozenset(("robots", "isPartOf", "operator", "description", "publisher"))
_ODD = re.compile(r"[#/\\\x00-\x1f]+")
_ISO = "%Y-%m-%dT%H:%M:%SZ"


def export_files(
    form: str,
    inputs: Inputs,
    folder: Path,
    *,
    workers: int | None = None,
    progress: ShowProgress = no_progress,
) -> ExtractReport:
    """Write the missing WAT or WET files of archive files into a folder.

    Each appears when it is complete. Raises SourceError if the folder has files of another form,
    or written with other access rules.
    """
    began = time.monotonic()
    report = ExtractReport(errors=list(inputs.errors))
    _note(folder, {"form": form, "rules": inputs.shown.key})
    tasks = []
    for one, out in _named(form, inputs.files, folder):
        if out.exists():
            report.present += 1
        else:
            tasks.append((form, one, out, inputs.shown))
    sizes = [one.source.size or 1 for _, one, _, _ in tasks]
    count = min(workers or processors(), len(tasks)) or 1
    with Pool(count) as pool:
        for result in pool.map_shown(_export_file, tasks, progress, "exporting", sizes):
            add_counts(report, result)
    report.seconds = time.monotonic() - began
    return report


def _note(folder: Path, note: dict[str, str]) -> None:
    """Write the note of a new folder, or compare it with that of an existing one."""
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / _NOTE
        if not path.exists():
            with whole_file(path) as stream:
                stream.write(json.dumps(note).encode())
            return
        text = path.read_bytes()
    if text != json.dumps(note).encode():
        raise SourceError.translated(
            "%(path)s has files in another format, or made with other access rules; "
            "name a new folder",
            path=folder,
        )


def _named(
    form: str, inputs: Sequence[InputFile], folder: Path
) -> Iterator[tuple[InputFile, Path]]:
    """Yield the files with their output paths; a number is appended to repeated names."""
    taken: set[Path] = set()
    collections = {one.collection for one in inputs}
    for one in inputs:
        place = folder / _ODD.sub("-", one.collection) if len(collections) > 1 else folder
        stem = _ENDING.sub("", _ODD.sub("-", one.source.name))
        out, number = place / f"{stem}.{form}.gz", 1
        while out in taken:
            number += 1
            out = place / f"{stem}-{number}.{form}.gz"
        taken.add(out)
        yield one, out


def _export_file(form: str, one: InputFile, out: Path, shown: Visibility) -> ExtractReport:
    report = ExtractReport(files=1)
    records = VisibleRecords(one.source, one.collection, shown)
    out.parent.mkdir(exist_ok=True)
    try:
        with whole_file(out) as stream:
            for kind, fields, block in _entries(form, one, records, report):
                if kind == "warcinfo":
                    fields["WARC-Filename"] = out.name
                else:
                    report.written += 1
                digest = digest_of("sha1", hashlib.sha1(block, usedforsecurity=False).digest())
                fields |= {"WARC-Block-Digest": digest}
                stream.write(new_record(kind, fields, block, _VERSION))
        report.bytes = out.stat().st_size
    except FormatError as error:
        report = ExtractReport(records=report.records)
        records.errors.append(ReadError(one.source.name, None, "read", str(error)))
    report.hidden, report.errors = records.hidden, records.errors
    return report


_Entries = Iterator[tuple[str, dict[str, str], bytes]]
"""Records to write: type, fields and block."""


def _entries(form: str, one: InputFile, records: VisibleRecords, report: ExtractReport) -> _Entries:
    """Yield the records to write. Raises FormatError if the archive file cannot be read."""
    # Failures to read are counted; failures to write, outside this generator, stop the export.
    with FormatError.instead_of(FILE_FAILURES, "cannot be read"), one.source.open() as handle:
        yield from _WRITERS[form](records, one.source.name, handle, report)


def _wat(records: VisibleRecords, name: str, handle: BinaryIO, report: ExtractReport) -> _Entries:
    start = handle.read(len(ZSTD_MAGIC))
    compressed = start.startswith((GZIP_MAGIC, ZSTD_MAGIC))
    yield _warcinfo({"format": "WARC File Format 1.0"})
    for record in records:
        report.records += 1
        entry = wat_entry(record, name, handle, compressed=compressed)
        get, in_arc = record.fields.get, f"<urn:arc:{name}:{record.offset}>"
        fields = {
            "WARC-Target-URI": to_text(get(b"warc-target-uri") or get(b"warc-filename")),
            "WARC-Date": _date(record) if record.format == "arc" else _now(),
            "WARC-Refers-To": to_text(get(b"warc-record-id")) or in_arc,
            "Content-Type": "application/json",
        }
        yield "metadata", fields, json.dumps(entry, separators=(",", ":")).encode()


def _wet(records: VisibleRecords, name: str, handle: BinaryIO, report: ExtractReport) -> _Entries:
    del handle
    for record in records:
        if not report.records:
            about = bytes(record.block) if record.kind == "warcinfo" else b""
            told = pairs_of(unfolded_lines(about))
            yield _warcinfo({name: value for name, value in told if name in _ABOUT_CRAWL})
        report.records += 1
        found = extract_page(record) if record.kind == "response" else None
        if found is None:
            continue
        problems = (ReadError(name, record.offset, "extract", each) for each in found.problems)
        report.errors.extend(problems)
        if text := page_text(found):
            get = record.fields.get
            fields = {
                "WARC-Target-URI": to_text(get(b"warc-target-uri")),
                "WARC-Date": _date(record),
                "WARC-Refers-To": to_text(get(b"warc-record-id"))
                or f"<urn:arc:{name}:{record.offset}>",
                _LANGUAGE: to_text(get(_LANGUAGE.lower().encode()))
                or iso639_3(found.content_language),
                "Content-Type": "text/plain",
            }
            yield "conversion", fields, text.encode("utf-8", "replace")


_WRITERS = {"wat": _wat, "wet": _wet}


def _warcinfo(told: dict[str, str]) -> tuple[str, dict[str, str], bytes]:
    about = {"Software-Info": f"nwx {__version__}", "Extracted-Date": formatdate(usegmt=True)}
    lines = [f"{name}: {value}\r\n" for name, value in (about | told).items()]
    fields = {"WARC-Date": _now(), "Content-Type": "application/warc-fields"}
    return "warcinfo", fields, "".join(lines).encode()


def _now() -> str:
    return f"{datetime.now(UTC):{_ISO}}"


def _date(record: Record) -> str:
    """Return the date of a record in WARC format, the current time if it is invalid."""
    try:
        timestamp = normal_timestamp(to_text(record.fields.get(b"warc-date")))
    except TimestampError:
        return _now()
    return f"{parse_timestamp(timestamp):{_ISO}}"
