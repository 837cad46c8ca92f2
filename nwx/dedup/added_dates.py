"""Dates added to an archive from lists of any length, and dates indices built from others."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from nwx.bulk.progress import ShowProgress, WorkProgress, batches, no_progress
from nwx.bulk.resources import temporary_folder
from nwx.bulk.sorted_runs import ExternalSort
from nwx.cdx.blocks import LineBlock, blocks
from nwx.cdx.columns import CdxColumns
from nwx.cdx.inputs import (
    CdxSource,
    FilePiece,
    FileReading,
    Problems,
    expanded_bytes,
    ready_inputs,
    record_json,
)
from nwx.engine.access.access_index import unpurged_dates
from nwx.engine.base import Engine
from nwx.engine.document_dates import (
    dates_of_documents,
    joined_dates,
    keyed_dates,
    merged_streams,
)
from nwx.engine.entries import dates_from_entry
from nwx.errors import CdxError, DigestError, UrlError
from nwx.keys import check_collection, document_id, document_key
from nwx.model import DEFAULT_COLLECTION, MAIN_DATES, Dates, IndexName
from nwx.values.digests import normal_digest
from nwx.values.urls import MAX_URL_CHARACTERS, clean_url

HELD_BYTES = 128 << 20
"""The memory used for lines before they are written to disk."""

AT_ONCE = 100_000
"""The number of lines yielded at once, extended to the end of a key."""

_ID_CHARACTERS = 32
_TIMESTAMP = slice(_ID_CHARACTERS + 1, _ID_CHARACTERS + 15)
_KEY_START = _ID_CHARACTERS + 16
_ODD = (b"\x7f", b" <", b"\n<")
_SHA1_CHARACTERS = 32
_PLAIN_DIGESTS = {
    _SHA1_CHARACTERS: re.compile(rb"[A-Z2-7 ]+"),
    len("sha1:") + _SHA1_CHARACTERS: re.compile(rb"(?:sha1:[A-Z2-7]{32} ?)+"),
}
"""Patterns of space-separated digests, by the length of each."""
_REMEMBERED_KEYS = 1 << 16


class Stretch(NamedTuple):
    """Dates in order, and the ids of their keys."""

    ids: list[str]
    dates: list[Dates]


@dataclass(slots=True)
class ListsRead:
    """Counts of lines read from date lists.

    `lines` counts lines with a date, a digest and a URL, `not_captures` lines of requests, metadata
    and other records.
    """

    lines: int = 0
    not_captures: int = 0
    without_digest: int = 0
    problems_total: int = 0
    problems: list[CdxError] = field(default_factory=list)


def read_dates(
    sources: Sequence[CdxSource],
    collection: str,
    folder: Path,
    read: ListsRead,
    *,
    strict: bool = False,
    progress: ShowProgress = no_progress,
) -> Iterator[Stretch]:
    """Yield the dates in lists, grouped by key and ordered by id, in parts that fit in memory.

    All lists are read before the first part is yielded; `read` then has the counts. Temporary files
    are written to `folder`. Raises CdxError on the first broken line if `strict`, SourceError if a
    list cannot be read or a file cannot be written.
    """
    inputs = ready_inputs(sources, folder)
    sort = ExternalSort(folder, HELD_BYTES, "dates")
    problems = Problems(read, strict=strict)
    done, total = 0, expanded_bytes(inputs)
    for each in inputs:
        piece, reading = FilePiece(each.source), FileReading(each.source.shown)
        for block in blocks(piece, reading):
            if records := _records(block, reading, read):
                sort.add("\n".join(records).encode().split(b"\n"))
            if strict and reading.problems:
                break
            done += len(block.data)
            progress(WorkProgress("reading", done, max(done, total)))
        problems.add([piece], [reading])
    read.lines = sort.lines
    return _stretches(sort, collection, progress)


def _records(block: LineBlock, reading: FileReading, read: ListsRead) -> list[str]:
    """Return a text for each line: the id of its key, its timestamp and its key."""
    columns = CdxColumns(block, reading)
    captures = columns.names_captures()
    read.not_captures += int((~captures).sum())
    columns.keep(captures)
    missing = columns.is_missing("kc")
    read.without_digest += int(missing.sum())
    columns.keep(~missing)
    if not len(columns):
        return []
    timestamps = columns.timestamp.tolist()
    plain = _plain_keys(columns)
    if plain is not None:
        return [
            f"{document_id(key)} {timestamp:014} {key}"
            for key, timestamp in zip(plain, timestamps, strict=True)
        ]
    records = []
    keys = zip(columns.texts("a"), columns.texts("kc"), strict=True)
    for (url, digest), timestamp, place in zip(
        keys, timestamps, columns.places.tolist(), strict=True
    ):
        try:
            id, key = _key(url, digest)
        except UrlError as error:
            reading.add(CdxError(str(error), reading.file, block.lines[place]))
            continue
        records.append(f"{id} {timestamp:014} {key}")
    return records


def _plain_keys(columns: CdxColumns) -> list[str] | None:
    """Return the keys if no URL or digest needs separate treatment, else None.

    Nearly all lines of nearly all lists qualify: ASCII URLs, and SHA-1 digests in one of their two
    usual spellings.
    """
    data, lengths = columns.data, columns.lengths("a")
    width = int(columns.lengths("kc")[0])
    if (
        not data.isascii()
        or any(odd in data for odd in _ODD)
        or data.startswith(b"<")
        or lengths.max() > MAX_URL_CHARACTERS
        or width not in _PLAIN_DIGESTS
        or (columns.lengths("kc") != width).any()
    ):
        return None
    digests = columns.texts("kc")
    if not _PLAIN_DIGESTS[width].fullmatch(b" ".join(digests)):
        return None
    text, starts = data.decode("ascii"), columns.starts("a")
    ends = (starts + lengths).tolist()
    prefix = "" if width > _SHA1_CHARACTERS else "sha1:"
    return [
        document_key(text[start:end], f"{prefix}{digest.decode()}")
        for start, end, digest in zip(starts.tolist(), ends, digests, strict=True)
    ]


@lru_cache(maxsize=_REMEMBERED_KEYS)
def _key(url: bytes, digest: bytes) -> tuple[str, str]:
    """Return the id and key of a document, equal to those of an import."""
    key = document_key(clean_url(url), _digest(digest))
    return document_id(key), key


def _digest(digest: bytes) -> str:
    """Return a digest in its normal form; an unknown kind is returned unchanged."""
    text = digest.decode("utf-8", "replace")
    try:
        return normal_digest(text)
    except DigestError:
        return text


def _stretches(sort: ExternalSort, collection: str, progress: ShowProgress) -> Iterator[Stretch]:
    done, total = 0, sort.lines
    waiting: list[str] = []
    for lines in sort.batches():
        waiting += b"\n".join(lines).decode().split("\n")
        # the last key may have more lines
        while len(waiting) > AT_ONCE and (end := _key_end(waiting, AT_ONCE)) < len(waiting):
            yield _dates(waiting[:end], collection)
            done += end
            progress(WorkProgress("adding", done, total))
            waiting = waiting[end:]
    if waiting:
        yield _dates(waiting, collection)
        progress(WorkProgress("adding", total, total))


def _key_end(records: list[str], place: int) -> int:
    """Return the end of the records with the same key as the one before `place`."""
    behind = chr(ord(" ") + 1)
    return bisect_left(records, records[place - 1][:_ID_CHARACTERS] + behind)


def _dates(records: Sequence[str], collection: str) -> Stretch:
    ids = [record[:_ID_CHARACTERS] for record in records]
    starts = [n for n, id in enumerate(ids) if not n or id != ids[n - 1]]
    found = []
    for start, end in pairwise([*starts, len(records)]):
        timestamps = dict.fromkeys([record[_TIMESTAMP] for record in records[start:end]])
        seen = tuple([(timestamp, collection) for timestamp in timestamps])
        found.append(Dates(records[start][_KEY_START:], seen))
    return Stretch([ids[start] for start in starts], found)


_AT_ONCE = 20_000
_ID_DIGITS = 4
_WHOLE = 16**_ID_DIGITS


@dataclass(frozen=True, slots=True)
class DatesLists:
    """Date lists and their collection.

    `folder` is for temporary files, None for the system's. If `strict`, the first unreadable line
    raises an error before anything is added. Raises UsageError on an invalid collection name.
    """

    sources: Sequence[CdxSource]
    collection: str = DEFAULT_COLLECTION
    folder: Path | None = None
    strict: bool = False

    def __post_init__(self) -> None:
        check_collection(self.collection)


@dataclass(slots=True)
class DatesReport:
    """The counts of added lists; `orphans` are the keys without a document.

    `new` are the dates added, `known` the lines with dates already stored or listed before.
    `left_out` are keys excluded from a new index, `purged` dates that access rules keep out.
    """

    lists: ListsRead = field(default_factory=ListsRead)
    keys: int = 0
    new: int = 0
    known: int = 0
    orphans: int = 0
    left_out: int = 0
    purged: int = 0


def add_dates(
    engine: Engine,
    lists: DatesLists,
    into: str = MAIN_DATES,
    progress: ShowProgress = no_progress,
) -> DatesReport:
    """Add the dates of lists to a dates index of an archive.

    Repeating it changes nothing. An interrupted call adds a part; repeating it adds the rest.
    """
    report = DatesReport()
    with temporary_folder(lists.folder) as folder:
        for _, listed in _read(lists, folder, report, progress):
            if not report.keys:
                engine.append_dates((), into)  # creates a missing archive
            dates, orphaned = dates_of_documents(engine, listed)
            kept = _unpurged(engine, dates, report)
            report.new += engine.append_dates(kept, into)
            # Access rules apply to these dates before more are added.
            engine.access_index().renew()
            report.keys += len(dates)
            report.orphans += len(orphaned)
    engine.refresh()
    engine.access_index().renew()
    report.known = report.lists.lines - report.new - report.purged
    return report


def build_dates(
    engine: Engine,
    sources: Sequence[str],
    dest: str,
    lists: DatesLists,
    *,
    documents_only: bool = False,
    progress: ShowProgress = no_progress,
) -> DatesReport:
    """Build a dates index from other indices and lists, and replace the old one at once.

    `sources` are names or addresses of dates indices. Keys without a document in the archive are
    counted, and kept unless `documents_only`.
    """
    report = DatesReport()
    with temporary_folder(lists.folder) as folder, engine.build_dates(dest) as builder:
        read = _read(lists, folder, report, progress)
        listed = (keyed for stretch in read for keyed in zip(*stretch, strict=True))
        streams = [keyed_dates(engine.scan_dates(source)) for source in sources]
        every = joined_dates(engine, merged_streams([*streams, listed]), folder)
        for stretch in batches(every, _AT_ONCE):
            known = engine.known([id for id, _ in stretch])
            share = _share(stretch[-1][0])
            report.orphans += len(stretch) - len(known)
            if documents_only:
                report.left_out += len(stretch) - len(known)
                stretch = [(id, one) for id, one in stretch if id in known]
            report.keys += len(stretch)
            report.new += builder.append(_unpurged(engine, [one for _, one in stretch], report))
            progress(WorkProgress("building", share, _WHOLE))
    engine.refresh()
    engine.access_index().renew()
    return report


def _unpurged(engine: Engine, dates: Sequence[Dates], report: DatesReport) -> list[Dates]:
    """Return the dates that access rules do not keep out, and count the others."""
    kept = list(unpurged_dates(engine.access_index().rules(), dates))
    report.purged += _pairs(dates) - _pairs(kept)
    return kept


def _pairs(dates: Sequence[Dates]) -> int:
    return sum(len(one.seen) for one in dates)


def _share(id: str) -> int:
    """Return the position of an id among all ids, as these are hashes and evenly distributed."""
    return int(id[:_ID_DIGITS], 16)


def orphans(engine: Engine, progress: ShowProgress = no_progress) -> Iterator[Dates]:
    """Yield the dates, in all indices, of keys without a document."""
    for stretch in batches(engine.scan(IndexName.DATES), _AT_ONCE):
        known = engine.known([entry["id"] for entry in stretch])
        yield from (dates_from_entry(entry) for entry in stretch if entry["id"] not in known)
        progress(WorkProgress("looking up keys", _share(stretch[-1]["id"]), _WHOLE))


def dates_report_json(report: DatesReport) -> dict[str, Any]:
    """Return a report as JSON values."""
    return {
        "lines": report.lists.lines,
        "keys": report.keys,
        "dates_new": report.new,
        "dates_known": report.known,
        "keys_without_document": report.orphans,
        "keys_left_out": report.left_out,
        "dates_purged": report.purged,
        "not_captures": report.lists.not_captures,
        "without_digest": report.lists.without_digest,
        "problems_total": report.lists.problems_total,
        "problems": record_json(report.lists.problems),
    }


def _read(
    lists: DatesLists, folder: Path, report: DatesReport, progress: ShowProgress
) -> Iterator[Stretch]:
    return read_dates(
        lists.sources,
        lists.collection,
        folder,
        report.lists,
        strict=lists.strict,
        progress=progress,
    )
