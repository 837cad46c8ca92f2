"""DuckDB in a separate process, which has copies of rows and no other access to an archive.

Once the rows are loaded it reads no files or addresses, and it may be killed at any moment.
"""

import json
import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime, time
from decimal import Decimal
from importlib import import_module
from importlib.util import find_spec
from multiprocessing.connection import Connection
from typing import Any

import duckdb
from duckdb.func import FunctionNullHandling

from nwx.bulk.child_processes import requests
from nwx.bulk.process_limits import limit_memory, set_deadline
from nwx.errors import ErrorText, QueryError

_Answer = dict[str, Any]
_MIB = 1 << 20
_OWN_BYTES = 512 * _MIB
_DATABASE, _SPILL = "rows.duckdb", "spill"
_ROWS_AT_ONCE = 500
_LONGEST_MESSAGE = 1_000
_LARGEST = 1 << 63
_PLACE = re.compile(r"\s*^LINE (\d+): .*", re.MULTILINE | re.DOTALL)
_KEPT_OPTIMIZERS = ("unused_columns", "column_lifetime")


def answer_sql(connection: "Connection[bytes, bytes]") -> None:
    """Send the columns that a query reads, load them once written, send the rows, and exit."""
    messages = requests(connection)
    task = json.loads(next(messages))
    limits = task["limits"]
    os.chdir(task["folder"])
    limit_memory(limits["memory_bytes"] + _OWN_BYTES)
    set_deadline(limits["seconds"])  # in case the parent process is gone
    for answer in planned(task):
        connection.send_bytes(json.dumps(answer).encode())
    set_deadline(0)
    for written in messages:
        set_deadline(limits["seconds"])
        for answer in answered(task, json.loads(written)):
            connection.send_bytes(json.dumps(answer).encode())
        os._exit(0)  # does not wait for DuckDB's threads


def planned(task: Mapping[str, Any]) -> Iterator[_Answer]:
    """Yield the tables and columns that a query reads, or the reason why it is refused."""
    return _answers(task, ({"reads": _columns_read(one)} for one in (task,)))


def answered(task: Mapping[str, Any], written: Mapping[str, Sequence[str]]) -> Iterator[_Answer]:
    """Yield the columns of an answer, its rows, and whether more were left out, or an error."""
    return _answers(task, _rows(task, written))


def _answers(task: Mapping[str, Any], answers: Iterator[_Answer]) -> Iterator[_Answer]:
    """Yield answers and, if an error stops them, its reason."""
    try:
        yield from answers
    except (duckdb.Error, MemoryError, QueryError, RuntimeError) as error:
        yield {"refused": _reason(error, task).to_json()}


def _database(place: str, task: Mapping[str, Any]) -> duckdb.DuckDBPyConnection:
    """Return a database with the tables of a task, without rows, and with its views."""
    limits = task["limits"]
    options: dict[str, str | bool | int | float | list[str]] = {
        "memory_limit": f"{limits['memory_bytes'] // _MIB}MiB",
        "threads": str(limits["threads"]),
        "temp_directory": _SPILL,
        "max_temp_directory_size": f"{limits['disk_bytes'] // _MIB}MiB",
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
        "allow_community_extensions": "false",
        "python_enable_replacements": "false",
    }
    made = duckdb.connect(place, config=options)
    for name, columns in task["tables"].items():
        listed = ", ".join(f"{column} {kind}" for column, kind in columns.items())
        made.execute(f"CREATE TABLE {name} ({listed})")
    for statement in task["views"]:
        made.execute(statement)
    if find_spec("tlsh"):
        how = FunctionNullHandling.SPECIAL
        made.create_function("text_distance", _distance, null_handling=how)
    return made


def _distance(one: str | None, other: str | None) -> int | None:
    """Return the distance of two fuzzy hashes (TLSH), 0 or more, None if one is invalid."""
    try:
        return None if one is None or other is None else int(import_module("tlsh").diff(one, other))
    except ValueError:
        return None


def _lock(database: duckdb.DuckDBPyConnection) -> None:
    """Permanently disable external access of a database."""
    database.execute("SET TimeZone = 'UTC'")
    database.execute("SET enable_external_access = false")
    database.execute("SET lock_configuration = true")


