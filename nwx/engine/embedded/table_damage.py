"""Checks of the tables of a folder, and of the blocks of captures in them."""

import sqlite3
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from nwx.bulk.whole_files import unsealed_json
from nwx.engine.capabilities import RESTORE, ROW, UNCHECKED, Damage
from nwx.engine.embedded.captures.block_lookups import DIGESTS, MONTH, BlockPart, unpacked
from nwx.engine.embedded.captures.blocks import STORED_FIELDS, Block, BlockColumns, BlockError
from nwx.engine.embedded.captures.entries import LOOKUP_KINDS, KeyArray, lookup_entries
from nwx.engine.embedded.captures.runs import (
    ORDER_FIELDS,
    RUN_BITS,
    START,
    CdxPlace,
    places_of,
    snapshot,
)
from nwx.engine.embedded.database import SEEN_SUM, SUM_OF_SEEN, count_rows
from nwx.engine.entries import file_id
from nwx.keys import document_id
from nwx.model import IndexName


@dataclass(frozen=True, slots=True)
class _TableCheck:
    """A query that returns the names of faulty rows in the tables of an index."""

    index: IndexName
    query: str
    message: str


def _counted(index: IndexName, table: str) -> _TableCheck:
    query = (
        f"SELECT '*' FROM counters WHERE name = '{index}'"
        f" AND value <> (SELECT count(*) FROM {table})"
    )
    return _TableCheck(index, query, f"the counter of entries differs from the table {table}")


def _without(index: IndexName, table: str, name: str, condition: str, message: str) -> _TableCheck:
    query = f"SELECT {name} FROM {table} AS one WHERE NOT EXISTS ({condition})"
    return _TableCheck(index, query, message)


def _grouped(kind: str, one: str, other: str) -> _TableCheck:
    query = (
        f"SELECT '{kind} ' || {one} FROM documents WHERE {kind}_hash <> 0 GROUP BY {one}"
        f" HAVING min({other}) <> max({other})"
    )
    return _TableCheck(IndexName.DOCUMENTS, query, f"the groups of documents of one {kind} differ")


_DATES_CHECKS = (
    _counted(IndexName.DATES, "dates"),
    _without(
        IndexName.DATES,
        "dates",
        "key",
        "SELECT 1 FROM ids JOIN seen USING (num) WHERE ids.num = one.num",
        "the row of `dates` has no id or no date",
    ),
    _without(
        IndexName.DATES,
        "seen",
        "'seen ' || rowid",
        "SELECT 1 FROM dates, collections WHERE dates.num = one.num AND code = one.collection",
        "the date has no key or no collection",
    ),
)
_CHECKS = (
    *_DATES_CHECKS,
    _counted(IndexName.DOCUMENTS, "documents"),
    _TableCheck(
        IndexName.CAPTURES,
        f"SELECT '*' FROM counters WHERE name = '{IndexName.CAPTURES}'"
        " AND value <> (SELECT coalesce(sum(captures), 0) FROM runs WHERE shown)",
        "the counter of entries differs from the table runs",
    ),
    _counted(IndexName.FILES, "files"),
    _without(
        IndexName.DOCUMENTS,
        "documents",
        "'document ' || num",
        "SELECT 1 FROM ids WHERE ids.num = one.num",
        "the row of `documents` has no id",
    ),
    _grouped("url", "url_hash", "url_group"),
    _grouped("url", "url_group", "url_hash"),
    _grouped("text", "text_hash", "text_group"),
    _grouped("text", "text_group", "text_hash"),
)


def table_damage(db: sqlite3.Connection, *, only_dates: bool = False) -> Iterator[Damage]:
    """Yield the inconsistencies of the tables of an archive, or of a separate dates index."""
    with snapshot(db):  # others may write meanwhile
        for check in _DATES_CHECKS if only_dates else _CHECKS:
            for (name,) in db.execute(check.query):
                yield Damage(check.index, str(name), f"{check.message}; {RESTORE}", ROW)
        yield from _keys(db)
        yield from _dates_sum(db)
        if not only_dates:
            yield from capture_damage(db)
            yield from _ledger(db)


def _keys(db: sqlite3.Connection) -> Iterator[Damage]:
    for id, key in db.execute("SELECT id, key FROM ids JOIN dates USING (num)"):
        # Keys that UTF-8 cannot hold are stored with replacements.
        if id.hex() != document_id(key) and "\ufffd" not in key:
            yield Damage(IndexName.DATES, key, f"the id is not that of its key; {RESTORE}", ROW)


def _dates_sum(db: sqlite3.Connection) -> Iterator[Damage]:
    has_sum = db.execute("SELECT 1 FROM counters WHERE name = ?", (SEEN_SUM,)).fetchone()
    if not has_sum:
        message = "the dates have no checksum: they were written by an older version"
        yield Damage(IndexName.DATES, "*", message, UNCHECKED)
    elif db.execute(SUM_OF_SEEN).fetchone()[0] != count_rows(db, SEEN_SUM):
        message = f"the dates are not those that were stored: their sum differs; {RESTORE}"
        yield Damage(IndexName.DATES, "*", message, ROW)


def _ledger(db: sqlite3.Connection) -> Iterator[Damage]:
    for collection, name, entry in db.execute("SELECT collection, name, entry FROM files"):
        id = file_id(collection, name)
        try:
            fault = "" if unsealed_json(entry)["id"] == id else "it belongs to another file"
        except (ValueError, KeyError, TypeError) as error:
            fault = str(error)
        if fault:
            message = f"its ledger entry is damaged ({fault}); {RESTORE}"
            yield Damage(IndexName.FILES, id, message)


_FIELDS = tuple(dict.fromkeys((*STORED_FIELDS, *ORDER_FIELDS)))
_FACTORS = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))
_HALF = np.uint64(32)


def capture_damage(db: sqlite3.Connection) -> Iterator[Damage]:
    """Yield the damage to the captures of an archive."""
    for run, captures in db.execute("SELECT run, captures FROM runs WHERE shown").fetchall():
        yield from _RunCheck(db, run).damage(captures)
    for table in ("blocks", "lookups", "months"):
        command = f"SELECT DISTINCT run FROM {table} WHERE run NOT IN (SELECT run FROM runs)"
        for (run,) in db.execute(command):
            yield _damage(f"run {run}", f"the rows of `{table}` are of no run")


def _damage(place: str, message: str) -> Damage:
    return Damage(IndexName.CAPTURES, place, f"{message}; {RESTORE}", ROW)


class _RunCheck:
    """The check of a run, which reads its blocks in order."""

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
            return "its first capture differs from its key"
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
    """Return a checksum with entries added; it does not depend on their order."""
    mixed = (keys * _FACTORS[0]) ^ (ranks * _FACTORS[1] + np.uint64(1))
    mixed = (mixed ^ mixed >> _HALF) * _FACTORS[0]
    return (total + int(np.sum(mixed ^ mixed >> _HALF, dtype=np.uint64))) & ((1 << 64) - 1)
