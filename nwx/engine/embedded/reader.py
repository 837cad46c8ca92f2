"""Reads from SQLite and tantivy, as records and as index entries."""

import json
import sqlite3
import threading
from collections.abc import Collection, Iterable, Iterator
from contextlib import closing
from itertools import groupby, islice
from operator import itemgetter
from typing import TYPE_CHECKING

from nwx.bulk.whole_files import unsealed_json
from nwx.engine.embedded.captures.blocks import BEGINNING, END
from nwx.engine.embedded.captures.runs import snapshot
from nwx.engine.embedded.captures.url_lookups import stored_captures
from nwx.engine.embedded.database import TABLES, connect, count_rows
from nwx.engine.embedded.folder import Folder
from nwx.engine.embedded.registry import find_documents, find_nums, id_bytes
from nwx.engine.entries import (
    IndexEntry,
    capture_entry,
    dates_entry,
    document_from_entry,
    file_from_entry,
    file_id,
)
from nwx.engine.sqlite_files import among
from nwx.errors import EngineError
from nwx.model import Dates, Document, IndexName, SourceFile

if TYPE_CHECKING:
    from nwx.engine.embedded.documents.tantivy_index import DocumentSearcher

_CHUNK = 500


def known(db: sqlite3.Connection, ids: Collection[str]) -> dict[str, int]:
    """Return the precedence of the stored documents among `ids`."""
    found = find_documents(db, map(id_bytes, ids))
    return {id.hex(): rank for id, (_, rank) in found.items()}


def nums(db: sqlite3.Connection, ids: Collection[str]) -> list[int]:
    """Return the numbers of the stored documents among `ids`."""
    return [num for num, _ in find_documents(db, map(id_bytes, ids)).values()]


def stored_documents(searcher: "DocumentSearcher", nums: list[int]) -> dict[str, Document]:
    """Return documents by their numbers."""
    from nwx.engine.embedded.documents.tantivy_index import documents_by_num, entry_of

    found = (entry_of(one) for _, one in documents_by_num(searcher, nums))
    return {entry["id"]: document_from_entry(entry) for entry in found}


def stored_dates(db: sqlite3.Connection, ids: Collection[str]) -> dict[str, Dates]:
    """Return the dates of these ids."""
    by_num = {num: id.hex() for id, num in find_nums(db, map(id_bytes, ids)).items()}
    return {by_num[num]: one for num, one in _dates(db, by_num)}


def _dates(db: sqlite3.Connection, nums: Iterable[int]) -> Iterator[tuple[int, Dates]]:
    command = (
        "SELECT num, key, timestamp, name FROM dates JOIN seen USING (num)"
        " JOIN collections ON code = collection WHERE num IN ({}) ORDER BY num, timestamp, name"
    )
    for num, group in groupby(among(db, command, nums), key=itemgetter(0)):
        run = list(group)
        seen = tuple((f"{timestamp:014}", name) for _, _, timestamp, name in run)
        yield num, Dates(run[0][1], seen)


def document_entries(db: sqlite3.Connection, searcher: "DocumentSearcher") -> Iterator[IndexEntry]:
    """Yield the entries of documents in the order of their ids."""
    # Imported here: sizes, files and capture look-ups do not need tantivy.
    from nwx.engine.embedded.documents.tantivy_index import documents_by_num, entry_of

    rows = db.execute("SELECT num FROM ids JOIN documents USING (num) ORDER BY id")
    while chunk := [num for (num,) in islice(rows, _CHUNK)]:
        found = dict(documents_by_num(searcher, chunk))
        yield from (entry_of(found[num]) for num in chunk if num in found)


def stored_entries_of(db: sqlite3.Connection, index: IndexName) -> Iterator[IndexEntry]:
    """Yield the entries of captures, dates or files in the order of their ids.

    Captures are in the order of collection, file and offset.
    """
    if index is IndexName.CAPTURES:
        return _capture_entries(db)
    if index is IndexName.DATES:
        return _dates_entries(db)
    return _file_entries(db, "collection || '/' || name")


