"""nwx serve"""

import socket

import click

from nwx.engine.open import open_engine
from nwx.errors import NwxError
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
@click.option("--threads", type=click.IntRange(1), default=8, show_default=True, metavar="N")
@click.pass_obj
def command(settings: Settings, host: str, port: int, threads: int) -> None:
    """Serve the search page and the API until Ctrl-C."""
    import waitress

    from webapp import create_app

    listening = _listen(host, port)
    with open_engine(settings, read_only=True) as engine:
        server = waitress.create_server(
            create_app(engine), sockets=[listening], threads=threads, ident="nwx"
        )
        click.echo(f"nwx serves {engine.address} at {_address(listening)} (Ctrl-C ends)")
        server.run()
        server.close()


def _listen(host: str, port: int) -> socket.socket:
    """Return a bound socket; raises NwxError where that cannot be had."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        listening = socket.socket(family, kind, protocol)
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(address)
    except OSError as error:
        raise NwxError(
            f"cannot listen at {host} port {port}: {error.strerror or error};"
            " choose another with --host and --port"
        ) from error
    return listening


def _address(listening: socket.socket) -> str:
    host, port = listening.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"
