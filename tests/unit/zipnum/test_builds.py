"""A cluster has each line of its inputs once, in order, whatever happened during the build."""

import gzip
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import zstandard

from nwx.bulk.sorted_runs import read_runs
from nwx.cdx.inputs import CdxSource, FilePiece, ReadTask, record_from_json, record_json
from nwx.errors import SourceError, UsageError
from nwx.zipnum import ClusterBuildOptions
from nwx.zipnum.builds import TaskRuns, make_runs
from nwx.zipnum.cluster import open_cluster
from nwx.zipnum.publication import WORK
from tests.unit.zipnum.making import (
    LINES,
    build_from,
    cdxj_lines,
    data_files,
    merge_in,
    read,
    shuffled,
    text,
)


@pytest.fixture
def inputs(tmp_path: Path) -> list[Path]:
    """Unsorted lines in a plain, a gzip and a zstd file, with several kinds of headers."""
    lines = shuffled(LINES)
    plain, zipped, zstd = tmp_path / "a.cdxj", tmp_path / "b.cdxj.gz", tmp_path / "c.cdxj.zst"
    plain.write_bytes(b"!OpenWayback-CDXJ 1.0\n\n" + text(lines[:700]).replace(b"\n", b"\r\n"))
    zipped.write_bytes(
        gzip.compress(text(lines[700:900]), mtime=0) + gzip.compress(text(lines[900:1400]), mtime=0)
    )
    zstd.write_bytes(zstandard.compress(b" CDX N b a m s k r M S V g\n" + text(lines[1400:])[:-1]))
    return [plain, zipped, zstd]


def test_inputs_of_all_kinds_become_one_cluster(tmp_path: Path, inputs: list[Path]) -> None:
    out = tmp_path / "out"
    report = build_from(out, *inputs, options=ClusterBuildOptions(shards=3, lines_a_block=100))
    assert (report.lines, report.shards, report.repeated, report.problems) == (2000, 3, 0, [])
    assert read(out) == LINES
    sizes = [len(gzip.decompress(path.read_bytes()).splitlines()) for path in data_files(out)]
    assert sum(sizes) == 2000
    assert min(sizes) > 500
    assert not (out / WORK).exists()


def test_the_index_numbers_its_lines_over_all_parts(tmp_path: Path, inputs: list[Path]) -> None:
    out = tmp_path / "out"
    report = build_from(out, *inputs, options=ClusterBuildOptions(shards=4, lines_a_block=30))
    index = (out / "cluster.idx").read_bytes().splitlines()
    assert [int(line.split(b"\t")[4]) for line in index] == list(range(1, report.blocks + 1))
    parts = b"".join(path.read_bytes() for path in sorted(out.glob("part-*"))).splitlines()
    assert [line.rpartition(b"\t")[0] for line in index] == parts
    names = [path.name for path in data_files(out)]
    assert names == [f"cdx-{number:05d}.gz" for number in range(4)]
    locations = [line.split("\t") for line in (out / "cluster.loc").read_text().splitlines()]
    assert locations == [[name, name] for name in names]


def test_a_block_has_the_lines_asked_for(tmp_path: Path, inputs: list[Path]) -> None:
    out = tmp_path / "out"
    build_from(out, *inputs, options=ClusterBuildOptions(lines_a_block=300))
    with open_cluster(out) as cluster:
        sizes = [len(list(cluster.lines_of(iter([block])))) for block in cluster.blocks()]
    assert sizes == [300] * 6 + [200]


def test_a_cluster_can_be_moved(tmp_path: Path, inputs: list[Path]) -> None:
    build_from(tmp_path / "out", *inputs)
    (tmp_path / "out").rename(tmp_path / "elsewhere")
    assert read(tmp_path / "elsewhere") == LINES


def test_little_memory_makes_many_runs_and_the_same_lines(tmp_path: Path) -> None:
    lines = cdxj_lines(20_000)
    (tmp_path / "in.cdxj").write_bytes(text(shuffled(lines)))
    out = tmp_path / "out"
    options = ClusterBuildOptions(shards=5, lines_a_block=100)
    build_from(out, tmp_path / "in.cdxj", options=options, memory=100_000)
    assert read(out) == lines


def test_several_processes_write_the_same_files(tmp_path: Path, inputs: list[Path]) -> None:
    options = ClusterBuildOptions(shards=3, lines_a_block=100)
    build_from(tmp_path / "one", *inputs, options=options)
    build_from(tmp_path / "two", *inputs, options=options, workers=2)
    for path in (tmp_path / "one").glob("[!.]*"):
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes(), path.name


