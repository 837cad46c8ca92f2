"""Whether a folder stores what was written to it: its files, its tables, its small indices."""

import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import Any

from nwx.engine.capabilities import DAMAGED, RESTORE, ROW, Damage, blob_damage
from nwx.engine.embedded.checks.stored_files import cache_damage, database_faults, document_damage
from nwx.engine.embedded.checks.tables import table_damage
from nwx.engine.embedded.database import connect, facet_columns
from nwx.engine.embedded.dates.indices import EmbeddedDatesIndices
from nwx.engine.embedded.folder import Folder
from nwx.engine.embedded.registry import id_bytes
from nwx.engine.embedded.separate_indices import SeparateIndices
from nwx.engine.embedded.staged_rows import document_row
from nwx.engine.indices.declarations import INDICES, IndexKind, indices_of
from nwx.errors import EngineError
from nwx.model import IndexName

_CHUNK = 500


def folder_damage(
    folder: Folder, separate: SeparateIndices, dates: EmbeddedDatesIndices
) -> Iterator[Damage]:
    """Yield what is damaged in an archive, and what cannot be checked."""
    folder.check()
    found = list(_database_damage(folder.database, IndexName.CAPTURES))
    yield from found
    yield from document_damage(folder.documents)
    if not found:
        with closing(connect(folder.database, read_only=True)) as db:
            yield from table_damage(db)
            yield from cache_damage(folder, db)
        yield from _attached_damage(dates)
    yield from blob_damage(separate.facet_store(), IndexName.FACETS)
    yield from blob_damage(separate.inlink_blobs(), IndexName.INLINKS)
    for index in indices_of(IndexKind.ENTRIES):
        yield from _entries_damage(folder, separate, index)


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
    advice = INDICES[index].made_by or RESTORE
    if not path.exists():
        # Who wants no followers any more deletes the changes (docs/cdx-server.md).
        if path.name in folder.stores and index is not IndexName.CHANGES:
            yield Damage(index, str(path), f"is missing; {advice}")
        return
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
    """Yield the documents whose rows in SQLite are not those of their entries in tantivy."""
    query = _documents_query(db)
    remaining = iter(entries)
    while some := {id_bytes(entry["id"]): entry for entry in islice(remaining, _CHUNK)}:
        rows = db.execute(query.format(", ".join("?" * len(some))), list(some))
        for id, *stored in rows:
            row = document_row(dict(some[id]))
            expected = [row.precedence, row.id_start, row.url_hash, row.text_hash, *row.facets]
            if stored != expected:
                yield id.hex(), f"its row differs from its text; {RESTORE}"