def _capture_entries(db: sqlite3.Connection) -> Iterator[IndexEntry]:
    # SQLite sorts any number of them in a temporary file.
    with snapshot(db), closing(sqlite3.connect("")) as other:
        other.execute("CREATE TABLE entries (collection TEXT, file TEXT, offset INT, entry TEXT)")
        rows = (
            (
                one.collection,
                one.source_file,
                one.source_file_offset,
                json.dumps(capture_entry(one)),
            )
            for one in stored_captures(db, BEGINNING, END)
        )
        other.executemany("INSERT INTO entries VALUES (?, ?, ?, ?)", rows)
        for (text,) in other.execute("SELECT entry FROM entries ORDER BY collection, file, offset"):
            yield json.loads(text)


def _dates_entries(db: sqlite3.Connection) -> Iterator[IndexEntry]:
    rows = db.execute("SELECT num FROM ids JOIN dates USING (num) ORDER BY id")
    while chunk := [num for (num,) in islice(rows, _CHUNK)]:
        found = dict(_dates(db, chunk))
        yield from (dates_entry(found[num]) for num in chunk if num in found)


def files(db: sqlite3.Connection) -> list[SourceFile]:
    """Return the import ledger, by collection and name."""
    return list(map(file_from_entry, _file_entries(db, "collection, name")))


def _file_entries(db: sqlite3.Connection, order: str) -> Iterator[IndexEntry]:
    rows = db.execute(f"SELECT collection, name, entry FROM files ORDER BY {order}")
    for collection, name, entry in rows:
        try:
            yield unsealed_json(entry)
        except (ValueError, TypeError) as error:
            raise EngineError.translated(
                "the ledger entry of %(file)s is damaged (%(reason)s); run `nwx check`",
                file=file_id(collection, name),
                reason=error,
            ) from error


def documents_stamp(db: sqlite3.Connection) -> str:
    """Return a text that changes whenever documents or dates are written or deleted."""
    (stamp,) = db.execute(
        "SELECT (SELECT coalesce(max(seq), 0) FROM documents) || ' '"
        " || (SELECT coalesce(max(rowid), 0) FROM seen)"
    ).fetchone()
    return f"{stamp} {count_rows(db, 'deletions')}"


def entries(db: sqlite3.Connection, index: IndexName) -> int:
    """Return the number of entries of an index."""
    return count_rows(db, index)


def stored_bytes(db: sqlite3.Connection, folder: Folder, index: IndexName) -> int | None:
    """Return the stored bytes of an index, None if SQLite was built without `dbstat`."""
    names = TABLES[index]
    try:
        (stored,) = db.execute(
            "SELECT coalesce(sum(pgsize), 0) FROM dbstat WHERE aggregate = 1 AND name IN"
            f" (SELECT name FROM sqlite_master WHERE tbl_name IN ({','.join('?' * len(names))}))",
            names,
        ).fetchone()
    except sqlite3.OperationalError:
        return None
    if index is IndexName.DOCUMENTS:
        stored += sum(file.stat().st_size for file in folder.documents.iterdir())
    return int(stored)


class SharedConnection:
    """A connection opened on first use; a context manager."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._guard = threading.Lock()
        self._db: sqlite3.Connection | None = None

    def __enter__(self) -> sqlite3.Connection:
        """Return the connection, to one thread at a time."""
        self._guard.acquire()
        if self._db is None:
            try:
                with self._folder.our_errors():
                    self._folder.check()
                    path, names = self._folder.database, self._folder.names
                    self._db = connect(path, read_only=True, names=names)
            except BaseException:
                self._guard.release()
                raise
        return self._db

    def __exit__(self, _: object, error: BaseException | None, trace: object) -> None:
        self._guard.release()
        if isinstance(error, Exception):
            with self._folder.our_errors():
                raise error

    def close(self) -> None:
        """Close the database; a later read opens it again."""
        with self._guard:
            if self._db is not None:
                self._db.close()
            self._db = None
