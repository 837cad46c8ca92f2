"""Entries of look-ups as arrays: created, packed and merged."""

import sqlite3
from collections.abc import Iterator, Sequence
from itertools import compress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nwx.engine.embedded.captures.block_lookups import (
    BASE_MONTHS,
    BLOCK_BITS,
    DIGESTS,
    LATEST,
    OFFSET_BITS,
    PLACES,
    SOURCE_BITS,
    place_key,
    unpacked,
)
from nwx.engine.embedded.captures.blocks import BlockColumns
from nwx.values.zstd import zstd

KeyArray = NDArray[np.uint64]

LOOKUP_KINDS = (DIGESTS, PLACES)
PACKED_ENTRIES = 512
_AT_ONCE = 64
_FEW = 200
_KEY_BYTES = 8
_HOURS, _MINUTES = 24, 60
_DIGITS = 14
_INSERT = "INSERT INTO lookups (run, kind, key, rank, data) VALUES (?, ?, ?, ?, ?)"
_HEADS = (
    "SELECT id, run, key, rank FROM lookups WHERE kind = ? AND run IN ({}) ORDER BY key, rank, run"
)
_DATA = "SELECT data FROM lookups WHERE id = ?"


class LookupKeys:
    """The look-up keys of captures, as far as they do not depend on file codes."""

    def __init__(self, columns: BlockColumns) -> None:
        digests, types = columns["digest"], columns["record_type"]
        self._which = np.ones(len(digests), bool)
        if "revisit" in types or "" in digests:
            pairs = zip(digests, types, strict=True)
            held = [digest != "" and type != "revisit" for digest, type in pairs]
            digests = list(compress(digests, held))
            self._which = np.array(held, bool)
        self._digests = _digest_keys(digests)
        self._moments = _moments(columns["timestamp"]) << np.uint64(BLOCK_BITS)

    def entries(self, numbers: KeyArray, places: KeyArray) -> dict[int, tuple[KeyArray, KeyArray]]:
        """Return the keys and ranks of captures in blocks of these numbers, by kind."""
        ranks = self._moments | numbers
        return {
            DIGESTS: entries_in_order(self._digests, ranks[self._which]),
            PLACES: entries_in_order(places, numbers),
        }


def lookup_entries(
    columns: BlockColumns, numbers: KeyArray
) -> dict[int, tuple[KeyArray, KeyArray]]:
    """Return the keys and ranks of stored captures, as `LookupKeys.entries` does."""
    return LookupKeys(columns).entries(numbers, place_keys(columns))


def number_array(values: Sequence[Any]) -> KeyArray:
    """Return numbers, or texts of numbers, as an array."""
    return np.array(list(map(int, values)), np.uint64)


def place_keys(columns: BlockColumns) -> KeyArray:
    """Return the place keys of stored captures."""
    return keys_of_places(
        *(number_array(columns[name]) for name in ("source", "source_file_offset"))
    )


def keys_of_places(sources: KeyArray, offsets: KeyArray) -> KeyArray:
    """Return the place keys of file codes and offsets."""
    keys = sources << np.uint64(OFFSET_BITS) | offsets
    odd = (sources >> np.uint64(SOURCE_BITS)) | (offsets >> np.uint64(OFFSET_BITS))
    for one in np.flatnonzero(odd).tolist():
        keys[one] = place_key(int(sources[one]), int(offsets[one]))
    return keys


def _digest_keys(digests: Sequence[str]) -> KeyArray:
    ends = "".join([one[-_KEY_BYTES:] for one in digests]).encode()
    if len(ends) != _KEY_BYTES * len(digests):
        ends = b"".join(one.encode()[-_KEY_BYTES:].rjust(_KEY_BYTES, b"\0") for one in digests)
    return np.frombuffer(ends, ">u8").astype(np.uint64) >> np.uint64(1)


