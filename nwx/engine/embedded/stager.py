"""Preparation of batches for the writer, in the processes that read archive files."""

import pickle
import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Protocol

from nwx.bulk.process_limits import return_free_memory
from nwx.engine.base import StagedBatch, Staging
from nwx.engine.embedded.documents.tantivy_index import Packer
from nwx.engine.embedded.folder import Folder
from nwx.engine.embedded.registry import find_nums
from nwx.engine.embedded.staged_rows import (
    BatchRows,
    DocumentRow,
    Numbers,
    PackedBatches,
    StagedRows,
    batch_rows,
)
from nwx.engine.embedded.text_writer import SegmentMaker
from nwx.model import Batch, SourceFile

SEGMENT_DOCUMENTS = 50
"""The minimum number of new documents for which a segment is made."""

_MOST_CHARACTERS = 4 << 20
"""Limit of texts and links in a segment; tantivy takes about 1.5 times as many bytes for them."""


class Reading(Protocol):
    """Protocol for obtaining a connection to the archive's database."""

    def __call__(self) -> AbstractContextManager[sqlite3.Connection]: ...


class Stager(Staging):
    """Builds rows from batches, and one segment for the texts of new documents.

    The segment holds only documents whose ids have no number yet; the stager reserves their
    numbers. Other documents, which may replace a stored one, are passed on with their entries, and
    the writer indexes them.
    """

    def __init__(self, folder: Folder, reading: Reading) -> None:
        self._folder, self._reading = folder, reading
        self._numbers = Numbers(folder.numbers)
        self._packer = Packer()
        self._clear()

    def _clear(self) -> None:
        self._batches: list[BatchRows] = []
        self._packed: list[bytes] = []
        self._files: list[SourceFile] = []
        self._new: set[bytes] = set()
        self._waiting: list[bytes] = []
        self._segment: SegmentMaker | None = None
        self._characters = 0

    def add(self, batch: Batch) -> None:
        """Build the rows of a batch and index its new documents, once there are enough."""
        rows = batch_rows(batch)
        with self._reading() as db:
            known = find_nums(db, [row.id for row in rows.documents])
        # A repeated document is a better version, and does not belong in the segment.
        new = [row.id for row in rows.documents if row.id not in known and row.id not in self._new]
        self._new.update(new)
        self._files += batch.files
        self._characters += sum(map(_characters, rows.documents))
        if self._segment is not None:
            self._pack([rows], self._numbered(new), self._segment)
            return
        self._batches.append(rows)
        self._waiting += new
        if len(self._new) >= SEGMENT_DOCUMENTS:
            self._begin_segment()

    @property
    def is_full(self) -> bool:
        return self._characters >= _MOST_CHARACTERS

    def finish(self) -> StagedBatch:
        segment = ""
        if self._segment is not None:
            # Reading has freed some 8 MB, which must not be held while the segment is made.
            return_free_memory()
            with self._folder.our_errors():
                segment = str(self._segment.finish())
        packed = (*self._packed, *map(pickle.dumps, self._batches))
        staged = StagedBatch(tuple(self._files), StagedRows(PackedBatches(packed), segment))
        self._clear()
        return staged

    def _begin_segment(self) -> None:
        """Open a segment and index the waiting documents in it."""
        with self._folder.our_errors():
            self._segment = SegmentMaker(Path(tempfile.mkdtemp(dir=self._folder.segments)))
        self._pack(self._batches, self._numbered(self._waiting), self._segment)
        self._batches = []

    def _pack(
        self, batches: Sequence[BatchRows], nums: dict[bytes, int], segment: SegmentMaker
    ) -> None:
        self._packed += [pickle.dumps(self._indexed(rows, nums, segment)) for rows in batches]

    def _numbered(self, ids: Sequence[bytes]) -> dict[bytes, int]:
        return dict(zip(ids, count(self._numbers.take(len(ids)))))

    def _indexed(self, rows: BatchRows, nums: dict[bytes, int], segment: SegmentMaker) -> BatchRows:
        """Index the documents in `nums`, removing them from it; return the rows."""
        documents: list[DocumentRow] = []
        for row in rows.documents:
            num = nums.pop(row.id, 0)
            if num and row.entry is not None:
                with self._folder.our_errors():
                    segment.add(self._packer.document(num, row.entry))
                documents.append(row._replace(num=num, entry=None))
            else:
                documents.append(row)
        return replace(rows, documents=tuple(documents))


def _characters(row: DocumentRow) -> int:
    entry = row.entry or {}
    links = (*entry.get("links", ()), *entry.get("links_text", ()))
    return len(entry.get("content", "")) + sum(map(len, links))
