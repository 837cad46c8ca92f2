"""Shards of merged lines, and the cluster built from them, with a simulated Spark."""

from collections import defaultdict
from pathlib import Path

import pyarrow as pa
import pytest

from nwx.errors import JobError
from nwx.jobs.inputs import cdx_tasks
from nwx.jobs.output import JobFolder, JobOutput, JobReport, PieceReport, ReportFolder, open_output
from nwx.jobs.zipnum import (
    LINES_SCHEMA,
    ShardedLines,
    ShardWork,
    finish_cluster,
    publish_shards,
    uneven_shards,
    written_shards,
)
from nwx.model import ReadError
from nwx.zipnum import ClusterBuildOptions
from nwx.zipnum.shards import read_splits
from tests.unit.jobs.making import read_all
from tests.unit.zipnum.making import build_from, cdxj_lines

LINES = cdxj_lines(500)


def _write(path: Path, lines: list[bytes]) -> Path:
    path.write_bytes(b"\n".join([*lines, b""]))
    return path


def _shards(
    output: JobOutput, points: tuple[bytes, ...], tasks: list[object], slots: tuple[int | None, ...]
) -> dict[int, list[bytes]]:
    reader = ShardedLines(points, slots)
    rows, _ = read_all(reader, tasks, LINES_SCHEMA, Path(output.work.place) / "reports")  # type: ignore[arg-type]
    shards = defaultdict(list)
    for row in rows:
        shards[row["slot"]].append(row["line"])
    return {slot: sorted(lines) for slot, lines in shards.items()}  # type: ignore[misc,type-var]


def test_a_cluster_is_byte_for_byte_that_of_one_machine(tmp_path: Path) -> None:
    one = _write(tmp_path / "one.cdxj", [*LINES[300:], b"bad", LINES[3]])
    other = _write(tmp_path / "other.cdxj", LINES[:300])
    options = ClusterBuildOptions(4, 20, summary=True)
    built = build_from(tmp_path / "expected", one, other, options=options)
    points = (*read_splits(tmp_path / "expected" / "cluster.splits"),)
    output = open_output(str(tmp_path / "out"), "zipnum", {})
    shards = ReportFolder(output.work.inner("shards"))
    work = ShardWork(output.work, shards, points, 20)
    found = _shards(output, points, [*cdx_tasks([str(one), str(other)])], (10, 11, 12, 13))
    for slot, lines in found.items():
        batches = [pa.RecordBatch.from_pydict({"line": lines[:7]})]
        batches.append(pa.RecordBatch.from_pydict({"line": lines[7:]}))
        work.write(slot - 10, iter(batches))
    publish_shards(output, points, summary=True)
    names = {path.name for path in (tmp_path / "expected").glob("[!.]*")}
    for name in names:
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "expected" / name).read_bytes()
    counts = [piece.counts for piece in shards.read().values()]
    assert sum(count["lines"] for count in counts) == built.lines == 500
    assert sum(count["blocks"] for count in counts) == built.blocks
    assert sum(count["repeated"] for count in counts) == built.repeated == 1


def test_a_shard_may_be_empty_and_publication_may_be_resumed(tmp_path: Path) -> None:
    output = open_output(str(tmp_path / "out"), "zipnum", {})
    work = ShardWork(output.work, ReportFolder(output.work.inner("shards")), (b"zz",), 20)
    work.write(0, iter([pa.RecordBatch.from_pydict({"line": LINES[:30]})]))
    work.write(1, iter(()))
    output.folder.rename("_work/part-00000", "part-00000")  # by an earlier attempt
    publish_shards(output, (b"zz",), summary=False)
    expected = build_from(
        tmp_path / "expected",
        _write(tmp_path / "in.cdxj", LINES[:30]),
        options=ClusterBuildOptions(2, 20, (b"zz",)),
    )
    assert expected.shards == 2
    for path in (tmp_path / "expected").glob("[!.]*"):
        assert (tmp_path / "out" / path.name).read_bytes() == path.read_bytes()


def test_where_no_line_can_be_read_no_cluster_appears(tmp_path: Path) -> None:
    output = open_output(str(tmp_path / "out"), "zipnum", {})
    work = ShardWork(output.work, ReportFolder(output.work.inner("shards")), (), 20)
    work.write(0, iter(()))
    report = JobReport("zipnum")
    report.add_errors([ReadError("in.cdx", None, "line", "line 1: bad")])
    finish_cluster(output, report, work.reports.read().values(), (), summary=False)
    assert not report.is_whole
    assert output.folder.names() == ["_nwx-job.json", "_report.json"]


def test_a_cluster_of_uneven_shards_is_whole_and_says_so(tmp_path: Path) -> None:
    output = open_output(str(tmp_path / "out"), "zipnum", {})
    work = ShardWork(output.work, ReportFolder(output.work.inner("shards")), (b"a", b"b"), 20)
    for number in range(3):
        batches = [pa.RecordBatch.from_pydict({"line": LINES[:50]})] if number == 2 else []
        work.write(number, iter(batches))
    report = JobReport("zipnum")
    finish_cluster(output, report, work.reports.read().values(), work.points, summary=False)
    assert (report.is_whole, report.counts["lines"]) == (True, 50)
    assert "one of 3 shards has 50 of 50 lines" in report.warnings[0]
    assert output.folder.exists("_SUCCESS")


def test_shards_that_are_written_get_no_lines(tmp_path: Path) -> None:
    output = open_output(str(tmp_path / "out"), "zipnum", {})
    tasks = [*cdx_tasks([str(_write(tmp_path / "in.cdxj", LINES))])]
    all_lines = _shards(output, (LINES[100], LINES[400]), tasks, (0, 1, 2))
    rest = _shards(output, (LINES[100], LINES[400]), tasks, (0, None, 2))
    assert rest == {slot: lines for slot, lines in all_lines.items() if slot != 1}


def test_shards_without_the_lines_of_a_file_are_not_kept(tmp_path: Path) -> None:
    output = open_output(str(tmp_path / "out"), "zipnum", {})
    shards = ReportFolder(output.work.inner("shards"))
    shards.write({3: PieceReport()})
    output.reports.write({0: PieceReport(errors=[ReadError("a.cdx", None, "line", "bad")])})
    assert written_shards(output, shards) == {3}
    output.reports.write({1: PieceReport(errors=[ReadError("b.cdx", None, "read", "503")])})
    assert written_shards(output, shards) == set()


def test_a_line_of_another_shard_is_an_error(tmp_path: Path) -> None:
    folder = JobFolder(str(tmp_path))
    work = ShardWork(folder, ReportFolder(folder.inner("shards")), (LINES[100],), 20)
    with pytest.raises(JobError, match="lines of another shard into shard 1"):
        work.write(1, iter([pa.RecordBatch.from_pydict({"line": LINES[90:110]})]))
    assert folder.names() == []


def test_split_points_of_another_collection_are_told() -> None:
    assert uneven_shards([10, 12, 9]) == []
    assert uneven_shards([10, 1]) == uneven_shards([]) == []
    (warning,) = uneven_shards([0, 98, 2])
    assert "one of 3 shards has 98 of 100 lines" in warning
