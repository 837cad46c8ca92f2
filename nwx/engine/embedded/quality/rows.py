"""Playback scores in the SQLite file of the index quality: how they are put and found."""

import sqlite3
import zlib
from collections.abc import Collection, Iterable, Iterator, Sequence

import msgspec

from nwx.engine.entries import IndexEntry
from nwx.engine.quality.quality_index import (
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
_OF_ONE = ("contents", "kinds", "missing", "scores")
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
        missing = [(urlkey, num) for urlkey in set(entry.get("resources", ()))]
        db.executemany("INSERT INTO missing VALUES (?, ?)", missing)


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
    table, condition, values = _condition(wanted)
    by = _ORDERS[QualityOrder(order)].format(*["kinds" if wanted.kind else "scores"] * 2)
    # What is left out by the offset is not joined with its content.
    command = (
        f"SELECT content FROM (SELECT scores.num FROM {table} {condition}"
        f" ORDER BY {by} LIMIT ? OFFSET ?) AS found CROSS JOIN contents USING (num)"
    )
    for (packed,) in db.execute(command, (*values, limit, offset)):
        yield _entry(packed)


def _condition(wanted: QualityFilter) -> tuple[str, str, list[str]]:
    """Return the tables, the condition and its values."""
    values = [getattr(wanted, name) for name in _FIELDS if getattr(wanted, name)]
    conditions = [f"scores.{name} = ?" for name in _FIELDS if getattr(wanted, name)]
    table = "scores"
    if wanted.kind:
        table = "kinds JOIN scores ON scores.num = kinds.num"
        conditions.append("kinds.kind = ?")
        values.append(wanted.kind)
    return table, f"WHERE {' AND '.join(conditions)}" if conditions else "", values


def _entry(packed: bytes) -> IndexEntry:
    entry: IndexEntry = msgspec.json.decode(zlib.decompress(packed))
    return entry


def checked_ids(db: sqlite3.Connection, ids: Collection[str], rules: str) -> set[str]:
    """Return those of these captures that have a score by a version of the rules."""
    command = "SELECT id FROM scores WHERE rules = ? AND id IN ({})"
    return {id for chunk in _chunks(ids) for (id,) in _among(db, command, chunk, rules)}


def ids_missing(db: sqlite3.Connection, urlkeys: Collection[str]) -> set[str]:
    """Return the captures of pages of whose missing resources one is among these."""
    command = "SELECT id FROM missing JOIN scores USING (num) WHERE urlkey IN ({})"
    return {id for chunk in _chunks(urlkeys) for (id,) in _among(db, command, chunk)}


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
    table, condition, values = _condition(wanted)
    command = f"SELECT count(*), avg(scores.score) FROM {table} {condition}"
    pages, mean = db.execute(command, values).fetchone()
    return QualityTotals(
        pages,
        mean,
        kinds=_kinds(db, wanted),
        months=_groups(db, wanted, "month", "month"),
        hosts=_groups(db, wanted, "host", f"count(*) DESC, host LIMIT {HOSTS_COUNTED}"),
        collections=_groups(db, wanted, "collection", "count(*) DESC, collection"),
    )


def _groups(
    db: sqlite3.Connection, wanted: QualityFilter, field: str, order: str
) -> tuple[QualityGroup, ...]:
    table, condition, values = _condition(wanted)
    command = (
        f"SELECT {field}, count(*), avg(scores.score) FROM {table} {condition}"
        f" GROUP BY {field} ORDER BY {order}"
    )
    return tuple(QualityGroup(*row) for row in db.execute(command, values))


def _kinds(db: sqlite3.Connection, wanted: QualityFilter) -> tuple[QualityGroup, ...]:
    table, condition, values = _condition(wanted)
    if condition:
        matching = f"{table} JOIN kinds AS every ON every.num = scores.num {condition}"
    else:
        matching = "kinds AS every"
    command = (
        f"SELECT every.kind, count(*), avg(every.score) FROM {matching}"
        " GROUP BY every.kind ORDER BY count(*) DESC, every.kind"
    )
    return tuple(QualityGroup(*row) for row in db.execute(command, values))
