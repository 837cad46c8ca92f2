"""nwx dedup-server"""

from typing import TYPE_CHECKING, Any

import click

from nwx.archive import Archive
from nwx.cli import option
from nwx.cli.options import DEDUP, LISTEN_HOST, crawler_databases
from nwx.cli.output import clean
from nwx.errors import UsageError
from nwx.settings import DEDUP_SCOPES, Settings

if TYPE_CHECKING:
    from webapp.server.redis_server import RedisSettings


@click.command("dedup-server")
@LISTEN_HOST
@option.value(
    "--port", click.IntRange(0, 65535), None, "Port to listen on; 0 picks a free one.", default=6379
)
@option.string("--cdx-token", "TEXT", "Token that clients log in with (AUTH).  [NWX_CDX_TOKEN]")
@DEDUP
@option.string("--from", "URL", "Take over what redis://HOST:PORT/N holds, and end.", into="from_")
@option.string(
    "--to", "URL", "Write keys, and originals of the archive, to redis://HOST:PORT/N, and end."
)
@option.choice_of(
    "--keep-scope",
    DEDUP_SCOPES,
    "Keep the scope of the collections of --database, or else of the archive, and end.",
)
@click.pass_obj
def command(
    settings: Settings,
    /,
    host: str,
    port: int,
    cdx_token: str,
    from_: str,
    to: str,
    keep_scope: str | None,
    **given: Any,
) -> None:
    """Answer crawlers that deduplicate by Redis' protocol, as Browsertrix does.

    Runs until Ctrl-C. The archive answers what it holds; what crawlers write is kept in dedup.db,
    in the folder of the archive, and is on disk before it is acknowledged. --from and --to copy
    database N of a Redis or Kvrocks; a copy that was stopped is done again.
    """
    from webapp.server.redis_server import serve_redis

    asked = crawler_databases(settings, given, host, port, cdx_token)
    if keep_scope and asked:
        with Archive(settings) as archive:
            archive.keep_dedup_scope(keep_scope, [name for _, name in asked.databases])
        return
    if from_ or to:
        _transfer(asked, from_, to)
        return

    def ready(address: str) -> None:
        click.echo(f"nwx answers from {clean(settings.engine)} at {address}/0 (Ctrl-C ends)")

    serve_redis(asked, ready)


def _transfer(settings: "RedisSettings | None", source: str, target: str) -> None:
    from webapp.server.redis_transfer import take_over, write_out

    if settings is None or (source and target):
        raise UsageError("choose one of --from and --to")
    done = take_over(settings, source) if source else write_out(settings, target)
    originals = f", {done.originals:,} originals of the archive" if target else ""
    left = f"; keys of other types left out: {done.left_out:,}" if done.left_out else ""
    click.echo(f"{done.keys:,} keys with {done.entries:,} entries{originals}{left}")
