"""nwx rankings, judge, evaluate and tune."""

import shutil
from pathlib import Path

import pytest

from tests.cli.conftest import run_nwx


@pytest.fixture
def own(quarry: Path, tmp_path: Path) -> Path:
    """An archive for a test that writes to it."""
    return Path(shutil.copytree(quarry, tmp_path / "archive"))


def test_rankings_are_stored_and_measured(own: Path, tmp_path: Path) -> None:
    assert run_nwx(own, "rankings").out.startswith("default ")
    run_nwx(own, "rankings", "flat", "title=1", "phrase=0")
    assert "title=1 " in run_nwx(own, "rankings", "flat").out
    assert "title=4=5" in run_nwx(own, "rankings", "flat", "title=4=5", code=2).err
    hits = run_nwx(own, "search", "slate", "--ranking", "flat", "--json").json["hits"]
    assert "no ranking 'none'" in run_nwx(own, "search", "x", "--ranking", "none", code=2).err
    assert "there are no judgements yet" in run_nwx(own, "evaluate", code=2).err
    (tmp_path / "grades.csv").write_text(f"query,url,grade,judge\nslate,{hits[0]['url']},3,ann\n")
    assert run_nwx(own, "judge", "--load", f"{tmp_path}/grades.csv").out == "1 judgement\n"
    assert "slate 0 " in run_nwx(own, "judge", "--qrels").out
    assert f"slate,{hits[0]['url']},3,ann" in run_nwx(own, "judge", "--list").out
    args = ("evaluate", "--ranking", "default", "--ranking", "flat")
    found = run_nwx(own, *args, "--write-runs", f"{tmp_path}/runs").out
    assert "default: 1 query" in found
    assert "change +0.000" in found
    run = f"{tmp_path}/runs/flat.run"
    other = run_nwx(own, "evaluate", "--ranking", "older", "--run", run, "--json").json
    assert [one["ranking"] for one in other] == ["older", "flat"]
    assert other[1]["values"]["recall@100"]["mean"] == 1.0
    assert "tuning needs 20" in run_nwx(own, "tune", code=2).err
    run_nwx(own, "rankings", "flat", "--remove")
    assert "no stored ranking" in run_nwx(own, "rankings", "flat", "--remove", code=2).err


def test_results_are_judged_by_keys(own: Path, tmp_path: Path) -> None:
    (tmp_path / "queries").write_text("quarry\n")
    shown = run_nwx(own, "judge", f"{tmp_path}/queries", "--judge", "ann", stdin=b"2q")
    assert "[1/1] quarry" in shown.out
    assert ",2,ann" in run_nwx(own, "judge", "--list").out


def test_most_words_are_told(own: Path) -> None:
    assert "most of them" in run_nwx(own, "search", "slate", "unheardof").err
