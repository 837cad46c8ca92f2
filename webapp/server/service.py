"""The whole service: pages and API by waitress, playback beside them."""

import signal
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from nwx.cdxserver.sources.merged import RowSource
from nwx.engine.base import Engine
from nwx.errors import SettingsError
from nwx.settings import DEFAULT_SEARCH_SECONDS
from webapp.application import DEFAULT_TITLE, create_app
from webapp.cdx.routes import at_once_of
from webapp.replay.process import ReplayProcess
from webapp.server.http_server import make_server
from webapp.server.sockets import address_of, listen, loopback_of, port_of
from webapp.site.context import PlaybackState
from webapp.site.question_limits import limits_for

DEFAULT_THREADS = 8


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """Where and how to serve.

    `replay_port` 0 takes the port after `port`, or a free one where that is
    taken. `search_url` and `replay_url` are the addresses that readers use
    where those differ, as behind a reverse proxy; `replay_host` is a host
    name of this machine for playback alone. `cdx_sources`, `cdx_token` and
    `cdx_origins` are those of `create_app`. A search may take `search_seconds`.
    """

    host: str = "127.0.0.1"
    port: int = 8080
    threads: int = DEFAULT_THREADS
    replay: bool = True
    replay_port: int = 0
    search_url: str = ""
    replay_url: str = ""
    replay_host: str = ""
    title: str = DEFAULT_TITLE
    cdx_sources: tuple[RowSource, ...] = ()
    cdx_token: str = ""
    search_seconds: float = DEFAULT_SEARCH_SECONDS
    cdx_origins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ServiceAddresses:
    """Where a running service answers; `replay` is "" where playback is off."""

    search: str
    replay: str


def serve_pages(
    engine: Engine, settings: ServiceSettings, ready: Callable[[ServiceAddresses], object]
) -> None:
    """Serve an open engine until SIGINT or SIGTERM; `ready` is told the addresses.

    Raises SettingsError where an address is taken, ReplayError where
    playback does not start.
    """
    with ExitStack() as stack:
        stack.enter_context(ended_by_sigterm())
        listening = stack.enter_context(listen(settings.host, settings.port))
        search = address_of(listening)
        replay = None
        if settings.replay:
            replay_socket = _listen_for_replay(settings, port_of(listening))
            replay = ReplayProcess(
                engine, replay_socket, search, settings.search_url, settings.title
            )
            stack.enter_context(replay)
        app = create_app(
            engine,
            replay_url=settings.replay_url if replay else None,
            replay_port=replay.port if replay else None,
            replay_host=settings.replay_host,
            loopback=loopback_of(listening),
            places=replay.paths if replay else None,
            playback=replay.state if replay else PlaybackState,
            search_url=settings.search_url,
            title=settings.title,
            cdx_sources=settings.cdx_sources,
            cdx_token=settings.cdx_token,
            limits=limits_for(settings.threads, settings.search_seconds),
            cdx_origins=settings.cdx_origins,
        )
        server = make_server(app, listening, settings.threads, settings.cdx_token, at_once_of(app))
        stack.callback(server.close)
        ready(ServiceAddresses(search, settings.replay_url or (replay.address if replay else "")))
        server.run()


def _listen_for_replay(settings: ServiceSettings, port: int) -> socket.socket:
    if settings.replay_port:
        return listen(settings.host, settings.replay_port)
    try:
        return listen(settings.host, port + 1)
    except SettingsError:
        return listen(settings.host, 0)


@contextmanager
def ended_by_sigterm() -> Iterator[None]:
    """Let SIGTERM end the service as Ctrl-C does, so that playback ends with it."""

    def end(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
