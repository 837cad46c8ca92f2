"""The forms of the files with small entries, and the steps that bring older ones forward."""

import json
import sqlite3

from nwx.engine.embedded.entries.own_database import (
    CACHE_PRAGMA,
    DURABLE,
    FAST,
    JOURNAL_PRAGMA,
    DatabaseForm,
)
from nwx.engine.embedded.entries.tables import entry_schema, put_entries
from nwx.engine.indices.declarations import INDICES
from nwx.model import IndexName

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
        format=1 + len(steps),
        steps=steps,
    )


def _join_rules_and_changes(db: sqlite3.Connection) -> None:
    """Make entries of the tables `rules` and `changes`; the version of the rules stays."""
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
