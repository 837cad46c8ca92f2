"""Steps that bring the folder of an older version forward."""

import sqlite3

from nwx.engine.base import Migration, pending_migrations
from nwx.engine.embedded import database
from nwx.engine.embedded.database import make_lookup_tables
from nwx.engine.embedded.folder import FORMAT, Folder
from nwx.engine.sqlite_files import transaction


def _to_2(db: sqlite3.Connection) -> None:
    database.make_attached(db)
    db.execute("DROP TABLE IF EXISTS facets")


def _to_3(db: sqlite3.Connection) -> None:
    make_lookup_tables(db)
    db.execute("DROP INDEX IF EXISTS captures_by_urlkey")
    db.execute("DROP INDEX IF EXISTS captures_by_digest")


MIGRATIONS: tuple[Migration[sqlite3.Connection], ...] = (
    Migration(
        2,
        "the table of attached dates indices; the table of facets, which nothing wrote, is dropped",
        _to_2,
    ),
    Migration(
        3,
        "tables of captures in the order of a CDX and by digest, in the place of two indexes",
        _to_3,
    ),
)
"""The steps; the number of the last is the format of new folders (`folder.FORMAT`).

Columns of captures and counters that are missing need no step: whoever
writes adds them (`database.add_missing`). What cannot be read before it is
there raises `folder.READABLE_FORMAT`.
"""


def bring_forward(folder: Folder, db: sqlite3.Connection) -> None:
    """Take the steps that a folder has not taken, all or none; the caller has its lock.

    `db` is its database, open for writing, and the folder was checked.
    """
    if folder.format == FORMAT:
        return
    with transaction(db):
        for migration in pending_migrations(MIGRATIONS, folder.format):
            migration.apply(db)
    folder.write_manifest()
