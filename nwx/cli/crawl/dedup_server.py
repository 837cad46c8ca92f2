"""nwx dedup-server"""

from typing import Any

import click

from nwx.cli import option
from nwx.cli.options import DEDUP, LISTEN_HOST, crawler_databases
from nwx.cli.output import clean
from nwx.settings import Settings


@click.command("dedup-server")
@LISTEN_HOST
@option.value(
    "--port", click.IntRange(0, 65535), None, "Port to listen on; 0 picks a free one.", default=6379
)
@option.string("--cdx-token", "TEXT", "Token that clients log in with (AUTH).  [NWX_CDX_TOKEN]")
@DEDUP
@click.pass_obj
def command(settings: Settings, /, host: str, port: int, cdx_token: str, **given: Any) -> None:
    """Answer crawlers that deduplicate by Redis' protocol, as Browsertrix does.

    Runs until Ctrl-C. The archive answers what it holds; what crawlers write is kept in dedup.db,
    in the folder of the archive, and is on disk before it is acknowledged.
    """
    from webapp.server.redis_server import serve_redis

    asked = crawler_databases(settings, given, host, port, cdx_token)

    def ready(address: str) -> None:
        click.echo(f"nwx answers from {clean(settings.engine)} at {address}/0 (Ctrl-C ends)")

    serve_redis(asked, ready)
