"""The one writer of an archive.

Documents are in tantivy, all else is in SQLite, and many writes make one
commit: first of tantivy, then of SQLite, whose state is what counts. A writer
that is killed between the two leaves documents in tantivy that SQLite does
not know: readers pass over them and the next writer deletes them. What the
killed one had not committed is not in the ledger either, so that running it
again stores it. Deletions are committed the other way round, for the same
end.
"""

import json
import os
import sqlite3
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain

import tantivy

from nwx.engine.embedded.captures import by_digest
from nwx.engine.embedded.database import add_missing, add_rows, connect, count_rows, make_tables
from nwx.engine.embedded.documents import tantivy_index
from nwx.engine.embedded.documents.rebuild import rebuild_older_index
from nwx.engine.embedded.folder import Folder
from nwx.engine.embedded.migrations import bring_forward
from nwx.engine.embedded.registry import Registry, id_bytes
from nwx.engine.entries import IndexEntry, document_entry, file_entry
from nwx.errors import EngineError
from nwx.keys import document_key
from nwx.model import Batch, Dates, Document, IndexName, SourceFile, Written

COMMIT_SECONDS = 30.0
COMMIT_CHARACTERS = 400_000_000


@dataclass(frozen=True, slots=True)
class _Prepared:
    """Documents that are ready for tantivy, and the numbers of known ones that they replace."""

    documents: list[tantivy.Document]
    replaced: list[int]
    characters: int


