"""Search in an archive by words, by meaning and in SQL; documents with their versions and dates."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from multiprocessing.connection import Connection


def serve_sql(connection: "Connection[bytes, bytes]") -> None:
    """Answer an SQL query in a separate process, the only one that loads DuckDB."""
    from nwx.searching.duckdb_process import answer_sql

    answer_sql(connection)
