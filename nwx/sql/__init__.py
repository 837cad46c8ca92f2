"""SQL over an archive: DuckDB on copies of visible rows, with the columns that a query reads."""

from multiprocessing.connection import Connection


def serve_sql(connection: "Connection[bytes, bytes]") -> None:
    """Answer a query in a separate process, the only one that loads DuckDB."""
    from nwx.sql.duckdb_process import answer_sql

    answer_sql(connection)
