"""One rule of what a capture is, for records, single lines and columns of lines."""

from pathlib import Path

import pytest

from nwx.captures import is_captured, names_capture
from nwx.cdx.blocks import blocks
from nwx.cdx.columns import CdxColumns
from nwx.cdx.inputs import CdxSource, FilePiece
from nwx.cdx.problems import FileReading
from tests.cdxlines import ALL_RECORDS, CAPTURED, FIELDS_OF_ALL


@pytest.mark.parametrize(("mime", "status", "url", "captured"), FIELDS_OF_ALL)
def test_lines_of_captures_and_of_other_records(
    mime: str, status: str, url: str, captured: bool
) -> None:
    assert names_capture(mime, status, url) == captured
    assert names_capture(mime, status.strip("-"), url) == captured


@pytest.mark.parametrize(
    ("record_type", "content_type", "url", "captured"),
    [
        ("response", "application/http; msgtype=response", "http://a.example/", True),
        ("response", "text/dns", "dns:a.example", True),
        ("resource", "text/html", "http://a.example/", True),
        ("resource", "application/warc-fields", "http://a.example/", False),
        ("resource", "text/plain", "metadata://gnu.org/software/wget/warc/wget.log", False),
        ("revisit", "application/http", "http://a.example/", True),
        ("conversion", "text/plain", "http://a.example/", True),
        ("metadata", "application/json", "http://a.example/", False),
        ("request", "application/http; msgtype=request", "http://a.example/", False),
        ("warcinfo", "application/warc-fields", "", False),
        ("continuation", "", "http://a.example/", False),
    ],
)
def test_records(record_type: str, content_type: str, url: str, captured: bool) -> None:
    assert is_captured(record_type, content_type, url) == captured


def test_columns_have_the_rule_of_single_lines(tmp_path: Path) -> None:
    path = tmp_path / "all.cdx"
    path.write_text(ALL_RECORDS)
    (block,) = blocks(FilePiece(CdxSource(str(path))), FileReading(str(path)))
    columns = CdxColumns(block, FileReading(str(path)))
    columns.keep(columns.names_captures())
    assert [url.decode() for url in columns.texts("a")] == list(CAPTURED)
