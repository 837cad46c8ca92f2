"""Lines are merged into a cluster; files without new lines stay unchanged."""

import random
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from nwx.errors import UsageError
from nwx.zipnum import ClusterBuildOptions, publication
from nwx.zipnum.cluster import open_cluster
from nwx.zipnum.publication import WORK
from nwx.zipnum.verification import verify_cluster
from tests.unit.zipnum.making import (
    LINES,
    build_from,
    data_files,
    merge_in,
    read,
    shuffled,
    text,
    write_cluster,
    write_wacz_index,
)


@pytest.fixture
def old_and_new(tmp_path: Path) -> tuple[list[bytes], list[bytes], Path]:
    """Lines in a cluster, others in a file, and the cluster's folder."""
    chosen = random.Random(5)
    old = [line for line in LINES if chosen.random() < 0.7]
    new = [line for line in LINES if line not in set(old)]
    (tmp_path / "old.cdxj").write_bytes(text(old))
    (tmp_path / "new.cdxj").write_bytes(text(shuffled(new)))
    out = tmp_path / "out"
    build_from(out, tmp_path / "old.cdxj", options=ClusterBuildOptions(shards=3, lines_a_block=20))
    return old, new, out


def test_merging_gives_what_building_of_all_gives(
    tmp_path: Path, old_and_new: tuple[list[bytes], list[bytes], Path]
) -> None:
    _, new, out = old_and_new
    report = merge_in(out, tmp_path / "new.cdxj", lines=20)
    assert read(out) == LINES
    assert (report.lines, report.repeated) == (len(new), 0)
    index = (out / "cluster.idx").read_bytes().splitlines()
    assert [int(line.split(b"\t")[4]) for line in index] == list(range(1, report.blocks + 1))
    assert not (out / WORK).exists()


def test_merging_the_same_again_changes_nothing(
    tmp_path: Path, old_and_new: tuple[list[bytes], list[bytes], Path]
) -> None:
    _, new, out = old_and_new
    merge_in(out, tmp_path / "new.cdxj")
    report = merge_in(out, tmp_path / "new.cdxj")
    assert (report.lines, report.repeated) == (0, len(new))
    assert read(out) == LINES


def test_files_and_blocks_without_new_lines_stay_as_they_are(
    tmp_path: Path, old_and_new: tuple[list[bytes], list[bytes], Path]
) -> None:
    old, _, out = old_and_new
    before = {path.name: path.read_bytes() for path in data_files(out)}
    line = old[10] + b" "
    (tmp_path / "one.cdxj").write_bytes(line + b"\n")
    report = merge_in(out, tmp_path / "one.cdxj", lines=20)
    assert (report.lines, report.files_kept) == (1, 2)
    assert report.copied > 15
    after = {path.name: path.read_bytes() for path in data_files(out)}
    assert {name: after.get(name) for name in list(before)[1:]} == dict(list(before.items())[1:])
    assert "cdx-00000.gz" not in after
    assert read(out) == sorted([*old, line])


def test_merging_again_and_again_does_not_cut_blocks_to_shreds(tmp_path: Path) -> None:
    (tmp_path / "first.cdxj").write_bytes(text(LINES[::2]))
    out = tmp_path / "out"
    build_from(out, tmp_path / "first.cdxj", options=ClusterBuildOptions(lines_a_block=50))
    rest = LINES[1::2]
    for number in range(10):
        path = tmp_path / f"{number}.cdxj"
        path.write_bytes(text(rest[number::10]))
        report = merge_in(out, path, lines=50)
    assert read(out) == LINES
    assert report.blocks < 2 * len(LINES) / 50


