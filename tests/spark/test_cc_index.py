"""The job `cc-index` compared with `nwx export cc-index`, and Common Crawl's example queries."""

from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import polars as pl
import pyarrow.parquet
import pytest

import nwx
from nwx.cdx.inputs import CdxSource
from nwx.jobs.inputs import cdx_tasks
from nwx.jobs.splits import build_cc_index_on
from tests.cc_index_table import QUESTIONS, made_lines, sorted_rows

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.xdist_group("spark")


def _rows(folder: Path) -> list[dict[str, object]]:
    found = pl.read_parquet(folder / "**/*.parquet", hive_partitioning=True)
    return found.sort("url_surtkey", "fetch_time").to_dicts()


def test_the_table_and_the_answers_of_spark_are_those_of_one_machine(
    spark: "SparkSession", tmp_path: Path
) -> None:
    path = tmp_path / "all.cdxj"
    path.write_text("\n".join([*made_lines(), *made_lines()[:2], "org,bad)/ 2015 {", ""]))
    report = build_cc_index_on(spark, cdx_tasks([str(path)]), str(tmp_path / "spark"))
    assert (report.counts["captures"], report.errors_total) == (len(made_lines()), 1)
    assert report.is_whole
    nwx.open("nowhere").export_cc_index(tmp_path / "one", [CdxSource(str(path))])
    assert _rows(tmp_path / "spark") == _rows(tmp_path / "one")
    schemas = [
        {str(pyarrow.parquet.read_schema(path)) for path in (tmp_path / by).rglob("*.parquet")}
        for by in ("spark", "one")
    ]
    assert schemas[0] == schemas[1]

    spark.read.parquet(str(tmp_path / "spark")).cache().createOrReplaceTempView("ccindex")
    with duckdb.connect() as connection:
        table = f"read_parquet('{tmp_path}/one/**/*.parquet', hive_partitioning=true)"
        connection.execute(f"CREATE TABLE ccindex AS SELECT * FROM {table}")
        for name, texts in [*QUESTIONS.items()][::4]:  # the tables are equal, row by row
            found = sorted_rows([tuple(row) for row in spark.sql(texts[-1]).collect()])
            assert found == sorted_rows(connection.execute(texts[0]).fetchall()), name
