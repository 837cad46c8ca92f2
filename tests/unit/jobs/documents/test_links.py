"""What the job `links` reads and writes without Spark."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from nwx.errors import SourceError
from nwx.jobs.documents.links import LINKS_SCHEMA, OrderedPartWriter, documents_inputs
from nwx.jobs.folders import JobFolder
from tests.documents_files import write_documents
from tests.warcs import many_pages, write_warc


def test_a_task_writes_a_file_of_its_number(tmp_path: Path) -> None:
    writer = OrderedPartWriter(JobFolder(str(tmp_path)), LINKS_SCHEMA)
    row = {"source": "a", "target": "b", "timestamp": "2015", "kind": "a", "anchor": ""}
    batch = pa.RecordBatch.from_pylist([row, row], schema=LINKS_SCHEMA)
    [told] = writer.write(3, iter([batch, batch]))
    assert told.to_pylist() == [{"rows": 4}]
    assert pq.read_table(tmp_path / "part-00003.parquet").num_rows == 4
    [none] = writer.write(4, iter(()))
    assert none.to_pylist() == [{"rows": 0}]
    assert [path.name for path in tmp_path.iterdir()] == ["part-00003.parquet"]


def test_inputs_are_whole_documents(tmp_path: Path) -> None:
    warc = write_warc(tmp_path / "a.warc.gz", many_pages(2))
    folder = write_documents(tmp_path / "documents", [warc])
    path = str(folder / "a.warc.gz.parquet")
    assert documents_inputs([str(folder), path]) == [path]
    (folder / "_SUCCESS").unlink()
    with pytest.raises(SourceError, match="has no _SUCCESS"):
        documents_inputs([str(folder)])
    with pytest.raises(SourceError, match="has no _SUCCESS"):
        documents_inputs(["memory://none/documents"])
