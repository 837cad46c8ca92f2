"""nwx serve"""

import click

from nwx.cli.output import clean
from nwx.engine.open import open_engine
from nwx.errors import UsageError
from nwx.settings import Settings


@click.command("serve")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen at.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8080,
    show_default=True,
    help="The port to listen at; 0 takes a free one.",
)
@click.option(
    "--threads",
    type=click.IntRange(1),
    default=8,
    show_default=True,
    help="How many requests are answered at once.",
)
@click.option("--replay/--no-replay", default=True, help="Play captures too (the default).")
@click.option(
    "--replay-port",
    type=click.IntRange(0, 65535),
    default=0,
    help="The port of playback.  [the one after --port, or a free one]",
)
@click.option("--search-url", default="", metavar="URL", help="The address readers come by.")
@click.option("--replay-url", default="", metavar="URL", help="The address of playback to readers.")
@click.option(
    "--replay-host",
    default="",
    metavar="NAME",
    help="A name of this host for playback alone.  [localhost beside 127.0.0.1]",
)
@click.option(
    "--cdx-source",
    "cdx_sources",
    multiple=True,
    metavar="SOURCE",
    help="Answer at /cdx from this too, as nwx cdx-server does.",
)
@click.option(
    "--cdx-token",
    default="",
    metavar="TEXT",
    help="Let whoever has this token write captures.  [NWX_CDX_TOKEN]",
)
@click.option(
    "--cdx-origin",
    "cdx_origins",
    multiple=True,
    metavar="ORIGIN",
    help="Let pages of this origin read /cdx, as https://replay.example; * for all.",
)
@click.option("--create", is_flag=True, help="Make an empty archive where there is none.")
@click.option("--title", default="", metavar="TEXT", help="The name of the archive on its pages.")
@click.pass_obj
def command(
    settings: Settings,
    /,
    host: str,
    port: int,
    threads: int,
    replay: bool,
    replay_port: int,
    search_url: str,
    replay_url: str,
    replay_host: str,
    cdx_sources: tuple[str, ...],
    cdx_token: str,
    cdx_origins: tuple[str, ...],
    create: bool,
    search_seconds: float | None,
    title: str,
) -> None:
    """Serve the search page, the API and playback, until Ctrl-C.

    Playback has a port of its own: archived pages never share an origin
    with the search page. Cookies know no ports, so playback has a host name
    of its own too where there is one: --replay-host names it, and goes with
    --search-url. Behind a reverse proxy, --search-url and --replay-url say
    where readers find the two.
    """
    if replay_host and not search_url:
        raise UsageError("--replay-host goes with --search-url, by which playback leads back")
    # Imported here: the libraries of the pages are no concern of the other commands.
    from nwx.cdxserver.loaded_lines import make_ready
    from nwx.cdxserver.sources.from_arguments import open_sources
    from webapp.application import DEFAULT_TITLE
    from webapp.server.service import ServiceAddresses, ServiceSettings, serve

    def ready(addresses: ServiceAddresses) -> None:
        click.echo(f"nwx serves {clean(settings.engine)} at {addresses.search}/ (Ctrl-C ends)")
        if addresses.replay:
            click.echo(f"playback is at {addresses.replay}/")

    if create:
        with open_engine(settings) as engine:
            make_ready(engine)
    token = cdx_token or settings.cdx_token
    sources = tuple(open_sources(cdx_sources))
    service = ServiceSettings(
        host=host,
        port=port,
        threads=threads,
        replay=replay,
        replay_port=replay_port,
        search_url=search_url,
        replay_url=replay_url,
        replay_host=replay_host,
        title=title or DEFAULT_TITLE,
        cdx_sources=sources,
        cdx_token=token,
        search_seconds=search_seconds or settings.search_seconds,
        cdx_origins=cdx_origins,
    )
    try:
        with open_engine(settings, read_only=not token) as engine:
            if token:
                make_ready(engine)
            serve(engine, service, ready)
    finally:
        for source in sources:
            source.close()