def _moments(timestamps: Sequence[str]) -> KeyArray:
    text = "".join(timestamps).encode()
    if len(text) == _DIGITS * len(timestamps) and max(map(len, timestamps)) == _DIGITS:
        digits = np.frombuffer(text, np.uint8).reshape(-1, _DIGITS) - np.uint8(ord("0"))
        pairs = (digits[:, ::2] * np.uint8(10) + digits[:, 1::2]).T.astype(np.int64)
        century, year, month, day, hour, minute, second = pairs
        year += century * 100
    else:
        year, parts = np.array(list(map(int, timestamps)), np.int64), []
        for _ in range(5):
            year, part = np.divmod(year, 100)
            parts.append(part)
        second, minute, hour, day, month = parts
    days = (year * 12 + month - BASE_MONTHS) * 31 + day
    seconds = ((days * _HOURS + hour) * _MINUTES + minute) * _MINUTES + second
    moments: KeyArray = (LATEST - np.clip(seconds, 0, LATEST)).astype(np.uint64)
    return moments


def entries_in_order(keys: KeyArray, ranks: KeyArray) -> tuple[KeyArray, KeyArray]:
    """Return entries sorted by key and rank, without duplicates."""
    order = np.argsort(keys)
    if np.all(np.diff(found := keys[order])):
        return found, ranks[order]
    order = np.lexsort((ranks, keys))  # takes four times as long
    keys, ranks = keys[order], ranks[order]
    first = np.ones(len(keys), bool)
    first[1:] = (keys[1:] != keys[:-1]) | (ranks[1:] != ranks[:-1])
    return keys[first], ranks[first]


class EntryWriter:
    """Packs and stores entries of one kind of a run, added in order."""

    def __init__(self, db: sqlite3.Connection, run: int, kind: int) -> None:
        self._db, self._run, self._kind = db, run, kind
        self._keys, self._ranks = np.empty(0, np.uint64), np.empty(0, np.uint64)

    def add(self, keys: KeyArray, ranks: KeyArray) -> None:
        """Append entries."""
        self._keys = np.concatenate((self._keys, keys))
        self._ranks = np.concatenate((self._ranks, ranks))
        self._write(len(self._keys) - len(self._keys) % PACKED_ENTRIES)

    def close(self) -> None:
        """Write the remaining entries."""
        self._write(len(self._keys))

    def _write(self, number: int) -> None:
        keys, ranks = self._keys[:number], self._ranks[:number]
        self._keys, self._ranks = self._keys[number:], self._ranks[number:]
        rows = (
            (
                self._run,
                self._kind,
                int(keys[begin]),
                int(ranks[begin]),
                packed_entries(
                    keys[begin : begin + PACKED_ENTRIES], ranks[begin : begin + PACKED_ENTRIES]
                ),
            )
            for begin in range(0, number, PACKED_ENTRIES)
        )
        self._db.executemany(_INSERT, rows)


def packed_entries(keys: KeyArray, ranks: KeyArray) -> bytes:
    """Return entries in their stored form: the first bytes of all keys, then the second …"""
    planes = [
        np.ascontiguousarray(values.view(np.uint8).reshape(-1, 8).T).tobytes()
        for values in (np.ascontiguousarray(keys), np.ascontiguousarray(ranks))
    ]
    names = zstd.CompressionParameter
    options: dict[int, int] = {names.compression_level: 3, names.checksum_flag: 1}
    return zstd.compress(b"".join(planes), options=options)


def unpacked_entries(db: sqlite3.Connection, id: int) -> tuple[KeyArray, KeyArray]:
    """Return the entries of a row."""
    (data,) = db.execute(_DATA, (id,)).fetchone()
    keys, ranks = unpacked(data)
    return np.array(keys, np.uint64), np.array(ranks, np.uint64)


