"""SQLite files: connections, transactions, and the format number of a file."""

import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from nwx.bulk.progress import batches
from nwx.errors import EngineVersionError

_WAIT_SECONDS = 60.0
_AT_ONCE = 500


def sqlite_uri(path: Path, *, read_only: bool) -> str:
    """Return the URI that opens a file in SQLite; a file in a read-only folder is immutable.

    Reading creates no file. The journal of a writer that has not closed the file yet is read next
    to the file.
    """
    uri = path.absolute().as_uri()
    if not read_only:
        return uri
    if os.access(path.parent, os.W_OK):
        return f"{uri}?mode=rw"
    journal = path.with_name(f"{path.name}-wal")
    pending = journal.exists() and journal.stat().st_size
    return f"{uri}?mode=ro" if pending else f"{uri}?immutable=1"


def connect_sqlite(
    path: Path | None,
    pragmas: Iterable[str] = (),
    *,
    read_only: bool = False,
    factory: type[sqlite3.Connection] = sqlite3.Connection,
) -> sqlite3.Connection:
    """Return an autocommit connection that may be passed between threads.

    Without a path, the database is in memory.
    """
    db = sqlite3.connect(
        sqlite_uri(path, read_only=read_only) if path else ":memory:",
        uri=True,
        isolation_level=None,
        check_same_thread=False,
        timeout=_WAIT_SECONDS,
        factory=factory,
    )
    try:
        for pragma in pragmas:
            db.execute(f"PRAGMA {pragma}")
    except BaseException:
        db.close()
        raise
    return db


@contextmanager
def transaction(db: sqlite3.Connection) -> Iterator[sqlite3.Connection]:
    """Commit all changes of the context, none on an error; others cannot write meanwhile."""
    db.execute("BEGIN IMMEDIATE")
    try:
        yield db
        db.execute("COMMIT")
    except BaseException:
        if db.in_transaction:
            db.execute("ROLLBACK")
        raise


def file_format(db: sqlite3.Connection, path: Path, known: int) -> int:
    """Return the format version of a file, 0 for a new one.

    Raises EngineVersionError if it is above `known`.
    """
    (found,) = db.execute("PRAGMA user_version").fetchone()
    if found > known:
        raise EngineVersionError.translated(
            "%(path)s was made by a newer version of nwx (format %(found)s, here "
            "%(format)s); update nwx",
            path=path,
            found=found,
            format=known,
        )
    return int(found)


def among(
    db: sqlite3.Connection, command: str, values: Iterable[object], *first: object
) -> Iterator[Any]:
    """Yield the rows of a command with `IN ({})`, run in batches over the distinct values.

    `first` are its parameters before these.
    """
    for some in batches(dict.fromkeys(values), _AT_ONCE):
        yield from db.execute(command.format(",".join("?" * len(some))), (*first, *some))
