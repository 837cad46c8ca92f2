"""The single writer of an archive, and the purger of a folder."""

import json
import os
import sqlite3
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from nwx.engine.access.access_index import Purger
from nwx.engine.embedded.captures.runs import drop_unfinished
from nwx.engine.embedded.database import (
    add_missing,
    add_rows,
    connect,
    count_rows,
    erase_deleted,
    erase_values,
    erased,
    make_tables,
)
from nwx.engine.embedded.date_indices import EmbeddedDatesIndices
from nwx.engine.embedded.documents import tantivy_index
from nwx.engine.embedded.folder import Folder, bring_forward, damaged
from nwx.engine.embedded.registry import Registry, StoredRows, id_bytes
from nwx.engine.embedded.separate_indices import SeparateIndices
from nwx.engine.embedded.staged_rows import (
    BatchRows,
    FileCaptures,
    FileRow,
    Numbers,
    StagedRows,
    dates_rows,
    document_row,
    own_dates,
)
from nwx.engine.embedded.text_writer import (
    TextWriter,
    rebuild_older_index,
    replace_json,
    segment_entries,
    sync,
)
from nwx.engine.entries import document_from_entry
from nwx.engine.indices.declarations import IndexKind, indices_of
from nwx.errors import EngineError
from nwx.model import MAIN_DATES, Dates, IndexName, Written

if TYPE_CHECKING:
    from nwx.engine.embedded.documents.columns import DocumentColumns
    from nwx.engine.embedded.documents.stored_columns import Ints
    from nwx.engine.embedded.documents.word_sets import StoredSets


COMMIT_SECONDS = 30.0
_CACHE_KIB = 512
"""Small, as it fills up in each import; the file is memory-mapped as well."""

COMMIT_CHARACTERS = 400_000_000


