"""Revisits found in CDX files."""

import io
from pathlib import Path

import pytest

from nwx.cdx.inputs import CdxSource
from nwx.dedup.duplicates import find_revisits
from nwx.errors import CdxError

LINES = (
    "k 2014 http://a/ warc/revisit - AAAA - - 50 7 f\n"
    "k 2015 http://a/ text/html 200 AAAA - - 50 7 f\n"
    "broken\n"
    "k 2016 http://b/ warc/revisit - BBBB - - - 7 f\n"
)


def source(tmp_path: Path, name: str = "a.cdx", lines: str = LINES) -> CdxSource:
    path = tmp_path / name
    path.write_text(lines)
    return CdxSource(str(path))


def test_captures_without_a_digest_are_left_out_in_any_layout(tmp_path: Path) -> None:
    eleven = (
        "k 2015 http://a/ text/html 200 AAAA - - 100 5 f\n"
        "k 2016 http://a/ warc/revisit 200 AAAA - - 100 5 f\n"
        "k 2017 http://a/ text/html 200 - - - 100 5 f\n"
    )
    nine = (
        "k 2018 http://a/ text/html 200 BBBB - 5 -\n"
        "k 2019 http://a/ text/html 200 BBBB - 5 f\n"
        "broken\n"
    )
    output = io.BytesIO()
    sources = [source(tmp_path, "11.cdx", eleven), source(tmp_path, "9.cdx", nine)]
    report = find_revisits(sources, output)
    assert output.getvalue() == b"2016 AAAA http://a/\n2018 BBBB http://a/\n"
    assert (report.duplicates, report.problems_total) == (2, 1)


def test_revisits_are_listed_in_the_order_of_the_input(tmp_path: Path) -> None:
    output = io.BytesIO()
    report = find_revisits([source(tmp_path)], output, summary=True)
    assert output.getvalue() == b"2014 AAAA http://a/\n2016 BBBB http://b/\n"
    assert (report.duplicates, report.filtered, report.problems_total) == (2, 1, 1)
    assert report.problems[0].line == 3
    assert report.savings.bytes == 50


def test_strict_stops_before_anything_is_written(tmp_path: Path) -> None:
    output = io.BytesIO()
    with pytest.raises(CdxError, match=r"a\.cdx:3: "):
        find_revisits([source(tmp_path)], output, strict=True)
    assert output.getvalue() == b""
