"""nwx cdx-server"""

from typing import Any

import click

from nwx.bulk.resources import usual_workers
from nwx.cli import option
from nwx.cli.options import (
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
from nwx.settings import Settings


@click.command("cdx-server")
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@option.flag("--archive", "Also answer from the archive (--engine).")
@LISTEN_HOST
@HOST_NAMES
@LISTEN_PORT
@SERVER_WORKERS
@option.whole_number(
    "--threads", None, "Queries that each process answers at the same time.", default=8, least=2
)
@option.string(
    "--replay-url",
    "URL",
    "Public address of playback (URL/20140126200624/http://…), for links in TimeMaps.",
)
@option.string(
    "--cdx-token", "TEXT", "Token that allows writing captures to the archive.  [NWX_CDX_TOKEN]"
)
@option.repeated(
    "--cdx-origin",
    "ORIGIN",
    "Let pages of this origin read answers, as https://replay.example; * for all.",
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
    "--update-interval", "Time between questions to primaries.", "interval", default=10, least=0.1
)
@REDIS
@click.pass_obj
def command(
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
