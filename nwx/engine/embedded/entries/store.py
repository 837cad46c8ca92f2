"""Small entries of an index in a folder: their tables, SQL queries and files."""

import json
import sqlite3
import threading
import zlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import starmap

from cachetools import LRUCache

from nwx import mappings
from nwx.engine.embedded.entries.own_database import (
    CACHE_PRAGMA,
    DURABLE,
    FAST,
    JOURNAL_PRAGMA,
    STATES_TABLE,
    DatabaseForm,
    OwnDatabase,
    OwnIndex,
    note_count,
)
from nwx.engine.entries import IndexEntry
from nwx.engine.indices.declarations import INDICES, EntryFields, IndexDeclaration
from nwx.engine.indices.entry_store import (
    BY_ID,
    EVERY_ENTRY,
    Change,
    EntryFilter,
    EntryGroup,
    EntryOrder,
    EntryStore,
    Totals,
)
from nwx.engine.sqlite_files import among
from nwx.model import IndexName

_FAST_COMPRESSION = 1
_SQL_TYPES = {"double": "REAL NOT NULL", "integer": "INTEGER", "long": "INTEGER"}


def entry_schema(index: IndexName, fields: EntryFields) -> str:
    """Return the script that creates the tables of an index."""
    table, first = fields.table, fields.orders[0]
    kinds = mappings.properties(index)
    typed = {name: _SQL_TYPES.get(kinds[name]["type"], "TEXT NOT NULL") for name in fields.columns}
    columns = "".join(f", {name} {kind}" for name, kind in typed.items())
    script = [
        f"CREATE TABLE IF NOT EXISTS {table} (num INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE"
        f"{columns})",
        "CREATE TABLE IF NOT EXISTS contents (num INTEGER PRIMARY KEY, content BLOB NOT NULL)",
    ]
    sorted_by = [*fields.orders, *((_by(name), *first) for name in fields.filtered)]
    script += (
        f"CREATE INDEX IF NOT EXISTS {table}_by_{order[0][0]} ON {table} ({order_sql(order)})"
        for order in sorted_by
        if order and order[0][0] != "id"
    )
    mean = first[0].field if first else "num"
    for name, column in fields.lists.items():
        script += (
            f"CREATE TABLE IF NOT EXISTS {name} ({column} TEXT NOT NULL,"
            f" {mean} {typed.get(mean, 'INTEGER')}, id TEXT NOT NULL, num INTEGER NOT NULL,"
            f" PRIMARY KEY ({column}, {mean}, id)) WITHOUT ROWID",
            f"CREATE INDEX IF NOT EXISTS {name}_by_num ON {name} (num)",
        )
    script += (
        # Grows with each change, so that counts can be cached.
        "CREATE TABLE IF NOT EXISTS changes (number INTEGER NOT NULL)",
        "INSERT INTO changes SELECT 0 WHERE NOT EXISTS (SELECT 1 FROM changes)",
    )
    script += _version_and_log(index, fields)
    return "".join(f"{statement};\n" for statement in script) + STATES_TABLE


def _version_and_log(index: IndexName, fields: EntryFields) -> Iterator[str]:
    """Yield the SQL that creates the mark of a version, and the triggers that protect a log."""
    if fields.has_version:
        # Distinguishes this file from another one put in its place.
        yield "CREATE TABLE IF NOT EXISTS marks (mark TEXT NOT NULL)"
        yield (
            "INSERT INTO marks SELECT lower(hex(randomblob(6)))"
            " WHERE NOT EXISTS (SELECT 1 FROM marks)"
        )
    for name, value in fields.log.items():
        for event in ("UPDATE", "DELETE"):
            yield (
                f"CREATE TRIGGER IF NOT EXISTS log_stays_{event} BEFORE {event} ON {fields.table}"
                f" WHEN OLD.{name} = '{value}'"
                f" BEGIN SELECT RAISE(ABORT, 'the log of the index {index} stays as it is'); END"
            )


def _by(field: str) -> tuple[str, bool]:
    return field, False


def order_sql(order: Sequence[tuple[str, bool]], table: str = "") -> str:
    """Return the ORDER BY terms of an order, with ties broken by id."""
    of = f"{table}." if table else ""
    terms = [f"{of}{name}{' DESC' * descending}" for name, descending in order]
    return ", ".join(terms if order and order[-1][0] == "id" else [*terms, f"{of}id"])