class ArchiveWriter:
    """What holds the lock of an archive and writes to it, until it is closed."""

    def __init__(self, folder: Folder, wait_seconds: float = 0.0) -> None:
        self._folder = folder
        self.guard = threading.RLock()
        self._lock = folder.lock(wait_seconds)
        try:
            with folder.our_errors():
                folder.prepare()
                self.db = connect(folder.database, read_only=False)
                make_tables(self.db)
                self.db.execute(by_digest.INDEX)
                bring_forward(folder, self.db)
                add_missing(self.db)
                rebuild_older_index(folder.documents)
                self._texts = tantivy_index.TextWriter(folder.documents)
                self._registry = Registry(self.db)
                self._repair()
                folder.finish()
        except BaseException:
            os.close(self._lock)
            raise
        self._packer = tantivy_index.Packer()
        self._broken: EngineError | None = None
        self._characters = 0
        self._began = 0.0

    def _repair(self) -> None:
        """Delete the documents that a killed writer left behind."""
        there = self._texts.count()
        if there == count_rows(self.db, IndexName.DOCUMENTS):
            return
        known = {num for (num,) in self.db.execute("SELECT num FROM documents")}
        found = self._texts.nums()
        if missing := len(known - found):
            raise EngineError(
                f"{self._folder.documents} lacks {missing} documents that "
                f"{self._folder.database} knows; restore both from one copy"
            )
        self._unindex(found - known)

    def _unindex(self, nums: Collection[int]) -> None:
        """Delete documents that SQLite does not know any more."""
        self._texts.delete(nums)
        self._texts.commit()
        add_rows(self.db, "unindexed", 1)  # readers look at tantivy when SQLite changes

    def write(self, batch: Batch) -> Written:
        """Store a batch with the next commit; one that cannot be stored changes nothing."""
        with self._working():
            with self._savepoint():
                prepared = self._prepare(batch.documents)
                written = Written(
                    documents=len(prepared.documents) - len(prepared.replaced),
                    replaced=len(prepared.replaced),
                    captures=self._registry.add_captures(batch.captures),
                    dates=self._registry.add_dates(chain(batch.dates, _own_dates(batch.documents))),
                )
                self._write_files(batch.files)
            self._index(prepared)
            waited = time.monotonic() - self._began
            if self._characters > COMMIT_CHARACTERS or waited > COMMIT_SECONDS:
                self.commit()
            return written

    def append_dates(self, dates: Sequence[Dates]) -> int:
        """Add dates with the next commit; return how many pairs were new."""
        with self._working(), self._savepoint():
            return self._registry.add_dates(dates)

    @contextmanager
    def transaction(self) -> Iterator[sqlite3.Connection]:
        """Give the database for a change that is committed at once, what came before included."""
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

    def commit(self) -> None:
        """Make all that was written visible to readers and safe on disk."""
        with self._working():
            if not self.db.in_transaction:
                return
            with self._storing():
                if self._folder.is_full():  # before one of the two stores has what the other lacks
                    raise self._folder.full_error()
                self._texts.commit()
                self.db.execute("COMMIT")
            self._characters = 0

    def close(self) -> None:
        """Commit and let go of the lock."""
        with self.guard:
            try:
                if self._broken is None:
                    # Imported here: readers of the archive know this module, and not NumPy.
                    from nwx.engine.embedded.documents.stored_columns import save_columns_file

                    self.commit()
                    with self._folder.our_errors():
                        self._texts.finish()
                        save_columns_file(self._folder.columns, self.db)
            finally:
                self._texts.drop()
                self.db.close()
                os.close(self._lock)

    @contextmanager
    def _working(self) -> Iterator[None]:
        """Let one thread work, unless writing has failed before.

        A failure undoes all that was not committed, so that what comes after
        must not be stored: the ledger would say more than is there.
        """
        with self.guard, self._folder.our_errors():
            if self._broken is not None:
                raise self._broken
            yield

    @contextmanager
    def _savepoint(self) -> Iterator[None]:
        """Undo the changes of SQLite made within when there is an error."""
        if not self.db.in_transaction:
            self.db.execute("BEGIN IMMEDIATE")
            self._began = time.monotonic()
        self.db.execute("SAVEPOINT batch")
        try:
            yield
        except BaseException:
            # SQLite itself undoes everything where the disk is full.
            if not self.db.in_transaction:
                self._fail("SQLite undid what was not committed")
            else:
                self.db.execute("ROLLBACK TO batch")
                self._registry = Registry(self.db)
            raise
        self.db.execute("RELEASE batch")

    @contextmanager
    def _storing(self) -> Iterator[None]:
        """Undo all that is not committed when there is an error."""
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

    def _prepare(self, documents: Iterable[Document]) -> _Prepared:
        """Store what SQLite knows of documents; return what tantivy is to have of them."""
        best: dict[bytes, IndexEntry] = {}
        for entry in map(document_entry, documents):
            id = id_bytes(entry["id"])
            if id not in best or best[id]["precedence"] < entry["precedence"]:
                best[id] = entry
        known = self._registry.precedences(best)
        wanted = {
            id: entry for id, entry in best.items() if known.get(id, -1) < entry["precedence"]
        }
        nums = self._registry.nums(wanted)
        replaced = [nums[id] for id in wanted if id in known]
        self._registry.add_documents([(nums[id], one) for id, one in wanted.items()], replaced)
        return _Prepared(
            [self._packer.document(nums[id], entry) for id, entry in wanted.items()],
            replaced,
            sum(len(entry.get("content", "")) for entry in wanted.values()),
        )

    def _index(self, prepared: _Prepared) -> None:
        with self._storing():
            self._texts.delete(prepared.replaced)
            self._texts.add(prepared.documents)
        self._characters += prepared.characters

    def _write_files(self, files: Sequence[SourceFile]) -> None:
        rows = [(one.collection, one.name, json.dumps(file_entry(one))) for one in files]
        before = self.db.total_changes
        self.db.executemany("INSERT OR IGNORE INTO files VALUES (?, ?, ?)", rows)
        add_rows(self.db, IndexName.FILES, self.db.total_changes - before)
        self.db.executemany("UPDATE files SET entry = ?3 WHERE collection = ?1 AND name = ?2", rows)


def _own_dates(documents: Iterable[Document]) -> Iterator[Dates]:
    """Give the date of each document's own capture, which it is found by in any case."""
    for document in documents:
        capture = document.capture
        key = document_key(capture.url, capture.digest)
        yield Dates(key, ((capture.timestamp, capture.collection),))
