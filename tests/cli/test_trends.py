"""nwx trends and nwx words."""

from pathlib import Path

from tests.cli.conftest import run_nwx


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
