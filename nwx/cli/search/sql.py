"""nwx sql"""

from pathlib import Path
from typing import IO

import click

from nwx.cli import option
from nwx.cli.output import check_one_form, counted, print_array, print_csv
from nwx.cli.restricted import opened_archive
from nwx.errors import UsageError
from nwx.settings import Settings

_MIB = 1 << 20


@click.command("sql")
@click.argument("query", required=False)
@option.value("--file", click.File(), "FILE", "Read the query from FILE.")
@option.CSV
@option.JSON
@option.file_path("--parquet", "Write the rows to FILE as Parquet.")
@option.above_zero("--seconds", None, "Time limit.", default=300.0)
@option.count("--memory", "MIB", "Memory of DuckDB; it uses the disk beyond.", default=2048)
@click.pass_obj
def command(
    settings: Settings,
    /,
    query: str | None,
    file: IO[str] | None,
    *,
    as_csv: bool,
    as_json: bool,
    parquet: Path | None,
    seconds: float,
    memory: int,
) -> None:
    """Query the archive in SQL, answered by DuckDB (nwx[sql]).

    The tables are captures, documents, links, hosts and pictures; `DESCRIBE captures`
    lists the columns. A table prints the first 1,000 rows.
    """
    from nwx.sql.query import SqlLimits

    check_one_form(csv=as_csv, json=as_json, parquet=parquet is not None)
    if (query is None) == (file is None):
        raise UsageError("give the query as an argument, or with --file")
    text = query if query is not None else file.read() if file else ""
    with opened_archive(settings) as archive:
        found = archive.sql(text, SqlLimits(seconds, memory_bytes=memory * _MIB))
        if parquet:
            click.echo(f"{counted(found.to_parquet(parquet), 'row')} in {parquet}")
        elif as_csv:
            print_csv(found.columns, map(found.text_cells, found))
        elif as_json:
            print_array(dict(zip(found.columns, row, strict=True)) for row in found)
        else:
            from nwx.cli.search.tables import print_sql

            print_sql(found)
