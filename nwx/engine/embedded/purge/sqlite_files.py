"""Files of SQLite without what was deleted from them."""

import sqlite3
from collections.abc import Callable
from contextlib import AbstractContextManager

from nwx.engine.embedded.database import DOCUMENT_FACETS
from nwx.errors import EngineBusyError

_BUSY = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)

Opening = Callable[[], AbstractContextManager[sqlite3.Connection | None]]
"""Gives a connection to write without a transaction, None where there is no file."""


def erase_deleted(db: sqlite3.Connection, wait_seconds: float) -> bool:
    """Write a file anew without what was deleted, and empty its journal.

    Returns False where others read or write it for longer than
    `wait_seconds`. The connection must be in no transaction.
    """
    (before,) = db.execute("PRAGMA busy_timeout").fetchone()
    db.execute(f"PRAGMA busy_timeout = {int(wait_seconds * 1_000)}")
    try:
        db.execute("VACUUM")
        (busy, _, _) = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    except sqlite3.OperationalError as error:
        if error.sqlite_errorcode & 0xFF in _BUSY:
            return False
        raise
    finally:
        db.execute(f"PRAGMA busy_timeout = {before}")
    return not busy


def erased(opening: Opening, wait_seconds: float) -> bool:
    """Do the same to a file that has to be opened; one that is not there holds nothing."""
    try:
        with opening() as db:
            return db is None or erase_deleted(db, wait_seconds)
    except EngineBusyError:
        return False


def erase_values(db: sqlite3.Connection) -> None:
    """Overwrite the values of facets that no document has any more, such as its host.

    Their codes are kept, as no code is given twice; readers look at none of
    these.
    """
    for facet in DOCUMENT_FACETS:
        # No host, type or language has a `#` in front.
        db.execute(
            "UPDATE facet_values SET value = '#' || code WHERE field = ?1 AND substr(value, 1, 1)"
            f" != '#' AND code NOT IN (SELECT {facet} FROM documents)",
            (facet,),
        )
