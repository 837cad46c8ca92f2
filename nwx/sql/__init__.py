"""SQL over an archive: DuckDB on copies of the visible rows and the columns that a query names."""

from multiprocessing.connection import Connection


def serve_sql(connection: "Connection[bytes, bytes]") -> None:
    """Answer a query in a process of its own, the only one that loads DuckDB."""
    from nwx.sql.duckdb_process import answer_sql

    answer_sql(connection)
