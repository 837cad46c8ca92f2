"""Rows of captures as read by executors."""

import json
import pickle
from dataclasses import replace
from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from nwx.cdx import inputs
from nwx.cdx.inputs import CdxSource, LayoutChangedError, ReadTask, plan_tasks, ready_inputs
from nwx.errors import SourceError, UsageError
from nwx.facets.criteria import Criterion
from nwx.facets.sites import Sites
from nwx.facets.sources import EXPORT_NOTE
from nwx.jobs import facet_rows
from nwx.jobs.facet_rows import (
    ROW_SCHEMA,
    TEXTS,
    ParquetSlice,
    RowPlan,
    RowReader,
    capture_inputs,
    cell_layout,
    coded_rows,
    rows_of_lines,
    rows_of_slice,
    sorted_labels,
    without_cuts,
)
from nwx.jobs.output import PieceReport

PLAN = RowPlan((1, 2), Sites({"org,example)/named": "A name"}), "web")
LINE = "- {} http://{} text/html 200 {} - - 1 {} f.warc.gz\n"


def test_rows_of_lines_have_the_values_of_all_criteria(tmp_path: Path) -> None:
    lines = [
        LINE.format("20130102", "example.org/named", "A" * 32, 5),
        "nonsense\n",
        LINE.format("20130202", "b.example.co.uk/", "-", 6).replace("text/html", "warc/revisit"),
        LINE.format("2014", "b.example.co.uk/", "-", 7),
        "- 2014 warcinfo:/a/ warc-info 200 - - - 1 8 f.warc.gz\n",
    ]
    (tmp_path / "one.cdx").write_text("".join(lines))
    (task,) = plan_tasks(ready_inputs([CdxSource(str(tmp_path / "one.cdx"))], tmp_path), 1)
    report = PieceReport()
    table = pa.Table.from_batches(rows_of_lines(PLAN, 4, task, report), ROW_SCHEMA)
    assert table["site"].to_pylist() == ["A name", "example.co.uk", "example.co.uk"]
    assert table["month"].to_pylist() == ["2013-01", "2013-02", "2014-01"]
    assert table["source"].to_pylist() == ["web/f.warc.gz"] * 3
    assert table["offset"].to_pylist() == [5, 6, 7]
    assert table["revisit"].to_pylist() == [False, True, False]
    assert (table["task"].to_pylist(), table["row"].to_pylist()) == ([4] * 3, [0, 1, 2])
    digests = zip(
        table["digest_first"].to_pylist(), table["digest_second"].to_pylist(), strict=True
    )
    assert len(set(digests)) == 3  # captures without a digest are all distinct
    assert len(set(table["url_first"].to_pylist())) == 2
    (error,) = report.errors
    assert (error.kind, error.message[:7], error.offset) == ("line", "line 2:", None)
    assert report.counts["not_captures"] == 1
    again = pa.Table.from_batches(rows_of_lines(PLAN, 4, task, PieceReport()), ROW_SCHEMA)
    assert again == table  # as in a retried task


def test_errors_in_a_piece_of_a_file_say_where_it_begins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs, "_LEAST_TASK_BYTES", 100)
    line = LINE.format("2013", "example.org/", "A" * 32, 5)
    (tmp_path / "one.cdx").write_text(line * 3 + "nonsense\n" + line)
    tasks = plan_tasks(ready_inputs([CdxSource(str(tmp_path / "one.cdx"))], tmp_path), 1)
    reports = [PieceReport() for _ in tasks]
    rows = [
        len(batch)
        for number, task in enumerate(tasks)
        for batch in rows_of_lines(PLAN, number, task, reports[number])
    ]
    assert sum(rows) == 4
    (error,) = [error for report in reports for error in report.errors]
    assert error.offset
    assert "lines on: " in error.message
    (tmp_path / "one.cdx").write_text(line * 3 + " CDX a b k g V\n" + "http://a/ 2013 - f 9\n" * 30)
    tasks = plan_tasks(ready_inputs([CdxSource(str(tmp_path / "one.cdx"))], tmp_path), 1)
    with pytest.raises(LayoutChangedError):
        list(rows_of_lines(PLAN, 0, tasks[1], PieceReport()))


