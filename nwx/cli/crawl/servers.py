"""nwx cdx-server and nwx dedup-server"""

from typing import TYPE_CHECKING, Any

import click

from nwx.archive import Archive
from nwx.bulk.resources import usual_workers
from nwx.cli import option
from nwx.cli.options import (
    DEDUP,
    HOST_NAMES,
    LISTEN_HOST,
    LISTEN_PORT,
    PROTECTION,
    REDIS,
    SERVER_WORKERS,
    TRUSTED_PROXIES,
    crawler_databases,
    protection_of,
)
from nwx.cli.output import clean
from nwx.errors import UsageError
from nwx.settings import DEDUP_SCOPES, Settings

if TYPE_CHECKING:
    from webapp.server.redis_keys import RedisSettings


@click.command("cdx-server")
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@option.flag("--archive", "Also answer from the archive (--engine).")
@LISTEN_HOST
@HOST_NAMES
@LISTEN_PORT
@SERVER_WORKERS
@option.whole_number(
    "--threads",
    None,
    "Number of queries that each process handles at the same time.",
    default=8,
    least=2,
)
@option.web_address(
    "--replay-url",
    "Public address of playback (URL/20140126200624/http://…), for links in TimeMaps.",
)
@option.string(
    "--cdx-token", "TEXT", "Token that allows writing captures to the archive.  [NWX_CDX_TOKEN]"
)
@option.repeated(
    "--cdx-origin",
    "ORIGIN",
    "Let pages of this origin read responses, such as https://replay.example; * for all.",
    into="origins",
)
@TRUSTED_PROXIES
@PROTECTION
@option.repeated(
    "--primary",
    "URL",
    "Follow a collection of an OutbackCDX or nwx: http://[USER:TOKEN@]HOST/COLLECTION; may be "
    "repeated.",
    into="primaries",
)
@option.seconds(
    "--update-interval", "Time between two polls of primaries.", "interval", default=10, least=0.1
)
@REDIS
@click.pass_obj
def cdx_server_command(
    settings: Settings,
    /,
    sources: tuple[str, ...],
    archive: bool,
    workers: int | None,
    cdx_token: str,
    redis_port: int | None,
    **given: Any,
) -> None:
    """Answer CDX queries of crawlers and playback tools.

    Runs until Ctrl-C. A SOURCE is a sorted CDX or CDXJ file, a folder of them,
    or a ZipNum cluster (its folder, its .idx file, a WACZ, an address);
    COLLECTION=SOURCE sets the collection of its captures. Without a SOURCE, the
    archive is used. Queries go to /cdx, /COLLECTION/cdx and /COLLECTION; the
    dialects are ia, pywb and outback: /cdx/ia.
    """
    from webapp.server.small_servers import CdxServerSettings, serve_alone

    token = cdx_token or settings.cdx_token
    if token and sources and not archive:
        raise UsageError("captures are written to an archive; add --archive")
    if given["primaries"] and sources and not archive:
        raise UsageError("a primary is followed into an archive; add --archive")
    if redis_port is not None and sources and not archive:
        raise UsageError("crawlers deduplicate on an archive; add --archive")
    has_archive = archive or not sources
    shown = ", ".join((*((settings.engine,) if has_archive else ()), *sources))
    service = CdxServerSettings(
        archive=settings if has_archive else None,
        sources=sources,
        workers=workers or usual_workers(),
        token=token,
        redis=crawler_databases(settings, given, given["host"], redis_port, cdx_token),
        protection=protection_of(settings, given),
        **given,
    )

    def ready(address: str) -> None:
        click.echo(f"nwx answers from {clean(shown)} at {address}/cdx (Ctrl-C ends)")

    serve_alone(service, ready, lambda text: click.echo(clean(text), err=True))


@click.command("dedup-server")
@LISTEN_HOST
@option.value(
    "--port", click.IntRange(0, 65535), None, "Port to listen on; 0 picks a free one.", default=6379
)
@option.string("--cdx-token", "TEXT", "Token that clients log in with (AUTH).  [NWX_CDX_TOKEN]")
@DEDUP
@option.string(
    "--from", "URL", "Import the contents of redis://HOST:PORT/N, and exit.", into="from_"
)
@option.string(
    "--to", "URL", "Export keys, and originals of the archive, to redis://HOST:PORT/N, and exit."
)
@option.choice_of(
    "--keep-scope",
    DEDUP_SCOPES,
    "Store the scope of the collections of --database, or else of the archive, and exit.",
)
@click.pass_obj
def dedup_server_command(
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
    """Serve crawlers that deduplicate by the Redis protocol, like Browsertrix.

    Runs until Ctrl-C. Answers come from the archive and from what crawlers write, which is
    stored in dedup.db, in the folder of the archive, before it is acknowledged. --from and
    --to copy database N of a Redis or Kvrocks; run an interrupted copy again.
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
    from webapp.server.redis_keys import take_over, write_out

    if settings is None or (source and target):
        raise UsageError("choose one of --from and --to")
    done = take_over(settings, source) if source else write_out(settings, target)
    originals = f", {done.originals:,} originals of the archive" if target else ""
    left = f"; keys of other types left out: {done.left_out:,}" if done.left_out else ""
    click.echo(f"{done.keys:,} keys with {done.entries:,} entries{originals}{left}")
