"""Integrity checks of an archive folder: files, tables and small indices."""

import json
import sqlite3
import struct
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

from nwx.bulk.whole_files import file_checksum
from nwx.engine.capabilities import DAMAGED, RESTORE, ROW, UNCHECKED, Damage, blob_damage
from nwx.engine.embedded.database import COLUMNS_SUM, connect, count_rows, facet_columns
from nwx.engine.embedded.date_indices import EmbeddedDatesIndices
from nwx.engine.embedded.documents.stored_columns import load_columns_file
from nwx.engine.embedded.folder import Folder
from nwx.engine.embedded.registry import id_bytes
from nwx.engine.embedded.separate_indices import SeparateIndices
from nwx.engine.embedded.staged_rows import document_row
from nwx.engine.embedded.table_damage import table_damage
from nwx.engine.embedded.text_writer import META, read_meta
from nwx.engine.embedded.writer import finish_replacing
from nwx.engine.indices.declarations import INDICES, IndexKind, indices_of
from nwx.engine.sqlite_files import connect_sqlite
from nwx.errors import EngineError, EngineFullError, system_reason
from nwx.model import IndexName

_FOOTER = struct.Struct("<II")
_FOOTER_MAGIC = 1337
_ENDINGS = ("idx", "pos", "term", "store", "fast", "fieldnorm")
_MOST_NAMED = 20


def database_faults(path: Path) -> list[str]:
    """Return the faults that SQLite finds in a file and in its full-text tables.

    Raises EngineFullError if there is no space to read the file.
    """
    try:
        with closing(connect_sqlite(path, read_only=True)) as db:
            command = f"PRAGMA integrity_check({_MOST_NAMED})"
            found = [str(row[0]) for row in db.execute(command)]
            if found != ["ok"]:
                return found
            _check_full_texts(db)
    except sqlite3.Error as error:
        ours = Folder(path.parent).database_error(error, path)
        if isinstance(ours, EngineFullError):  # SQLite also writes while it reads
            raise ours from error
        return [str(error)]
    return []


def _check_full_texts(db: sqlite3.Connection) -> None:
    """Raise sqlite3.DatabaseError for a damaged full-text table, checked on a temporary copy."""
    names = "SELECT name FROM sqlite_master WHERE sql LIKE '%USING fts5%'"
    if tables := [name for (name,) in db.execute(names)]:
        with closing(sqlite3.connect("")) as copy:
            db.backup(copy)
            for name in tables:
                copy.execute(f"INSERT INTO {name} ({name}) VALUES ('integrity-check')")


def document_damage(folder: Path) -> Iterator[Damage]:
    """Yield the files of the documents index that are missing, or differ from what was written."""
    try:
        before = read_meta(folder)
        found = list(_segment_faults(folder, before))
        changed = bool(found) and read_meta(folder) != before
    except (EngineError, KeyError, TypeError, AttributeError) as error:
        message = f"cannot be read ({error}); {RESTORE}"
        yield Damage(IndexName.DOCUMENTS, str(folder / META), message)
        return
    if changed:  # a writer has merged segments meanwhile
        yield from document_damage(folder)
    else:
        yield from found


def _segment_faults(folder: Path, meta: dict[str, object]) -> Iterator[Damage]:
    for path in segment_files(folder, meta):
        if fault := _segment_fault(path):
            yield Damage(IndexName.DOCUMENTS, str(path), f"{fault}; {RESTORE}")


def segment_files(folder: Path, meta: dict[str, object]) -> Iterator[Path]:
    """Yield the paths of the segment files of a documents index."""
    segments = meta["segments"]
    assert isinstance(segments, list)
    for segment in segments:
        name = str(segment["segment_id"]).replace("-", "")
        yield from (folder / f"{name}.{ending}" for ending in _ENDINGS)
        if deletes := segment["deletes"]:
            yield folder / f"{name}.{deletes['opstamp']}.del"


