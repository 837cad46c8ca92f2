"""nwx trends, words and changes."""

from pathlib import Path

from tests.cli.conftest import Nwx, run_nwx


def test_queries_over_time(quarry: Path) -> None:
    found = run_nwx(quarry, "trends", "slate", "nowhere", "--by", "month", "--json").json
    assert found["by"] == "month"
    assert found["periods"][0] == "201401"
    points = {one["period"]: one["captures"] for one in found["trends"][0]["points"]}
    assert points["201401"] == 1
    assert points["201402"] == 0
    table = run_nwx(quarry, "trends", "slate").out
    assert "2014" in table
    assert "All captures" in table
    lines = run_nwx(quarry, "trends", "slate", "--from", "2016", "--csv").out.splitlines()
    assert lines[0].startswith("period,query,captures")
    assert lines[1].startswith("2016,slate,1")


def test_too_many_queries(quarry: Path) -> None:
    refused = run_nwx(quarry, "trends", *"abcdefg", code=2)
    assert "7 queries are too many" in refused.err


def test_words_of_a_selection(quarry: Path) -> None:
    found = run_nwx(quarry, "words", "slate", "--json").json
    assert found["documents"] >= found["read"] > 0
    assert "read of" in run_nwx(quarry, "words", "slate").out


def test_what_was_meant(quarry: Path) -> None:
    assert "did you mean" in run_nwx(quarry, "search", "quarri").err


def test_watched_sites(nwx: Nwx, tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('name = "a"\nkeywords = ["b"]\n')
    nwx("crawls", "add", tmp_path / "a.toml")
    assert "need a SITE" in nwx("changes", "--watch", code=2).err
    assert "no watched sites" in nwx("changes").err
    assert "is watched" in nwx("changes", "town.test", "--watch").err
    assert nwx("changes", "--watched", "--csv").out.splitlines()[1].startswith("town.test,")
    assert "0 pages" in nwx("changes").err
    assert "is no longer" in nwx("changes", "town.test", "--unwatch").err
    assert "was not" in nwx("changes", "town.test", "--unwatch").err
