"""Whether the files of an archive folder are as they were written."""

import json
import sqlite3
import struct
import zipfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from nwx.bulk.whole_files import file_checksum
from nwx.engine.capabilities import RESTORE, UNCHECKED, Damage
from nwx.engine.embedded.database import COLUMNS_SUM, count_rows
from nwx.engine.embedded.documents.stored_columns import load_columns_file
from nwx.engine.embedded.folder import Folder
from nwx.engine.embedded.text_writer import META, read_meta
from nwx.engine.sqlite_files import connect_sqlite
from nwx.errors import EngineError
from nwx.model import IndexName

_FOOTER = struct.Struct("<II")
_FOOTER_MAGIC = 1337
_ENDINGS = ("idx", "pos", "term", "store", "fast", "fieldnorm")
_MOST_NAMED = 20


def database_faults(path: Path) -> list[str]:
    """Return what SQLite finds wrong in a file, and in its full-text tables."""
    try:
        with closing(connect_sqlite(path, read_only=True)) as db:
            command = f"PRAGMA integrity_check({_MOST_NAMED})"
            found = [str(row[0]) for row in db.execute(command)]
            if found != ["ok"]:
                return found
            _check_full_texts(db)
    except sqlite3.Error as error:
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
    """Yield the files of the index of documents that are missing, or not as tantivy wrote them."""
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
    """Yield the files of the segments that an index of documents consists of."""
    segments = meta["segments"]
    assert isinstance(segments, list)
    for segment in segments:
        name = str(segment["segment_id"]).replace("-", "")
        yield from (folder / f"{name}.{ending}" for ending in _ENDINGS)
        if deletes := segment["deletes"]:
            yield folder / f"{name}.{deletes['opstamp']}.del"


def _segment_fault(path: Path) -> str:
    """Return what is wrong with a file, which ends with the checksum of all before."""
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
        return f"cannot be read ({error})"
    return "" if is_whole else "is not as it was written: its checksum differs"


def cache_damage(folder: Folder, db: sqlite3.Connection) -> Iterator[Damage]:
    """Yield the damaged files that only save time; the next write makes them again."""
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
            fault = str(error)
        if fault:
            yield Damage(IndexName.DATES, str(path), f"is damaged ({fault}); {advice}")