def _columns_read(task: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the tables and columns that a query reads, from DuckDB's plan on empty tables."""
    database = _database(":memory:", task)
    found = database.execute("SELECT name FROM duckdb_optimizers()").fetchall()
    others = ",".join(name for (name,) in found if name not in _KEPT_OPTIMIZERS)
    database.execute(f"SET disabled_optimizers = '{others}'")
    _lock(database)
    _check_kind(database, f"\n{task['query']}")
    rows = database.execute(f"EXPLAIN (FORMAT JSON)\n{task['query']}").fetchall()
    reads: dict[str, set[str]] = {}
    nodes = json.loads(rows[0][1])
    while nodes:
        node = nodes.pop()
        nodes += node.get("children", ())
        details = node.get("extra_info", {})
        table = str(details.get("Table", "")).rpartition(".")[2]
        if table in task["tables"]:
            named = details.get("Projections", "")
            names = {named} if isinstance(named, str) else set(named)
            reads.setdefault(table, set()).update(names)
    database.close()
    tables = task["tables"]
    return {name: [one for one in tables[name] if one in of] for name, of in reads.items()}


def _check_kind(database: duckdb.DuckDBPyConnection, query: str) -> None:
    statements = database.extract_statements(query)
    if not statements:
        raise QueryError.translated("the query is empty")
    if len(statements) > 1:
        raise QueryError.translated("there are several queries; send one")
    kind = statements[0].type.name
    if kind != "SELECT":
        raise QueryError.translated(
            "only queries are allowed (SELECT, WITH, FROM, DESCRIBE, SUMMARIZE), not %(kind)s",
            kind=kind,
        )


def _rows(task: Mapping[str, Any], written: Mapping[str, Sequence[str]]) -> Iterator[_Answer]:
    """Yield the columns of the answer, its rows, and whether rows beyond the limit exist."""
    database = _database(_DATABASE, task)
    for table, columns in written.items():
        listed = ", ".join(columns)
        into = f"INSERT INTO {table} ({listed}) SELECT {listed}"
        database.execute(f"{into} FROM read_parquet('{table}-*.parquet')")
    _lock(database)
    answer = database.execute(f"\n{task['query']}")
    yield {"columns": [[name, str(kind)] for name, kind, *_ in answer.description or ()]}
    limits, count, size = task["limits"], 0, 0
    while rows := answer.fetchmany(_ROWS_AT_ONCE):
        left = limits["rows"] - count
        cells = [list(map(_cell, row)) for row in rows[:left]]
        size = size * (not limits["is_streamed"]) + len(json.dumps(cells))
        if size > limits["bytes"]:
            raise QueryError.translated(
                "the answer has more than %(bytes)s MiB; add LIMIT", bytes=limits["bytes"] // _MIB
            )
        yield {"rows": cells}
        count += len(cells)
        if len(rows) > left:
            break
    yield {"has_more": bool(rows)}


def _cell(value: Any) -> Any:
    """Return a value for JSON: times in UTC as ISO 8601, types that JSON lacks as text."""
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        if -_LARGEST <= value < _LARGEST:
            return value
        raise QueryError.translated(
            "a number of the answer has more than 64 bits; cast it to DOUBLE or VARCHAR"
        )
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Decimal):
        return float(value)
    if isinstance(value, datetime):
        return f"{value.replace(tzinfo=None).isoformat()}Z"
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, list | tuple):
        return [_text(one) if isinstance(one, list) else one for one in map(_cell, value)]
    return _text(value) if isinstance(value, dict) else str(value)


def _text(value: Any) -> str:
    """Return a list within a list, or a struct, as text."""
    return json.dumps(value, default=str, ensure_ascii=False)


# A commit, of the tables that a query reads, fails only if the disk is full.
_NO_ROOM = (
    MemoryError,
    duckdb.OutOfMemoryException,
    duckdb.IOException,
    duckdb.TransactionException,
)


def _reason(error: Exception, task: Mapping[str, Any]) -> ErrorText:
    """Return the text of an error, without details that only concern DuckDB's operators."""
    if isinstance(error, QueryError):
        return error.text
    if isinstance(error, _NO_ROOM):
        return ErrorText("the query needs more memory or disk space than allowed")
    if isinstance(error, duckdb.PermissionException):
        return ErrorText("queries can read only the tables of the archive, not files or addresses")
    text = str(error)
    kind, _, said = text.partition(": ")
    text = (said if kind.endswith("Error") else text)[:_LONGEST_MESSAGE].rstrip()
    # Line 1 is added by nwx; the text after `LINE` shows the place with markers below it.
    text = _PLACE.sub(lambda found: f" (line {int(found[1]) - 1})", text).replace("\n", " ")
    return ErrorText("the query is wrong: %(reason)s", reason=text + _known_names(error, task))


def _known_names(error: Exception, task: Mapping[str, Any]) -> str:
    """Return the names of all tables, or of the columns of the tables in an invalid query."""
    known: Mapping[str, Sequence[str]] = task.get("known", {})
    if isinstance(error, duckdb.CatalogException) and "Table with name" in str(error):
        return f"; tables: {', '.join(known)}"
    if not isinstance(error, duckdb.BinderException):
        return ""
    query = task["query"].lower()
    named = [name for name in known if name in query]
    return "".join(f"; columns of {name}: {', '.join(known[name])}" for name in named)
