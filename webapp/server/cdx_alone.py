"""The CDX server alone, without the pages of the search service."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from flask import Flask

from nwx.cdxserver.server import CdxServer
from nwx.cdxserver.sources import EngineSource, RowSource, open_sources
from nwx.engine.open import open_engine
from nwx.settings import Settings
from webapp.cdx import dedup, memento, routes
from webapp.cdx.origins import origins_of
from webapp.cdx.routes import at_once_of
from webapp.cdx.service import CdxService, streams_of
from webapp.hosts import HostCheck
from webapp.server.service import DEFAULT_THREADS, ended_by_sigterm, prepare_archive
from webapp.server.sockets import address_of, listen, place_of
from webapp.server.worker import OpenedApplication, WorkerOrder
from webapp.server.worker_pool import WorkerPool
from webapp.site import health


@dataclass(frozen=True, slots=True)
class CdxServerSettings:
    """Where to listen, and what to answer from: an archive, unless there is none, and sources.

    Each of the `workers` answers `threads` questions at once. Whoever has
    the `token` may write to the archive.
    """

    archive: Settings | None = None
    sources: tuple[str, ...] = ()
    host: str = "127.0.0.1"
    port: int = 8080
    workers: int = 1
    threads: int = DEFAULT_THREADS
    token: str = ""
    replay_url: str = ""
    origins: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CdxServerMaker:
    """What opens the sources and makes the application, in each worker."""

    settings: CdxServerSettings

    def open(self, stack: ExitStack) -> OpenedApplication:
        """Return the application; its sources are closed with `stack`."""
        asked = self.settings
        sources: list[RowSource] = open_sources(asked.sources)
        engine = None
        if asked.archive is not None:
            engine = stack.enter_context(open_engine(asked.archive, read_only=not asked.token))
            sources.insert(0, EngineSource(engine))
        server = CdxServer(sources)
        stack.callback(server.close)
        app = create_cdx_app(
            CdxService(
                server,
                engine=engine,
                token=asked.token,
                replay_url=asked.replay_url.rstrip("/"),
                origins=origins_of(asked.origins),
                streams=streams_of(asked.threads),
            )
        )
        return OpenedApplication(app, at_once_of(app))


def create_cdx_app(service: CdxService) -> Flask:
    """Return an application that has the addresses of the CDX server and of Memento only."""
    app = Flask(__name__, static_folder=None)
    routes.prepare_cdx(app, service)
    app.register_blueprint(routes.blueprint)
    app.register_blueprint(memento.blueprint)
    if service.engine is not None:
        dedup.prepare_dedup(app, service.engine)
    health.answer_shortly(app, service.engine)
    app.register_error_handler(404, routes.http_failure)
    app.register_error_handler(405, routes.http_failure)
    app.wsgi_app = HostCheck(app.wsgi_app)  # type: ignore[method-assign]
    return app


def serve_alone(settings: CdxServerSettings, ready: Callable[[str], object]) -> None:
    """Answer until SIGINT or SIGTERM; `ready` is told the address.

    Raises SettingsError where the address is taken, and what opening the
    archive and the sources raises.
    """
    with ExitStack() as stack:
        stack.enter_context(ended_by_sigterm())
        listening = stack.enter_context(listen(settings.host, settings.port))
        if settings.archive is not None and settings.token:
            prepare_archive(settings.archive)
        order = WorkerOrder(
            CdxServerMaker(settings), place_of(listening), settings.threads, settings.token
        )
        pool = WorkerPool(listening, settings.workers, order)
        stack.callback(pool.close)
        pool.start()
        ready(address_of(listening))
        pool.run()
