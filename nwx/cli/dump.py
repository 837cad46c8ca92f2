"""nwx dump"""

import click

from nwx.cli.output import json_text
from nwx.cli.restricted import open_for_reading
from nwx.model import IndexName
from nwx.settings import Settings


@click.command("dump")
@click.argument("index", type=click.Choice([name.value for name in IndexName]))
@click.pass_obj
def command(settings: Settings, index: str) -> None:
    """Write an index as JSON lines, ordered by id."""

    with open_for_reading(settings) as engine:
        for entry in engine.scan(IndexName(index)):
            click.echo(json_text(dict(entry)))
