"""Captures taken out of blocks and look-ups, which are packed anew without them."""

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from nwx.engine.embedded.captures.block_parts import BlockPart
from nwx.engine.embedded.captures.blocks import (
    STORED_FIELDS,
    BlockColumns,
    BlockPacker,
    chosen_captures,
)
from nwx.engine.embedded.captures.entries import (
    LOOKUP_KINDS,
    lookup_entries,
    packed_entries,
    place_keys,
    swept,
    unpacked_entries,
)
from nwx.engine.embedded.captures.lookups import MONTH, PLACES, found_ranks, place_key
from nwx.engine.embedded.captures.runs import (
    RUN_BITS,
    block_numbered,
    drop_merged,
    drop_runs,
    shown_runs,
)

_ALL = 1 << 30
_ROW_OF = (
    "SELECT id FROM lookups WHERE run = ? AND kind = ? AND (key, rank) <= (?, ?)"
    " ORDER BY key DESC, rank DESC LIMIT 1"
)

Entry = tuple[int, int]


def remove_captures(db: sqlite3.Connection, places: Iterable[tuple[int, int]]) -> int:
    """Delete captures by their files and offsets; return how many there were."""
    keys = {place_key(*place) for place in places}
    removed = 0
    for run in shown_runs(db):
        copies: defaultdict[int, Counter[int]] = defaultdict(Counter)
        for key in keys:
            for number in found_ranks(db, run, PLACES, key):
                copies[number][key] = _ALL
        removed += _remove(db, run, copies)
    if removed:
        drop_merged(db)
    return removed


def remove_repeated(db: sqlite3.Connection, runs: Sequence[int]) -> int:
    """Delete the captures of new runs that are there before, by the numbers of their blocks."""
    copies: defaultdict[int, defaultdict[int, Counter[int]]] = defaultdict(
        lambda: defaultdict(Counter)
    )
    last = -1
    for keys, ranks, owners in swept(db, runs, PLACES):
        for at in np.flatnonzero(keys == np.concatenate(([last], keys[:-1]))).tolist():
            copies[runs[int(owners[at])]][int(ranks[at])][int(keys[at])] += 1
        last = int(keys[-1])
    return sum(_remove(db, run, found) for run, found in copies.items())


def _remove(db: sqlite3.Connection, run: int, copies: Mapping[int, Counter[int]]) -> int:
    """Delete so many captures of places (their keys) from blocks, the last ones of each."""
    gone: dict[int, set[Entry]] = {kind: set() for kind in LOOKUP_KINDS}
    months: Counter[str] = Counter()
    for number, counts in copies.items():
        block = block_numbered(db, run, number)
        if block is None:
            continue
        whole = BlockPart(db, block)
        columns = {name: whole[name] for name in STORED_FIELDS}
        kept = chosen_captures(columns, _kept(columns, counts))
        before, after = _entries(columns, number), _entries(kept, number)
        for kind in LOOKUP_KINDS:
            gone[kind] |= before[kind] - after[kind]
        months.update(time[:MONTH] for time in columns["timestamp"])
        months.subtract(time[:MONTH] for time in kept.get("timestamp", ()))
        _store(db, run << RUN_BITS | number, kept)
    for kind in LOOKUP_KINDS:
        _remove_entries(db, run, kind, gone[kind])
    rows = [(number, run, month) for month, number in months.items()]
    db.executemany("UPDATE months SET captures = captures - ? WHERE run = ? AND month = ?", rows)
    removed = months.total()
    db.execute("UPDATE runs SET captures = captures - ? WHERE run = ?", (removed, run))
    if db.execute("SELECT 1 FROM runs WHERE run = ? AND NOT captures", (run,)).fetchone():
        drop_runs(db, [run])
    return removed


def _kept(columns: BlockColumns, counts: Counter[int]) -> list[bool]:
    left = Counter(counts)
    kept = []
    for key in reversed(place_keys(columns).tolist()):
        kept.append(left[key] <= 0)
        left[key] -= 1
    return kept[::-1]


def _entries(columns: BlockColumns, number: int) -> dict[int, set[Entry]]:
    if not columns:
        return {kind: set() for kind in LOOKUP_KINDS}
    numbers = np.full(len(columns["urlkey"]), number, np.uint64)
    found = lookup_entries(columns, numbers)
    return {
        kind: set(zip(keys.tolist(), ranks.tolist(), strict=True))
        for kind, (keys, ranks) in found.items()
    }


def _store(db: sqlite3.Connection, id: int, columns: BlockColumns) -> None:
    if not columns:
        db.execute("DELETE FROM blocks WHERE id = ?", (id,))
        return
    keys, times = columns["urlkey"], columns["timestamp"]
    db.execute(
        "UPDATE blocks SET urlkey = ?, timestamp = ?, captures = ?, lines = ?, rest = ?"
        " WHERE id = ?",
        (keys[0], times[0], len(keys), *BlockPacker().packed(columns), id),
    )


def _remove_entries(db: sqlite3.Connection, run: int, kind: int, entries: set[Entry]) -> None:
    rows: defaultdict[int, set[Entry]] = defaultdict(set)
    for entry in entries:
        if row := db.execute(_ROW_OF, (run, kind, *entry)).fetchone():
            rows[row[0]].add(entry)
    for id, some in rows.items():
        keys, ranks = unpacked_entries(db, id)
        pairs = zip(keys.tolist(), ranks.tolist(), strict=True)
        kept = np.array([pair not in some for pair in pairs], bool)
        keys, ranks = keys[kept], ranks[kept]
        if len(keys):
            values = (int(keys[0]), int(ranks[0]), packed_entries(keys, ranks), id)
            db.execute("UPDATE lookups SET key = ?, rank = ?, data = ? WHERE id = ?", values)
        else:
            db.execute("DELETE FROM lookups WHERE id = ?", (id,))