class Condition:
    """An SQL condition on rows: `text` begins with WHERE unless it is empty."""

    def __init__(self, fields: EntryFields, where: EntryFilter) -> None:
        self.values: list[object] = []
        alone = next(iter(where)) if len(where) == 1 else ""
        self.of_list = alone if alone in fields.lists else ""
        """The list of the only condition, if it has a single value; its rows are in usual order."""
        parts: list[str] = []
        # Conditions on columns come first, so that few rows are looked up in lists one by one.
        for name, value in sorted(where.items(), key=lambda one: one[0] in fields.lists):
            wanted = value if isinstance(value, tuple) else (value,)
            marks = "= ?" if len(wanted) == 1 else f"IN ({', '.join('?' * len(wanted))})"
            if len(wanted) != 1:
                self.of_list = ""
            self.values += wanted
            if name in fields.lists:
                parts.append(_in_list(fields, name, marks, alone=not parts))
            else:
                parts.append(f"{fields.table}.{name} {marks}")
        self.text = f"WHERE {' AND '.join(parts)}" if parts else ""


def _in_list(fields: EntryFields, name: str, marks: str, *, alone: bool) -> str:
    column = f"{name}.{fields.lists[name]} {marks}"
    if alone:  # finds all rows of a value in one pass
        return f"{fields.table}.num IN (SELECT num FROM {name} WHERE {column})"
    return f"EXISTS (SELECT 1 FROM {name} WHERE {name}.num = {fields.table}.num AND {column})"


def find_sql(fields: EntryFields, condition: Condition, order: EntryOrder) -> str:
    """Return the SQL that selects matching packed entries, with parameters for LIMIT and OFFSET."""
    of, found = fields.table, f"{fields.table} {condition.text}"
    if name := condition.of_list:
        # The rows of a value are in the usual order.
        of = name
        found = f"{name} JOIN {fields.table} USING (num) WHERE {name}.{fields.lists[name]} = ?"
    if order != fields.orders[0]:
        of = fields.table
    # Rows skipped by the offset are not joined with their contents.
    return (
        f"SELECT content FROM (SELECT {fields.table}.num FROM {found}"
        f" ORDER BY {order_sql(order, of)} LIMIT ? OFFSET ?) AS found"
        " CROSS JOIN contents USING (num)"
    )


def groups_sql(fields: EntryFields, field: str, mean: str, most: int, where: str = "") -> str:
    """Return the SQL that counts the values of a field, the most frequent first."""
    table, column = (field, fields.lists[field]) if field in fields.lists else (fields.table, field)
    return (
        f"SELECT {column}, count(*), avg({mean}) FROM {table} {where} GROUP BY {column}"
        f" ORDER BY count(*) DESC, {column} LIMIT {most}"
    )


def put_entries(
    db: sqlite3.Connection, fields: EntryFields, entries: Iterable[IndexEntry], removed: int = 0
) -> None:
    """Store entries, replacing those with the same ids, and record the change.

    `removed` is the number of entries that the change has removed before.
    """
    added = -removed
    columns = ", ".join(("id", *fields.columns))
    marks = ", ".join("?" * (1 + len(fields.columns)))
    add = f"INSERT INTO {fields.table} ({columns}) VALUES ({marks})"
    db.execute("UPDATE changes SET number = number + 1")
    for entry in entries:
        added += 1 - remove_entry(db, fields, entry["id"])
        values = (entry["id"], *(entry.get(name, "") for name in fields.columns))
        num = db.execute(add, values).lastrowid
        db.execute("INSERT INTO contents VALUES (?, ?)", (num, pack_entry(entry)))
        for name in fields.lists:
            first = fields.orders[0]
            mean = entry[first[0].field] if first else num
            rows = [(value, mean, entry["id"], num) for value in entry.get(name, ())]
            db.executemany(f"INSERT INTO {name} VALUES (?, ?, ?, ?)", rows)
    note_count(db, fields.table, added)


