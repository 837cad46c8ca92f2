"""Parts of tables as Parquet files."""

from pathlib import Path

import polars as pl
import pyarrow as pa

from nwx.jobs.facets.parquet_parts import PartWriter
from nwx.jobs.folders import JobFolder


def test_rows_lie_in_folders_by_value(tmp_path: Path) -> None:
    batch = pa.RecordBatch.from_arrays([pa.array(["a", "b", "a"]), pa.array([1, 2, 3])], ["m", "n"])
    writer = PartWriter(JobFolder(str(tmp_path)), "m")
    for _ in range(2):  # a task that is tried again
        (written,) = writer.write([batch, batch[:0]], 3)
        assert written.to_pylist() == [{"rows": 3}]
    files = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.parquet"))
    assert files == ["m=a/part-00003.parquet", "m=b/part-00003.parquet"]
    found = pl.read_parquet(tmp_path / "m=a" / "part-00003.parquet", hive_partitioning=False)
    assert found.to_dict(as_series=False) == {"n": [1, 3]}
    plain = PartWriter(JobFolder(str(tmp_path / "plain")))
    assert list(plain.write([], 0)) == []
    assert [batch.to_pylist() for batch in plain.write([batch], 1)] == [[{"rows": 3}]]
    assert (tmp_path / "plain" / "part-00001.parquet").exists()
