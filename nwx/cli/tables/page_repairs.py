"""Repairs as a table on a terminal."""

from collections.abc import Iterable
from itertools import islice

import click
from rich.table import Table

from nwx.cli.output import counted
from nwx.cli.tables.terminal_console import OneLine, console
from nwx.quality.repair_list import Repair, RepairCounts

_ROWS_SHOWN = 50


def print_page_repairs(repairs: Iterable[Repair], counts: RepairCounts, limit: int | None) -> None:
    """Print repairs, so many at most, or the first ones, and how many pages they make whole."""
    rows = iter(repairs)
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="")
    for name in ("pages", "whole", "checked"):
        table.add_column(name, justify="right")
    table.add_column("kind")
    table.add_column("status", justify="right")
    table.add_column("url")
    whole = 0
    for one in islice(rows, limit or _ROWS_SHOWN):
        whole += one.whole
        status = "never" if one.status is None else str(one.status)
        numbers = (f"{number:,}" for number in (one.pages, one.whole, one.checked))
        table.add_row(*numbers, one.kind or "-", status, OneLine(one.url))
    if not table.row_count:
        click.echo("nothing that can be listed" if counts.pages else "nothing is missing")
        return
    console().print(table)
    broken = counted(counts.pages, "page")
    click.echo(f"With these captured, {whole:,} of {broken} that lack something are whole.")
    if next(rows, None):
        click.echo(f"The first {_ROWS_SHOWN}; --limit shows more, a pipe or a file gets all.")
