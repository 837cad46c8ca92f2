"""ZipNum clusters as a source of rows."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from nwx.cdxserver.sources.clusters import ClusterSource
from nwx.engine.capture_index import CdxSpan, exactly
from tests.unit.zipnum.making import cdxj_lines, write_cluster

ALL = CdxSpan("", "\U0010ffff")


@pytest.fixture
def source(tmp_path: Path) -> Iterator[ClusterSource]:
    made = ClusterSource(str(write_cluster(tmp_path, cdxj_lines(100), lines=40)), "web")
    yield made
    made.close()


def test_all_lines_are_rows_in_either_order(source: ClusterSource) -> None:
    rows = list(source.rows(ALL))
    assert len(rows) == 100
    assert [f"{row.urlkey} {row.timestamp}" for row in rows] == [
        b" ".join(line.split(b" ")[:2]).decode() for line in cdxj_lines(100)
    ]
    assert list(source.rows(replace(ALL, newest_first=True))) == rows[::-1]


def test_one_urlkey_is_looked_up(source: ClusterSource) -> None:
    (row,) = source.rows(exactly("org,site05)/page/1"))
    assert (row.url, row.offset, row.collection) == ("http://site05.org/page/1", "25000", "web")


def test_marks_are_the_first_line_and_those_that_begin_blocks(source: ClusterSource) -> None:
    lines = [b" ".join(line.split(b" ")[:2]).decode() for line in cdxj_lines(100)]
    marks = list(source.marks(ALL))
    assert sorted(set(marks)) == [lines[0], lines[40], lines[80]]
    assert list(source.marks(CdxSpan("zzz", "zzzz"))) == []


def test_another_collection_has_nothing(source: ClusterSource) -> None:
    assert list(source.rows(replace(ALL, collection="other"))) == []
    assert list(source.marks(replace(ALL, collection="other"))) == []
    assert source.collections() == ("web",)
