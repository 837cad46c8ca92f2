"""Whether the tables of an archive's database agree with each other."""

import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass

from nwx.bulk.whole_files import unsealed_json
from nwx.engine.capabilities import RESTORE, ROW, UNCHECKED, Damage
from nwx.engine.embedded.captures.runs import snapshot
from nwx.engine.embedded.checks.sums import SUM_OF_SEEN
from nwx.engine.embedded.database import SEEN_SUM, count_rows
from nwx.engine.entries import file_id
from nwx.keys import document_id
from nwx.model import IndexName


@dataclass(frozen=True, slots=True)
class _TableCheck:
    """A query whose rows name what is wrong in the tables of an index."""

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
    """Yield what differs between the tables of an archive, or of a separate dates index."""
    with snapshot(db):  # writers go on meanwhile
        for check in _DATES_CHECKS if only_dates else _CHECKS:
            for (name,) in db.execute(check.query):
                yield Damage(check.index, str(name), f"{check.message}; {RESTORE}", ROW)
        yield from _keys(db)
        yield from _dates_sum(db)
        if not only_dates:
            # Imported here: it takes NumPy, and whatever else is checked does not.
            from nwx.engine.embedded.checks.capture_blocks import capture_damage

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
            fault = "" if unsealed_json(entry)["id"] == id else "it is of another file"
        except (ValueError, KeyError, TypeError) as error:
            fault = str(error)
        if fault:
            message = f"its ledger entry is damaged ({fault}); {RESTORE}"
            yield Damage(IndexName.FILES, id, message)
