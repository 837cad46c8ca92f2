"""nwx stats"""

from typing import Any

import click

from nwx.cli.output import print_json, size_words
from nwx.cli.restricted import open_for_reading
from nwx.model import IndexName
from nwx.settings import Settings


@click.command("stats")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def command(settings: Settings, as_json: bool) -> None:
    """Show the size of each index."""
    from nwx.checks.archive_size import measure

    with open_for_reading(settings) as engine:
        sizes = measure(engine)
    if as_json:
        print_json(sizes)
        return
    _print(sizes)


def _print(sizes: dict[str, Any]) -> None:
    from rich.table import Table

    from nwx.cli.tables.terminal_console import console

    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("index")
    table.add_column("entries", justify="right")
    table.add_column("size", justify="right")
    for index in IndexName:
        table.add_row(index.value, f"{sizes[index]:,}", size_words(sizes["bytes"][index]))
        if index is IndexName.DATES:
            for name, one in sizes["attached"].items():
                entries = "" if one["entries"] is None else f"{one['entries']:,}"
                table.add_row(f"  {name}", entries, size_words(one["bytes"]))
    console().print(table)
