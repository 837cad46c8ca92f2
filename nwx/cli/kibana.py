"""nwx kibana"""

import click

from nwx.cli.output import clean
from nwx.settings import Settings


@click.command("kibana")
@click.option("--push", "address", metavar="URL", help="Send them to the Kibana at this address.")
@click.option("--space", default="", metavar="NAME", help="Kibana space to send them to.")
@click.option(
    "--overwrite/--no-overwrite",
    default=True,
    help="Replace objects of an earlier push (default).",
)
@click.pass_obj
def command(settings: Settings, /, address: str | None, space: str, overwrite: bool) -> None:
    """Print data views, charts and a dashboard for Kibana.

    The output is JSON lines of saved objects, for Stack Management > Saved
    Objects > Import of Kibana 8.9 and later. They read the indices of --prefix.
    --push sends them to a running Kibana, with --api-key, or --username and
    --password.
    """
    # Imported here: whoever asks for help need not wait for it.
    from nwx.exports.kibana import as_lines, push, saved_objects

    if address is None:
        click.echo(as_lines(saved_objects(settings.elastic.prefix)), nl=False)
        return
    pushed = push(address, settings.elastic, space=space, overwrite=overwrite)
    click.echo(f"{pushed.objects} objects are in the kibana at {clean(address)}")
