"""Answers of every type, limited to the allowed number of rows."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from nwx.archive import Archive
from nwx.engine.facet_store import CAPTURE_ROW_FIELDS
from nwx.errors import NwxError
from nwx.mappings import properties
from nwx.model import IndexName
from nwx.searching.sql import SQL_TABLES, SqlLimits
from nwx.settings import Settings

_MIB = 1 << 20
FEW = SqlLimits(seconds=20, rows=1_000, bytes=_MIB, memory_bytes=128 * _MIB, disk_bytes=64 * _MIB)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Archive]:
    with Archive(Settings(engine=str(tmp_path_factory.mktemp("sql") / "archive"))) as opened:
        opened.create()
        yield opened


def test_rows_are_bounded(archive: Archive) -> None:
    found = archive.sql("FROM range(5000)", replace(FEW, rows=1_234))
    assert len(list(found)) == 1_234 and found.has_more
    whole = archive.sql("FROM range(1000)", FEW)
    assert len(whole) == 1_000 and not whole.has_more


def test_values_of_all_types(archive: Archive, tmp_path: Path) -> None:
    query = "SELECT * EXCLUDE (hugeint, uhugeint, ubigint) FROM test_all_types()"
    found = archive.sql(query, FEW)
    assert len(found) == 3
    assert found.to_polars().height == 3
    assert found.to_csv(tmp_path / "a.csv") == found.to_parquet(tmp_path / "a.parquet") == 3
    assert pl.read_parquet(tmp_path / "a.parquet").columns == list(found.columns)
    assert archive.sql("SELECT 1 AS a, 2 AS a, 3 AS a", FEW).columns == ("a", "a_2", "a_3")
    nothing = archive.sql("SELECT 1 AS a WHERE false", FEW)
    assert nothing.to_parquet(tmp_path / "b.parquet") == 0
    assert pl.read_parquet(tmp_path / "b.parquet").schema == {"a": pl.Int64}


def test_lists_keep_their_numbers(archive: Archive, tmp_path: Path) -> None:
    query = "SELECT [1, NULL] AS a, [1.5] AS b, [true] AS c, ['x'] AS d, [[1], [2, 3]] AS e"
    found = archive.sql(query, FEW)
    assert list(found) == [[[1, None], [1.5], [True], ["x"], ["[1]", "[2, 3]"]]]
    kinds = [pl.Int64, pl.Float64, pl.Boolean, pl.String, pl.String]
    assert found.to_arrow().schema.field("a").type.value_type == "int64"
    assert found.to_polars().dtypes == [pl.List(kind) for kind in kinds]
    found.to_csv(tmp_path / "a.csv")
    assert (tmp_path / "a.csv").read_text().splitlines()[1].startswith("1")


def test_a_full_disk_is_an_error_of_ours(
    archive: Archive, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(NwxError, match="No space left"):
        archive.sql("SELECT 1 AS a", FEW).to_parquet(tmp_path / "a.parquet")


def test_columns_are_named_as_the_fields_of_searches() -> None:
    for table in ("captures", "documents", "pictures"):
        fields = set(properties(IndexName(table)))
        assert set(SQL_TABLES[table]) <= fields
    assert set(CAPTURE_ROW_FIELDS) <= set(SQL_TABLES["captures"])
