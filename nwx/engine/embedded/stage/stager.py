"""Batches made ready for the writer by the processes that read."""

import shutil
import sqlite3
import tempfile
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from nwx.engine.embedded.documents.tantivy_index import Packer
from nwx.engine.embedded.folder import Folder
from nwx.engine.embedded.registry import find_nums
from nwx.engine.embedded.stage.numbers import Numbers
from nwx.engine.embedded.stage.rows import BatchRows, DocumentRow, batch_rows
from nwx.engine.embedded.stage.segments import make_segment
from nwx.model import Batch

SEGMENT_DOCUMENTS = 50
"""So many documents at least are worth a segment of their own."""


class Reading(Protocol):
    """What gives a connection to the archive's database."""

    def __call__(self) -> AbstractContextManager[sqlite3.Connection]: ...


class Stager:
    """What makes batches ready, with a segment for the texts of new documents.

    In a segment are only documents whose ids have no number yet: their
    numbers are taken here. Others, which may replace a document, come with
    their entries, and the writer indexes them.
    """

    def __init__(self, folder: Folder, reading: Reading) -> None:
        self._folder, self._reading = folder, reading
        self._numbers = Numbers(folder.numbers)
        self._packer = Packer()

    def rows(self, batch: Batch) -> BatchRows:
        """Return a batch as rows."""
        rows = batch_rows(batch)
        with self._reading() as db:
            known = find_nums(db, [row.id for row in rows.documents])
        new = [row for row in rows.documents if row.id not in known]
        if len(new) < SEGMENT_DOCUMENTS:
            return rows
        numbered, segment = self._indexed(new)
        others = [row for row in rows.documents if row.id in known]
        return replace(rows, documents=(*numbered, *others), segment=str(segment))

    def _indexed(self, rows: Sequence[DocumentRow]) -> tuple[list[DocumentRow], Path]:
        """Index documents; return their rows with numbers, and the folder of the segment."""
        first = self._numbers.take(len(rows))
        with self._folder.our_errors():
            folder = Path(tempfile.mkdtemp(dir=self._folder.segments))
            try:
                make_segment(
                    folder,
                    (
                        self._packer.document(num, row.entry)
                        for num, row in enumerate(rows, first)
                        if row.entry is not None
                    ),
                )
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
        return [row._replace(num=num, entry=None) for num, row in enumerate(rows, first)], folder