def test_captures_of_one_key_over_blocks_and_files(tmp_path: Path) -> None:
    """Other tools split there: between captures of the same urlkey and timestamp."""
    same = [b'org,one)/ 20200101000000 {"offset": "%05d"}' % number for number in range(60)]
    old, new = same[::2], same[1::2]
    half = len(old) // 2
    write_cluster(tmp_path, old[:half], lines=4)
    first = (tmp_path / "cluster.idx").read_bytes()
    (tmp_path / "cdx-00000.gz").rename(tmp_path / "first.gz")
    write_cluster(tmp_path, old[half:], lines=4)
    (tmp_path / "cdx-00000.gz").rename(tmp_path / "second.gz")
    second = (tmp_path / "cluster.idx").read_bytes()
    (tmp_path / "cluster.loc").write_text("first\tfirst.gz\nsecond\tsecond.gz\n")
    (tmp_path / "cluster.idx").write_bytes(
        first.replace(b"cdx-00000.gz", b"first") + second.replace(b"cdx-00000.gz", b"second")
    )
    assert read(tmp_path) == old
    (tmp_path / "new.cdxj").write_bytes(text(shuffled(new)))
    report = merge_in(tmp_path, tmp_path / "new.cdxj", lines=4)
    assert read(tmp_path) == same
    assert report.lines == len(new)


def test_readers_of_the_old_index_are_not_disturbed(
    tmp_path: Path, old_and_new: tuple[list[bytes], list[bytes], Path]
) -> None:
    old, _, out = old_and_new
    with open_cluster(out) as cluster:
        lines = cluster.lines()
        first = next(lines)
        for part in {block.part for block in cluster.blocks()}:
            cluster.part(part)
        assert not cluster.is_outdated()
        merge_in(out, tmp_path / "new.cdxj")
        assert [first, *lines] == old
        assert cluster.is_outdated()
    assert read(out) == LINES


def test_a_cluster_in_the_form_of_wacz_is_not_merged_into(tmp_path: Path) -> None:
    place = write_wacz_index(tmp_path, LINES)
    (tmp_path / "new.cdxj").write_bytes(text(LINES[:1]))
    with pytest.raises(UsageError, match="convert it first"):
        merge_in(place, tmp_path / "new.cdxj")


@pytest.mark.parametrize("steps", range(12))
def test_a_merge_killed_while_files_are_put_in_place(
    tmp_path: Path,
    old_and_new: tuple[list[bytes], list[bytes], Path],
    monkeypatch: pytest.MonkeyPatch,
    steps: int,
) -> None:
    """Readers find the old cluster or the new one; the next command finishes the work."""
    old, _, out = old_and_new
    left = steps

    class KilledError(Exception):
        pass

    def counted(step: Callable[..., None]) -> Callable[..., None]:
        def run(*arguments: object) -> None:
            nonlocal left
            if left == 0:
                raise KilledError
            left -= 1
            step(*arguments)

        return run

    with monkeypatch.context() as patched:
        for name in ("_move", "_put"):
            patched.setattr(publication, name, counted(getattr(publication, name)))
        with suppress(KilledError):
            merge_in(out, tmp_path / "new.cdxj")
    assert read(out) in (old, LINES)
    report = merge_in(out, tmp_path / "new.cdxj")
    assert report.lines == 0
    assert read(out) == LINES
    assert verify_cluster(str(out)).counts == {}
    assert {path.name for path in data_files(out)} == {part(block) for block in index_of(out)}


def index_of(out: Path) -> list[bytes]:
    return (out / "cluster.idx").read_bytes().splitlines()


def part(line: bytes) -> str:
    return line.split(b"\t")[1].decode()


def test_lines_can_be_merged_into_an_empty_cluster(tmp_path: Path) -> None:
    (tmp_path / "none.cdxj").write_bytes(b"")
    (tmp_path / "in.cdxj").write_bytes(text(shuffled(LINES)))
    build_from(tmp_path / "out", tmp_path / "none.cdxj")
    assert merge_in(tmp_path / "out", tmp_path / "in.cdxj").lines == len(LINES)
    assert read(tmp_path / "out") == LINES
    assert not verify_cluster(str(tmp_path / "out")).faults
    assert len(list((tmp_path / "out").glob("cdx-*.gz"))) == 1


def test_nothing_is_merged_into_a_cluster_whose_index_was_emptied(
    tmp_path: Path, old_and_new: tuple[list[bytes], list[bytes], Path]
) -> None:
    (tmp_path / "out" / "cluster.idx").write_bytes(b"")
    with pytest.raises(UsageError, match="zipnum repair"):
        merge_in(tmp_path / "out", tmp_path / "new.cdxj")
    assert not (tmp_path / "out" / WORK).exists()
