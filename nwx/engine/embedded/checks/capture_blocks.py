"""Whether the blocks of captures are as they were written, and their look-ups agree with them."""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise

import numpy as np

from nwx.engine.capabilities import RESTORE, ROW, Damage
from nwx.engine.embedded.captures.block_parts import BlockPart
from nwx.engine.embedded.captures.blocks import STORED_FIELDS, Block, BlockColumns, BlockError
from nwx.engine.embedded.captures.entries import LOOKUP_KINDS, KeyArray, lookup_entries
from nwx.engine.embedded.captures.lookups import DIGESTS, MONTH, unpacked
from nwx.engine.embedded.captures.runs import ORDER_FIELDS, RUN_BITS, START, CdxPlace, places_of
from nwx.model import IndexName

_FIELDS = tuple(dict.fromkeys((*STORED_FIELDS, *ORDER_FIELDS)))
_FACTORS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))
_HALF = np.uint64(32)


def capture_damage(db: sqlite3.Connection) -> Iterator[Damage]:
    """Yield what is wrong in the captures of an archive."""
    for run, captures in db.execute("SELECT run, captures FROM runs WHERE shown").fetchall():
        yield from _RunCheck(db, run).damage(captures)
    for table in ("blocks", "lookups", "months"):
        command = f"SELECT DISTINCT run FROM {table} WHERE run NOT IN (SELECT run FROM runs)"
        for (run,) in db.execute(command):
            yield _damage(f"run {run}", f"the rows of `{table}` are of no run")


def _damage(place: str, message: str) -> Damage:
    return Damage(IndexName.CAPTURES, place, f"{message}; {RESTORE}", ROW)


class _RunCheck:
    """A run, whose blocks are read one after the other."""

    def __init__(self, db: sqlite3.Connection, run: int) -> None:
        self._db, self._run = db, run
        self._last: CdxPlace = START
        self._months: Counter[str] = Counter()
        self._sums = dict.fromkeys(LOOKUP_KINDS, 0)

    def damage(self, captures: int) -> Iterator[Damage]:
        name = f"run {self._run}"
        found = list(self._blocks())
        yield from found
        if found:
            return
        if self._months.total() != captures:
            yield _damage(name, f"has {self._months.total():,} captures instead of {captures:,}")
        command = "SELECT month, captures FROM months WHERE run = ?"
        if +self._months != +Counter(dict(self._db.execute(command, (self._run,)).fetchall())):
            yield _damage(name, "the captures by month differ from `months`")
        for kind in LOOKUP_KINDS:
            yield from self._lookups(kind)

    def _blocks(self) -> Iterator[Damage]:
        command = "SELECT id, urlkey, timestamp, captures, lines, rest FROM blocks WHERE run = ?"
        for id, urlkey, timestamp, number, *frames in self._db.execute(
            f"{command} ORDER BY id", (self._run,)
        ):
            name = f"block {id & ((1 << RUN_BITS) - 1)} of run {self._run}"
            try:
                piece = BlockPart(self._db, Block(number, *frames))
                columns = {name: piece[name] for name in _FIELDS}
                places = places_of(columns)
                fault = self._fault(id, columns, places, (urlkey, timestamp))
            except (BlockError, ValueError) as error:
                fault = str(error)
            if fault:
                yield _damage(name, fault)

    def _fault(
        self, id: int, columns: BlockColumns, places: list[CdxPlace], first: tuple[str, str]
    ) -> str:
        if places[0][:2] != first:
            return "its first capture is not the one that it is found by"
        if any(one >= other for one, other in pairwise((self._last, *places))):
            return "its captures are not in order"
        self._last = places[-1]
        self._months.update(time[:MONTH] for time in columns["timestamp"])
        numbers = np.full(len(places), id & ((1 << RUN_BITS) - 1), np.uint64)
        for kind, entries in lookup_entries(columns, numbers).items():
            self._sums[kind] = _added(self._sums[kind], *entries)
        return ""

    def _lookups(self, kind: int) -> Iterator[Damage]:
        name = f"{'digests' if kind == DIGESTS else 'places'} of run {self._run}"
        total, last = 0, (-1, -1)
        command = "SELECT key, rank, data FROM lookups WHERE run = ? AND kind = ?"
        for key, rank, data in self._db.execute(f"{command} ORDER BY key, rank", (self._run, kind)):
            try:
                keys, ranks = (np.array(values, np.uint64) for values in unpacked(data))
            except (BlockError, ValueError) as error:
                yield _damage(name, str(error))
                return
            pairs = list(zip(keys.tolist(), ranks.tolist(), strict=True))
            if pairs[:1] != [(key, rank)] or any(
                one >= other for one, other in pairwise((last, *pairs))
            ):
                yield _damage(name, "the entries are not in order")
                return
            last, total = pairs[-1], _added(total, keys, ranks)
        if total != self._sums[kind]:
            yield _damage(name, "the entries are not those of the captures in its blocks")


def _added(total: int, keys: KeyArray, ranks: KeyArray) -> int:
    """Add entries to a sum over a set, which does not depend on their order."""
    mixed = (keys * _FACTORS[0]) ^ (ranks * _FACTORS[1] + np.uint64(1))
    mixed = (mixed ^ mixed >> _HALF) * _FACTORS[0]
    return (total + int(np.sum(mixed ^ mixed >> _HALF, dtype=np.uint64))) & ((1 << 64) - 1)
