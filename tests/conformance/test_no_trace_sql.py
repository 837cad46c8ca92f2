"""SQL queries of a viewer: an archive with hidden material, and one that never had it."""

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import polars as pl
import pytest

from nwx.access.restricted_engine import restricted_to
from nwx.engine.access.rules import EVERYBODY
from nwx.engine.base import Engine
from nwx.searching.sql import SQL_TABLES, all_columns, table_frames, view_statements
from tests.conformance.planted import HIDDEN_COLLECTION, PLANTED, SECRET, planted_pair

ABOVE_ENGINES = True

QUERIES = 400
_VALUES = (SECRET, HIDDEN_COLLECTION, "quarry", "example", "quagga", "2012", "tapir", *PLANTED)


def database(engine: Engine, folder: Path) -> duckdb.DuckDBPyConnection:
    """Return the complete database of a query process, built in this process."""
    seen = restricted_to(engine, EVERYBODY)
    made = duckdb.connect(config={"threads": "1"})
    for table, columns in SQL_TABLES.items():
        path = folder / f"{table}.parquet"
        pl.concat(table_frames(seen, table, list(columns))).write_parquet(path)
        listed = ", ".join(f"{name} {kind}" for name, kind in columns.items())
        made.execute(f"CREATE TABLE {table} ({listed})")
        made.execute(f"INSERT INTO {table} FROM '{path}'")
    for statement in view_statements():
        made.execute(statement)
    return made


@pytest.fixture(scope="module")
def pair(
    kind: str, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[tuple[duckdb.DuckDBPyConnection, ...]]:
    folder = tmp_path_factory.mktemp(kind)
    with planted_pair(kind, folder, request) as archives:
        made = tuple(database(one.engine, folder) for one in archives)
        yield made
        for one in made:
            one.close()


def generated(chance: random.Random) -> str:
    """Return a random query of counts, conditions, groups and joins with a defined row order."""
    tables = all_columns()
    table = chance.choice(list(tables))
    columns = list(tables[table])
    column, other = chance.choice(columns), chance.choice(columns)
    value = chance.choice(_VALUES)
    condition = chance.choice(
        (
            f"{column}::VARCHAR LIKE '%{value}%'",
            f"NOT contains({column}::VARCHAR, '{value}')",
            f"{column} IS NOT NULL",
            f"{column} = (SELECT max({column}) FROM {table})",
            f"hash({column}) % 3 = {chance.randrange(3)}",
            f"{column}::VARCHAR IN (SELECT url FROM captures)",
        )
    )
    return chance.choice(
        (
            f"SELECT {column}, {other} FROM {table} WHERE {condition} ORDER BY ALL",
            f"SELECT {column}, count(*), min({other}), count(DISTINCT {other}) FROM {table}"
            f" WHERE {condition} GROUP BY 1 ORDER BY ALL",
            f"SELECT count(*), max({other}), approx_count_distinct({column}) FROM {table}",
            f"FROM {table} ORDER BY ALL LIMIT {chance.randrange(1, 9)}",
            f"SELECT a.{column}, b.url, count(*) FROM {table} a JOIN captures b"
            f" ON a.{column}::VARCHAR = b.{chance.choice(('url', 'urlkey', 'digest', 'host'))}"
            " GROUP BY ALL ORDER BY ALL",
            f"SELECT {column}, row_number() OVER (ORDER BY {column}, {other}) FROM {table}"
            " ORDER BY ALL",
            f"SUMMARIZE SELECT {column}, {other} AS o FROM {table} WHERE {condition}",
            "SELECT table_name, estimated_size FROM duckdb_tables() ORDER BY ALL",
        )
    )


def rows(connection: duckdb.DuckDBPyConnection, query: str) -> Sequence[tuple[object, ...]] | str:
    try:
        return connection.execute(query).fetchall()
    except duckdb.Error as error:
        return str(error)


def test_generated_queries_find_no_trace(pair: tuple[duckdb.DuckDBPyConnection, ...]) -> None:
    chance = random.Random(28)
    answered = 0
    for _ in range(QUERIES):
        query = generated(chance)
        hidden, never = (rows(one, query) for one in pair)
        assert hidden == never, query
        assert isinstance(never, str) or SECRET not in str(hidden).lower(), query
        answered += isinstance(never, list) and bool(never)
    assert answered > QUERIES / 2, "most queries are right and find rows"


def test_rows_lie_in_the_same_order(pair: tuple[duckdb.DuckDBPyConnection, ...]) -> None:
    for table in SQL_TABLES:
        hidden, never = (rows(one, f"SELECT rowid, * FROM {table}") for one in pair)
        assert hidden == never, table
