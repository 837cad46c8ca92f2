"""nwx cdx-server"""

from contextlib import ExitStack
from typing import TYPE_CHECKING

import click

from nwx.cli.output import clean
from nwx.errors import UsageError
from nwx.settings import Settings

if TYPE_CHECKING:
    from nwx.engine.base import Engine


@click.command("cdx-server")
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@click.option("--archive", is_flag=True, help="Also answer from the archive (--engine).")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8080,
    show_default=True,
    help="Port to listen on; 0 picks a free one.",
)
@click.option(
    "--threads",
    type=click.IntRange(2),
    default=8,
    show_default=True,
    help="Queries answered at the same time.",
)
@click.option(
    "--replay-url",
    default="",
    metavar="URL",
    help="Public address of playback (URL/20140126200624/http://…), for links in TimeMaps.",
)
@click.option(
    "--cdx-token",
    default="",
    metavar="TEXT",
    help="Token that allows writing captures to the archive.  [NWX_CDX_TOKEN]",
)
@click.option(
    "--cdx-origin",
    "cdx_origins",
    multiple=True,
    metavar="ORIGIN",
    help="Let pages of this origin read answers, as https://replay.example; * for all.",
)
@click.pass_obj
def command(
    settings: Settings,
    /,
    sources: tuple[str, ...],
    archive: bool,
    host: str,
    port: int,
    threads: int,
    replay_url: str,
    cdx_token: str,
    cdx_origins: tuple[str, ...],
) -> None:
    """Answer CDX queries of crawlers and playback tools.

    Runs until Ctrl-C. A SOURCE is a sorted CDX or CDXJ file, a folder of them,
    or a ZipNum cluster (its folder, its .idx file, a WACZ, an address);
    COLLECTION=SOURCE sets the collection of its captures. Without a SOURCE, the
    archive is used. Queries go to /cdx, /COLLECTION/cdx and /COLLECTION; the
    dialects are ia, pywb and outback: /cdx/ia.
    """
    # Imported here: the libraries of the server are no concern of the other commands.
    from nwx.cdxserver.server import CdxServer
    from nwx.cdxserver.sources.from_arguments import open_sources
    from nwx.cdxserver.sources.merged import EngineSource, RowSource
    from webapp.cdx.origins import origins_of
    from webapp.cdx.service import CdxService, streams_of
    from webapp.server.cdx_alone import CdxServerAddress, serve_alone

    token = cdx_token or settings.cdx_token
    if token and sources and not archive:
        raise UsageError("captures are written to an archive; add --archive")
    with ExitStack() as stack:
        asked: list[RowSource] = open_sources(sources)
        engine = _opened(stack, settings, token) if archive or not sources else None
        server = CdxServer([*([EngineSource(engine)] if engine else []), *asked])
        stack.callback(server.close)
        service = CdxService(
            server,
            engine=engine,
            token=token,
            replay_url=replay_url.rstrip("/"),
            origins=origins_of(cdx_origins),
            streams=streams_of(threads),
        )
        shown = ", ".join((*((settings.engine,) if engine else ()), *sources))

        def ready(address: str) -> None:
            click.echo(f"nwx answers from {clean(shown)} at {address}/cdx (Ctrl-C ends)")

        serve_alone(service, CdxServerAddress(host, port, threads), ready)


def _opened(stack: ExitStack, settings: Settings, token: str) -> "Engine":
    """Return the archive, ready to be written to where there is a token for that."""
    from nwx.cdxserver.loaded_lines import make_ready
    from nwx.engine.open import open_engine

    engine = stack.enter_context(open_engine(settings, read_only=not token))
    if token:
        make_ready(engine)
    return engine
