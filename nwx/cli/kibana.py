"""nwx kibana"""

import click

from nwx.cli.output import clean
from nwx.exports.kibana import as_lines, push, saved_objects
from nwx.settings import Settings


@click.command("kibana")
@click.option(
    "--push", "address", metavar="URL", help="Give them to the Kibana at this address instead."
)
@click.option("--space", default="", metavar="NAME", help="The space of that Kibana.")
@click.option(
    "--overwrite/--no-overwrite",
    default=True,
    help="Replace what an earlier push left there (the default).",
)
@click.pass_obj
def command(settings: Settings, /, address: str | None, space: str, overwrite: bool) -> None:
    """Print the data views, charts and dashboard for Kibana.

    They are saved objects, JSON lines, for Stack Management > Saved Objects
    > Import of Kibana 8.9 and later, and look at the indices of --prefix.
    --push hands them to a running Kibana, with --api-key, or --username and
    --password.
    """
    if address is None:
        click.echo(as_lines(saved_objects(settings.elastic.prefix)), nl=False)
        return
    pushed = push(address, settings.elastic, space=space, overwrite=overwrite)
    click.echo(f"{pushed.objects} objects are in the kibana at {clean(address)}")
