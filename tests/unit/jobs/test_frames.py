"""Parts of tables as Parquet files."""

from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nwx.errors import JobError
from nwx.jobs import pieces
from nwx.jobs.output import JobFolder
from nwx.jobs.pieces import PartWriter

SCHEMA = pa.schema([("n", pa.int64())])


def batch(*rows: tuple[str, int]) -> pa.RecordBatch:
    months, numbers = zip(*rows, strict=True)
    return pa.RecordBatch.from_arrays([pa.array(months), pa.array(numbers)], ["m", "n"])


def test_rows_lie_in_folders_by_value(tmp_path: Path) -> None:
    batches = [batch(("a", 1), ("a", 3)), batch(("a", 4), ("b", 2))]
    writer = PartWriter(JobFolder(str(tmp_path)), SCHEMA, "m")
    for _ in range(2):  # a retried task
        (written,) = writer.write([*batches, batches[0][:0]], 3)
        assert written.to_pylist() == [{"rows": 4}]
    files = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.parquet"))
    assert files == ["m=a/part-00003.parquet", "m=b/part-00003.parquet"]
    found = pl.read_parquet(tmp_path / "m=a" / "part-00003.parquet", hive_partitioning=False)
    assert found.to_dict(as_series=False) == {"n": [1, 3, 4]}
    with pytest.raises(JobError, match="rows of m a are not adjacent"):
        list(writer.write([*batches, batches[0]], 4))


def test_rows_are_written_a_row_group_at_a_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pieces, "_GROUP_ROWS", 4)
    writer = PartWriter(JobFolder(str(tmp_path)), SCHEMA)
    [told] = writer.write([batch(("a", n), ("b", n)) for n in range(5)], 1)
    assert told.to_pylist() == [{"rows": 10}]
    file = pq.ParquetFile(tmp_path / "part-00001.parquet")
    assert [file.metadata.row_group(n).num_rows for n in range(file.num_row_groups)] == [4, 4, 2]
    assert file.schema_arrow.names == ["n"]
    [none] = writer.write([], 2)
    assert none.to_pylist() == [{"rows": 0}]
    assert [path.name for path in tmp_path.iterdir()] == ["part-00001.parquet"]
