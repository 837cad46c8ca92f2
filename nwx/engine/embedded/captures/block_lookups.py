"""Look-ups of captures: block numbers by digest or place, and the captures in part of a block."""

import sqlite3
from bisect import bisect_left
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import blake2b
from operator import add
from typing import Any

from nwx.engine.embedded.captures.blocks import (
    BEGINNING,
    END,
    Block,
    BlockColumns,
    BlockError,
    Position,
    Same,
    chosen_captures,
    unpacked_frame,
)
from nwx.engine.sqlite_files import among

_NAMES = "SELECT code, collection, name FROM sources WHERE code IN ({})"
_NAMES_KEPT = 200_000


class FileNames(dict[str, tuple[str, ...]]):
    """A cache of collections and names of files by code, and of the codes of each collection."""

    def __init__(self) -> None:
        super().__init__()
        self.codes: dict[str, set[str]] = {}

    def add(self, names: Mapping[str, tuple[str, ...]]) -> None:
        """Add files; empty the cache first if it has grown beyond _NAMES_KEPT."""
        if len(self) > _NAMES_KEPT:
            self.clear()
            self.codes.clear()
        self.update(names)
        for code, (collection, _) in names.items():
            self.codes.setdefault(collection, set()).add(code)


class BlockPart(BlockColumns):
    """The captures of a block between two positions; columns are decoded on first access."""

    def __init__(
        self,
        db: sqlite3.Connection,
        block: Block,
        first: Position = BEGINNING,
        last: Position = END,
    ) -> None:
        self._db, self._block = db, block
        if block.is_plain and last == (f"{first[0]}!", "") and not first[1]:
            # Urlkeys of plain blocks have no characters below `!`, so these are all of one URL.
            self._begin, self._end = block.places_of_url(first[0])
            self["urlkey"] = [first[0]] * (self._end - self._begin)
        else:
            self._begin, self._end = block.places(first, last)

    def __bool__(self) -> bool:
        return self._end > self._begin

    @property
    def same(self) -> Same:
        """The value that all captures share in each column of LINE_FIELDS, None if they differ."""
        return self._block.same

    def is_all_of(self, collection: str) -> bool:
        """Return whether all captures are known to belong to a collection."""
        known: FileNames | None = getattr(self._db, "names", None)
        codes = None if known is None else known.codes.get(collection)
        return codes is not None and codes.issuperset(self["source"])

    def chosen(self, which: Sequence[bool], fields: Iterable[str]) -> BlockColumns:
        """Return the chosen captures, {} if none; columns read later are limited to their range."""
        if not any(which):
            return {}
        first, last = which.index(True), len(which) - which[::-1].index(True)
        if last - first < len(which):
            self._begin, self._end = self._begin + first, self._begin + last
            held = {name: values[first:last] for name, values in self.items()}
            self.clear()
            self.update(held)
        return chosen_captures({name: self[name] for name in fields}, which[first:last])

    def __missing__(self, name: str) -> Sequence[Any]:
        found: Sequence[Any]
        if name in ("collection", "source_file"):
            place = name == "source_file"
            found = [one[place] for one in self["file"]]
        elif name == "file":
            found = self._files()
        elif name in ("digest", "bare_digest"):
            found = self._digests(bare=name == "bare_digest")
        else:
            found = self._block.column(name, self._begin, self._end)
        self[name] = found
        return found

    def _digests(self, *, bare: bool) -> Sequence[str]:
        digests = self._block.column("digest", self._begin, self._end)
        if not bare:
            return list(map(add, self["algorithm"], digests))
        if all(self["algorithm"]):
            return digests
        return [one[one.find(":") + 1 :] for one in digests]

    def _files(self) -> list[tuple[str, ...]]:
        """Return the collection and name of each capture's file."""
        sources = self["source"]
        known: FileNames | None = getattr(self._db, "names", None)
        try:
            return list(map((known or {}).__getitem__, sources))
        except KeyError:  # other threads may empty the cache at any moment
            names = _file_names(self._db, set(sources), known)
        try:
            return list(map(names.__getitem__, sources))
        except KeyError as error:
            raise BlockError(f"captures refer to a missing file: {error}") from error


def _file_names(
    db: sqlite3.Connection, codes: set[str], known: FileNames | None
) -> dict[str, tuple[str, ...]]:
    """Return the collections and names of files by code, and cache them in `known`."""
    found = {code: name for code in codes if (name := (known.get(code) if known else None))}
    for code, *name in among(db, _NAMES, map(int, sorted(codes - found.keys()))):
        found[str(code)] = tuple(name)
    if known is not None:
        known.add(found)
    return found


DIGESTS, PLACES = 0, 1
"""The kinds of look-ups: by digest, and by file and offset."""

MONTH = 6
"""The length of the month at the start of a timestamp."""

BLOCK_BITS = 31
OFFSET_BITS, SOURCE_BITS = 40, 23
_BLOCK_MASK = (1 << BLOCK_BITS) - 1
LATEST = (1 << 32) - 1
BASE_MONTHS = 1970 * 12
_BYTES = 8

_BEFORE = (
    "SELECT data FROM lookups WHERE run = ? AND kind = ? AND key < ?"
    " ORDER BY key DESC, rank DESC LIMIT 1"
)
_WITH = "SELECT data FROM lookups WHERE run = ? AND kind = ? AND key = ? ORDER BY rank"


def digest_key(digest: str) -> int:
    """Return the key of a digest, from its last 8 bytes."""
    return int.from_bytes(digest.encode()[-_BYTES:], "big") >> 1


def place_key(source: int, offset: int) -> int:
    """Return the key of a file code and an offset, a hash if they are too large."""
    if source >> SOURCE_BITS or offset >> OFFSET_BITS:
        told = blake2b(f"{source} {offset}".encode(), digest_size=_BYTES).digest()
        return int.from_bytes(told, "big") >> 1
    return source << OFFSET_BITS | offset


def rank_moment(timestamp: str) -> int:
    """Return a number for a timestamp, smaller for later ones; out-of-range ones share a limit."""
    year, month, day = int(timestamp[:4]), int(timestamp[4:6]), int(timestamp[6:8])
    hour, minute, second = int(timestamp[8:10]), int(timestamp[10:12]), int(timestamp[12:14])
    days = (year * 12 + month - BASE_MONTHS) * 31 + day
    return LATEST - min(max(((days * 24 + hour) * 60 + minute) * 60 + second, 0), LATEST)


def found_ranks(db: sqlite3.Connection, run: int, kind: int, key: int) -> Iterator[int]:
    """Yield the ranks of a run's entries with a key, in order."""
    for command in (_BEFORE, _WITH):
        for (data,) in db.execute(command, (run, kind, key)):
            keys, ranks = unpacked(data)
            begin = bisect_left(keys, key)
            while begin < len(keys) and keys[begin] == key:
                yield ranks[begin]
                begin += 1


def rank_parts(rank: int) -> tuple[int, int]:
    """Return the moment and the block number of a rank."""
    return rank >> BLOCK_BITS, rank & _BLOCK_MASK


def unpacked(data: bytes) -> tuple["memoryview[int]", "memoryview[int]"]:
    """Return the keys and the ranks of packed entries."""
    planes = unpacked_frame(data)
    number = len(planes) // (2 * _BYTES)
    values = bytearray(len(planes))
    half = number * _BYTES
    for place in range(_BYTES):
        for start in (0, half):
            begin = start + place * number
            values[start + place : start + half : _BYTES] = planes[begin : begin + number]
    numbers = memoryview(values).cast("Q")
    return numbers[:number], numbers[number:]