def entry_faults(db: sqlite3.Connection, fields: EntryFields) -> Iterator[tuple[str, str]]:
    """Yield the ids of entries whose rows differ from their contents, each with a message."""
    columns = "".join(f", {name}" for name in fields.columns)
    rows = f"SELECT num, id, content{columns} FROM {fields.table} LEFT JOIN contents USING (num)"
    for num, id, packed, *values in db.execute(rows):
        try:
            entry = unpack_entry(packed)
        except (TypeError, ValueError, zlib.error) as error:
            yield id, f"its content is damaged or missing ({error})"
            continue
        expected = [entry.get(name, "") for name in fields.columns]
        if entry["id"] != id or list(map(str, values)) != list(map(str, expected)):
            yield id, "its row differs from its content"
        for name, column in fields.lists.items():
            query = f"SELECT {column} FROM {name} WHERE num = ? AND id = ?"
            found = sorted(value for (value,) in db.execute(query, (num, id)))
            if found != sorted(set(entry.get(name, ()))):
                yield id, f"its rows of {name} differ from its content"
    for name in ("contents", *fields.lists):
        others = f"FROM {name} WHERE num NOT IN (SELECT num FROM {fields.table})"
        (more,) = db.execute(f"SELECT count(*) {others}").fetchone()
        if more:
            yield "*", f"{more} rows of {name} belong to no entry"


def remove_entry(db: sqlite3.Connection, fields: EntryFields, id: str) -> bool:
    """Remove an entry; return whether it existed."""
    row = db.execute(f"SELECT num FROM {fields.table} WHERE id = ?", (id,)).fetchone()
    if row is None:
        return False
    for table in ("contents", *fields.lists, fields.table):
        db.execute(f"DELETE FROM {table} WHERE num = ?", row)
    return True


def pack_entry(entry: IndexEntry) -> bytes:
    """Return an entry in its stored form."""
    import msgspec  # here: most archives have no entries, yet each command reads access rules

    return zlib.compress(msgspec.json.encode(entry), _FAST_COMPRESSION)


def unpack_entry(packed: bytes) -> IndexEntry:
    """Return an entry from its stored form."""
    import msgspec

    entry: IndexEntry = msgspec.json.decode(zlib.decompress(packed))
    return entry


_NUMBER_DIGITS = 12


def entry_form(index: IndexName) -> DatabaseForm:
    """Return the form of the file with the entries of an index."""
    fields = INDICES[index].fields
    steps = _STEPS.get(index, ())
    return DatabaseForm(
        f"{index}.db",
        entry_schema(index, fields),
        (DURABLE if fields.is_durable else FAST, CACHE_PRAGMA, JOURNAL_PRAGMA),
        (CACHE_PRAGMA, "mmap_size = 268435456"),
        keeps_reader=fields.has_version,
        must_stay=bool(fields.log),
        format=1 + len(steps),
        steps=steps,
    )


def _join_rules_and_changes(db: sqlite3.Connection) -> None:
    """Convert the tables `rules` and `changes` to entries, keeping the version of the rules."""
    rules = db.execute("SELECT entry FROM rules").fetchall()
    changes = db.execute("SELECT entry FROM changes ORDER BY number").fetchall()
    (last,) = db.execute("SELECT coalesce(max(number), 0) FROM changes").fetchone()
    for trigger in ("changes_stay", "changes_are_kept"):
        db.execute(f"DROP TRIGGER {trigger}")
    for table in ("rules", "changes"):
        db.execute(f"DROP TABLE {table}")
    fields = INDICES[IndexName.ACCESS].fields
    for statement in entry_schema(IndexName.ACCESS, fields).split(";\n"):
        db.execute(statement)
    entries = [json.loads(entry) for (entry,) in rules]
    for number, (entry,) in enumerate(changes, 1):
        entries.append(json.loads(entry) | {"id": f"change/{number:0{_NUMBER_DIGITS}}"})
    put_entries(db, fields, entries)
    db.execute("UPDATE changes SET number = ?", (last,))


_STEPS = {IndexName.ACCESS: (_join_rules_and_changes,)}
"""The steps from each format of a file to the next, beginning with format 1."""


_TOTALS_KEPT = 64


