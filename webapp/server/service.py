"""The whole service: workers for pages and API, and the playback process."""

import socket
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar
from urllib.parse import urlsplit

from nwx import Archive
from nwx.access.account_store import AccountFile
from nwx.access.user_options import UserOptions
from nwx.cdxserver.loaded_lines import make_ready
from nwx.cdxserver.sources import open_sources
from nwx.engine.base import open_engine
from nwx.engine.indices.crawl_queue import LeaseLimits
from nwx.errors import SettingsError
from nwx.settings import DEFAULT_SEARCH_SECONDS, ProtectionSettings, Settings
from nwx.steering.specifications.specification_store import POLITE_LIMITS, SpecificationLimits
from webapp.replay.process import PathIndex, PlaybackFolder, ReplayProcess
from webapp.server.connections import (
    address_of,
    host_names,
    listen,
    loopback_of,
    place_of,
    port_of,
)
from webapp.server.protection import SharedProtection
from webapp.server.redis_keys import RedisSettings
from webapp.server.redis_server import serving_redis
from webapp.server.worker import OpenedApplication, WorkerOrder
from webapp.server.worker_pool import listening_service, run_workers
from webapp.site.context import DEFAULT_TITLE, PlaybackState
from webapp.site.question_limits import limits_for
from webapp.site.viewer import ProxyHeaders
from webapp.user_service import UserService, user_service

DEFAULT_THREADS = 8
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """The settings of the service.

    `host_names` are names of this machine in addition to `localhost`, for a
    loopback address. `replay_port` 0 takes the port after `port`, or a free
    one. `search_url` and `replay_url` are the public addresses if different,
    as behind a reverse proxy; `replay_host` is a host name of this machine for
    playback only. Each of the `workers` answers `threads` requests at once.
    `cdx_sources` are names for `open_sources`; `cdx_token`, `cdx_origins` and
    `queue_token` are as in `create_app`; `queue_limits` apply unless a crawl
    specification has limits. A search may take `search_seconds`. `users` is
    how users are identified, `users_file` has their accounts and sessions.
    """

    host: str = "127.0.0.1"
    host_names: tuple[str, ...] = ()
    port: int = 8080
    workers: int = 1
    threads: int = DEFAULT_THREADS
    replay: bool = True
    replay_port: int = 0
    search_url: str = ""
    replay_url: str = ""
    replay_host: str = ""
    title: str = DEFAULT_TITLE
    cdx_sources: tuple[str, ...] = ()
    cdx_token: str = ""
    search_seconds: float = DEFAULT_SEARCH_SECONDS
    cdx_origins: tuple[str, ...] = ()
    queue_token: str = ""
    queue_limits: LeaseLimits = POLITE_LIMITS
    users: UserOptions = field(default_factory=UserOptions)
    users_file: Path | None = None
    protection: ProtectionSettings = field(default_factory=ProtectionSettings)
    redis: RedisSettings | None = None

    @property
    def writes(self) -> bool:
        """Whether clients with a token or a role may write."""
        return bool(self.cdx_token or self.queue_token or self.users.has_users)

    @property
    def prefix(self) -> str:
        """The public path of the pages, "" for the root of the host."""
        return urlsplit(self.search_url).path.rstrip("/")

    def names(self, listening: socket.socket) -> frozenset[str] | None:
        """Return the host names allowed at a socket, None for any."""
        return None if self.search_url else host_names(listening, self.host, self.host_names)


@dataclass(frozen=True, slots=True)
class ServiceAddresses:
    """The addresses of a running service; `replay` is "" if playback is off."""

    search: str
    replay: str


@dataclass(frozen=True, slots=True)
class _Playing:
    """The port and folder of the playback process, for workers."""

    port: int
    folder: PlaybackFolder


