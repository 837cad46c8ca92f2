"""Rewriting of WARC files with revisit records in place of duplicates.

A new file equals the old one byte for byte, except that each duplicate becomes a revisit record,
after its payload was compared with that of its original. Before a new file appears, it is read back
and checked to replay to the payloads of the old one. Old files are only read. A journal in the
output folder allows a killed run to continue.
"""

import os
import sqlite3
import zlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import astuple, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from warcio.bufferedreaders import ChunkedDataException
from warcio.exceptions import ArchiveLoadFailed

from nwx.bulk.progress import ShowProgress, WorkProgress, no_progress
from nwx.bulk.resources import temporary_folder
from nwx.bulk.whole_files import whole_file, writing
from nwx.dedup.revisit_records import (
    GZIP_START,
    Original,
    Rewritten,
    WarcLocation,
    digested_captures,
    location_of,
    payload_hash,
    prove,
    revisit_record,
    rewrite_journal,
    stored_record,
)
from nwx.errors import FormatError, SourceError
from nwx.model import ReadError
from nwx.warc.sources import ArchiveSource

Way = Callable[[int], None]
"""Called with the offset in a file up to which the work is done."""

OriginalCoverage = Callable[[str, str, str], bool]
"""Returns whether a capture (URL, digest, timestamp) is a duplicate by an exclusion list."""

_BLOCK_BYTES = 1 << 20
_RECORD_END = b"\r\n\r\n"
# OverflowError: warcio reads a chunk of its declared size, however large.
_BROKEN = (ArchiveLoadFailed, ChunkedDataException, zlib.error, EOFError, OverflowError)
_WITH_PAYLOAD = ("response", "resource")


def rewrite(
    sources: Sequence[ArchiveSource],
    covers: OriginalCoverage,
    folder: Path,
    progress: ShowProgress = no_progress,
    lists: Sequence[str] = (),
    never_met: Callable[[], int] = lambda: 0,
) -> Iterator[Rewritten]:
    """Rewrite each file into `folder`, under its name, and yield the result of each.

    The original is searched in all files: the earliest capture of the same payload that is not a
    duplicate, of the same URL if possible. Additional digests of payloads are computed only if the
    files have digests of several algorithms, or some entries of lists were `never_met`. A killed
    run continues when called with the same files and `lists`; a finished run yields its reports
    again. Raises SourceError if a new file would replace another, or a file is not a WARC that can
    be rewritten.
    """
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
    with (
        rewrite_journal(folder, [*(source.path for source in sources), *lists]) as journal,
        temporary_folder() as scratch,
        closing(_Catalogue(scratch / "captures.sqlite")) as catalogue,
    ):
        for source in sources:
            _check_output(source, folder, may_exist=journal.goes_on)
        done = [journal.report_of(folder / Path(source.path).name) for source in sources]
        if all(done):
            yield from filter(None, done)
            return
        for further in (False, True):
            for source, way in _ways("reading", sources, progress):
                catalogue.add(source, covers, way, further=further)
            if further or (len(catalogue.algorithms) < 2 and not never_met()):
                break
            catalogue.clear()
        for source, way in _ways("writing", sources, progress):
            output = folder / Path(source.path).name
            report = journal.report_of(output)
            if report is None:
                report = _rewrite_file(source, output, catalogue, way)
                report = replace(report, never_met=never_met())
                journal.note(report)
            yield report


def _ways(
    step: str, sources: Sequence[ArchiveSource], progress: ShowProgress
) -> Iterator[tuple[ArchiveSource, Way]]:
    """Yield each source with a function that reports the position reached in it."""
    before, total = 0, sum(source.size or 0 for source in sources)
    for source in sources:
        yield source, partial(_tell, progress, step, before, total)
        before += source.size or 0
        progress(WorkProgress(step, before, total))


def _tell(progress: ShowProgress, step: str, before: int, total: int, offset: int) -> None:
    progress(WorkProgress(step, min(before + offset, total), total))


def _check_output(source: ArchiveSource, folder: Path, *, may_exist: bool) -> None:
    output = folder / Path(source.path).name
    if source.member or not Path(source.path).is_file():
        raise SourceError(f"{source.name} is not a local WARC file; unpack or fetch it first")
    if output.exists() and not may_exist:
        raise SourceError(f"{output} already exists; choose an empty folder for the new files")