class EmbeddedEntryStore(OwnIndex, EntryStore):
    """Entries in a separate file, so that imports do not block it."""

    def __init__(self, database: OwnDatabase, declared: IndexDeclaration) -> None:
        super().__init__(database, declared)
        self._fields = declared.fields
        self.counted = declared.fields.table
        self._guard = threading.Lock()
        self._counted: LRUCache[tuple[object, ...], Totals] = LRUCache(_TOTALS_KEPT)

    def put(self, entries: Sequence[IndexEntry]) -> None:
        if entries:
            with self.database.writing() as db:
                put_entries(db, self._fields, entries)

    def update(self, ids: Collection[str], change: Change) -> Mapping[str, IndexEntry | None]:
        with self.database.writing() as db:
            found = {entry["id"]: entry for entry in self._entries_of(db, ids)}
            changed = change({id: found.get(id) for id in ids})
            if changed:
                gone = (id for id, entry in changed.items() if entry is None)
                removed = sum(remove_entry(db, self._fields, id) for id in gone)
                kept = (entry for entry in changed.values() if entry is not None)
                put_entries(db, self._fields, kept, removed)
        return changed

    def get(self, ids: Collection[str], fields: Sequence[str] = ()) -> dict[str, IndexEntry]:
        with self.database.reading() as db:
            if not fields or not set(fields) <= set(self._fields.columns):
                return {entry["id"]: entry for entry in self._entries_of(db, ids)}
            command = f"SELECT id, {', '.join(fields)} FROM {self._fields.table} WHERE id IN ({{}})"
            rows = among(db, command, ids)
            return {id: dict(zip(fields, values, strict=True)) for id, *values in rows}

    def _entries_of(self, db: sqlite3.Connection, ids: Iterable[str]) -> Iterator[IndexEntry]:
        table = self._fields.table
        command = f"SELECT content FROM {table} JOIN contents USING (num) WHERE id IN ({{}})"
        return (unpack_entry(packed) for (packed,) in among(db, command, ids))

    def delete(self, ids: Collection[str]) -> int:
        if not self.is_made():
            return 0
        with self.database.writing() as db:
            removed = sum(remove_entry(db, self._fields, id) for id in ids)
            put_entries(db, self._fields, (), removed)
            return removed

    def find(
        self,
        where: EntryFilter = EVERY_ENTRY,
        order: EntryOrder = BY_ID,
        limit: int | None = None,
        offset: int = 0,
    ) -> Iterator[IndexEntry]:
        condition = Condition(self._fields, where)
        with self.database.reading() as db:
            command = find_sql(self._fields, condition, order)
            most = -1 if limit is None else limit
            for (packed,) in db.execute(command, (*condition.values, most, offset)):
                yield unpack_entry(packed)

    def count(self, where: EntryFilter = EVERY_ENTRY) -> int:
        condition = Condition(self._fields, where)
        with self.database.reading() as db:
            command = f"SELECT count(*) FROM {self._fields.table} {condition.text}"
            return int(db.execute(command, condition.values).fetchone()[0])

    def totals(self, where: EntryFilter, groups: Mapping[str, int], mean: str) -> Totals:
        with self.database.reading() as db:
            (number,) = db.execute("SELECT number FROM changes").fetchone()
            key = (number, *sorted(where.items()), *groups.items(), mean)
            with self._guard:
                counted = self._counted.get(key)
            if counted is None:
                counted = self._totals(db, Condition(self._fields, where), groups, mean)
                with self._guard:
                    self._counted[key] = counted
            return counted

    def _totals(
        self, db: sqlite3.Connection, condition: Condition, groups: Mapping[str, int], mean: str
    ) -> Totals:
        table, where = self._fields.table, condition.text
        command = f"SELECT count(*), avg({mean}) FROM {table} {where}"
        entries, value = db.execute(command, condition.values).fetchone()
        among = where and f"WHERE num IN (SELECT num FROM {table} {where})"
        found: dict[str, tuple[EntryGroup, ...]] = {}
        for name, most in groups.items():
            within = among if name in self._fields.lists else where
            command = groups_sql(self._fields, name, mean, most, within)
            found[name] = tuple(starmap(EntryGroup, db.execute(command, condition.values)))
        return Totals(entries, value, found)

    def version(self) -> str:
        if self.database.is_missing():
            return ""
        with self.database.reading() as db:
            number, mark = db.execute("SELECT number, mark FROM changes, marks").fetchone()
            return f"{mark}-{number}" if number else ""

    def renew(self) -> None:
        if self.version():
            with self.database.writing() as db:
                db.execute("UPDATE marks SET mark = lower(hex(randomblob(6)))")

    def _row_faults(self, db: sqlite3.Connection) -> Iterator[tuple[str, str]]:
        return entry_faults(db, self._fields)

    def _count(self) -> int:
        return self.count(self.declared.shown)

    def entries(self) -> Iterator[IndexEntry]:
        return self.find(self.declared.shown)
