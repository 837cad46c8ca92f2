"""A query of SQL: the rows that it reads are copied for DuckDB, and its answer is streamed."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from types import TracebackType
from typing import Any, Self
from weakref import finalize

from nwx.bulk.child_processes import ChildProcess, Death
from nwx.bulk.whole_files import parquet_bytes, writing
from nwx.engine.base import Engine
from nwx.engine.work import current_work
from nwx.errors import ErrorText, QueryError, QuestionTimeoutError, UsageError
from nwx.sql import serve_sql
from nwx.sql.tables import SQL_TABLES, all_columns, table_frames, view_statements

LONGEST_SQL = 20_000
_GRACE_SECONDS = 2.0
_MIB = 1 << 20


@dataclass(frozen=True, slots=True)
class SqlLimits:
    """How much a query may take; `disk_bytes` are for copies of rows and for large sorts.

    `bytes` are of the whole answer, or of 500 rows of one that `is_streamed`.
    """

    seconds: float = 300.0
    rows: int = 1 << 62
    bytes: int = 256 * _MIB
    memory_bytes: int = 2048 * _MIB
    disk_bytes: int = 64 << 30
    threads: int = 2
    is_streamed: bool = True


class SqlAnswer:
    """A query that is being answered: the columns with their types, and rows to be read once.

    `has_more` is known after the last row: whether rows were left out. `close` ends it.
    """

    def __init__(self, engine: Engine, query: str, limits: SqlLimits) -> None:
        """Copy the rows that the query reads and start it; raises QueryError."""
        self.has_more = False
        self._limits = limits
        with ExitStack() as stack:
            folder = Path(stack.enter_context(TemporaryDirectory(prefix="nwx-sql-")))
            self._process = _start()
            stack.callback(self._process.end)
            reads = self._ask(_task(query, folder, limits))["reads"]
            written = _write_tables(engine, reads, folder, limits.disk_bytes)
            found = self._ask(written)["columns"]
            self.columns: Sequence[tuple[str, str]] = [(name, kind) for name, kind in found]
            # Whoever forgets to close it leaves neither a process nor a folder.
            self.close = finalize(self, stack.pop_all().close)

    def __iter__(self) -> Iterator[list[Any]]:
        while "rows" in (answer := self._ask()):
            yield from answer["rows"]
        self.has_more = answer["has_more"]
        self.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType
    ) -> None:
        self.close()

    def _ask(self, *messages: Mapping[str, Any]) -> dict[str, Any]:
        work = current_work()
        work.check()
        left = work.remaining_seconds()
        seconds = self._limits.seconds + _GRACE_SECONDS if left is None else left
        data = self._process.ask(*(json.dumps(one).encode() for one in messages), seconds=seconds)
        if isinstance(data, Death):
            if data.was_late:
                raise QuestionTimeoutError.translated(
                    "the query took longer than %(seconds)s s; ask for less, or add LIMIT",
                    seconds=min(self._limits.seconds, work.seconds or self._limits.seconds),
                )
            raise QueryError.translated(
                "the query needs more memory or disk space than it may take"
            )
        answer: dict[str, Any] = json.loads(data)
        if "refused" in answer:
            raise QueryError(ErrorText.from_json(answer["refused"]))
        return answer


def _start() -> ChildProcess:
    if find_spec("duckdb") is None:
        raise UsageError.translated(
            "SQL needs DuckDB, which is not installed; run pip install 'nwx[sql]'"
        )
    return ChildProcess(serve_sql)


def _task(query: str, folder: Path, limits: SqlLimits) -> dict[str, Any]:
    if len(query) > LONGEST_SQL:
        raise QueryError.translated("the query has more than %(most)s characters", most=LONGEST_SQL)
    return {
        "query": query,
        "folder": str(folder),
        "limits": asdict(limits),
        "tables": SQL_TABLES,
        "views": view_statements(),
        "known": {name: list(columns) for name, columns in all_columns().items()},
    }


def _write_tables(
    engine: Engine, reads: Mapping[str, Sequence[str]], folder: Path, most: int
) -> dict[str, list[str]]:
    """Write the columns that a query reads as Parquet files; return those that have rows."""
    work, size = current_work(), 0
    written: dict[str, list[str]] = {}
    for table, columns in reads.items():
        # A query that only counts rows needs one column, whichever.
        wanted = columns or ["url" if "url" in SQL_TABLES[table] else "kind"]
        for number, frame in enumerate(table_frames(engine, table, wanted)):
            work.check()
            path = folder / f"{table}-{number:06}.parquet"
            with writing(path):
                path.write_bytes(parquet_bytes(frame))
            written[table] = list(wanted)
            size += path.stat().st_size
            if size > most:
                raise QueryError.translated(
                    "the query reads more than %(most)s MiB of columns; name fewer of them",
                    most=most // _MIB,
                )
    return written
