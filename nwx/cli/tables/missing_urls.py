"""Missing URLs as a table on a terminal."""

from collections.abc import Iterable
from itertools import islice

import click
from rich.table import Table

from nwx.cli.tables.terminal_console import OneLine, console
from nwx.links.missing_urls import MissingUrl

_ROWS_SHOWN = 50


def print_missing(found: Iterable[MissingUrl], limit: int | None) -> None:
    """Print missing URLs, so many at most, or the first ones."""
    rows = iter(found)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="")
    table.add_column("pages", justify="right")
    table.add_column("kind")
    table.add_column("status", justify="right")
    table.add_column("url")
    for one in islice(rows, limit or _ROWS_SHOWN):
        status = "never" if one.status is None else str(one.status)
        table.add_row(f"{one.pages:,}", one.kind, status, OneLine(one.url))
    if not table.row_count:
        click.echo("nothing is missing")
        return
    console().print(table)
    if next(rows, None):
        click.echo(f"The first {_ROWS_SHOWN}; --limit shows more, a pipe or a file gets all.")
