"""nwx sql."""

from pathlib import Path

import polars as pl

from tests.cli.conftest import run_nwx

BY_YEAR = "SELECT year(timestamp) AS y, count(*) AS n FROM captures GROUP BY y ORDER BY y LIMIT 1"


def test_a_query_in_every_form(quarry: Path, tmp_path: Path) -> None:
    assert run_nwx(quarry, "sql", BY_YEAR, "--json").json == [{"y": 2014, "n": 1}]
    assert run_nwx(quarry, "sql", BY_YEAR, "--csv").out.split() == ["y,n", "2014,1"]
    assert "1 row" in run_nwx(quarry, "sql", BY_YEAR).out
    (tmp_path / "query.sql").write_text(BY_YEAR)
    run_nwx(quarry, "sql", "--file", tmp_path / "query.sql", "--parquet", tmp_path / "a.parquet")
    assert pl.read_parquet(tmp_path / "a.parquet").rows() == [(2014, 1)]


def test_hostile_titles_are_shown_without_control_characters(quarry: Path) -> None:
    shown = run_nwx(quarry, "sql", "SELECT title FROM documents").out
    assert "title" in shown and "\x1b" not in shown and "\u202e" not in shown


def test_what_is_refused(quarry: Path, tmp_path: Path) -> None:
    assert (
        "columns of captures: url"
        in run_nwx(quarry, "sql", "FROM captures c SELECT c.x", code=2).err
    )
    assert "with --file" in run_nwx(quarry, "sql", code=2).err
    broken = tmp_path / "broken.sql"
    broken.write_bytes(b"\xff")
    assert "the query is wrong" in run_nwx(quarry, "sql", "--file", broken, code=2).err
    below = broken / "rows.parquet"
    told = run_nwx(quarry, "sql", BY_YEAR, "--parquet", below, code=1).err
    assert told == f"nwx: {below} cannot be written: Not a directory\n"
    many = "SELECT random() FROM range(10000)"
    told = run_nwx(quarry, "sql", many, "--parquet", "/dev/full", code=1).err
    assert told.startswith("nwx: /dev/full cannot be written: ") and told.count("\n") == 1
    assert "mutually exclusive" in run_nwx(quarry, "sql", BY_YEAR, "--csv", "--json", code=2).err
    endless = "SELECT count(*) FROM range(1000000000) a, range(1000000000) b, range(1000000000) c"
    assert "took longer" in run_nwx(quarry, "sql", endless, "--seconds", "0.5", code=1).err
