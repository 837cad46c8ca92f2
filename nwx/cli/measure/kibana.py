"""nwx kibana"""

import click

from nwx.cli import option
from nwx.cli.output import clean
from nwx.errors import UsageError
from nwx.settings import Settings


@click.command("kibana")
@option.string(
    "--push", "URL", "Send them to the Kibana at this address.", into="address", default=None
)
@option.string("--space", "NAME", "Kibana space to send them to.")
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
    --password. Where --engine is an OpenSearch (opensearch+https://…), they
    are for OpenSearch Dashboards.
    """
    from nwx.exports.kibana import as_lines, dashboards_objects, push, saved_objects

    is_opensearch = settings.engine.startswith("opensearch+")
    objects = (dashboards_objects if is_opensearch else saved_objects)(settings.server.prefix)
    if address is None:
        click.echo(as_lines(objects), nl=False)
        return
    if is_opensearch and space:
        raise UsageError("OpenSearch Dashboards has no spaces; leave --space out")
    pushed = push(address, settings.server, objects, space=space, overwrite=overwrite)
    name = "opensearch dashboards" if is_opensearch else "kibana"
    click.echo(f"{pushed.objects} objects are in the {name} at {clean(address)}")