def test_lines_that_repeat_others_are_kept_once(tmp_path: Path, inputs: list[Path]) -> None:
    report = build_from(tmp_path / "out", *inputs, inputs[1])
    assert (report.lines, report.repeated) == (2000, 700)
    assert read(tmp_path / "out") == LINES


def test_lines_that_are_none_are_told_with_their_place(tmp_path: Path) -> None:
    bad = [*LINES[:3], b"no capture", b"org,a)/ 2020x {}", *LINES[3:5], b"\x00\xff", b"x 2020 "]
    bad.append(b"org,long)/ 20200101000000 " + b"x" * (1 << 20))
    (tmp_path / "in.cdxj").write_bytes(text(bad))
    report = build_from(tmp_path / "out", tmp_path / "in.cdxj")
    assert report.problems_total == 5
    assert [problem.line for problem in report.problems] == [4, 5, 8, 9, 10]
    assert read(tmp_path / "out") == LINES[:5]


def test_short_timestamps_and_long_keys_are_captures(tmp_path: Path) -> None:
    lines = [b"org,a)/" + b"k" * 300 + b" 20200101000000 {}", b"org,b)/ 2020 {}"]
    (tmp_path / "in.cdxj").write_bytes(text(lines))
    assert build_from(tmp_path / "out", tmp_path / "in.cdxj").problems == []
    assert read(tmp_path / "out") == lines


def test_a_header_in_another_order_is_told(tmp_path: Path) -> None:
    (tmp_path / "in.cdx").write_bytes(b" CDX a b N m\nhttp://a.org/ 20200101000000 org,a)/ -\n")
    report = build_from(tmp_path / "out", tmp_path / "in.cdx")
    assert "urlkey" in str(report.problems[0])


def test_split_points_can_be_used_again(tmp_path: Path, inputs: list[Path]) -> None:
    points = (b"org,site03)/", b"org,site09)/page/100 20200101000000")
    out = tmp_path / "out"
    build_from(out, *inputs, options=ClusterBuildOptions(lines_a_block=100, splits=points))
    assert (out / "cluster.splits").read_bytes().splitlines() == list(points)
    first = [gzip.decompress(path.read_bytes()).splitlines() for path in data_files(out)]
    assert first[0][-1] < points[0] <= first[1][0]
    assert first[1][-1] < points[1] <= first[2][0]


def test_more_shards_than_keys(tmp_path: Path) -> None:
    (tmp_path / "in.cdxj").write_bytes(text(LINES[:2]))
    report = build_from(
        tmp_path / "out", tmp_path / "in.cdxj", options=ClusterBuildOptions(shards=50)
    )
    assert report.lines == 2
    assert read(tmp_path / "out") == LINES[:2]


def test_nothing_in_gives_an_empty_cluster(tmp_path: Path) -> None:
    (tmp_path / "in.cdxj").write_bytes(b"")
    assert build_from(tmp_path / "out", tmp_path / "in.cdxj").lines == 0
    assert read(tmp_path / "out") == []


def test_a_cluster_is_not_overwritten(tmp_path: Path, inputs: list[Path]) -> None:
    report = build_from(tmp_path / "out", *inputs)
    with pytest.raises(UsageError, match="already has a cluster"):
        build_from(tmp_path / "out", *inputs[1:])
    before = (tmp_path / "out" / "cluster.idx").stat().st_ino
    assert build_from(tmp_path / "out", *inputs) == report
    assert (tmp_path / "out" / "cluster.idx").stat().st_ino == before
    index = tmp_path / "out" / "cluster.idx"
    index.write_bytes(index.read_bytes())  # now a different cluster
    with pytest.raises(UsageError, match="already has a cluster"):
        build_from(tmp_path / "out", *inputs)


def test_a_summary_only_where_it_is_wanted(tmp_path: Path, inputs: list[Path]) -> None:
    build_from(tmp_path / "one", *inputs)
    assert not (tmp_path / "one" / "cluster.summary").exists()
    options = ClusterBuildOptions(lines_a_block=100, summary=True)
    build_from(tmp_path / "two", *inputs, options=options)
    index = (tmp_path / "two" / "cluster.idx").read_bytes()
    assert (tmp_path / "two" / "cluster.summary").read_bytes() == index


def test_damaged_input_is_told_and_the_rest_is_built(tmp_path: Path, inputs: list[Path]) -> None:
    inputs[1].write_bytes(inputs[1].read_bytes()[:-10])
    report = build_from(tmp_path / "out", *inputs)
    assert len(report.damaged) == 1
    assert "b.cdxj.gz" in report.damaged[0]
    assert "truncated" in report.damaged[0]
    found = read(tmp_path / "out")
    assert set(found) < set(LINES)
    assert report.lines == len(found) >= len(LINES) - 500


