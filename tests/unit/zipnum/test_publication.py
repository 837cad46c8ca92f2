"""New files of a cluster appear atomically, and killed work is detected."""

from pathlib import Path

import pytest

from nwx.cdx.files import ZipNumBlock, format_index_line
from nwx.errors import SourceError, UsageError
from nwx.zipnum.cluster import open_cluster
from nwx.zipnum.publication import WORK, publish, recover, to_cluster, to_wacz_form, work_folder
from tests.unit.zipnum.making import cdxj_lines, write_cluster, write_wacz_index

PLAN = {"a": 1}


def test_a_work_folder_goes_when_all_went_well(tmp_path: Path) -> None:
    with work_folder(tmp_path, PLAN) as work:
        (work / "file").touch()
    assert list(tmp_path.iterdir()) == []


def test_work_of_the_same_plan_goes_on_and_of_another_begins_anew(tmp_path: Path) -> None:
    for plan, there in ((PLAN, False), (PLAN, True), ({"a": 2}, False)):
        with pytest.raises(ZeroDivisionError), work_folder(tmp_path, plan) as work:
            assert (work / "file").exists() == there
            (work / "file").touch()
            raise ZeroDivisionError


def test_work_that_makes_no_sense_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(UsageError), work_folder(tmp_path, PLAN):
        raise UsageError("no")
    assert not (tmp_path / WORK).exists()


def test_two_at_once_are_refused(tmp_path: Path) -> None:
    with (
        work_folder(tmp_path, PLAN),
        pytest.raises(SourceError, match="another process"),
        work_folder(tmp_path, PLAN),
    ):
        pass


def test_a_cluster_is_published_with_numbered_lines_and_without_obsolete_files(
    tmp_path: Path,
) -> None:
    (tmp_path / "old.gz").touch()
    with work_folder(tmp_path, PLAN) as work:
        for number, key in enumerate((b"a 2014", b"b 2014")):
            (work / f"cdx-0000{number}.gz").write_bytes(b"x" * 5)
            block = ZipNumBlock(key, f"cdx-0000{number}.gz", 0, 5)
            (work / f"part-0000{number}").write_bytes(format_index_line(block))
        publish(
            tmp_path,
            work,
            ["part-00000", "part-00001"],
            {"cdx-00000.gz": ("cdx-00000.gz",)},
            summary=True,
            obsolete=["old.gz"],
            report={"lines": 2},
        )
    lines = (tmp_path / "cluster.idx").read_bytes().splitlines()
    assert [line.rpartition(b"\t")[2] for line in lines] == [b"1", b"2"]
    assert (tmp_path / "cluster.summary").read_bytes() == (tmp_path / "cluster.idx").read_bytes()
    assert not (tmp_path / "old.gz").exists()
    assert recover(tmp_path) is None


LINES = cdxj_lines(120)


@pytest.mark.parametrize("form", ["classic", "wacz"])
def test_blocks_are_copied_as_they_are(tmp_path: Path, form: str) -> None:
    (tmp_path / "in").mkdir()
    write = write_cluster if form == "classic" else write_wacz_index
    convert = to_wacz_form if form == "classic" else to_cluster
    with open_cluster(write(tmp_path / "in", LINES)) as cluster:
        done = convert(cluster, tmp_path / "out")
    names = sorted(path.name for path in (tmp_path / "out").iterdir())
    index = next(name for name in names if name.endswith(".idx"))
    with open_cluster(tmp_path / "out" / index) as made:
        assert list(made.lines()) == LINES
    assert done.blocks == 3
    data = next((tmp_path / "out").glob("*.gz"))
    assert data.stat().st_size == done.bytes


def test_a_failed_conversion_for_a_wacz_leaves_no_folder(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    with open_cluster(write_cluster(tmp_path / "in", LINES)) as cluster:
        (tmp_path / "in" / "cdx-00000.gz").unlink()
        with pytest.raises(SourceError):
            to_wacz_form(cluster, tmp_path / "out")
    assert not (tmp_path / "out").exists()
