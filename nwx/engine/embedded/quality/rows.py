"""Playback scores in the SQLite file of the index quality: how they are put and found."""

import sqlite3
import zlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import starmap

import msgspec

from nwx.engine.entries import IndexEntry
from nwx.engine.quality.quality_index import (
    EVERY_SCORE,
    HOSTS_COUNTED,
    QualityFilter,
    QualityGroup,
    QualityOrder,
    QualityTotals,
)

_AT_ONCE = 500
_FAST_COMPRESSION = 1
_PUT_SCORE = """
INSERT INTO scores (id, score, collection, host, domain, month, checked, rules)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)"""
_CHANGED = "UPDATE changes SET number = number + 1"
_IS_AMONG_KIND = "scores.num IN (SELECT num FROM kinds WHERE kind = ?)"
_HAS_KIND = "EXISTS (SELECT 1 FROM kinds WHERE kinds.num = scores.num AND kinds.kind = ?)"
_OF_ONE = ("contents", "kinds", "scores")
_ORDERS = {
    QualityOrder.WORST: "{}.score, {}.id",
    QualityOrder.NEWEST: "scores.checked DESC, scores.id",
}
_FIELDS = ("collection", "host", "domain", "month")


def put_entries(db: sqlite3.Connection, entries: Iterable[IndexEntry]) -> None:
    """Store entries in the place of those of the same ids."""
    db.execute(_CHANGED)
    for entry in entries:
        _remove(db, entry["id"])
        text = (entry.get(name, "") for name in (*_FIELDS, "checked", "rules"))
        num = db.execute(_PUT_SCORE, (entry["id"], entry["score"], *text)).lastrowid
        packed = zlib.compress(msgspec.json.encode(entry), _FAST_COMPRESSION)
        db.execute("INSERT INTO contents VALUES (?, ?)", (num, packed))
        kinds = [(kind, entry["score"], entry["id"], num) for kind in entry.get("kinds", ())]
        db.executemany("INSERT INTO kinds VALUES (?, ?, ?, ?)", kinds)


def remove_scores(db: sqlite3.Connection, ids: Iterable[str]) -> int:
    """Remove the scores of captures; return how many there were."""
    db.execute(_CHANGED)
    return sum(_remove(db, id) for id in ids)


def _remove(db: sqlite3.Connection, id: str) -> bool:
    row = db.execute("SELECT num FROM scores WHERE id = ?", (id,)).fetchone()
    if row is None:
        return False
    for table in _OF_ONE:
        db.execute(f"DELETE FROM {table} WHERE num = ?", row)
    return True


def change_number(db: sqlite3.Connection) -> int:
    """Return a number that grows with each change of scores."""
    (number,) = db.execute("SELECT number FROM changes").fetchone()
    return int(number)


def score_entries_of(db: sqlite3.Connection, ids: Collection[str]) -> Iterator[IndexEntry]:
    """Yield the entries of captures."""
    command = "SELECT content FROM scores JOIN contents USING (num) WHERE id IN ({})"
    for chunk in _chunks(ids):
        yield from (_entry(packed) for (packed,) in _among(db, command, chunk))


def all_entries(db: sqlite3.Connection) -> Iterator[IndexEntry]:
    """Stream all entries in the order of their ids."""
    for (packed,) in db.execute("SELECT content FROM scores JOIN contents USING (num) ORDER BY id"):
        yield _entry(packed)


def found_entries(
    db: sqlite3.Connection, wanted: QualityFilter, order: str, limit: int = -1, offset: int = 0
) -> Iterator[IndexEntry]:
    """Stream the entries that match a filter, by default all of them."""
    condition, values = _condition(wanted)
    table, of = f"scores {condition}", "scores"
    if wanted == QualityFilter(kind=wanted.kind) and wanted.kind:
        # They are in the order of their scores within their kind.
        table, of = "kinds JOIN scores USING (num) WHERE kinds.kind = ?", "kinds"
    by = _ORDERS[QualityOrder(order)].format(of, of)
    # What is left out by the offset is not joined with its content.
    command = (
        f"SELECT content FROM (SELECT scores.num FROM {table}"
        f" ORDER BY {by} LIMIT ? OFFSET ?) AS found CROSS JOIN contents USING (num)"
    )
    for (packed,) in db.execute(command, (*values, limit, offset)):
        yield _entry(packed)