def _segment_fault(path: Path) -> str:
    """Return the fault of a file, "" if it matches the checksum in its footer."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            file.seek(size - _FOOTER.size)
            length, magic = _FOOTER.unpack(file.read())
            file.seek(size - _FOOTER.size - length)
            footer = json.loads(file.read(length))
        is_whole = magic == _FOOTER_MAGIC and footer["crc"] == file_checksum(
            path, size - _FOOTER.size - length
        )
    except FileNotFoundError:
        return "is missing"
    except (OSError, ValueError, KeyError, TypeError, struct.error) as error:
        return f"cannot be read ({system_reason(error)})"
    return "" if is_whole else "has changed since it was written: its checksum differs"


def cache_damage(folder: Folder, db: sqlite3.Connection) -> Iterator[Damage]:
    """Yield the damaged cache files, which the next write rebuilds."""
    advice = "delete it: the next import makes it again"
    known = count_rows(db, COLUMNS_SUM)
    if folder.columns.exists():
        place = str(folder.columns)
        if known and file_checksum(folder.columns) != known:
            yield Damage(IndexName.DATES, place, f"its checksum differs; {advice}")
        elif not known and load_columns_file(folder.columns, db) is not None:
            message = "has no checksum: it was written by an older version"
            yield Damage(IndexName.DATES, place, message, UNCHECKED)
    for path in folder.path.glob("joined-*.npz"):
        try:
            with zipfile.ZipFile(path) as opened:
                fault = opened.testzip()
        except (OSError, zipfile.BadZipFile) as error:
            fault = str(system_reason(error))
        if fault:
            yield Damage(IndexName.DATES, str(path), f"is damaged ({fault}); {advice}")


_CHUNK = 500


def folder_damage(
    folder: Folder, separate: SeparateIndices, dates: EmbeddedDatesIndices
) -> Iterator[Damage]:
    """Yield the damage found in an archive, and what cannot be checked."""
    folder.check()
    found = list(_database_damage(folder.database, IndexName.CAPTURES))
    yield from found
    yield from document_damage(folder.documents)
    if not found and not finish_replacing(folder) and _is_cut_off(folder):
        message = "a killed import has replaced texts, not yet their rows: the next import will"
        yield Damage(IndexName.DOCUMENTS, str(folder.replacing), message, UNCHECKED)
    if not found:
        with closing(connect(folder.database, read_only=True)) as db:
            yield from table_damage(db)
            yield from cache_damage(folder, db)
        yield from _attached_damage(dates)
    yield from blob_damage(separate.facet_store(), IndexName.FACETS)
    yield from blob_damage(separate.inlink_blobs(), IndexName.INLINKS)
    for index in indices_of(IndexKind.ENTRIES):
        yield from _entries_damage(folder, separate, index)


def _is_cut_off(folder: Folder) -> bool:
    """Return whether a commit was left unfinished; a running commit does not count."""
    with folder.commit_lock(shared=True):
        return folder.replacing.exists()


def _database_damage(path: Path, index: IndexName, advice: str = RESTORE) -> Iterator[Damage]:
    faults = database_faults(path) if path.exists() else ["it is missing"]
    if faults:
        yield Damage(index, str(path), f"is damaged ({'; '.join(faults)}); {advice}")


def _attached_damage(dates: EmbeddedDatesIndices) -> Iterator[Damage]:
    for name, folder, problem in dates.folders():
        if folder is None:
            yield Damage(IndexName.DATES, f"dates/{name}", problem)
            continue
        found = list(_database_damage(folder.database, IndexName.DATES))
        yield from found
        if not found:
            with closing(connect(folder.database, read_only=True)) as db:
                for one in table_damage(db, only_dates=True):
                    yield Damage(one.index, f"{name}: {one.place}", one.message, one.kind)


def _entries_damage(
    folder: Folder, separate: SeparateIndices, index: IndexName
) -> Iterator[Damage]:
    path = separate.path(index)
    made_by = INDICES[index].made_by
    if not path.exists():
        # Deleting the change log is how to end following (docs/cdx-server.md).
        if path.name in folder.stores and index is not IndexName.CHANGES:
            yield Damage(index, str(path), f"is missing; {made_by or RESTORE}")
        return
    advice = f"delete the file, and {made_by}" if made_by else RESTORE
    found = list(_database_damage(path, index, advice))
    yield from found
    if not found:
        try:
            for id, fault in separate.own(index).faults():
                yield Damage(index, id, f"{fault}; {advice}", ROW)
        except (EngineError, ValueError, KeyError, TypeError) as error:
            yield Damage(index, str(path), f"cannot be read ({error}); {advice}", DAMAGED)


def _documents_query(db: sqlite3.Connection) -> str:
    facets = ", ".join(
        f"(SELECT value FROM facet_values WHERE field = '{name}' AND code = {column})"
        for name, column in facet_columns(db).items()
    )
    return (
        f"SELECT id, precedence, id_start, url_hash, text_hash, {facets}"
        " FROM documents JOIN ids USING (num) WHERE id IN ({})"
    )


def document_faults(
    db: sqlite3.Connection, entries: Sequence[Mapping[str, Any]]
) -> Iterator[tuple[str, str]]:
    """Yield the documents whose SQLite rows differ from their tantivy entries."""
    query = _documents_query(db)
    remaining = iter(entries)
    while some := {id_bytes(entry["id"]): entry for entry in islice(remaining, _CHUNK)}:
        rows = db.execute(query.format(", ".join("?" * len(some))), list(some))
        for id, *stored in rows:
            row = document_row(dict(some[id]))
            expected = [row.precedence, row.id_start, row.url_hash, row.text_hash, *row.facets]
            if stored != expected:
                yield id.hex(), f"its row differs from its text; {RESTORE}"
