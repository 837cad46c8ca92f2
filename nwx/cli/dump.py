"""nwx dump"""

import click

from nwx.cli.output import json_text
from nwx.model import IndexName
from nwx.settings import Settings


@click.command("dump")
@click.argument("index", type=click.Choice([name.value for name in IndexName]))
@click.pass_obj
def command(settings: Settings, index: str) -> None:
    """Write an index as JSON lines, ordered by id."""
    from nwx.engine.open import open_engine

    with open_engine(settings, read_only=True) as engine:
        for entry in engine.scan(IndexName(index)):
            click.echo(json_text(dict(entry)))