def test_rows_of_a_part_of_a_parquet_file(tmp_path: Path) -> None:
    frame = pl.DataFrame(
        {
            "url": [f"http://example.org/{number}" for number in range(5)],
            "content_digest": [None, "sha1:A", "sha1:A", "", "sha1:B"],
            "timestamp": ["20130102000000"] * 5,
            "content_length": [None, 1, 2, 3, 1 << 50],
        }
    )
    frame.write_parquet(tmp_path / "one.parquet")
    plan = pickle.loads(pickle.dumps(replace(PLAN, sites=None)))
    piece = ParquetSlice(str(tmp_path / "one.parquet"), 1, 4)
    table = pa.Table.from_batches(rows_of_slice(plan, 0, piece), ROW_SCHEMA)
    assert table["size_bytes"].to_pylist() == [1, 2, 3, 0]
    assert len(set(table["digest_first"].to_pylist())) == 3
    assert table["collection"].to_pylist() == ["default"] * 4


def test_texts_get_the_codes_of_all_tasks() -> None:
    values = {name: ["b", "unknown", "a"] for name in TEXTS}
    labels = sorted_labels(values)
    assert labels.values["site"] == ["unknown", "a", "b"]
    layout = cell_layout(labels)
    row = dict.fromkeys(TEXTS, "b") | {"status": 2, "revisit": True, "own_type": None}
    fields = [*ROW_SCHEMA, pa.field("own_type", pa.string())]
    rows = [row, row | {"site": "a", "status": 0, "own_type": "a"}]
    filled = [
        {one.name: each.get(one.name, 1 if one.type == pa.int64() else None) for one in fields}
        for each in rows
    ]
    batch = pa.RecordBatch.from_pylist(filled, pa.schema(fields))
    (found,) = coded_rows([batch], labels.values, layout)
    assert found.column("site").to_pylist() == [2, 1]
    assert found.column("own_type").to_pylist() == [None, 1]
    assert found.column("month_name").to_pylist() == ["b", "b"]
    cells = found.column("cell").to_numpy()
    assert layout.codes(cells, Criterion.STATUS).tolist() == [2, 0]
    assert layout.codes(cells, Criterion.SITE).tolist() == [2, 1]


def test_an_export_is_read_in_slices_month_by_month(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facet_rows, "_SLICE_ROWS", 2)
    for month in ("2013-02", "2013-01"):
        path = tmp_path / f"month={month}" / "part-0.parquet"
        path.parent.mkdir()
        pl.DataFrame({"url": ["u"] * 3}).write_parquet(path)
    found = capture_inputs([str(tmp_path)])
    assert (found.is_cdx, found.stamp, found.checks) == (False, "", None)
    slices = [piece for piece in found.pieces if isinstance(piece, ParquetSlice)]
    assert [(Path(one.path).parent.name[-2:], one.first, one.rows) for one in slices] == [
        ("01", 0, 2), ("01", 2, 1), ("02", 0, 2), ("02", 2, 1)
    ]  # fmt: skip
    (tmp_path / EXPORT_NOTE).write_text(json.dumps({"stamp": "s", "months": {"201301": "c"}}))
    found = capture_inputs([str(tmp_path)])
    assert (found.stamp, found.checks) == ("s", {"201301": "c"})
    with pytest.raises(UsageError, match="one export"):
        capture_inputs([str(tmp_path), str(tmp_path)])
    report = PieceReport()
    assert list(RowReader(RowPlan((1, 2), None, ""))((0, found.pieces[0]), report)) == []
    assert "lacks url, content_digest" in report.errors[0].message
    (tmp_path / EXPORT_NOTE).write_text("{")
    with pytest.raises(SourceError, match="export again"):
        capture_inputs([str(tmp_path)])


def test_cdx_files_are_read_in_tasks(tmp_path: Path) -> None:
    (tmp_path / "one.cdx").write_text("a\n")
    found = capture_inputs([str(tmp_path)])
    assert found.is_cdx
    assert isinstance(found.pieces[0], ReadTask)
    assert without_cuts(found, "other").pieces == found.pieces
    with pytest.raises(UsageError, match="nothing to read"):
        capture_inputs([])
