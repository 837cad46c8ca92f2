"""Input of the job `links`; its output is tested in tests/spark."""

from pathlib import Path

import pytest

from nwx.errors import SourceError
from nwx.jobs.links import documents_inputs
from tests.documents_files import write_documents
from tests.warcs import many_pages, write_warc


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
