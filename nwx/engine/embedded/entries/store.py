"""The small entries of an index in a folder."""

import sqlite3
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import starmap

from cachetools import LRUCache

from nwx.engine.embedded.entries.own_database import OwnDatabase, OwnIndex
from nwx.engine.embedded.entries.tables import (
    Condition,
    entry_faults,
    find_sql,
    groups_sql,
    put_entries,
    remove_entry,
    unpack_entry,
)
from nwx.engine.entries import IndexEntry
from nwx.engine.indices.declarations import IndexDeclaration
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

_TOTALS_KEPT = 64


class EmbeddedEntryStore(OwnIndex, EntryStore):
    """Entries in a file next to the archive's, so that imports do not block it."""

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
