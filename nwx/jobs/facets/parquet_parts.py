"""Parts of tables that executors write as Parquet files."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from nwx.jobs.folders import JobFolder

_Batches = Iterator[pa.RecordBatch]

WRITTEN_SCHEMA = pa.schema([("rows", pa.int64())])


@dataclass(frozen=True, slots=True)
class PartWriter:
    """Writes the rows of a partition into a folder of `folder`.

    With `by`, a column of texts, rows lie in folders `NAME=VALUE` by its
    value, without this column. A partition that is written again replaces
    what it wrote, as its rows are the same.
    """

    folder: JobFolder
    by: str = ""

    def write(self, batches: Iterable[pa.RecordBatch], part: int) -> _Batches:
        """Write rows, and give how many they were."""
        pieces = [batch for batch in batches if len(batch)]
        if not pieces:
            return
        table = pa.Table.from_batches(pieces)
        if not self.by:
            self._write(table, f"part-{part:05d}.parquet")
        else:
            for value in pc.unique(table.column(self.by)).to_pylist():
                some = table.filter(pc.equal(table.column(self.by), value))
                name = f"{self.by}={value}/part-{part:05d}.parquet"
                self._write(some.drop_columns([self.by]), name)
        yield pa.RecordBatch.from_arrays([pa.array([len(table)])], schema=WRITTEN_SCHEMA)

    def _write(self, table: pa.Table, name: str) -> None:
        with self.folder.new_file(name) as stream:
            pq.write_table(table, stream)