def _condition(wanted: QualityFilter) -> tuple[str, list[str]]:
    """Return the condition that rows of `scores` match, and its values."""
    values = [getattr(wanted, name) for name in _FIELDS if getattr(wanted, name)]
    conditions = [f"scores.{name} = ?" for name in _FIELDS if getattr(wanted, name)]
    if wanted.kind:
        # Few rows are looked up one by one; all of a kind are found in one pass.
        conditions.append(_HAS_KIND if conditions else _IS_AMONG_KIND)
        values.append(wanted.kind)
    return f"WHERE {' AND '.join(conditions)}" if conditions else "", values


def _entry(packed: bytes) -> IndexEntry:
    entry: IndexEntry = msgspec.json.decode(zlib.decompress(packed))
    return entry


def checked_ids(db: sqlite3.Connection, ids: Collection[str], rules: str) -> set[str]:
    """Return those of these captures that have a score by a version of the rules."""
    command = "SELECT id FROM scores WHERE rules = ? AND id IN ({})"
    return {id for chunk in _chunks(ids) for (id,) in _among(db, command, chunk, rules)}


def _chunks(values: Collection[str]) -> Iterator[Sequence[str]]:
    listed = list(values)
    for start in range(0, len(listed), _AT_ONCE):
        yield listed[start : start + _AT_ONCE]


def _among(
    db: sqlite3.Connection, command: str, chunk: Sequence[str], *values: str
) -> sqlite3.Cursor:
    return db.execute(command.format(", ".join("?" * len(chunk))), (*values, *chunk))


def number_of_scores(db: sqlite3.Connection) -> int:
    """Return the number of scores."""
    (number,) = db.execute("SELECT count(*) FROM scores").fetchone()
    return int(number)


def quality_totals(db: sqlite3.Connection, wanted: QualityFilter) -> QualityTotals:
    """Count the pages that match a filter."""
    return _totals_of_all(db) if wanted == EVERY_SCORE else _totals_of_some(db, wanted)


def _totals_of_all(db: sqlite3.Connection) -> QualityTotals:
    """Count all pages, each group in the order of an index."""
    pages, mean = db.execute("SELECT count(*), avg(score) FROM scores").fetchone()

    def groups(field: str, table: str = "scores", limit: int = -1) -> Iterator[QualityGroup]:
        command = (
            f"SELECT {field}, count(*), avg(score) FROM {table} GROUP BY {field}"
            f" ORDER BY count(*) DESC, {field} LIMIT {limit}"
        )
        return starmap(QualityGroup, db.execute(command))

    return QualityTotals(
        pages,
        mean,
        kinds=tuple(groups("kind", "kinds")),
        months=tuple(sorted(groups("month"))),
        hosts=tuple(groups("host", limit=HOSTS_COUNTED)),
        collections=tuple(groups("collection")),
    )


def _totals_of_some(db: sqlite3.Connection, wanted: QualityFilter) -> QualityTotals:
    """Count pages in one pass over their rows: they are in the order of no group."""
    condition, values = _condition(wanted)
    months, hosts, collections = _Sums(), _Sums(), _Sums()
    rows = db.execute(f"SELECT month, host, collection, score FROM scores {condition}", values)
    for month, host, collection, score in rows:
        months.add(month, score)
        hosts.add(host, score)
        collections.add(collection, score)
    only_kind = wanted == QualityFilter(kind=wanted.kind)
    among = "kinds WHERE kind = ?" if only_kind else f"scores {condition}"
    kinds = db.execute(
        "SELECT kind, count(*), avg(score) FROM kinds"
        f" WHERE num IN (SELECT num FROM {among}) GROUP BY kind ORDER BY count(*) DESC, kind",
        values,
    )
    pages = sum(months.pages.values())
    return QualityTotals(
        pages,
        sum(months.scores.values()) / pages if pages else None,
        kinds=tuple(starmap(QualityGroup, kinds)),
        months=tuple(sorted(months.groups())),
        hosts=tuple(hosts.groups()[:HOSTS_COUNTED]),
        collections=tuple(collections.groups()),
    )


class _Sums:
    """The pages of each value, and the sum of their scores."""

    def __init__(self) -> None:
        self.pages: defaultdict[str, int] = defaultdict(int)
        self.scores: defaultdict[str, float] = defaultdict(float)

    def add(self, value: str, score: float) -> None:
        self.pages[value] += 1
        self.scores[value] += score

    def groups(self) -> list[QualityGroup]:
        """Return the values, those with the most pages first."""
        found = [
            QualityGroup(value, pages, self.scores[value] / pages)
            for value, pages in self.pages.items()
        ]
        return sorted(found, key=lambda one: (-one.pages, one.value))