def test_missing_input_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"missing\.cdxj cannot be opened"):
        build_from(tmp_path / "out", tmp_path / "missing.cdxj")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("content", [b"garbage\n", b"garbage\nmore\n", b"\x1f\x8b\x08garbage"])
def test_input_without_one_line_builds_nothing(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "in.cdxj").write_bytes(content)
    report = build_from(tmp_path / "out", tmp_path / "in.cdxj")
    assert report.is_fruitless
    assert not (tmp_path / "out").exists()
    (tmp_path / "good.cdxj").write_bytes(text(LINES))
    assert not build_from(
        tmp_path / "out", tmp_path / "in.cdxj", tmp_path / "good.cdxj"
    ).is_fruitless
    index = (tmp_path / "out" / "cluster.idx").read_bytes()
    assert merge_in(tmp_path / "out", tmp_path / "in.cdxj").is_fruitless
    assert (tmp_path / "out" / "cluster.idx").read_bytes() == index
    assert read(tmp_path / "out") == LINES


_KILLED = """
import sys
from pathlib import Path
from nwx.bulk.resources import Resources
from nwx.cdx.inputs import CdxSource
from nwx.zipnum.builds import build_cluster
from nwx.zipnum import ClusterBuildOptions

def progress(now):
    print(now.step, now.done, flush=True)

build_cluster(Path(sys.argv[1]), [CdxSource(sys.argv[2])], ClusterBuildOptions(40, 50),
      Resources(100_000, None, 1), progress)
"""


@pytest.mark.parametrize("after", [1, 5, 20, 40, 41])
def test_a_killed_build_goes_on(tmp_path: Path, after: int) -> None:
    lines = cdxj_lines(20_000)
    (tmp_path / "in.cdxj").write_bytes(text(shuffled(lines)))
    out = tmp_path / "out"
    command = [sys.executable, "-c", _KILLED, str(out), str(tmp_path / "in.cdxj")]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for _ in range(after):
            process.stdout.readline()
        process.send_signal(signal.SIGKILL)
    assert not list(out.glob("*.idx")) or read(out) == lines
    # A shard is done once its report exists, which is written after its data.
    done = {f"cdx-{path.stem[-5:]}.gz" for path in (out / WORK).glob("shard-*.json")}
    written = {path.name: path.stat().st_mtime_ns for path in (out / WORK).glob("cdx-*.gz")}
    if not list(out.glob("*.idx")):
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    assert read(out) == lines
    assert not (out / WORK).exists()
    for name in done & written.keys():
        assert (out / name).stat().st_mtime_ns == written[name], "what was done is not redone"


def test_two_at_once_in_one_folder_are_refused(tmp_path: Path, inputs: list[Path]) -> None:
    out = tmp_path / "out"
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    code = _KILLED.replace("ClusterBuildOptions(40, 50)", "ClusterBuildOptions()")
    with subprocess.Popen([sys.executable, "-c", code, str(out), str(pipe)]) as process:
        while not (out / WORK / "plan.json").exists():
            time.sleep(0.02)
        with pytest.raises(SourceError, match="another process"):
            build_from(out, *inputs)
        pipe.write_bytes(text(LINES))
        assert process.wait() == 0
    assert read(out) == LINES


RUN_LINES = cdxj_lines(500)


def task_of(path: Path, lines: list[bytes]) -> ReadTask:
    path.write_bytes(b"".join(line + b"\n" for line in lines))
    return ReadTask(3, (FilePiece(CdxSource(str(path))),), path.stat().st_size)


@pytest.mark.parametrize("memory", [20_000, 1 << 20])
def test_runs_hold_all_captures_in_order(tmp_path: Path, memory: int) -> None:
    task = task_of(tmp_path / "a.cdxj", [b"!header", *RUN_LINES[::-1], b"", b"no capture"])
    found = make_runs(tmp_path, task, memory)
    lines = [line for batch in read_runs(tmp_path, found.runs, memory) for line in batch]
    assert lines == RUN_LINES
    (reading,) = found.readings
    assert [problem.line for problem in reading.problems] == [503]
    assert all(mark.start.count(b" ") == 1 for run in found.runs for mark in run.marks)


def test_a_task_that_is_done_is_not_done_again(tmp_path: Path) -> None:
    task = task_of(tmp_path / "a.cdxj", [*RUN_LINES, b"no capture"])
    first = make_runs(tmp_path, task, 1 << 20)
    (tmp_path / "a.cdxj").unlink()
    again = make_runs(tmp_path, task, 1 << 20)
    assert again.runs == first.runs
    noted = record_json(first)
    assert record_json(again) == noted == record_json(record_from_json(TaskRuns, noted))
