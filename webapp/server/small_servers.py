"""The CDX server and the queue server without pages; playback at free ports for commands."""

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any, ClassVar

from flask import Flask, Response
from werkzeug.exceptions import HTTPException

from nwx import Archive
from nwx.access.user_options import network_of
from nwx.bulk.child_processes import ChildProcess
from nwx.cdxserver.server import CdxServer
from nwx.cdxserver.sources import EngineSource, RowSource, open_sources
from nwx.engine.base import Engine, open_engine
from nwx.engine.indices.crawl_queue import LeaseLimits
from nwx.errors import EngineUnavailableError, NwxError, SourceError
from nwx.settings import ProtectionSettings, Settings
from nwx.steering.specifications.specification_store import POLITE_LIMITS, SpecificationLimits
from webapp.cdx import dedup, memento
from webapp.cdx import routes as cdx_routes
from webapp.cdx.service import CdxService, origins_of, streams_of
from webapp.crawls import queue
from webapp.crawls.queue import MOST_URLS, QueueService, prepare_queue
from webapp.headers import ROBOTS_TXT, HostCheck, ShortAnswers
from webapp.replay.routes import COLLECTION
from webapp.server.connections import address_of, host_names, place_of
from webapp.server.protection import SharedProtection
from webapp.server.redis_keys import RedisSettings
from webapp.server.redis_server import serving_redis
from webapp.server.service import (
    DEFAULT_THREADS,
    ServiceSettings,
    prepare_archive,
    prepare_queue_file,
    serve_pages,
)
from webapp.server.worker import ApplicationMaker, OpenedApplication, WorkerOrder
from webapp.server.worker_pool import listening_service, run_workers
from webapp.site.context import ArchiveFolder
from webapp.site.viewer import BehindProxies, ProxyHeaders