def swept(
    db: sqlite3.Connection, runs: Sequence[int], kind: int, *, forget: bool = False
) -> Iterator[tuple[KeyArray, KeyArray, KeyArray]]:
    """Yield all entries of runs by key, rank and run, with the positions of their runs in `runs`.

    A run may have entries by several writers. `forget` deletes the entries read.
    """
    places = {run: place for place, run in enumerate(runs)}
    heads = db.execute(_HEADS.format(",".join(map(str, runs))), (kind,)).fetchall()
    empty = np.empty(0, np.uint64)
    waiting: list[tuple[KeyArray, KeyArray, KeyArray]] = [(empty, empty, empty)]
    for number, (id, run, _, _) in enumerate(heads, 1):
        keys, ranks = unpacked_entries(db, id)
        waiting.append((keys, ranks, np.full(len(keys), places[run], np.uint64)))
        if forget:
            db.execute("DELETE FROM lookups WHERE id = ?", (id,))
        if number < len(heads) and len(waiting) <= max(_AT_ONCE, len(heads) // _AT_ONCE):
            continue
        keys, ranks, owners = map(np.concatenate, zip(*waiting, strict=True))
        order = np.lexsort((owners, ranks, keys))
        keys, ranks, owners = keys[order], ranks[order], owners[order]
        end = len(keys)
        if number < len(heads):
            _, _, key, rank = heads[number]
            end = int(np.sum((keys < key) | ((keys == key) & (ranks < rank))))
        if end:
            yield keys[:end], ranks[:end], owners[:end]
        waiting = [(keys[end:], ranks[end:], owners[end:])]


def merge_entries(db: sqlite3.Connection, run: int) -> Iterator[None]:
    """Sort the entries of a run that several writers wrote, step by step."""
    for kind in LOOKUP_KINDS:
        writer = EntryWriter(db, run, kind)
        for keys, ranks, _ in swept(db, [run], kind, forget=True):
            writer.add(keys, ranks)
            yield
        writer.close()


def known_places(db: sqlite3.Connection, runs: Sequence[int], keys: KeyArray) -> NDArray[np.bool_]:
    """Return for each place key whether any of the runs has it."""
    known = np.zeros(len(keys), bool)
    for run in runs:
        if len(keys) < _FEW:
            known |= _known_of_few(db, run, keys)
        else:
            known |= _known_in(db, run, keys)
    return known


_ROW_OF_KEY = (
    "SELECT id FROM lookups WHERE run = ?1 AND kind = ?2 AND key <= ?3"
    " ORDER BY key DESC, rank DESC LIMIT 1"
)
_NEXT_ROW = "SELECT min(key) FROM lookups WHERE run = ?1 AND kind = ?2 AND key > ?3"


def _known_of_few(db: sqlite3.Connection, run: int, keys: KeyArray) -> NDArray[np.bool_]:
    """Return the same as `_known_in`, without reading the first keys of all rows."""
    known = np.zeros(len(keys), bool)
    stored, end = keys[:0], -1
    for place in np.argsort(keys).tolist():
        key = int(keys[place])
        if end is not None and key >= end:
            row = db.execute(_ROW_OF_KEY, (run, PLACES, key)).fetchone()
            stored = unpacked_entries(db, row[0])[0] if row else keys[:0]
            (end,) = db.execute(_NEXT_ROW, (run, PLACES, key)).fetchone()
        after = np.searchsorted(stored, keys[place], "right")
        known[place] = after > 0 and stored[after - 1] == keys[place]
    return known


def _known_in(db: sqlite3.Connection, run: int, keys: KeyArray) -> NDArray[np.bool_]:
    command = "SELECT id, key FROM lookups WHERE run = ? AND kind = ? ORDER BY key, rank"
    heads = db.execute(command, (run, PLACES)).fetchall()
    known = np.zeros(len(keys), bool)
    if not heads:
        return known
    firsts = np.array([key for _, key in heads], np.uint64)
    order = np.argsort(keys)
    rows = np.searchsorted(firsts, keys[order], "right").astype(np.int64) - 1
    met, begins = np.unique(rows, return_index=True)
    for row, some in zip(met.tolist(), np.split(order, begins[1:]), strict=True):
        if row >= 0:
            stored, wanted = unpacked_entries(db, heads[row][0])[0], keys[some]
            known[some] = stored[np.searchsorted(stored, wanted, "right") - 1] == wanted
    return known
