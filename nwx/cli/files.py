"""nwx files"""

from collections.abc import Sequence
from dataclasses import asdict

import click

from nwx.cli.output import clean, json_text, size_words
from nwx.cli.restricted import open_for_reading
from nwx.model import UNREADABLE, SourceFile
from nwx.settings import Settings


@click.command("files")
@click.option("--json", "as_json", is_flag=True, help="Print JSON lines.")
@click.pass_obj
def command(settings: Settings, as_json: bool) -> None:
    """List the imported files, and those that could not be read."""

    with open_for_reading(settings) as engine:
        found = engine.files()
    if as_json:
        for file in found:
            click.echo(json_text(asdict(file)))
        return
    _print(found)


def _print(found: Sequence[SourceFile]) -> None:
    from rich.table import Table
    from rich.text import Text

    from nwx.cli.tables.terminal_console import OneLine, console

    table = Table(box=None, padding=(0, 2, 0, 0))
    table.add_column("collection")
    table.add_column("file")
    for heading in ("size", "captures", "errors"):
        table.add_column(heading, justify="right")
    table.add_column("state", no_wrap=True)
    for file in found:
        table.add_row(
            Text(clean(file.collection)),
            OneLine(file.name),
            size_words(file.size),
            f"{file.counts.get('captures', 0):,}",
            f"{file.counts.get('errors', 0):,}",
            _state(file),
        )
    console().print(table)


def _state(file: SourceFile) -> str:
    if file.counts.get(UNREADABLE):
        return "unreadable"
    return "done" if file.finished else f"stopped at {file.done_to}"
