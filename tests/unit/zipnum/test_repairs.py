"""Faults of a cluster are found and repaired; clusters are converted between formats."""

import gzip
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from nwx.bulk.resources import Resources
from nwx.cdx.inputs import CdxSource
from nwx.errors import SourceError, UsageError
from nwx.zipnum import ClusterBuildOptions
from nwx.zipnum.builds import build_cluster
from nwx.zipnum.cluster import open_cluster
from nwx.zipnum.publication import WORK, to_cluster, to_wacz_form
from nwx.zipnum.repairs import RepairReport, repair_cluster
from nwx.zipnum.verification import VerifyReport, verify_cluster
from tests.unit.zipnum.making import cdxj_lines, write_cluster, write_wacz_index

LINES = cdxj_lines(600)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An intact cluster of three files with about ten blocks each."""
    (tmp_path / "in.cdxj").write_bytes(b"\n".join([*LINES, b""]))
    sources = [CdxSource(str(tmp_path / "in.cdxj"))]
    build_cluster(tmp_path / "out", sources, ClusterBuildOptions(3, 20), Resources(workers=1))
    return tmp_path / "out"


def read(folder: Path) -> list[bytes]:
    with open_cluster(folder) as cluster:
        return list(cluster.lines())


def repaired(folder: Path) -> RepairReport:
    return repair_cluster(folder, Resources(workers=1), lines_a_block=20)


def kinds(folder: Path) -> dict[str, int]:
    return dict(verify_cluster(str(folder)).counts)


def edit(path: Path, change: Callable[[bytes], bytes]) -> None:
    path.write_bytes(change(path.read_bytes()))


def without_numbers(index: bytes) -> bytes:
    return b"\n".join(line.rpartition(b"\t")[0] for line in index.splitlines()) + b"\n"


def numbers_of_parts(index: bytes) -> bytes:
    """Number the blocks within each part, as `cat part-* > all.idx` would leave them."""
    lines, before, number = [], b"", 0
    for line in index.splitlines():
        head, part, offset, length, _ = line.split(b"\t")
        number = number + 1 if part == before else 1
        before = part
        lines.append(b"%b\t%b\t%b\t%b\t%d\n" % (head, part, offset, length, number))
    return b"".join(lines)


def two_swapped(index: bytes) -> bytes:
    lines = index.splitlines(keepends=True)
    return b"".join([*lines[:5], lines[6], lines[5], *lines[7:]])


def test_a_sound_cluster_is_all_well(folder: Path) -> None:
    report = verify_cluster(str(folder))
    assert (report.files, report.lines, report.blocks) == (3, 600, 30)
    assert not report.faults


def test_real_clusters_are_all_well_but_for_what_they_lack(shared_data: Path) -> None:
    assert kinds(shared_data / "zipnum" / "cc") == {"loc": 1}
    found = verify_cluster(str(shared_data / "zipnum" / "pywb" / "zipnum-sample.idx"))
    assert (found.lines, dict(found.counts)) == (188, {})


@pytest.mark.parametrize(
    ("change", "kind", "count"),
    [
        (without_numbers, "lineno", 30),
        (numbers_of_parts, "lineno", 20),
        (two_swapped, "index", 1),
        (lambda index: index.replace(b"org,site", b"org,sit0", 1), "key", 1),
        (lambda index: b"".join(index.splitlines(keepends=True)[:-1]), "offset", 1),
        (lambda index: index + b"no line at all\n", "index", 1),
    ],
)
def test_damage_to_the_index_is_found_and_mended(
    folder: Path, change: Callable[[bytes], bytes], kind: str, count: int
) -> None:
    sound = (folder / "cluster.idx").read_bytes()
    data = {path.name: path.stat().st_ino for path in folder.glob("cdx-*.gz")}
    edit(folder / "cluster.idx", change)
    found = kinds(folder)
    assert kind in found
    assert found[kind] >= count
    report = repaired(folder)
    assert not report.rewritten
    assert (folder / "cluster.idx").read_bytes() == sound
    assert {path.name: path.stat().st_ino for path in folder.glob("cdx-*.gz")} == data
    assert kinds(folder) == {}


def test_wrong_offsets_are_found_and_mended(folder: Path) -> None:
    edit(folder / "cluster.idx", lambda index: index.replace(b"\t0\t", b"\t7\t", 1))
    assert {"offset", "torn"} <= kinds(folder).keys()
    repaired(folder)
    assert read(folder) == LINES


@pytest.mark.parametrize("lost", ["cluster.loc", "cluster.idx", "both", "wrong"])
def test_a_lost_index_or_loc_is_made_anew(folder: Path, lost: str) -> None:
    if lost == "wrong":
        (folder / "cluster.loc").write_text("cdx-00000.gz\t/etc/passwd\n")
        assert {"loc"} == kinds(folder).keys()
    elif lost == "both":
        (folder / "cluster.loc").unlink()
        (folder / "cluster.idx").unlink()
    else:
        (folder / lost).unlink()
        if lost == "cluster.loc":
            assert kinds(folder) == {"loc": 1}
    repaired(folder)
    assert read(folder) == LINES
    assert kinds(folder) == {}


def test_a_missing_data_file_is_told_and_not_mended(folder: Path) -> None:
    (folder / "cdx-00001.gz").unlink()
    assert kinds(folder)["loc"] == 1
    with pytest.raises(SourceError, match=r"cdx-00001\.gz"):
        repaired(folder)


@pytest.mark.parametrize("index", ["zipnum-bad", "zipnum-sample", ""])
def test_data_beside_the_index_are_found_whatever_their_names(
    folder: Path, tmp_path: Path, index: str
) -> None:
    """As in pywb's sample, where the index names parts missing from the .loc file."""
    lost = tmp_path / "lost"
    lost.mkdir()
    write_cluster(lost, LINES, lines=20)
    (lost / "cdx-00000.gz").rename(lost / "zipnum-sample.cdx.gz")
    (lost / "cluster.idx").unlink()
    (lost / "cluster.loc").unlink()
    if index:
        (lost / f"{index}.idx").write_bytes(b"com,example)/ 20140127171200\tfoo\t0\t275\t1\n")
        (lost / f"{index}.loc").write_bytes(b"foo\tinvalid\nbar\n")
    report = repaired(lost)
    assert report.missing == (["foo"] if index else [])
    assert read(lost) == LINES
    assert kinds(lost) == {}


