"""nwx zipnum on the command line."""

import gzip
from pathlib import Path

import pytest

from tests.cli.conftest import Nwx
from tests.unit.zipnum.making import cdxj_lines, write_cluster

LINES = cdxj_lines(300)


def text(lines: list[bytes]) -> bytes:
    return b"\n".join([*lines, b""])


@pytest.fixture
def cluster(nwx: Nwx, tmp_path: Path) -> Path:
    (tmp_path / "in.cdxj").write_bytes(text(LINES[::-1]))
    nwx("zipnum", "build", tmp_path / "out", tmp_path / "in.cdxj", "--lines", 20, "--shards", 2)
    return tmp_path / "out"


def test_standard_input_and_a_report_for_programs(nwx: Nwx, tmp_path: Path) -> None:
    arguments = ("zipnum", "build", tmp_path / "out", "-", "--json", "--quiet")
    report = nwx(*arguments, stdin=text([*LINES, b"bad", LINES[0]])).json
    assert (report["lines"], report["repeated"], report["problems_total"]) == (300, 1, 1)
    assert report["problems"][0]["file"] == "standard input"
    assert report["problems"][0]["line"] == 301


def test_broken_lines_are_told_and_the_rest_is_built(nwx: Nwx, tmp_path: Path) -> None:
    (tmp_path / "in.cdxj").write_bytes(text([b"x"] * 30 + LINES))
    ran = nwx("zipnum", "build", tmp_path / "out", tmp_path / "in.cdxj")
    assert "300 lines" in ran.out
    assert "30 that cannot be read" in ran.out
    assert f"{tmp_path}/in.cdxj:1: no urlkey" in ran.err
    assert "10 more lines" in ran.err
    (tmp_path / "bad.cdxj").write_bytes(b"x\n")
    nwx("zipnum", "build", tmp_path / "bad", tmp_path / "bad.cdxj", code=1)


def test_wrong_use(nwx: Nwx, cluster: Path, tmp_path: Path) -> None:
    again = nwx("zipnum", "build", cluster, tmp_path / "in.cdxj", code=2)
    assert "already has a cluster; merge into it" in again.err
    assert "nothing to read" in nwx("zipnum", "build", tmp_path / "new", code=2).err
    missing = nwx("zipnum", "build", tmp_path / "new", tmp_path / "none.cdxj", code=1)
    assert "none.cdxj cannot be opened" in missing.err
    (tmp_path / "splits").write_text("b\na\n")
    unordered = ("build", tmp_path / "new", tmp_path / "in.cdxj", "--splits", tmp_path / "splits")
    assert "split point 2 is not after" in nwx("zipnum", *unordered, code=2).err
    assert "no .idx files" in nwx("zipnum", "get", tmp_path, "http://a.org/", code=1).err


def test_captures_of_a_url_and_of_all_below_a_host(nwx: Nwx, cluster: Path) -> None:
    url = "http://www.site03.org/page/1"
    expected = [line for line in LINES if line.startswith(b"org,site03)/page/1 ")]
    assert nwx("zipnum", "get", cluster, url).out.encode() == text(expected)
    assert nwx("zipnum", "get", cluster, "org,site03)/page/1").out.encode() == text(expected)
    below = [line for line in LINES if line.startswith(b"org,site03)/page/1")]
    assert nwx("zipnum", "prefix", cluster, url).out.encode() == text(below)
    host = [line for line in LINES if line.startswith(b"org,site03")]
    assert nwx("zipnum", "prefix", cluster, "org,site03").out.encode() == text(host)
    assert len(nwx("zipnum", "prefix", cluster, "org,", "--limit", 7).out.splitlines()) == 7
    assert nwx("zipnum", "get", cluster, "http://absent.example/", code=1).out == ""


def test_a_loc_leads_out_only_where_that_is_allowed(nwx: Nwx, tmp_path: Path) -> None:
    inside = tmp_path / "inside"
    inside.mkdir()
    write_cluster(inside, LINES)
    (inside / "cdx-00000.gz").rename(tmp_path / "elsewhere.gz")
    (inside / "cluster.loc").write_text(f"cdx-00000.gz\t{tmp_path}/elsewhere.gz\n")
    refused = nwx("zipnum", "prefix", inside, "org,", code=1)
    assert "outside the cluster's folder" in refused.err
    found = nwx("zipnum", "prefix", inside, "org,", "--allow", tmp_path)
    assert found.out.encode() == text(LINES)


def test_merge_verify_and_repair_tell_what_they_did(
    nwx: Nwx, cluster: Path, tmp_path: Path
) -> None:
    (tmp_path / "more.cdxj").write_bytes(text([b"org,zzz)/ 20240101000000 {}", LINES[5]]))
    merged = nwx("zipnum", "merge", cluster, tmp_path / "more.cdxj", "--json").json
    assert (merged["lines"], merged["repeated"]) == (1, 1)
    assert "301 lines" in nwx("zipnum", "verify", cluster).out
    data = max(cluster.glob("cdx-*.gz"))
    data.write_bytes(data.read_bytes()[:-30])
    report = nwx("zipnum", "verify", cluster, "--json", code=1).json
    assert report["counts"] == {"torn": 1}
    assert "(torn)" in nwx("zipnum", "verify", cluster, code=1).err
    assert "1 damaged blocks" in nwx("zipnum", "repair", cluster).out
    assert "no faults" in nwx("zipnum", "verify", cluster).out


def test_plain_lines_come_out_packed_or_not(nwx: Nwx, cluster: Path, tmp_path: Path) -> None:
    assert nwx("zipnum", "convert", cluster, "-", "--to", "cdx").out.encode() == text(LINES)
    nwx("zipnum", "convert", cluster, tmp_path / "all.cdxj.gz", "--to", "cdx")
    assert gzip.decompress((tmp_path / "all.cdxj.gz").read_bytes()) == text(LINES)
