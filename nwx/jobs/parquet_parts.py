"""Parts of tables that executors write as Parquet files."""

from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from nwx.errors import JobError
from nwx.jobs.folders import JobFolder

_Batches = Iterable[pa.RecordBatch]

WRITTEN_SCHEMA = pa.schema([("rows", pa.int64())])

_GROUP_ROWS = 100_000
_GROUP_BYTES = 64 << 20


@dataclass(frozen=True, slots=True)
class PartWriter:
    """Writes the rows of a partition into a folder, in the columns and types of a schema.

    With `by`, a column of texts that the rows are in the order of, rows lie
    in folders `NAME=VALUE` by its value, without this column. A file appears
    when it is whole. A partition that is written again replaces what it
    wrote, as its rows are the same.
    """

    folder: JobFolder
    schema: pa.Schema
    by: str = ""

    def write(self, batches: _Batches, part: int) -> Iterator[pa.RecordBatch]:
        """Write rows, and give how many they were; a row group of them is in memory."""
        name, rows = f"part-{part:05d}.parquet", 0
        if not self.by:
            rows = self._write(batches, name)
        else:
            written: set[str] = set()
            for value, some in groupby(self._by_value(batches), key=itemgetter(0)):
                if value in written:
                    raise JobError(f"rows of {self.by} {value} are not beside each other")
                written.add(value)
                rows += self._write((batch for _, batch in some), f"{self.by}={value}/{name}")
        yield pa.RecordBatch.from_pydict({"rows": [rows]}, schema=WRITTEN_SCHEMA)

    def _by_value(self, batches: _Batches) -> Iterator[tuple[str, pa.RecordBatch]]:
        """Yield the stretches of batches that have one value each."""
        for batch in batches:
            if not batch.num_rows:
                continue
            codes = batch.column(self.by).dictionary_encode().indices.to_numpy()
            bounds = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), batch.num_rows]
            for begin, end in pairwise(bounds):
                yield batch.column(self.by)[begin].as_py(), batch[begin:end]

    def _write(self, batches: _Batches, name: str) -> int:
        """Write a file, unless there is no row; return the number of rows."""
        rows = 0
        with ExitStack() as opened:
            writer = None
            for table in self._groups(batches):
                if writer is None:
                    stream = opened.enter_context(self.folder.new_file(name))
                    writer = opened.enter_context(
                        pq.ParquetWriter(stream, self.schema, compression="zstd")
                    )
                writer.write_table(table)
                rows += table.num_rows
        return rows

    def _groups(self, batches: _Batches) -> Iterator[pa.Table]:
        """Yield rows as row groups."""
        held: list[pa.RecordBatch] = []
        size = 0
        for batch in batches:
            held.append(batch.select(self.schema.names).cast(self.schema))
            size += batch.num_rows
            if size >= _GROUP_ROWS or sum(one.nbytes for one in held) >= _GROUP_BYTES:
                yield pa.Table.from_batches(held)
                held, size = [], 0
        if size:
            yield pa.Table.from_batches(held)
