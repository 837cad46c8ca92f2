"""The index access of an archive in a folder."""

import json
import sqlite3
from collections.abc import Collection, Iterable, Iterator
from contextlib import AbstractContextManager

from nwx.engine.access.access_index import AccessChange, AccessIndex, ChangeKind
from nwx.engine.access.decisions import AccessRules
from nwx.engine.access.entries import (
    change_entry,
    change_from_entry,
    rule_entry,
    rule_from_entry,
)
from nwx.engine.access.planned_changes import (
    changes_by_removing,
    changes_by_storing,
    checked_rules,
)
from nwx.engine.access.rules import AccessRule
from nwx.engine.embedded.entries.own_database import (
    DURABLE,
    STATES_TABLE,
    DatabaseForm,
    OwnDatabase,
)
from nwx.engine.entries import IndexEntry
from nwx.model import IndexStats

_NUMBER_DIGITS = 12

_SCHEMA = """
-- Entries as JSON. `changes` are the log: rows of it are never changed or deleted.
CREATE TABLE IF NOT EXISTS rules (id TEXT PRIMARY KEY, entry TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS changes (
    number INTEGER PRIMARY KEY AUTOINCREMENT, entry TEXT NOT NULL);
CREATE TRIGGER IF NOT EXISTS changes_stay BEFORE UPDATE ON changes
    BEGIN SELECT RAISE(ABORT, 'the log of access rules cannot be changed'); END;
CREATE TRIGGER IF NOT EXISTS changes_are_kept BEFORE DELETE ON changes
    BEGIN SELECT RAISE(ABORT, 'the log of access rules cannot be deleted'); END;
-- Tells the rules of this file from those of another in its place.
CREATE TABLE IF NOT EXISTS marks (mark TEXT NOT NULL);
INSERT INTO marks SELECT lower(hex(randomblob(6))) WHERE NOT EXISTS (SELECT 1 FROM marks);
"""
# Each request of a service asks for the version of the rules: the reader is kept.
ACCESS_FORM = DatabaseForm("access.db", _SCHEMA + STATES_TABLE, (DURABLE,), keeps_reader=True)


class EmbeddedAccessIndex(AccessIndex):
    """The index access in a file beside that of the archive, so that no import is in its way."""

    def __init__(self, database: OwnDatabase) -> None:
        self._database = database
        self._rules = AccessRules()

    def version(self) -> str:
        with self._database.reading() as db:
            return _version(db)

    def rules(self) -> AccessRules:
        with self._database.reading() as db:
            version = _version(db)
            if db is not None and version != self._rules.version:
                self._rules = AccessRules(_rules(db).values(), version)
            return self._rules if version else AccessRules()

    def put(self, rules: Iterable[AccessRule], by: str) -> tuple[AccessRule, ...]:
        stored = checked_rules(rules, by)
        if not stored:
            return ()
        with self._database.writing() as db:
            known = _rules(db)
            changes = changes_by_storing(stored, known, by)
            _write(db, changes)
            known |= {change.rule.id: change.rule for change in changes}
        return tuple(known[rule.id] for rule in stored)

    def remove(self, ids: Collection[str], by: str) -> int:
        if not self.version():
            return 0
        with self._database.writing() as db:
            changes = changes_by_removing(ids, _rules(db), by)
            _write(db, changes)
        return len(changes)

    def renew(self) -> None:
        if self.version():
            with self._database.writing() as db:
                db.execute("UPDATE marks SET mark = lower(hex(randomblob(6)))")

    def changes(self, limit: int, offset: int = 0) -> list[AccessChange]:
        with self._database.reading() as db:
            command = "SELECT entry FROM changes ORDER BY number DESC LIMIT ? OFFSET ?"
            found = db.execute(command, (limit, offset)) if db else ()
            return [change_from_entry(json.loads(entry)) for (entry,) in found]

    def put_state(self, name: str, state: bytes) -> None:
        with self._database.writing() as db:
            db.execute("INSERT OR REPLACE INTO states VALUES (?, ?)", (name, state))

    def state(self, name: str) -> bytes | None:
        with self._database.reading() as db:
            command = "SELECT state FROM states WHERE name = ?"
            row = db.execute(command, (name,)).fetchone() if db else None
        return None if row is None else bytes(row[0])

    def count(self) -> int:
        """Return the number of entries: rules and changes of rules."""
        with self._database.reading() as db:
            command = "SELECT (SELECT COUNT(*) FROM rules) + (SELECT COUNT(*) FROM changes)"
            return int(db.execute(command).fetchone()[0]) if db else 0

    def stats(self) -> IndexStats:
        """Return the size of the index, states included."""
        return IndexStats(self.count(), self._database.stored_bytes())

    def entries(self) -> Iterator[IndexEntry]:
        """Stream all entries, as in the mapping, in the order of their ids."""
        with self._database.reading() as db:
            changes = (
                db.execute("SELECT entry FROM changes ORDER BY number").fetchall() if db else []
            )
            rules = db.execute("SELECT entry FROM rules ORDER BY id").fetchall() if db else []
        for number, (entry,) in enumerate(changes, 1):
            yield json.loads(entry) | {"id": f"change/{number:0{_NUMBER_DIGITS}}"}
        yield from (json.loads(entry) for (entry,) in rules)

    def erasing(self) -> AbstractContextManager[sqlite3.Connection | None]:
        """Give the connection outside of a transaction, None where there is no file."""
        return self._database.erasing()

    def close(self) -> None:
        """Let go of the file; what is asked later opens it again."""
        self._database.close()


def _version(db: sqlite3.Connection | None) -> str:
    """Return the number of the last change, as all changes of rules are in the log, and the mark.

    "" before the first change.
    """
    if db is None:
        return ""
    number, mark = db.execute(
        "SELECT MAX(number), (SELECT mark FROM marks) FROM changes"
    ).fetchone()
    return f"{mark}-{number}" if number else ""


def _rules(db: sqlite3.Connection) -> dict[str, AccessRule]:
    found = db.execute("SELECT entry FROM rules ORDER BY id")
    rules = (rule_from_entry(json.loads(entry)) for (entry,) in found)
    return {rule.id: rule for rule in rules}


def _write(db: sqlite3.Connection, changes: Iterable[AccessChange]) -> None:
    for change in changes:
        entry = json.dumps(change_entry(change, ""), ensure_ascii=False)
        db.execute("INSERT INTO changes (entry) VALUES (?)", (entry,))
        if change.kind is ChangeKind.REMOVED:
            db.execute("DELETE FROM rules WHERE id = ?", (change.rule.id,))
        else:
            entry = json.dumps(rule_entry(change.rule), ensure_ascii=False)
            db.execute("INSERT OR REPLACE INTO rules VALUES (?, ?)", (change.rule.id, entry))
