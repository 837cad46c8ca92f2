"""The one writer of an archive.

Documents are in tantivy, all else is in SQLite, and many writes make one
commit: first of tantivy, then of SQLite, whose state is what counts. A writer
that is killed between the two leaves documents in tantivy that SQLite does
not know: readers pass over them and the next writer deletes them. What the
killed one had not committed is not in the ledger either, so that running it
again stores it.
"""

import json
import os
import threading
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain

import tantivy

from nwx.engine.embedded import texts
from nwx.engine.embedded.database import add, connect, count, make_tables
from nwx.engine.embedded.folder import Folder
from nwx.engine.embedded.registry import Registry, id_bytes
from nwx.engine.entries import Entry, document_entry, file_entry
from nwx.keys import document_key
from nwx.model import Batch, Dates, Document, IndexName, SourceFile, Written

COMMIT_SECONDS = 20.0
COMMIT_CHARACTERS = 400_000_000
HEAP_BYTES = 192_000_000


class Writer:
    """What holds the lock of an archive and writes to it, until it is closed."""

    def __init__(self, folder: Folder, wait_seconds: float = 0.0) -> None:
        self._folder = folder
        self.guard = threading.RLock()
        self._lock = folder.lock(wait_seconds)
        try:
            folder.make()
            with folder.our_errors():
                self.db = connect(folder.database, read_only=False)
                make_tables(self.db)
                self._index = texts.open_index(folder.documents)
        except BaseException:
            os.close(self._lock)
            raise
        self._registry = Registry(self.db)
        self._packer = texts.Packer()
        self._writer: tantivy.IndexWriter | None = None
        self._documents_changed = False
        self._characters = 0
        self._began = 0.0
        self._repair()

    def _repair(self) -> None:
        """Finish what a killed writer left."""
        with self.guard, self._folder.our_errors():
            self._index.reload()
            searcher = self._index.searcher()
            if searcher.num_docs == count(self.db, IndexName.DOCUMENTS):
                return
            there = {num for num, _ in _all_nums(searcher)}
            known = {num for (num,) in self.db.execute("SELECT num FROM documents")}
            with self._transaction():
                self._unindex(there - known)
                self._registry.forget(known - there)
            self.commit()

    def write(self, batch: Batch) -> Written:
        """Store a batch with the next commit."""
        with self.guard, self._folder.our_errors():
            with self._transaction():
                documents, replaced = self._write_documents(batch.documents)
                written = Written(
                    documents=documents,
                    replaced=replaced,
                    captures=self._registry.add_captures(batch.captures),
                    dates=self._registry.add_dates(chain(batch.dates, _own_dates(batch.documents))),
                )
                self._write_files(batch.files)
            if (
                self._characters > COMMIT_CHARACTERS
                or time.monotonic() - self._began > COMMIT_SECONDS
            ):
                self.commit()
            return written

    def append_dates(self, dates: Sequence[Dates]) -> int:
        """Add dates with the next commit; return how many pairs were new."""
        with self.guard, self._folder.our_errors(), self._transaction():
            return self._registry.add_dates(dates)

    def delete(self, index: IndexName, ids: Collection[str]) -> int:
        """Delete entries, committed at once."""
        with self.guard, self._folder.our_errors():
            with self._transaction():
                if index is IndexName.DOCUMENTS:
                    nums = set(self._registry.documents(map(id_bytes, ids)).values())
                    self._unindex(nums)
                    deleted = self._registry.forget(nums)
                else:
                    deleted = self._registry.delete(index, ids)
            self.commit()
            return deleted

    def commit(self) -> None:
        """Make all that was written visible to readers and safe on disk."""
        with self.guard, self._folder.our_errors():
            if not self.db.in_transaction:
                return
            try:
                if self._writer is not None and self._documents_changed:
                    self._writer.commit()
                self.db.execute("COMMIT")
            except BaseException:
                self._roll_back()
                raise
            self._documents_changed = False
            self._characters = 0

    def is_pending(self) -> bool:
        """Tell whether something was written that is not committed."""
        return self.db.in_transaction

    def close(self) -> None:
        """Commit and let go of the lock."""
        with self.guard:
            try:
                self.commit()
                if self._writer is not None:
                    with self._folder.our_errors():
                        self._writer.wait_merging_threads()
            finally:
                self._writer = None
                self.db.close()
                os.close(self._lock)

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        """Begin a transaction where none is open; an error undoes all since the last commit."""
        if not self.db.in_transaction:
            self.db.execute("BEGIN IMMEDIATE")
            self._began = time.monotonic()
        try:
            yield
        except BaseException:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        if self.db.in_transaction:
            self.db.execute("ROLLBACK")
        self._registry = Registry(self.db)
        # After an error a writer of tantivy is of no use: a new one knows the last commit only.
        self._writer = None
        self._documents_changed = False
        self._characters = 0

    def _index_writer(self) -> tantivy.IndexWriter:
        if self._writer is None:
            self._writer = self._index.writer(HEAP_BYTES, num_threads=_writer_threads())
        return self._writer

    def _write_documents(self, documents: Iterable[Document]) -> tuple[int, int]:
        best: dict[bytes, Entry] = {}
        for entry in map(document_entry, documents):
            id = id_bytes(entry["id"])
            if id not in best or best[id]["precedence"] < entry["precedence"]:
                best[id] = entry
        known = self._registry.precedences(best)
        wanted = {
            id: entry for id, entry in best.items() if known.get(id, -1) < entry["precedence"]
        }
        nums = self._registry.nums(wanted)
        self._registry.add_documents(
            [(nums[id], entry) for id, entry in wanted.items()],
            replaced=[nums[id] for id in wanted if id in known],
        )
        for id, entry in wanted.items():
            self._index_document(nums[id], entry, replaces=id in known)
        replaced = sum(id in known for id in wanted)
        return len(wanted) - replaced, replaced

    def _index_document(self, num: int, entry: Entry, *, replaces: bool) -> None:
        if replaces:
            self._unindex([num])
        self._index_writer().add_document(self._packer.document(num, entry))
        self._documents_changed = True
        self._characters += len(entry.get("content", ""))

    def _unindex(self, nums: Collection[int]) -> None:
        if nums:
            self._index_writer().delete_documents_by_query(texts.nums_query(nums))
            self._documents_changed = True

    def _write_files(self, files: Sequence[SourceFile]) -> None:
        rows = [(one.collection, one.name, json.dumps(file_entry(one))) for one in files]
        before = self.db.total_changes
        self.db.executemany("INSERT OR IGNORE INTO files VALUES (?, ?, ?)", rows)
        add(self.db, IndexName.FILES, self.db.total_changes - before)
        self.db.executemany("UPDATE files SET entry = ?3 WHERE collection = ?1 AND name = ?2", rows)


def _own_dates(documents: Iterable[Document]) -> Iterator[Dates]:
    """Give the date of each document's own capture, which it is found by in any case."""
    for document in documents:
        capture = document.capture
        key = document_key(capture.url, capture.digest)
        yield Dates(key, ((capture.timestamp, capture.collection),))


def _all_nums(searcher: tantivy.Searcher) -> list[tuple[int, tantivy.DocAddress]]:
    return searcher.search(
        tantivy.Query.all_query(),
        max(searcher.num_docs, 1),
        count=False,
        order_by_field=texts.NUM,
        order=tantivy.Order.Asc,
    ).hits


def _writer_threads() -> int:
    return max(1, min(4, (os.cpu_count() or 1) // 2))
