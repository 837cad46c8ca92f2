"""The crawler's queue alone, without the pages of the search service."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from flask import Flask

from nwx.engine.indices.crawl_queue import LeaseLimits
from nwx.engine.open import open_engine
from nwx.settings import Settings
from nwx.steering.specifications.specification_store import POLITE_LIMITS, SpecificationLimits
from webapp.hosts import HostCheck
from webapp.queue import routes
from webapp.queue.service import MOST_URLS, QueueService
from webapp.server.service import DEFAULT_THREADS, ended_by_sigterm, prepare_queue_file
from webapp.server.sockets import address_of, listen, place_of
from webapp.server.worker import OpenedApplication, WorkerOrder
from webapp.server.worker_pool import WorkerPool
from webapp.site import health


@dataclass(frozen=True, slots=True)
class QueueServerSettings:
    """Where to listen, and the queue of which archive to serve; `token` is that of QueueService.

    Each of the `workers` answers `threads` requests at once. `limits` hold
    where the specification of a crawl has none.
    """

    archive: Settings
    token: str
    host: str = "127.0.0.1"
    port: int = 8080
    workers: int = 1
    threads: int = DEFAULT_THREADS
    limits: LeaseLimits = POLITE_LIMITS
    most_urls: int = MOST_URLS


@dataclass(frozen=True, slots=True)
class QueueServerMaker:
    """What opens the archive and makes the application, in each worker."""

    settings: QueueServerSettings

    def open(self, stack: ExitStack) -> OpenedApplication:
        """Return the application; the archive is closed with `stack`."""
        asked = self.settings
        engine = stack.enter_context(open_engine(asked.archive))
        limits = SpecificationLimits(engine.crawl_index(), asked.limits)
        service = QueueService(engine, asked.token, limits, asked.most_urls)
        return OpenedApplication(create_queue_app(service))


def create_queue_app(service: QueueService) -> Flask:
    """Return an application that has the addresses of the queue only."""
    app = Flask(__name__, static_folder=None)
    routes.prepare_queue(app, service)
    health.answer_shortly(app, service.engine)
    app.register_error_handler(404, routes.http_failure)
    app.register_error_handler(405, routes.http_failure)
    app.wsgi_app = HostCheck(app.wsgi_app)  # type: ignore[method-assign]
    return app


def serve_queue(settings: QueueServerSettings, ready: Callable[[str], object]) -> None:
    """Answer until SIGINT or SIGTERM; `ready` is told the address.

    Raises SettingsError where the address is taken, and what opening the
    archive raises.
    """
    with ExitStack() as stack:
        stack.enter_context(ended_by_sigterm())
        listening = stack.enter_context(listen(settings.host, settings.port))
        prepare_queue_file(settings.archive)
        maker = QueueServerMaker(settings)
        order = WorkerOrder(maker, place_of(listening), settings.threads, settings.token)
        pool = WorkerPool(listening, settings.workers, order)
        stack.callback(pool.close)
        pool.start()
        ready(address_of(listening))
        pool.run()
