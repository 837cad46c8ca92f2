"""Hostile queries, and answers of every type, in the DuckDB process."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path

import duckdb
import pytest

from nwx.archive import Archive
from nwx.errors import QueryError, QuestionTimeoutError
from nwx.searching import duckdb_process
from nwx.searching.sql import SQL_TABLES, SqlLimits, view_statements
from nwx.settings import Settings

_MIB = 1 << 20
FEW = SqlLimits(seconds=20, rows=1_000, bytes=_MIB, memory_bytes=128 * _MIB, disk_bytes=64 * _MIB)


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Archive]:
    with Archive(Settings(engine=str(tmp_path_factory.mktemp("sql") / "archive"))) as opened:
        opened.create()
        yield opened


OUTSIDE = [
    "FROM read_csv('/etc/passwd')",
    "FROM read_text('/etc/passwd')",
    "FROM read_blob('/proc/self/environ')",
    "FROM '/etc/passwd'",
    "FROM 'rows.duckdb'",
    "FROM read_parquet('captures-*.parquet')",
    "FROM 'https://example.org/a.csv'",
    "FROM glob('/*')",
    "FROM sniff_csv('/etc/passwd')",
    "FROM sqlite_scan('a', 'b')",
    "FROM duckdb_secrets()",
    "ATTACH '/tmp/a.db'",
    "DETACH rows",
    "USE memory",
    "INSTALL httpfs",
    "LOAD httpfs",
    "COPY captures TO '/tmp/a.csv'",
    "COPY captures FROM '/etc/passwd'",
    "EXPORT DATABASE '/tmp/a'",
    "IMPORT DATABASE '/tmp/a'",
    "SET memory_limit = '100GB'",
    "RESET lock_configuration",
    "PRAGMA enable_external_access",
    "CALL pragma_version()",
    "CREATE TABLE x AS SELECT 1",
    "CREATE MACRO x() AS 1",
    "INSERT INTO captures SELECT * FROM captures",
    "DROP TABLE captures",
    "CHECKPOINT",
    "EXPLAIN ANALYZE SELECT 1",
    "PREPARE x AS SELECT 1",
    "SELECT getenv('HOME')",
    "SELECT 1; SELECT 2",
    "SELECT 1; ATTACH '/tmp/a.db'",
    "FROM query('ATTACH ''/tmp/a.db''')",
    "FROM sys",
    "FROM os.environ",
    "",
    ";",
    "--",
    "/*",
    "SELECT '",
    'SELECT "',
    "SELECT \x00",
    "SELECT $1",
    "SELECT ?",
    "\ufeffSELECT (" * 500,
    "(" * 5_000,
    "SELECT " + "-" * 9_000 + "1 x",
    "SELECT " + "x" * 30_000,
    "SELECT nothing FROM captures",
    "FROM nothing",
    "SELECT 2::HUGEINT * 9223372036854775807",
]


SCRIPT = """
import json, pathlib, sys
from nwx.searching import duckdb_process
for query in json.load(sys.stdin):
    task = json.loads(sys.argv[1]) | {"query": query}
    pathlib.Path("rows.duckdb").unlink(missing_ok=True)
    answers = list(duckdb_process.planned(task))
    if "reads" in answers[0]:
        answers = list(duckdb_process.answered(task, {}))
    print(json.dumps(answers))
"""
"""One process for all cases, as starting one takes time."""


def test_nothing_but_the_tables_is_read(tmp_path: Path) -> None:
    task = {
        "tables": SQL_TABLES,
        "views": view_statements(),
        "limits": asdict(FEW),
        "known": SQL_TABLES,
    }
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, json.dumps(task)],
        input=json.dumps(OUTSIDE),
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=True,
    )
    for query, line in zip(OUTSIDE, done.stdout.splitlines(), strict=True):
        assert list(json.loads(line)[-1]) == ["refused"], query
        assert not any(word in line for word in ("root:", "Traceback", str(tmp_path))), query


def test_the_process_refuses_too(archive: Archive) -> None:
    for query in (OUTSIDE[0], OUTSIDE[16], "SELECT " + "x" * 30_000, "(" * 9_000):
        with pytest.raises(QueryError):
            archive.sql(query, FEW)


ENDLESS = [
    "WITH RECURSIVE r AS (SELECT 1 a UNION ALL SELECT a + 1 FROM r) SELECT count(*) FROM r",
    "SELECT sum(a) FROM generate_series(1, 1000000000000) t(a)",
    "SELECT count(*) FROM range(10000000) a, range(10000000) b, range(100) c",
    "SELECT sum(length(repeat('x', 100000000 + a::INT))) FROM range(1000) t(a)",
    "SELECT list_sum(range(4000000000))",
    "SELECT string_agg(repeat('y', 1000) || a, '') FROM range(1000000000) t(a)",
    "SELECT list(a) FROM range(1000000000000) t(a)",
    "SELECT * FROM range(1000000000000) t(a) ORDER BY hash(a)",
    "SELECT repeat('x', 3000000000)",
    "SELECT repeat('x', 2000000)",
    "SELECT regexp_matches('a', '((a{0,1000}){0,1000}){0,1000}')",
    "SELECT 2 ** 100, list_reduce(range(100000000), lambda x, y: x + y)",
    "SELECT " + " || ".join(["repeat('z', 90000000)"] * 40),
]


@pytest.mark.parametrize("query", ENDLESS, ids=range(len(ENDLESS)))
def test_what_takes_too_much_ends(archive: Archive, query: str) -> None:
    began = time.process_time()
    with pytest.raises((QueryError, QuestionTimeoutError)) as refused:
        list(archive.sql(query, replace(FEW, seconds=0.5)))
    assert "Traceback" not in str(refused.value)
    assert time.process_time() - began < 5, "this process does not work on it"


def test_expressions_cannot_backtrack(archive: Archive) -> None:
    answer = archive.sql("SELECT regexp_matches(repeat('a', 9999), '(a*)*b')", FEW)
    assert list(answer) == [[False]]


def test_distances_of_texts(archive: Archive) -> None:
    tlsh = pytest.importorskip("tlsh")
    one, other = (tlsh.hash(bytes(range(start, 256)) * 3) for start in (0, 9))
    query = f"SELECT text_distance('{one}', 'x'), text_distance('{one}', NULL)"
    assert list(archive.sql(query, FEW)) == [[None, None]]
    query = f"SELECT text_distance('{one}', '{one}'), text_distance('{one}', '{other}')"
    assert list(archive.sql(query, FEW)) == [[0, tlsh.diff(one, other)]]


def test_tables_that_do_not_fit_on_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(*_: object) -> None:
        raise duckdb.TransactionException('Failed to commit: Could not write file "rows.wal"')

    monkeypatch.setattr(duckdb_process, "_database", no_space)
    [answer] = duckdb_process.answered({}, {})
    assert "more memory or disk space" in answer["refused"]["template"]