@dataclass(frozen=True, slots=True)
class PagesMaker:
    """Opens the archive and creates the application in each worker."""

    modules: ClassVar[tuple[str, ...]] = ("webapp.server.service", "webapp.application")
    archive: Settings
    settings: ServiceSettings
    loopback: str
    playing: _Playing | None
    shared: SharedProtection

    def open(self, stack: ExitStack) -> OpenedApplication:
        """Return the application; the archive is closed with `stack`."""
        # Imported in the process that workers are forked from, not in the one that starts them.
        from webapp.application import BODY_LIMITS, create_app
        from webapp.cdx.routes import at_once_of

        settings, playing = self.settings, self.playing
        sources = open_sources(settings.cdx_sources)
        for source in sources:
            stack.callback(source.close)
        engine = stack.enter_context(open_engine(self.archive, read_only=not settings.writes))
        proxies = ProxyHeaders(settings.users.trusted_proxies, settings.users.naming_proxies)
        app = create_app(
            engine,
            replay_url=settings.replay_url if playing else None,
            replay_port=playing.port if playing else None,
            replay_host=settings.replay_host,
            loopback=self.loopback,
            places=PathIndex(engine, playing.folder.paths) if playing else None,
            playback=playing.folder.state if playing else PlaybackState,
            search_url=settings.search_url,
            triples=replace(self.archive, search_seconds=settings.search_seconds),
            title=settings.title,
            cdx_sources=sources,
            cdx_token=settings.cdx_token,
            limits=limits_for(settings.threads, settings.search_seconds),
            cdx_origins=settings.cdx_origins,
            queue_token=settings.queue_token,
            queue_limits=SpecificationLimits(engine, settings.queue_limits),
            users=self._users(stack),
            proxies=proxies,
            passes=playing.folder.passes() if playing else None,
        )
        tokens = (settings.cdx_token, settings.queue_token, settings.users.access_token)
        counts = self.shared.protect(
            *(app, stack, Archive.over(engine), tokens), is_public=bool(settings.search_url)
        )
        return OpenedApplication(app, proxies.read_before(at_once_of(app)), BODY_LIMITS, counts)

    def _users(self, stack: ExitStack) -> UserService | None:
        options, path = self.settings.users, self.settings.users_file
        if not options.has_users or path is None:
            return None
        file = AccountFile(path)
        stack.callback(file.close)
        return user_service(options, file)


def serve_pages(
    archive: Settings, settings: ServiceSettings, ready: Callable[[ServiceAddresses], object]
) -> None:
    """Serve an archive until SIGINT or SIGTERM; `ready` is called with the addresses.

    Raises SettingsError if an address is taken, ReplayError if playback does
    not start, and errors of opening the archive.
    """
    with (
        listening_service(settings.host, settings.port) as listening,
        ExitStack() as stack,
    ):
        search = address_of(listening)
        if settings.cdx_token:
            prepare_archive(archive)
        elif settings.queue_token:
            prepare_queue_file(archive)
        if settings.users.has_users:
            prepare_users_file(archive, settings)
        shared = SharedProtection.create(stack, settings.protection, settings.workers + 1)
        replay = playing = None
        if settings.replay:
            replay = _playback(stack, archive, settings, listening, shared)
            playing = _Playing(replay.port, replay.shared)
        maker = PagesMaker(archive, settings, loopback_of(listening), playing, shared)
        place, names = place_of(listening), settings.names(listening)
        order = WorkerOrder(
            maker, place, settings.threads, settings.cdx_token, names, settings.prefix
        )
        addresses = ServiceAddresses(search, replay.own if replay else "")
        stack.enter_context(serving_redis(settings.redis))
        run_workers(listening, settings.workers, order, lambda: ready(addresses))


def prepare_archive(archive: Settings) -> None:
    """Create the archive for writing captures, unless it exists."""
    with open_engine(archive) as engine:
        make_ready(engine)


def prepare_queue_file(archive: Settings) -> None:
    """Create the archive with its queue, unless it exists, even during an import.

    The tables of the queue must exist before the workers first need them.
    """
    with open_engine(archive) as engine:
        engine.crawl_queue().put(())


def login_risks(settings: ServiceSettings) -> list[str]:
    """Return warnings about risks of a service's logins, with remedies."""
    risks: list[str] = []
    if settings.host in _LOOPBACK or not settings.users.has_users:
        return risks
    if not settings.search_url.startswith("https:"):
        risks.append(
            "passwords and session cookies go over the network in the clear; "
            "put TLS in front of it, and name its address with --search-url https://…"
        )
    if settings.replay and not (settings.replay_url or settings.replay_host):
        risks.append(
            "browsers send session cookies to playback too, which has the same host name; "
            "give it another with --replay-host or --replay-url"
        )
    return risks


def prepare_users_file(archive: Settings, settings: ServiceSettings) -> None:
    """Create the accounts file that workers share; raises if it or the archive cannot be opened."""
    with open_engine(archive, read_only=True):
        if settings.users_file is not None:
            AccountFile(settings.users_file).close()


def _playback(
    stack: ExitStack,
    archive: Settings,
    settings: ServiceSettings,
    listening: socket.socket,
    shared: SharedProtection,
) -> ReplayProcess:
    """Return the running playback of an archive; it ends with `stack`."""
    engine = stack.enter_context(open_engine(archive, read_only=True))
    replay_socket = _listen_for_replay(settings, port_of(listening))
    search, own = address_of(listening), settings.replay_url
    if settings.replay_host and not own:
        own = f"http://{settings.replay_host}:{port_of(replay_socket)}"
    return stack.enter_context(
        ReplayProcess(
            engine,
            replay_socket,
            search,
            settings.search_url,
            settings.title,
            settings.users,
            own,
            settings.names(replay_socket),
            shared,
        )
    )


def _listen_for_replay(settings: ServiceSettings, port: int) -> socket.socket:
    if settings.replay_port:
        return listen(settings.host, settings.replay_port)
    try:
        return listen(settings.host, port + 1)
    except SettingsError:
        return listen(settings.host, 0)
