"""Lists of dates of any length, read as the dates of each key, ordered by key id.

Each line is converted to a text that begins with the id of its key; these are sorted, on disk
if they are too many. So each key is read once, with all its dates, and an engine reads adjacent
keys together.
"""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

from nwx.bulk.progress import ShowProgress, WorkProgress, no_progress
from nwx.bulk.sorted_runs import ExternalSort
from nwx.cdx.blocks import LineBlock, blocks
from nwx.cdx.columns import CdxColumns
from nwx.cdx.inputs import CdxSource, FilePiece, FileReading, Problems, expanded_bytes, ready_inputs
from nwx.errors import CdxError, DigestError, UrlError
from nwx.keys import document_id, document_key
from nwx.model import Dates
from nwx.values.digests import normal_digest
from nwx.values.urls import MAX_URL_CHARACTERS, clean_url

HELD_BYTES = 128 << 20
"""As much memory is taken for the lines, before they go to disk."""

AT_ONCE = 100_000
"""So many lines, or those of one key more, are yielded at once."""

_ID_CHARACTERS = 32
_TIMESTAMP = slice(_ID_CHARACTERS + 1, _ID_CHARACTERS + 15)
_KEY_START = _ID_CHARACTERS + 16
_ODD = (b"\x7f", b" <", b"\n<")
_SHA1_CHARACTERS = 32
_PLAIN_DIGESTS = {
    _SHA1_CHARACTERS: re.compile(rb"[A-Z2-7 ]+"),
    len("sha1:") + _SHA1_CHARACTERS: re.compile(rb"(?:sha1:[A-Z2-7]{32} ?)+"),
}
"""Many digests of a length, apart by blanks."""
_REMEMBERED_KEYS = 1 << 16


class Stretch(NamedTuple):
    """Dates, and the ids of their keys."""

    ids: list[str]
    dates: list[Dates]


@dataclass(slots=True)
class ListsRead:
    """Counts of lines read from date lists.

    `lines` counts lines with a date, a digest and a URL, `not_captures` lines of requests, metadata
    and the like.
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
    """Yield the dates in lists by key, in stretches that fit in memory, ordered by id.

    All lists are read before the first stretch is yielded; `read` then has the counts. `folder`
    holds what does not fit in memory. Raises CdxError on the first broken line if `strict`,
    SourceError if a list cannot be read or a file cannot be written.
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
    """Return the id and the key of a document, as an import makes them of a record."""
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
        # the last key may go on
        while len(waiting) > AT_ONCE and (end := _key_end(waiting, AT_ONCE)) < len(waiting):
            yield _dates(waiting[:end], collection)
            done += end
            progress(WorkProgress("adding", done, total))
            waiting = waiting[end:]
    if waiting:
        yield _dates(waiting, collection)
        progress(WorkProgress("adding", total, total))


def _key_end(records: list[str], place: int) -> int:
    """Return where the key of the record before a place in sorted records ends."""
    behind = chr(ord(" ") + 1)
    return bisect_left(records, records[place - 1][:_ID_CHARACTERS] + behind)


def _dates(records: Sequence[str], collection: str) -> Stretch:
    """Return the dates of sorted records by key."""
    ids = [record[:_ID_CHARACTERS] for record in records]
    starts = [n for n, id in enumerate(ids) if not n or id != ids[n - 1]]
    found = []
    for start, end in pairwise([*starts, len(records)]):
        timestamps = dict.fromkeys([record[_TIMESTAMP] for record in records[start:end]])
        seen = tuple([(timestamp, collection) for timestamp in timestamps])
        found.append(Dates(records[start][_KEY_START:], seen))
    return Stretch([ids[start] for start in starts], found)
