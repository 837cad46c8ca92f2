"""Lists of dates of any length, read as the dates of each key, in the order of the keys' ids.

Each line becomes a text that begins with the id of its key. Where they are
more than fit in memory they lie on disk by the beginnings of their ids, and
are put in order beginning by beginning. So each key comes once, with all its
dates, and an engine meets keys side by side that lie side by side.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import groupby, pairwise
from pathlib import Path
from typing import NamedTuple

from nwx.bulk.progress import StepProgress, no_progress
from nwx.bulk.spill import writing
from nwx.cdx.blocks import FileReading, LineBlock, blocks
from nwx.cdx.columns import CdxColumns
from nwx.cdx.raw_blocks import CdxSource, FilePiece
from nwx.dedup.input_plan import Input, ready_inputs
from nwx.dedup.reports import PROBLEMS_LISTED
from nwx.errors import CdxError, DigestError, UrlError
from nwx.keys import document_id, document_key
from nwx.model import Dates
from nwx.values.digests import normal_digest
from nwx.values.urls import MAX_URL_CHARACTERS, clean_url

HELD_CHARACTERS = 32 << 20
"""As much is held in memory of the lines, before they go to disk."""

AT_ONCE = 100_000
"""So many lines, or some more, are yielded at once."""

_ID_CHARACTERS = 32
_TIMESTAMP = slice(_ID_CHARACTERS + 1, _ID_CHARACTERS + 15)
_KEY_START = _ID_CHARACTERS + 16
_SHELF_DIGITS = 2
_ODD = (b"\x7f", b" <", b"\n<")
_SHA1_CHARACTERS = 32
_PLAIN_DIGESTS = {
    _SHA1_CHARACTERS: re.compile(rb"[A-Z2-7 ]+"),
    len("sha1:") + _SHA1_CHARACTERS: re.compile(rb"(?:sha1:[A-Z2-7]{32} ?)+"),
}
"""Many digests of a length, apart by blanks."""
_READ_CHARACTERS = 1 << 20
_REMEMBERED_KEYS = 1 << 16
_EXPANSION = 8


class Stretch(NamedTuple):
    """Dates, and the ids of their keys."""

    ids: list[str]
    dates: list[Dates]


@dataclass(slots=True)
class ListsRead:
    """What was read of lists; `lines` counts those that have a date, a digest and a URL.

    `not_captures` counts lines of requests, metadata and the like beside them.
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
    progress: StepProgress = no_progress,
) -> Iterator[Stretch]:
    """Yield the dates of lists by key, in stretches that fit in memory, in the order of ids.

    All lists are read before the first is yielded; `read` says then what
    they held. `folder` is for what does not fit in memory. Raises CdxError
    on the first broken line if `strict`, SourceError where a list cannot be
    read or nothing more be written.
    """
    inputs = ready_inputs(sources, folder)
    shelves = KeyBuckets(folder)
    done, total = 0, sum(_size(each) for each in inputs)
    for each in inputs:
        reading = FileReading(each.source.shown)
        for block in blocks(FilePiece(each.source), reading):
            shelves.add(_records(block, reading, read))
            if strict and reading.problems:
                break
            done += len(block.data)
            progress("reading", done, max(done, total))
        _note(reading, read, strict=strict)
    read.lines = shelves.records
    return _stretches(shelves, collection, progress)


def _size(each: Input) -> int:
    return each.size * (_EXPANSION if each.compressed else 1)


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
    """Return the keys of lines of which no URL or digest has to be looked at by itself.

    Those are nearly all of nearly all lists: URLs of ASCII, and SHA-1
    digests in one of their two usual spellings.
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
    """Return a digest in its normal form; what is of no known kind stands for itself."""
    text = digest.decode("utf-8", "replace")
    try:
        return normal_digest(text)
    except DigestError:
        return text


def _note(reading: FileReading, read: ListsRead, *, strict: bool) -> None:
    problems = sorted(reading.problems, key=lambda each: each.line or 0)
    if strict and problems:
        first = problems[0]
        raise CdxError(f"{first.file}:{first.line}: {first}", first.file, first.line)
    read.problems += problems[: PROBLEMS_LISTED - len(read.problems)]
    read.problems_total += reading.problems_total


class KeyBuckets:
    """Records by the first digits of their id, in memory or, where they are many, on disk."""

    def __init__(self, folder: Path, digits: int = 0) -> None:
        self._folder = folder
        self._digits = digits
        self._held: list[str] = []
        self._characters = 0
        self._files: dict[str, Path] = {}
        self.records = 0

    def add(self, records: list[str]) -> None:
        """Put records away; raises SourceError where there is no room."""
        self._held += records
        self.records += len(records)
        self._characters += sum(map(len, records))
        if self._characters > HELD_CHARACTERS:
            self._put_on_disk()

    def _put_on_disk(self) -> None:
        self._held.sort()
        width = self._digits + _SHELF_DIGITS
        for start, group in groupby(self._held, key=lambda record: record[:width]):
            path = self._files.setdefault(start, self._folder / f"dates-{start}")
            with writing(path), path.open("a", encoding="utf-8") as stream:
                stream.writelines([f"{record}\n" for record in group])
        self._held, self._characters = [], 0

    def in_order(self) -> Iterator[list[str]]:
        """Yield all records in order, in stretches that fit in memory."""
        if not self._files:
            self._held.sort()
            yield self._held
            return
        self._put_on_disk()
        for _, path in sorted(self._files.items()):
            yield from self._shelf(path)
            path.unlink()

    def _shelf(self, path: Path) -> Iterator[list[str]]:
        """Yield the records of one shelf; one that is too full is put on shelves of its own."""
        is_last = self._digits + _SHELF_DIGITS >= _ID_CHARACTERS
        with path.open(encoding="utf-8", newline="\n") as stream:
            if is_last or path.stat().st_size <= HELD_CHARACTERS:
                yield sorted(stream.read().split("\n")[:-1])
                return
            inner = KeyBuckets(self._folder, self._digits + _SHELF_DIGITS)
            while lines := stream.readlines(_READ_CHARACTERS):
                inner.add([line[:-1] for line in lines])
        yield from inner.in_order()


def _stretches(shelves: KeyBuckets, collection: str, progress: StepProgress) -> Iterator[Stretch]:
    done, total = 0, shelves.records
    waiting: list[str] = []
    for records in shelves.in_order():
        waiting += records
        if len(waiting) >= AT_ONCE:
            yield _dates(waiting, collection)
            done += len(waiting)
            progress("adding", done, total)
            waiting = []
    if waiting:
        yield _dates(waiting, collection)
        progress("adding", total, total)


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