class ArchiveWriter:
    """The writer of an archive; it holds the archive's lock until closed."""

    def __init__(self, folder: Folder, wait_seconds: float = 0.0) -> None:
        self._folder = folder
        self.guard = threading.RLock()
        self._lock = folder.lock(wait_seconds)
        try:
            with folder.our_errors():
                folder.prepare()
                self.db = connect(folder.database, read_only=False)
                self.db.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
                make_tables(self.db)
                bring_forward(folder, self.db)
                add_missing(self.db)
                drop_unfinished(self.db, merging=folder.is_merging())
                rebuild_older_index(folder.documents)
                self._texts = TextWriter(folder.documents)
                self._numbers = Numbers(folder.numbers)
                self._fresh: set[int] = set()
                self._registry = self._new_registry()
                self._repair()
                self._begin_numbers()
                folder.finish()
                self._packer = tantivy_index.Packer()
                self._broken: EngineError | None = None
                self._characters = 0
                self._began = 0.0
                self._replaced: set[int] = set()
                self._finish_replacing()
        except BaseException:
            os.close(self._lock)
            raise

    def _new_registry(self) -> Registry:
        return Registry(self.db, self._numbers.take, self._fresh)

    def _begin_numbers(self) -> None:
        (last,) = self.db.execute("SELECT coalesce(max(num), 0) FROM ids").fetchone()
        self._numbers.begin(last + 1)

    def _repair(self) -> None:
        """Delete the texts of documents that a killed writer left without rows."""
        there = self._texts.count()
        if there == count_rows(self.db, IndexName.DOCUMENTS):
            return
        known = {num for (num,) in self.db.execute("SELECT num FROM documents")}
        found = self._texts.nums()
        if missing := len(known - found):
            raise EngineError(
                f"{self._folder.documents} lacks {missing} documents of "
                f"{self._folder.database}; restore both from the same copy"
            )
        self._unindex(found - known)

    def _finish_replacing(self) -> None:
        """Store the rows of documents whose texts a killed writer may have replaced."""
        if not self._folder.replacing.exists():
            return
        try:
            nums = set(map(int, json.loads(self._folder.replacing.read_bytes())))
        except (ValueError, TypeError) as error:
            raise damaged(self._folder.replacing, error) from error
        entries = [entry for _, entry in segment_entries(self._folder.documents, nums)]
        rows = (document_row(entry)._replace(amends=True) for entry in entries)
        dates = dates_rows([*own_dates(map(document_from_entry, entries))])
        self.write(StagedRows((BatchRows(tuple(rows), dates=dates),)))
        self.commit()

    def _unindex(self, nums: Collection[int]) -> None:
        """Delete documents from tantivy that SQLite no longer has."""
        self._texts.delete(nums)
        self._texts.commit()
        add_rows(self.db, "unindexed", 1)  # readers look at tantivy when SQLite changes

    def write(self, staged: StagedRows) -> Written:
        """Store batches with the next commit; if one cannot be stored, none is."""
        with self._working():
            stored: list[StoredRows] = []
            found: list[FileCaptures] = []
            dates = 0
            with self._savepoint():
                for rows in staged.batches:
                    stored.append(self._registry.add_documents(rows.documents))
                    found += rows.captures
                    dates += self._registry.add_dates(rows.dates)
                    self._write_files(rows.files)
                    self._characters += rows.characters
                captures = self._registry.add_captures(found)  # at once: each call makes a run
            self._index(staged.segment, stored)
            waited = time.monotonic() - self._began
            if self._characters > COMMIT_CHARACTERS or waited > COMMIT_SECONDS:
                self.commit()
            new, changed = sum(one.new for one in stored), sum(one.changed for one in stored)
            return Written(documents=new, replaced=changed, captures=captures, dates=dates)

    def append_dates(self, dates: Sequence[Dates]) -> int:
        """Add dates with the next commit; return how many pairs were new."""
        with self._working(), self._savepoint():
            return self._registry.add_dates(dates_rows(dates))

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Yield the database for a change that is committed at once, after all earlier ones."""
        with self._working():
            self.commit()
            with self._savepoint():
                yield self.db
            self.commit()

    def delete(self, index: IndexName, ids: Collection[str]) -> int:
        """Delete entries, committed at once."""
        with self._working():
            self.commit()
            nums: set[int] = set()
            with self._savepoint():
                if index is IndexName.DOCUMENTS:
                    nums = set(self._registry.documents(map(id_bytes, ids)).values())
                    deleted = self._registry.forget(nums)
                else:
                    deleted = self._registry.delete(index, ids)
            self.commit()
            with self._storing():
                self._unindex(nums)
            return deleted

    def remove_dates(self, dates: Sequence[Dates]) -> int:
        """Remove dates, committed at once; return how many pairs were removed."""
        with self._working():
            self.commit()
            with self._savepoint():
                removed = self._registry.remove_dates(dates_rows(dates))
            self.commit()
            return removed

    def erase(self, wait_seconds: float) -> bool:
        """Remove deleted data from all files; return whether none of it remains."""
        with self._working():
            self.commit()
            with self._savepoint():
                erase_values(self.db)
            self.commit()
            self._registry = self._new_registry()
            with self._storing():
                self._texts.erase(self._folder.segments / "purge")
                for made in (self._folder.columns, *self._folder.path.glob("joined-*.npz")):
                    made.unlink(missing_ok=True)
                return erase_deleted(self.db, wait_seconds)

    def commit(self) -> None:
        """Make everything written visible to readers and durable."""
        with self._working():
            if not self.db.in_transaction:
                return
            with self._storing():
                if self._folder.is_full():  # before the two stores can differ
                    raise self._folder.full_error()
                with self._folder.commit_lock(), self._replacing():
                    self._texts.commit()
                    self.db.execute("COMMIT")
                self._fresh.clear()
                self._texts.tidy()
                self._merge_captures()
            self._characters = 0

    @contextmanager
    def _replacing(self) -> Iterator[None]:
        """Record, during a commit, the documents whose texts are replaced before their rows."""
        if self._replaced:
            replace_json(self._folder.replacing, sorted(self._replaced))
        yield
        self._replaced.clear()
        if self._folder.replacing.exists():
            self._folder.replacing.unlink()
            sync(self._folder.path)

    def close(self) -> None:
        """Commit and release the lock."""
        with self.guard:
            try:
                if self._broken is None:
                    from nwx.engine.embedded.documents.columns import keep_columns

                    self.commit()
                    with self._folder.our_errors():
                        self._texts.finish()
                        keep_columns(self._folder.columns, self.db, self._frequent_words)
            finally:
                self._texts.drop()
                self._folder.clear()
                self.db.close()
                os.close(self._lock)

    def _merge_captures(self) -> None:
        """Merge long runs of captures, keeping the lock."""
        # Imported here: readers import this module, and do not need NumPy.
        from nwx.engine.embedded.captures.merges import merge_many

        merge_many(self._folder, self.db, is_locked=True)

    def _frequent_words(
        self, columns: "DocumentColumns", earlier: "StoredSets | None", changed: "Ints"
    ) -> "StoredSets":
        # Imported here: it loads the search modules, and most archives are too small to need it.
        from nwx.engine.embedded.documents.view import frequent_words

        return frequent_words(self._folder, columns, earlier, changed)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """Yield the database, uncommitted changes included, to one thread at a time."""
        with self.guard, self._folder.our_errors():
            yield self.db

    @contextmanager
    def _working(self) -> Iterator[None]:
        """Admit one thread at a time; raise EngineError if writing has failed before.

        A failure rolls back all uncommitted changes. Storing later ones would leave data missing
        that the ledger lists.
        """
        with self.guard, self._folder.our_errors():
            if self._broken is not None:
                raise self._broken
            yield

    @contextmanager
    def _savepoint(self) -> Iterator[None]:
        """Roll back the SQLite changes made in the context on an error."""
        if not self.db.in_transaction:
            self.db.execute("BEGIN IMMEDIATE")
            self._began = time.monotonic()
        self.db.execute("SAVEPOINT batch")
        try:
            yield
        except BaseException:
            # SQLite itself rolls back everything if the disk is full.
            if not self.db.in_transaction:
                self._fail("SQLite undid what was not committed")
            else:
                self.db.execute("ROLLBACK TO batch")
                self._registry = self._new_registry()
            raise
        self.db.execute("RELEASE batch")

    @contextmanager
    def _storing(self) -> Iterator[None]:
        """Roll back all uncommitted changes on an error."""
        try:
            with self._folder.our_errors():
                yield
        except EngineError as error:
            self._fail(str(error))
            raise
        except BaseException:
            self._fail("it was interrupted")
            raise

    def _fail(self, cause: str) -> None:
        self._broken = EngineError(f"writing to {self._folder.path} has failed: {cause}")
        self._texts.drop()
        if self.db.in_transaction:
            self.db.execute("ROLLBACK")

    def _index(self, segment: str, stored: Sequence[StoredRows]) -> None:
        """Add the texts of documents to tantivy with the next commit."""
        with self._storing():
            for one in stored:
                self._index_batch(one, Path(segment))
            if segment:
                self._texts.add_segment(Path(segment))

    def _index_batch(self, stored: StoredRows, segment: Path) -> None:
        pack = self._packer.document
        indexed = [pack(num, row.entry) for num, row in stored.indexed if row.entry]
        if stored.recovered:
            nums = {row.num: num for num, row in stored.recovered}
            indexed += [pack(nums[num], one) for num, one in segment_entries(segment, nums)]
        self._texts.delete(stored.replaced)
        self._replaced.update(stored.replaced)
        self._texts.add(indexed)
        self._texts.forget(stored.unknown)

    def _write_files(self, rows: Sequence[FileRow]) -> None:
        before = self.db.total_changes
        self.db.executemany("INSERT OR IGNORE INTO files VALUES (?, ?, ?)", rows)
        add_rows(self.db, IndexName.FILES, self.db.total_changes - before)
        self.db.executemany("UPDATE files SET entry = ?3 WHERE collection = ?1 AND name = ?2", rows)


def finish_replacing(folder: Folder) -> bool:
    """Finish a commit that a killed writer left unfinished; return False if that is impossible.

    Backups are left alone, as several may share the file of the database by hard links, and so are
    the archives of other users, who could not write to files made by this one.
    """
    if folder.replacing.exists():
        database = folder.database.stat()
        if database.st_nlink == 1 and database.st_uid == os.geteuid():
            with suppress(EngineError):
                ArchiveWriter(folder).close()
    return not folder.replacing.exists()


class EmbeddedPurger(Purger):
    """Purges the archive in a folder; `writing` returns its single writer."""

    def __init__(
        self,
        writing: Callable[[], ArchiveWriter],
        dates: EmbeddedDatesIndices,
        separate: SeparateIndices,
    ) -> None:
        self._writing, self._dates, self._separate = writing, dates, separate

    def own_dates(self) -> list[str]:
        return self._dates.made()

    def remove_dates(self, place: str, dates: Sequence[Dates]) -> int:
        if place == MAIN_DATES:
            return self._writing().remove_dates(dates)
        return self._dates.remove(place, dates)

    def erase(self, wait_seconds: float) -> tuple[str, ...]:
        return tuple(self._left(wait_seconds))

    def _left(self, wait_seconds: float) -> Iterator[str]:
        if not self._writing().erase(wait_seconds):
            yield "archive.sqlite"
        for name in self._dates.made():
            if not self._dates.erase(name, wait_seconds):
                yield f"dates/{name}"
        for index in indices_of(IndexKind.ENTRIES):
            if not erased(self._separate.own(index).database.erasing, wait_seconds):
                yield f"{index}.db"
