"""Columns of blocks against the readers of single lines."""

from pathlib import Path

import numpy as np

from nwx.cdx.blocks import blocks
from nwx.cdx.columns import CdxColumns
from nwx.cdx.inputs import CdxSource, FilePiece
from nwx.cdx.problems import FileReading
from nwx.values.digests import digest_of

SHA1 = digest_of("sha1", bytes(range(20)))


def _columns(tmp_path: Path, lines: list[str], header: str = "") -> CdxColumns:
    path = tmp_path / "lines.cdx"
    path.write_text(header + "".join(line + "\n" for line in lines))
    reading = FileReading(str(path))
    (block,) = blocks(FilePiece(CdxSource(str(path))), reading)
    return CdxColumns(block, reading)


def test_fields_of_lines(tmp_path: Path) -> None:
    lines = [
        f"k 2024 http://a/ warc/revisit 200 {SHA1} - 1 f",
        "k 20240229 http://b/ warc/revisits 200 - - 2 -",
    ]
    columns = _columns(tmp_path, lines)
    assert columns.timestamp.tolist() == [20240101000000, 20240229000000]
    assert columns.texts("a") == [b"http://a/", b"http://b/"]
    assert columns.is_missing("kc").tolist() == [False, True]
    assert columns.is_revisit().tolist() == [True, True]
    assert columns.sizes().tolist() == [-1, -1]
    columns.keep(np.array([False, True]))
    assert columns.texts("N") == [b"k"]
    assert columns.starts("N").tolist() == [len(lines[0]) + 1]
