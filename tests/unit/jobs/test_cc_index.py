"""The parts of the columnar index, written by tasks; Spark is acted here."""

from pathlib import Path

import polars as pl
import pyarrow as pa

from nwx.jobs.cc_index import IndexPartWork
from nwx.jobs.output import JobFolder, ReportFolder
from tests.cc_index_table import made_lines


def test_a_part_is_a_file_in_each_folder_and_a_report(tmp_path: Path) -> None:
    lines = sorted(line.encode() for line in [*made_lines(), made_lines()[0], "x 2014 {"])
    reports = ReportFolder(JobFolder(str(tmp_path / "reports")))
    work = IndexPartWork(JobFolder(str(tmp_path / "out")), reports, "")
    batches = [pa.RecordBatch.from_pydict({"line": some}) for some in (lines[:5], lines[5:])]
    work.write(3, iter(batches))
    report = reports.read()[3]
    assert report.counts == {"captures": len(made_lines()), "files": 2}
    assert (report.errors_total, report.errors[0].kind) == (1, "line")
    path = tmp_path / "out/crawl=CC-MAIN-2018-05/subset=robotstxt/part-00003.parquet"
    assert pl.read_parquet(path)["url"].to_list() == ["http://to.no/robots.txt"]
