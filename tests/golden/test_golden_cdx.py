"""Indexes of real files, equal line by line to those of pywb's cdx-indexer and cdxj-indexer.

The golden files were made with pywb 2.10.0 (`cdx-indexer -s`, `-9`) and cdxj-indexer 1.5.0 (`-s`).
Intended differences are listed here.
"""

import io
import re
from pathlib import Path

import pytest

from nwx.archive_cdx import IndexLineForm, IndexOptions, header_of, index_together
from nwx.warc.sources import ArchiveSource, expand
from tests.conftest import SHARED_DATA

FOLDERS = {
    IndexLineForm.CDX11: "pywb-cdx11",
    IndexLineForm.CDX9: "pywb-cdx9",
    IndexLineForm.CDXJ: "cdxj-indexer",
}
# Both tools use the second word of `HTTP/1.1 HTTP/1.1 200 OK`, an error of some crawler,
# as the status; nwx uses the number.
DOUBLED = re.compile(rb'(?<= )HTTP/1\.1(?= )|(?<="status": ")HTTP/1\.1(?=")')
# The ARC of Common Crawl lacks a newline after its first record, where both tools stop.
# pywb read a copy with that newline: its offsets are greater by one.
UNREADABLE = "cc2008-small-sample-1213893279526_0.arc"


def _golden(source: ArchiveSource, form: IndexLineForm) -> bytes | None:
    relative = str(Path(source.path).relative_to(SHARED_DATA))
    if source.member:
        relative += f"/{source.member}"
    for end in (".cdx", ".cdxj"):
        path = SHARED_DATA / "golden" / FOLDERS[form] / f"{relative}{end}"
        if path.is_file():
            return path.read_bytes()
    return None


def _written(source: ArchiveSource, form: IndexLineForm) -> bytes:
    output = io.BytesIO()
    report = index_together([source], output, IndexOptions(form))
    assert not report.errors, source
    return output.getvalue()


@pytest.mark.usefixtures("shared_data")
@pytest.mark.parametrize("form", list(FOLDERS))
def test_lines_are_those_of_the_tool_of_each_form(form: IndexLineForm) -> None:
    compared = 0
    folders = [str(SHARED_DATA / folder) for folder in ("warc", "arc", "wacz", "serp")]
    for source in expand(folders):
        if not isinstance(source, ArchiveSource) or source.name == UNREADABLE:
            continue
        expected = _golden(source, form)
        if expected is None:
            continue
        found = _written(source, form)
        if b"HTTP/1.1" in expected:
            expected = DOUBLED.sub(b"STATUS", expected)
            doubled = expected.splitlines()
            for line, own in zip(doubled, found.splitlines(), strict=True):
                pattern = re.escape(line).replace(b"STATUS", rb"\d{3}")
                assert re.fullmatch(pattern, own), source
        else:
            assert found == expected, source
        compared += found.count(b"\n")
    assert compared > 1300


@pytest.mark.usefixtures("shared_data")
def test_an_arc_that_pywb_cannot_read_has_the_lines_of_its_repaired_copy() -> None:
    (source,) = expand([str(SHARED_DATA / "arc" / UNREADABLE)])
    assert isinstance(source, ArchiveSource)
    path = SHARED_DATA / "golden" / "pywb-cdx11-repaired" / "arc" / f"{UNREADABLE}.cdx"
    assert _written(source, IndexLineForm.CDX11) == path.read_bytes()


@pytest.mark.usefixtures("shared_data")
def test_all_files_in_one_index_are_in_order() -> None:
    sources = list(expand([str(SHARED_DATA / "warc")]))
    output = io.BytesIO()
    report = index_together(sources, output, IndexOptions(), jobs=2)
    header, *lines = output.getvalue().splitlines(keepends=True)
    assert header == header_of(IndexLineForm.CDX11)
    assert lines == sorted(lines)
    assert len(lines) == report.lines