class _Catalogue:
    """The captures with a payload in all files, on disk; paths are bytes, perhaps not UTF-8."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.revisits: Counter[str] = Counter()
        self.algorithms: set[str] = set()
        self._db = sqlite3.connect(path, isolation_level=None)
        self._db.executescript(
            "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF;"
            "CREATE TABLE capture (path, offset INTEGER, length INTEGER, url, timestamp, digest,"
            " duplicate INTEGER);"
        )

    def add(
        self, source: ArchiveSource, covers: OriginalCoverage, way: Way, *, further: bool
    ) -> None:
        """Add the captures of a file; raises SourceError if the disk is full."""
        with SourceError.instead_of(sqlite3.OperationalError, f"{self._path} cannot be written"):
            self._note(source, covers, way, further)

    def _note(
        self, source: ArchiveSource, covers: OriginalCoverage, way: Way, further: bool
    ) -> None:
        self._db.execute("BEGIN")
        self._db.executemany(
            "INSERT INTO capture VALUES (?, ?, ?, ?, ?, ?, ?)",
            self._rows(source, covers, way, further),
        )
        self._db.execute("COMMIT")
        self._db.execute("CREATE INDEX IF NOT EXISTS by_digest ON capture (digest, duplicate)")

    def _rows(
        self, source: ArchiveSource, covers: OriginalCoverage, way: Way, further: bool
    ) -> Iterator[tuple[object, ...]]:
        for capture, others_of in digested_captures(source, further=further):
            way(capture.source_file_offset)
            if not capture.digest:
                continue
            self.algorithms.add(capture.digest.partition(":")[0])
            digests = (capture.digest, *others_of)
            listed = True in [covers(capture.url, one, capture.timestamp) for one in digests]
            if capture.record_type in _WITH_PAYLOAD:
                place = location_of(source.path, capture)
                # An original is found by any digest; a duplicate needs one row only.
                for one in digests[:1] if listed else digests:
                    _, *others = astuple(replace(place, digest=one))
                    yield os.fsencode(source.path), *others, listed
            elif listed:
                self.revisits[source.path] += 1

    def clear(self) -> None:
        self.revisits.clear()
        self._db.execute("DELETE FROM capture")

    def duplicates(self, path: str) -> list[WarcLocation]:
        """Return the duplicates in a file, by offset."""
        rows = self._db.execute(
            "SELECT path, offset, length, url, timestamp, digest FROM capture"
            " WHERE path = ? AND duplicate ORDER BY offset",
            (os.fsencode(path),),
        )
        return [_location(row) for row in rows]

    def original(self, duplicate: WarcLocation) -> WarcLocation | None:
        """Return the capture that a duplicate repeats, None if no file has one."""
        row = self._db.execute(
            "SELECT path, offset, length, url, timestamp, digest FROM capture"
            " WHERE digest = ? AND NOT duplicate ORDER BY url <> ?, timestamp, path, offset",
            (duplicate.digest, duplicate.url),
        ).fetchone()
        return _location(row) if row else None

    def named(self, url: str, timestamp: str, digest: str) -> WarcLocation | None:
        """Return the capture that a revisit record refers to, if it stays unchanged."""
        row = self._db.execute(
            "SELECT path, offset, length, url, timestamp, digest FROM capture"
            " WHERE digest = ? AND NOT duplicate AND url = ? AND timestamp = ?",
            (digest, url, timestamp),
        ).fetchone()
        return _location(row) if row else None

    def close(self) -> None:
        self._db.close()


def _location(row: tuple[Any, ...]) -> WarcLocation:
    path, *others = row
    return WarcLocation(os.fsdecode(path), *others)


def _rewrite_file(
    source: ArchiveSource, output: Path, catalogue: _Catalogue, way: Way
) -> Rewritten:
    """Write the new version of a file; it appears complete or not at all."""
    left: list[ReadError] = []
    revisits = 0
    with whole_file(output) as new, Path(source.path).open("rb") as old:
        for place in catalogue.duplicates(source.path):
            way(place.offset)
            try:
                made = _revisit(place, catalogue.original(place))
            except (FormatError, *_BROKEN) as error:
                left.append(ReadError(source.name, place.offset, "revisit", str(error)))
                continue
            _copy(old, new, place.offset)
            new.write(made)
            old.seek(place.offset + place.length)
            revisits += 1
        _copy(old, new, None)
        new.flush()
        _prove(source, Path(new.name), output, catalogue)
    before, after = Path(source.path).stat().st_size, output.stat().st_size
    already = catalogue.revisits[source.path]
    return Rewritten(source.name, str(output), revisits, already, before, after, tuple(left))


def _prove(source: ArchiveSource, new: Path, output: Path, catalogue: _Catalogue) -> None:
    refused = f"{output} is not written, as it would not be what {source.path} is"
    with SourceError.instead_of((FormatError, *_BROKEN), refused):
        prove(source, new, catalogue.named)


def _copy(old: BinaryIO, new: BinaryIO, end: int | None) -> None:
    """Copy from the current position of the old file up to an offset, or to its end."""
    while block := old.read(_BLOCK_BYTES if end is None else min(_BLOCK_BYTES, end - old.tell())):
        new.write(block)


def _revisit(place: WarcLocation, original: WarcLocation | None) -> bytes:
    """Return the bytes that replace a stored duplicate.

    Raises FormatError if it must stay unchanged.
    """
    if original is None:
        raise FormatError(f"no original of {place.digest} is in these files")
    if not _stands_alone(place):
        raise FormatError("the record is not a separate gzip member; recompress the file first")
    if payload_hash(place) != payload_hash(original):
        raise FormatError(
            f"the payload is not that of its original at {original.path} offset {original.offset}"
        )
    with Path(original.path).open("rb") as handle:
        handle.seek(original.offset)
        record_id = stored_record(handle).rec_headers.get_header("WARC-Record-ID") or ""
    with Path(place.path).open("rb") as handle:
        handle.seek(place.offset)
        made = revisit_record(
            handle, place.digest, Original(original.url, original.timestamp, record_id)
        )
    # The length of a plain record does not include the two line ends after it.
    return made if made.startswith(GZIP_START) else made.removesuffix(_RECORD_END)


def _stands_alone(place: WarcLocation) -> bool:
    """Return whether a stored record is exactly one gzip member, or in a plain file."""
    with Path(place.path).open("rb") as handle:
        starts = [handle.read(len(GZIP_START))]
        handle.seek(place.offset)
        starts.append(handle.read(len(GZIP_START)))
        if GZIP_START not in starts:  # the first member may be damaged
            return True
        handle.seek(place.offset)
        member, left = zlib.decompressobj(zlib.MAX_WBITS | 16), place.length
        while left and not member.eof:
            block = handle.read(min(_BLOCK_BYTES, left))
            if not block:
                return False
            left -= len(block)
            while block:
                member.decompress(block, _BLOCK_BYTES)
                block = member.unconsumed_tail
        return member.eof and not left and not member.unused_data