_ENDING_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class CdxServerSettings:
    """The address of a CDX server, and its sources: an archive, if given, and others.

    Each of the `workers` answers `threads` questions at once. Clients with
    the `token` may write to the archive. With `primaries`, the server follows
    each, requesting changes every `interval` seconds.
    """

    archive: Settings | None = None
    sources: tuple[str, ...] = ()
    host: str = "127.0.0.1"
    host_names: tuple[str, ...] = ()
    port: int = 8080
    workers: int = 1
    threads: int = DEFAULT_THREADS
    token: str = ""
    replay_url: str = ""
    origins: tuple[str, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    protection: ProtectionSettings = field(default_factory=ProtectionSettings)
    primaries: tuple[str, ...] = ()
    interval: float = 10.0
    redis: RedisSettings | None = None


@dataclass(frozen=True, slots=True)
class CdxServerMaker:
    """Opens the sources and creates the application in each worker."""

    modules: ClassVar[tuple[str, ...]] = (__name__,)
    settings: CdxServerSettings
    shared: SharedProtection

    def open(self, stack: ExitStack) -> OpenedApplication:
        """Return the application; its sources are closed with `stack`."""
        asked = self.settings
        sources: list[RowSource] = open_sources(asked.sources)
        engine = None
        if asked.archive is not None:
            engine = stack.enter_context(open_engine(asked.archive, read_only=not asked.token))
            sources.insert(0, EngineSource(engine))
        server = (
            CdxServer(sources, engine.aliases, engine.digests) if engine else CdxServer(sources)
        )
        stack.callback(server.close)
        app = create_cdx_app(
            CdxService(
                server,
                engine=engine,
                token=asked.token,
                replay_url=asked.replay_url.rstrip("/"),
                origins=origins_of(asked.origins),
                follows=bool(asked.primaries),
                streams=streams_of(asked.threads),
            )
        )
        return _protected(app, stack, self, engine, cdx_routes.at_once_of(app))


def create_cdx_app(service: CdxService) -> Flask:
    """Return an application with the routes of the CDX server, Memento and deduplication only."""
    app = Flask(__name__, static_folder=None)
    cdx_routes.prepare_cdx(app, service)
    app.register_blueprint(cdx_routes.blueprint)
    app.register_blueprint(memento.blueprint)
    if service.engine is not None:
        dedup.prepare_dedup(app, service.engine)
    return _with_common_routes(app, service.engine, cdx_routes.http_failure)


def _with_common_routes(
    app: Flask, engine: Engine | None, http_failure: Callable[[HTTPException], Response]
) -> Flask:
    """Return an application with `/health`, `/robots.txt`, error responses and the host check."""
    _answer_health(app, engine)
    app.register_error_handler(404, http_failure)
    app.register_error_handler(405, http_failure)
    app.register_error_handler(429, http_failure)
    app.add_url_rule("/robots.txt", "robots", lambda: Response(ROBOTS_TXT, mimetype="text/plain"))
    app.wsgi_app = HostCheck(app.wsgi_app)  # type: ignore[method-assign]
    return app


def _answer_health(app: Flask, archive: Engine | None) -> None:
    """Add `/health`, with a line of text."""
    folder = ArchiveFolder(archive) if archive is not None else None

    def answer() -> Response:
        try:
            if folder is not None:
                folder.check()
        except EngineUnavailableError as error:
            return Response(f"{error}\n", 503, mimetype="text/plain")
        return Response("ok\n", mimetype="text/plain")

    app.add_url_rule("/health", "health", answer)


def _protected(
    app: Flask,
    stack: ExitStack,
    maker: "CdxServerMaker | QueueServerMaker",
    engine: Engine | None,
    at_once: ShortAnswers | None = None,
) -> OpenedApplication:
    """Return an application with rate limits, metrics, and client addresses from proxies."""
    archive = Archive.over(engine) if engine is not None else None
    proxies = ProxyHeaders(tuple(map(network_of, maker.settings.trusted_proxies)))
    app.wsgi_app = BehindProxies(app.wsgi_app, proxies)  # type: ignore[method-assign]
    counts = maker.shared.protect(app, stack, archive, (maker.settings.token,))
    short = proxies.read_before(at_once) if at_once is not None else None
    return OpenedApplication(app, short, counts=counts)


def serve_alone(
    settings: CdxServerSettings,
    ready: Callable[[str], object],
    say: Callable[[str], object] = lambda _: None,
) -> None:
    """Serve until SIGINT or SIGTERM; `ready` gets the address, `say` messages about followers.

    Raises SettingsError if the address is taken, and errors of opening the
    archive and the sources.
    """
    with listening_service(settings.host, settings.port) as listening, ExitStack() as stack:
        if settings.archive is not None and (settings.token or settings.primaries):
            prepare_archive(settings.archive)
        shared = SharedProtection.create(stack, settings.protection, settings.workers)
        order = _order(CdxServerMaker(settings, shared), settings, listening)
        with _following(settings, say), serving_redis(settings.redis):
            run_workers(listening, settings.workers, order, lambda: ready(address_of(listening)))


@contextmanager
def _following(settings: CdxServerSettings, say: Callable[[str], object]) -> Iterator[None]:
    """Follow the primaries of a server in threads of this process."""
    if not settings.primaries or settings.archive is None:
        yield
        return
    # Imported here: most servers have no primaries.
    from nwx.cdxserver.follower import Follower

    stop = threading.Event()
    with open_engine(settings.archive) as engine:
        followers = [Follower(engine, primary) for primary in settings.primaries]
        threads = [
            threading.Thread(target=one.run, args=(stop, settings.interval, say), daemon=True)
            for one in followers
        ]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            stop.set()
            for thread in threads:
                thread.join(_ENDING_SECONDS)


@dataclass(frozen=True, slots=True)
class QueueServerSettings:
    """The address of a queue server, and its archive; `token` is that of QueueService.

    Each of the `workers` answers `threads` requests at once. `limits` apply
    unless the specification of a crawl has limits.
    """

    archive: Settings
    token: str
    host: str = "127.0.0.1"
    host_names: tuple[str, ...] = ()
    port: int = 8080
    workers: int = 1
    threads: int = DEFAULT_THREADS
    limits: LeaseLimits = POLITE_LIMITS
    most_urls: int = MOST_URLS
    trusted_proxies: tuple[str, ...] = ()
    protection: ProtectionSettings = field(default_factory=ProtectionSettings)


@dataclass(frozen=True, slots=True)
class QueueServerMaker:
    """Opens the archive and creates the application in each worker."""

    modules: ClassVar[tuple[str, ...]] = (__name__,)
    settings: QueueServerSettings
    shared: SharedProtection

    def open(self, stack: ExitStack) -> OpenedApplication:
        """Return the application; the archive is closed with `stack`."""
        asked = self.settings
        engine = stack.enter_context(open_engine(asked.archive))
        limits = SpecificationLimits(engine, asked.limits)
        service = QueueService(engine, asked.token, limits, asked.most_urls)
        return _protected(create_queue_app(service), stack, self, engine)


def create_queue_app(service: QueueService) -> Flask:
    """Return an application with the routes of the queue only."""
    app = Flask(__name__, static_folder=None)
    prepare_queue(app, service)
    return _with_common_routes(app, service.engine, queue.http_failure)


def serve_queue(settings: QueueServerSettings, ready: Callable[[str], object]) -> None:
    """Serve until SIGINT or SIGTERM; `ready` is called with the address.

    Raises SettingsError if the address is taken, and errors of opening the
    archive.
    """
    with listening_service(settings.host, settings.port) as listening, ExitStack() as stack:
        prepare_queue_file(settings.archive)
        shared = SharedProtection.create(stack, settings.protection, settings.workers)
        order = _order(QueueServerMaker(settings, shared), settings, listening)
        run_workers(listening, settings.workers, order, lambda: ready(address_of(listening)))


def _order(
    maker: ApplicationMaker,
    settings: CdxServerSettings | QueueServerSettings,
    listening: socket.socket,
) -> WorkerOrder:
    names = host_names(listening, settings.host, settings.host_names)
    return WorkerOrder(maker, place_of(listening), settings.threads, settings.token, names)


_START_SECONDS = 120
_END_SECONDS = 15


@contextmanager
def local_playback(archive: Settings) -> Iterator[str]:
    """Yield the playback address of an archive, up to the timestamp of a capture.

    Raises SourceError if playback does not start.
    """
    process = ChildProcess(serve_until_left)
    try:
        yield f"{_started(process.connection, archive)}/{COLLECTION}"
    finally:
        process.end(_END_SECONDS)


def _started(connection: "Connection[Settings, dict[str, str]]", archive: Settings) -> str:
    """Send an archive to a playback process; return the playback address."""
    told: dict[str, str] = {}
    with suppress(EOFError, OSError):
        connection.send(archive)
        if connection.poll(_START_SECONDS):
            told = connection.recv()
    if "playback" not in told:
        raise SourceError(f"playback does not start: {told.get('error', 'it ended or hangs')}")
    return told["playback"]


def serve_until_left(connection: "Connection[dict[str, str], Any]") -> None:
    """Receive an archive, send its playback address, and serve until the connection closes."""
    archive: Settings = connection.recv()
    threading.Thread(target=_end_with_parent, args=(connection,), daemon=True).start()

    def send(message: dict[str, str]) -> None:
        with suppress(OSError):  # the parent may have ended
            connection.send(message)

    settings = ServiceSettings(port=0, workers=1)
    try:
        serve_pages(archive, settings, lambda addresses: send({"playback": addresses.replay}))
    except NwxError as error:
        send({"error": str(error)})


def _end_with_parent(connection: "Connection[dict[str, str], Any]") -> None:
    """Send SIGTERM to this process once the other end of the connection is closed."""
    with suppress(EOFError, OSError):
        connection.recv()
    os.kill(os.getpid(), signal.SIGTERM)
