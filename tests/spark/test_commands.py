"""The `nwx spark` commands on two executors, compared with those of one machine."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner, Result

from nwx.archive_cdx import IndexOptions, index_beside
from nwx.bulk.resources import Resources
from nwx.cdx.inputs import CdxSource
from nwx.cli.main import cli
from nwx.errors import UsageError
from nwx.warc.sources import ArchiveSource, expand
from nwx.zipnum import ClusterBuildOptions
from nwx.zipnum.builds import build_cluster
from nwx.zipnum.shards import read_splits
from tests.unit.zipnum.making import cdxj_lines, write_cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")

SAMPLE = Path(__file__).parent.parent.parent / "sample" / "archive"
Job = Callable[..., Result]


@pytest.fixture
def job(spark: "SparkSession") -> Job:
    """Runs `nwx spark` in the existing session."""

    def run(*arguments: object, code: int = 0) -> Result:
        ran = CliRunner().invoke(cli, ["spark", *map(str, arguments)], standalone_mode=False)
        assert (ran.exception is None, ran.return_value) == (True, code), (
            ran.output,
            ran.exception,
        )
        return ran

    return run


def _index_beside(folder: Path) -> dict[str, bytes]:
    """Return the indexes written by one machine, by the file names that the job uses."""
    sources = [each for each in expand([str(folder)]) if isinstance(each, ArchiveSource)]
    index_beside(sources, IndexOptions())
    found = {}
    for source in sources:
        inner = f".{source.member.rpartition('/')[2]}" if source.member else ""
        path = Path(f"{source.path}{inner}.cdx")
        name = f"{Path(source.path).name}/{source.member}" if source.member else source.name
        found[f"{name}.cdx"] = path.read_bytes()
    return found


def test_indexes_of_archive_files(job: Job, tmp_path: Path) -> None:
    copied, out = shutil.copytree(SAMPLE, tmp_path / "in"), tmp_path / "out"
    (copied / "torn.warc.gz").write_bytes(
        (copied / "LANTERN-2010-00000.warc.gz").read_bytes()[:9_999]
    )
    expected = _index_beside(copied)
    ran = job("cdx", out, copied, "--append-extension")
    assert "8 files" in ran.stdout and "1 error" in ran.stdout
    assert "torn.warc.gz at " in ran.stderr
    written = {str(path.relative_to(out)): path.read_bytes() for path in out.rglob("*.cdx")}
    assert written == expected
    assert (out / "_SUCCESS").exists()
    gone = out / "LANTERN-2013-00000.warc.gz.cdx"
    gone.unlink()
    again = job("cdx", out, copied, copied / "none.warc", "--append-extension", "--json", code=1)
    report = json.loads(again.stdout)
    assert (report["counts"]["skipped"], report["counts"]["files"]) == (7, 1)
    assert (report["is_whole"], report["errors"][0]["kind"]) == (False, "missing")
    assert "the output is incomplete" in again.stderr
    assert gone.read_bytes() == expected[gone.name]
    assert not (out / "_SUCCESS").exists()


def test_clusters_are_byte_for_byte_those_of_one_machine(job: Job, tmp_path: Path) -> None:
    lines = cdxj_lines(600)
    for number in range(3):
        mixed = [*lines[number::3], lines[5], b"bad"]
        (tmp_path / f"{number}.cdxj").write_bytes(b"\n".join([*mixed, b""]))
    files = [tmp_path / f"{number}.cdxj" for number in range(3)]
    splits, out, expected = tmp_path / "splits", tmp_path / "out", tmp_path / "expected"
    job("splits", splits, *files, "--shards", 3)
    assert len(read_splits(splits)) == 2
    ran = job("zipnum", out, *files, "--splits", splits, "--lines", 20, "--summary", "--json")
    options = ClusterBuildOptions(1, 20, tuple(read_splits(splits)), True)
    sources = [CdxSource(str(file)) for file in files]
    built = build_cluster(expected, sources, options, Resources(workers=1))
    for path in expected.glob("[!.]*"):
        assert (out / path.name).read_bytes() == path.read_bytes(), path.name
    report = json.loads(ran.stdout)
    assert (report["counts"]["lines"], report["counts"]["blocks"]) == (built.lines, built.blocks)
    assert (report["counts"]["repeated"], report["errors_total"]) == (built.repeated, 3)
    assert {error["message"].partition(":")[0] for error in report["errors"]} == {"line 202"}
    with pytest.raises(AssertionError, match="already exists; --resume"):
        job("zipnum", out, *files, "--splits", splits)


def test_split_points_of_a_cluster_need_no_spark(tmp_path: Path) -> None:
    index = write_cluster(tmp_path, cdxj_lines(40), 10)
    arguments = ["spark", "splits", str(tmp_path / "splits"), "--shards", "9"]
    ran = CliRunner().invoke(cli, [*arguments, "--cluster", str(index)], standalone_mode=False)
    assert (ran.exception, ran.return_value) == (None, 0)
    assert "4 shards, not 9: there are too few different keys" in ran.stderr
    assert "3 split points" in ran.stdout


def test_wrong_use_is_told_before_spark_starts(tmp_path: Path) -> None:
    def refused(*arguments: object) -> str:
        ran = CliRunner().invoke(cli, ["spark", *map(str, arguments)], standalone_mode=False)
        assert isinstance(ran.exception, UsageError)
        return str(ran.exception)

    (tmp_path / "in.cdx").write_bytes(b"x\n")
    both = ("zipnum", tmp_path / "out", tmp_path / "in.cdx", "--resume", "--overwrite")
    assert "are mutually exclusive" in refused(*both)
    assert "nothing to read" in refused("cdx", tmp_path / "out")
    assert "cannot be combined with CDX files" in refused(
        "splits", "x", "in.cdx", "--shards", 2, "--cluster", "y"
    )
    assert "write NAME=VALUE" in refused("cdx", tmp_path / "out", tmp_path, "--conf", "x")
    assert "write FILE#NAME" in refused("cdx", tmp_path / "out", tmp_path, "--archives", "x")
    assert "write -- between" in refused("submit", "cdx")
    assert "name a job after --" in refused("submit", "--master", "yarn", "--")
