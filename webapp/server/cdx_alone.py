"""The CDX server alone, without the pages of the search service."""

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass

from flask import Flask, Response

from webapp.cdx import dedup, memento, routes
from webapp.cdx.routes import at_once_of
from webapp.cdx.service import CdxService
from webapp.hosts import HostCheck
from webapp.server.http_server import make_server
from webapp.server.service import DEFAULT_THREADS, ended_by_sigterm
from webapp.server.sockets import address_of, listen


@dataclass(frozen=True, slots=True)
class CdxServerAddress:
    """Where to listen, and how many questions are answered at once."""

    host: str = "127.0.0.1"
    port: int = 8080
    threads: int = DEFAULT_THREADS


def create_cdx_app(service: CdxService) -> Flask:
    """Return an application that has the addresses of the CDX server and of Memento only."""
    app = Flask(__name__, static_folder=None)
    routes.prepare_cdx(app, service)
    app.register_blueprint(routes.blueprint)
    app.register_blueprint(memento.blueprint)
    if service.engine is not None:
        dedup.prepare_dedup(app, service.engine)
    app.add_url_rule("/health", "health", _health)
    app.register_error_handler(404, routes.http_failure)
    app.register_error_handler(405, routes.http_failure)
    app.wsgi_app = HostCheck(app.wsgi_app)  # type: ignore[method-assign]
    return app


def serve_alone(
    service: CdxService, place: CdxServerAddress, ready: Callable[[str], object]
) -> None:
    """Answer until SIGINT or SIGTERM; `ready` is told the address.

    Raises SettingsError where the address is taken.
    """
    with ExitStack() as stack:
        stack.enter_context(ended_by_sigterm())
        listening = stack.enter_context(listen(place.host, place.port))
        app = create_cdx_app(service)
        server = make_server(app, listening, place.threads, service.token, at_once_of(app))
        stack.callback(server.close)
        ready(address_of(listening))
        server.run()


def _health() -> Response:
    return Response("ok\n", mimetype="text/plain")