def test_other_files_beside_the_index_are_no_data(folder: Path) -> None:
    (folder / "cdx-00001.gz").unlink()
    (folder / "notes.gz").write_bytes(gzip.compress(b"some notes\n", mtime=0))
    with pytest.raises(SourceError, match=r"cdx-00001\.gz"):
        repaired(folder)


def test_an_emptied_index_is_found_and_mended(folder: Path) -> None:
    for lost in ("", "cluster.loc"):
        (folder / "cluster.idx").write_bytes(b"")
        if lost:
            (folder / lost).unlink()
        assert kinds(folder)["offset"] == 3
        repaired(folder)
        assert read(folder) == LINES
        assert kinds(folder) == {}


def test_torn_blocks_are_found_and_the_rest_is_saved(folder: Path) -> None:
    def tear(data: bytes) -> bytes:
        return data[:1200] + bytes(40) + data[1240:]

    edit(folder / "cdx-00001.gz", tear)
    found = verify_cluster(str(folder))
    torn = found.counts["torn"]
    assert torn in (1, 2)
    assert all(fault.file == "cdx-00001.gz" for fault in found.faults)
    report = repaired(folder)
    assert report.rewritten
    assert report.torn >= 1
    saved = read(folder)
    assert set(saved) <= set(LINES)
    assert len(saved) == report.lines >= 600 - 20 * torn
    assert kinds(folder) == {}
    assert len(list(folder.glob("cdx-*.gz"))) == 3


def test_a_file_cut_short_is_found_and_the_rest_is_saved(folder: Path) -> None:
    edit(folder / "cdx-00002.gz", lambda data: data[:-100])
    assert kinds(folder) == {"torn": 1}
    repaired(folder)
    assert set(read(folder)) <= set(LINES)
    assert len(read(folder)) >= 580
    assert kinds(folder) == {}


def test_unsorted_lines_are_found_and_sorted(tmp_path: Path) -> None:
    lines = list(LINES)
    random.Random(1).shuffle(lines)
    write_cluster(tmp_path, lines, lines=20)
    found = kinds(tmp_path)
    assert found["order"] > 30
    report = repaired(tmp_path)
    assert report.unsorted >= 30
    assert read(tmp_path) == LINES
    assert kinds(tmp_path) == {}


def test_files_in_the_wrong_order_are_put_in_the_right_one(folder: Path) -> None:
    def turned(index: bytes) -> bytes:
        lines = index.splitlines(keepends=True)
        return b"".join(lines[20:] + lines[:20])

    edit(folder / "cluster.idx", turned)
    assert {"index", "lineno", "order"} == kinds(folder).keys()
    assert not repaired(folder).rewritten
    assert read(folder) == LINES


def test_a_half_written_cluster_is_told(folder: Path) -> None:
    (folder / WORK).mkdir()
    assert kinds(folder) == {"unfinished": 1}


def test_a_summary_of_another_index_is_told(folder: Path) -> None:
    (folder / "cluster.summary").write_bytes(b"")
    assert kinds(folder) == {"summary": 1}
    repaired(folder)
    assert kinds(folder) == {}


def test_digests_of_wacz_indexes_are_checked(tmp_path: Path) -> None:
    place = write_wacz_index(tmp_path, LINES)
    assert verify_cluster(str(place)).counts == {}
    edit(place, lambda index: index.replace(b"sha256:", b"sha256:0", 1))
    report: VerifyReport = verify_cluster(str(place))
    assert report.counts == {"digest": 1}
    with pytest.raises(UsageError, match="convert it first"):
        repaired(place)


def test_from_a_cluster_to_a_wacz_index_and_back(folder: Path, tmp_path: Path) -> None:
    with open_cluster(folder) as cluster:
        done = to_wacz_form(cluster, tmp_path / "indexes")
    assert done.blocks == 30
    assert (tmp_path / "indexes" / "index.idx").read_bytes().startswith(b'!meta 0 {"format"')
    assert verify_cluster(str(tmp_path / "indexes" / "index.idx")).counts == {}
    data = gzip.decompress((tmp_path / "indexes" / "index.cdx.gz").read_bytes())
    assert data.splitlines() == LINES
    with open_cluster(tmp_path / "indexes") as cluster:
        to_cluster(cluster, tmp_path / "again")
    assert read(tmp_path / "again") == LINES
    assert kinds(tmp_path / "again") == {}
    with open_cluster(folder) as cluster:
        with pytest.raises(UsageError, match="already"):
            to_wacz_form(cluster, tmp_path / "indexes")
        with pytest.raises(UsageError, match="already"):
            to_cluster(cluster, tmp_path / "again")
