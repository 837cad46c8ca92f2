"""Split points from a sample that does not depend on how the input is split."""

from pathlib import Path

import polars as pl
import pyarrow as pa
import pytest

from nwx.errors import UsageError
from nwx.jobs.inputs import cdx_tasks
from nwx.jobs.output import JobFolder, ReportFolder
from nwx.jobs.splits import (
    SAMPLE_SCHEMA,
    SAMPLED_A_SHARD,
    IndexPartWork,
    LineSampler,
    cluster_split_file,
    cluster_splits,
    even_splits,
    sample_size,
)
from nwx.zipnum.shards import read_splits
from tests.cc_index_table import made_lines
from tests.unit.jobs.making import read_all
from tests.unit.zipnum.making import cdxj_lines, write_cluster


def _sample(folder: Path, parts: int, size: int) -> list[tuple[bytes, bytes]]:
    """Return the sample of lines distributed over `parts` files."""
    lines = cdxj_lines(2_000)
    inner = folder / f"{parts}"
    inner.mkdir()
    paths = [inner / f"{number}.cdxj" for number in range(parts)]
    for number, path in enumerate(paths):
        path.write_bytes(b"\n".join([*lines[number::parts], lines[0], b""]))
    tasks = [task for path in paths for task in cdx_tasks([str(path)])]
    rows, reports = read_all(LineSampler(size), tasks, SAMPLE_SCHEMA, inner / "reports")
    assert sum(each.counts["lines"] for each in reports.values()) == len(lines) + parts
    lots = {(row["lot"], row["key"]) for row in rows}
    return sorted(lots)[:size]  # type: ignore[arg-type,return-value,type-var]


def test_the_sample_does_not_depend_on_the_files(tmp_path: Path) -> None:
    sample = _sample(tmp_path, 1, 50)
    assert len(sample) == 50
    assert _sample(tmp_path, 3, 50) == sample
    assert len(_sample(tmp_path, 2, 10_000)) == 2_000


def test_a_task_without_lines_has_no_sample(tmp_path: Path) -> None:
    (tmp_path / "a.cdx").write_bytes(b"bad\n")
    rows, _ = read_all(
        LineSampler(5), cdx_tasks([str(tmp_path)]), SAMPLE_SCHEMA, tmp_path / "reports"
    )
    assert rows == []


def test_shards_are_even() -> None:
    keys = [b"%03d" % number for number in range(100)]
    assert even_splits(reversed(keys), 4) == [b"025", b"050", b"075"]
    assert even_splits(keys, 1) == even_splits([], 3) == []
    assert even_splits([b"a"] * 99 + [b"b"], 3) == []
    assert even_splits([b"a", *[b"b"] * 99], 3) == [b"b"]


def test_a_cluster_gives_split_points(tmp_path: Path) -> None:
    lines = cdxj_lines(400)
    write_cluster(tmp_path, lines, 10)
    points = cluster_splits(str(tmp_path), 4)
    assert len(points) == 3
    assert all(any(line.startswith(point + b" ") for line in lines) for point in points)


def test_the_sample_grows_with_the_shards() -> None:
    assert sample_size(2) == 10_000
    assert sample_size(100) == 100 * SAMPLED_A_SHARD
    assert sample_size(100, 7) == 7


def test_split_points_of_a_cluster_are_written_once(tmp_path: Path) -> None:
    index = write_cluster(tmp_path, cdxj_lines(400), 10)
    place = str(tmp_path / "splits")
    report = cluster_split_file(place, str(index), 4)
    assert (report.counts["split points"], report.warnings) == (3, [])
    assert len(read_splits(tmp_path / "splits")) == 3
    with pytest.raises(UsageError, match="splits already exists; --overwrite replaces it"):
        cluster_split_file(place, str(index), 4)
    report = cluster_split_file(place, str(index), 1000, overwrite=True)
    assert report.warnings == ["40 shards, not 1000: there are too few different keys"]


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
