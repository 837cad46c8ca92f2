"""Where captures are: numbers of blocks by the end of a digest, or by file and offset.

An entry is a key and a rank, both numbers. Of a digest the key is its end, and the rank its moment,
later ones first, and the block; of a place the key is file and offset, and the rank the block.
Entries are sets in order, some hundred packed together.
"""

import sqlite3
from bisect import bisect_left
from collections.abc import Iterator
from hashlib import blake2b

from nwx.engine.embedded.captures.blocks import unpacked_frame

DIGESTS, PLACES = 0, 1
"""The kinds of look-ups."""

MONTH = 6
"""The first characters of a timestamp, which are its month."""

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
    """Return the key of a digest: its last bytes."""
    return int.from_bytes(digest.encode()[-_BYTES:], "big") >> 1


def place_key(source: int, offset: int) -> int:
    """Return the key of a file and an offset."""
    if source >> SOURCE_BITS or offset >> OFFSET_BITS:
        told = blake2b(f"{source} {offset}".encode(), digest_size=_BYTES).digest()
        return int.from_bytes(told, "big") >> 1
    return source << OFFSET_BITS | offset


def rank_moment(timestamp: str) -> int:
    """Return a number for a timestamp, smaller for later ones, the same for the very odd."""
    year, month, day = int(timestamp[:4]), int(timestamp[4:6]), int(timestamp[6:8])
    hour, minute, second = int(timestamp[8:10]), int(timestamp[10:12]), int(timestamp[12:14])
    days = (year * 12 + month - BASE_MONTHS) * 31 + day
    return LATEST - min(max(((days * 24 + hour) * 60 + minute) * 60 + second, 0), LATEST)


def found_ranks(db: sqlite3.Connection, run: int, kind: int, key: int) -> Iterator[int]:
    """Stream the ranks of the entries of a run with a key, in order."""
    for command in (_BEFORE, _WITH):
        for (data,) in db.execute(command, (run, kind, key)):
            keys, ranks = unpacked(data)
            begin = bisect_left(keys, key)
            while begin < len(keys) and keys[begin] == key:
                yield ranks[begin]
                begin += 1


def rank_parts(rank: int) -> tuple[int, int]:
    """Return the moment and the number of the block of a rank."""
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
