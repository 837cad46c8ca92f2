"""The application factory."""

import atexit
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import replace
from threading import BoundedSemaphore

from flask import Flask, Response, g, request
from flask_babel import get_locale

import nwx
from nwx import Archive
from nwx.access.account_store import AccountFile, account_file_path
from nwx.access.restricted_engine import RestrictedEngines
from nwx.access.user_options import user_options
from nwx.cdxserver.server import CdxServer
from nwx.cdxserver.sources import EngineSource, RowSource
from nwx.engine.base import Engine, open_engine
from nwx.engine.indices.crawl_queue import LimitsOf, no_limits
from nwx.errors import QueryError
from nwx.query.words import resolve_picture_query
from nwx.settings import Settings, load_settings
from nwx.steering.specifications.specification_store import POLITE_LIMITS, SpecificationLimits
from nwx.warc.sources import FilePlaces
from webapp import access_page, link_graph, linked_urls, login_page, quality_pages, renders
from webapp import entities as entities
from webapp.access_page import prepare_hidden_marks
from webapp.cdx import dedup, memento
from webapp.cdx import routes as cdx
from webapp.cdx.service import CdxService, origins_of
from webapp.crawls import comparison, crawl_pages, editor, monitor
from webapp.crawls.queue import QueueService, prepare_queue
from webapp.explore import api as facets
from webapp.explore import hosts
from webapp.explore import page as explorer
from webapp.explore import trends as trends
from webapp.headers import HostCheck
from webapp.login_page import check_guard
from webapp.quality_labels import grade
from webapp.replay import routes as replay
from webapp.search import (
    api,
    captures,
    changes,
    documents,
    exports,
    judge_page,
    pictures,
    sql_page,
)
from webapp.search import page as search
from webapp.search.questions import prepare_kept_results
from webapp.server.protection import SharedProtection
from webapp.site import pages, question_limits, responses, words
from webapp.site.context import (
    DEFAULT_TITLE,
    SERVICE_EXTENSION,
    ArchivedPlaces,
    ArchiveFolder,
    PlaybackState,
    Service,
    archive,
    preferences,
    service,
)
from webapp.site.preferences import prepare_languages
from webapp.site.question_limits import USUAL_LIMITS, QuestionLimits
from webapp.site.viewer import PASSES_EXTENSION, BehindProxies, ProxyHeaders, ViewerPasses
from webapp.site.words import TranslatedEnvironment, error_text, kept_addresses
from webapp.user_service import UserService, form_token, prepare_user_service, user_service

_MODULES = (
    search,
    documents,
    captures,
    judge_page,
    changes,
    exports,
    explorer,
    trends,
    hosts,
    link_graph,
    crawl_pages,
    editor,
    monitor,
    comparison,
    quality_pages,
    entities,
    sql_page,
    pages,
    api,
    facets,
    cdx,
    memento,
    replay,
    renders,
    pictures,
    login_page,
    access_page,
)
_FURTHER_BLUEPRINTS = (
    crawl_pages.crawl_api_blueprint,
    entities.sparql_blueprint,
    api.health_blueprint,
    captures.citation_blueprint,
    captures.quotation_blueprint,
    pictures.picture_api_blueprint,
    linked_urls.link_api_blueprint,
    linked_urls.missing_blueprint,
    linked_urls.repairs_blueprint,
    quality_pages.quality_api_blueprint,
    quality_pages.review_blueprint,
)
STATIC_SECONDS = 86_400

BODY_LIMITS = {
    "/pictures/similar": pictures.UPLOAD_FORM_BYTES,
    "/api/pictures/similar": pictures.MOST_UPLOADED,
    "/crawls/": editor.EDITOR_FORM_BYTES,
}
"""Path prefixes to the body size in bytes that clients without a token may send to them."""

POLICY = "; ".join(
    (
        "default-src 'self'",
        "base-uri 'none'",
        "form-action 'self'",
        "frame-ancestors 'none'",
        "object-src 'none'",
    )
)


def create_app(
    engine: Engine | None = None,
    *,
    replay_url: str | None = None,
    replay_port: int | None = None,
    replay_host: str = "",
    loopback: str = "127.0.0.1",
    places: ArchivedPlaces | None = None,
    playback: Callable[[], PlaybackState] = PlaybackState,
    cdx_sources: Sequence[RowSource] = (),
    cdx_token: str = "",
    cdx_origins: Iterable[str] = (),
    queue_token: str = "",
    queue_limits: LimitsOf = no_limits,
    search_url: str = "",
    triples: Settings | None = None,
    title: str = DEFAULT_TITLE,
    limits: QuestionLimits = USUAL_LIMITS,
    users: UserService | None = None,
    proxies: ProxyHeaders | None = None,
    passes: ViewerPasses | None = None,
) -> Flask:
    """Return the web application of an open engine, ready for a WSGI server.

    Without an engine, the archive, tokens and users come from environment
    variables, as for `gunicorn 'webapp.application:create_app()'`; playback
    is then off, and each process has separate limits.
    Captures are played at `replay_url`, or at `replay_port` of `replay_host`
    (by default another name of the host in the reader's request); with
    neither, pages say that playback is off.
    `loopback` is the local address that the service listens at. `search_url`
    is the address of these pages if it differs from the requested one, as
    behind a reverse proxy. `triples` are the settings of the archive, used
    to open its triple store.
    `places` registers files before they are played; `playback` returns the
    state of playback. `cdx_sources` are more sources of captures, in addition
    to the engine; a client with `cdx_token` may write captures. Pages of
    `cdx_origins` may read answers of the CDX server. A client with
    `queue_token` may send URLs to the crawler's queue, lease them within
    `queue_limits`, and save crawl specifications. `limits` bounds concurrent
    answers. Without `users` everybody is a reader; `proxies` lists the trusted
    reverse proxies. `passes` are the passes of the playback process, which
    sends requests on behalf of readers. Several threads use the engine at
    once; the caller closes it.
    """
    if engine is None:
        return _app_of_environment()
    app = _new_application()
    app.extensions[SERVICE_EXTENSION] = Service(
        engine=engine,
        engines=(engines := RestrictedEngines(engine)),
        title=title,
        replay_url=(replay_url or "").rstrip("/"),
        replay_port=replay_port or 0,
        replay_host=replay_host,
        loopback=loopback,
        search_url=search_url.rstrip("/"),
        places=places,
        playback=playback,
        folder=ArchiveFolder(engine),
        settings=triples or Settings(engine.address),
        files=FilePlaces(engine.files),
    )
    captures = CdxService(
        CdxServer([EngineSource(engine), *cdx_sources], engine.aliases, engine.digests),
        engine=engine,
        engines=engines,
        token=cdx_token,
        origins=origins_of(cdx_origins),
        replay_url=f"/{replay.COLLECTION}" if replay_url or replay_port else "",
        places=places,
        streams=BoundedSemaphore(limits.exports),
    )
    cdx.prepare_cdx(app, captures)
    dedup.prepare_dedup(app, engine, places)
    prepare_queue(app, QueueService(engine, queue_token, queue_limits))
    question_limits.prepare_limits(app, limits)
    app.extensions[PASSES_EXTENSION] = passes
    if users is not None:
        prepare_user_service(app, users, search_url)
    _register_pages(app)
    app.wsgi_app = BehindProxies(  # type: ignore[method-assign]
        app.wsgi_app, proxies or ProxyHeaders()
    )
    return app


def _app_of_environment() -> Flask:
    """Return the application of the archive that environment variables set."""
    settings = load_settings({})
    kept = settings.users
    options = user_options(kept.users, (), kept.access_token)
    writes = bool(settings.cdx_token or settings.queue_token or options.has_users)
    engine = open_engine(settings, read_only=not writes)
    atexit.register(engine.close)
    users = None
    if options.has_users:
        users = user_service(options, AccountFile(account_file_path(settings.engine, kept.file)))
    app = create_app(
        engine,
        triples=settings,
        cdx_token=settings.cdx_token,
        queue_token=settings.queue_token,
        queue_limits=SpecificationLimits(engine, POLITE_LIMITS),
        limits=replace(USUAL_LIMITS, search_seconds=settings.search_seconds),
        users=users,
        proxies=ProxyHeaders(options.trusted_proxies, options.naming_proxies),
    )
    stack = ExitStack()
    atexit.register(stack.close)
    shared = SharedProtection.create(stack, settings.protection, processes=1)
    tokens = (settings.cdx_token, settings.queue_token, options.access_token)
    shared.protect(app, stack, Archive.over(engine), tokens, is_public=True)
    return app


def _new_application() -> Flask:
    app = Flask(__name__)
    app.jinja_environment = TranslatedEnvironment  # type: ignore[assignment]
    app.config["SEND_FILE_MAX_AGE_DEFAULT"] = STATIC_SECONDS
    app.json.sort_keys = False  # type: ignore[attr-defined]
    return app


def _register_pages(app: Flask) -> None:
    prepare_kept_results(app)
    prepare_languages(app)
    app.before_request(check_guard)
    for module in _MODULES:
        app.register_blueprint(module.blueprint)
    for blueprint in _FURTHER_BLUEPRINTS:
        app.register_blueprint(blueprint)
    _prepare_templates(app)
    responses.register_failures(app)
    app.wsgi_app = HostCheck(app.wsgi_app)  # type: ignore[method-assign]
    responses.register_compression(app)
    app.after_request(_protect)


def _prepare_templates(app: Flask) -> None:
    app.jinja_env.trim_blocks = True
    app.jinja_env.lstrip_blocks = True
    app.jinja_env.filters.update(
        grouped=words.grouped,
        decimal=words.decimal,
        percentage=words.percentage,
        total=words.total_words,
        size=words.size,
        date=words.date,
        when=words.when,
        moment=words.moment,
        clock=words.clock,
        iso=words.iso,
        country=words.country,
        language=words.language,
        named=words.named,
        number=words.number,
        safe_url=words.safe_url,
        grade=grade,
        error_text=error_text,
        shown_url=words.shown_url,
    )
    address = kept_addresses()

    def static(name: str) -> str:
        # The version in the URL makes browsers reload static files after an upgrade.
        return address("static", filename=name, v=nwx.__version__)

    app.jinja_env.globals.update(
        url_for=address,
        static=static,
        replay=replay.address,
        form_token=form_token,
        is_empty=lambda: not archive().collections(),
        for_pictures=_for_pictures,
    )
    prepare_hidden_marks(app)
    app.context_processor(_common)


def _for_pictures(query: str | None) -> str | None:
    """Return a query of documents if pictures can be searched by it too, otherwise None."""
    try:
        resolve_picture_query(query or "")
    except QueryError:
        return None
    return query or None


def _common() -> dict[str, object]:
    """Return the variables available in every template."""
    found = service()
    return {
        "title": found.title,
        "replays": found.replays,
        "preferences": preferences(),
        "version": nwx.__version__,
        "page_language": get_locale(),
        **login_page.login_values(),
        "box_query": g.get("box_query", ""),
    }


def _protect(response: Response) -> Response:
    """Set security headers that forbid what pages of archived text do not need."""
    headers = response.headers
    headers.setdefault("Content-Security-Policy", POLICY)
    headers.setdefault("X-Content-Type-Options", "nosniff")
    headers.setdefault("X-Frame-Options", "DENY")
    headers.setdefault("Referrer-Policy", "same-origin")
    headers.setdefault("Cross-Origin-Opener-Policy", "same-origin")
    if request.endpoint != "static":
        headers.setdefault("Cache-Control", "no-cache")
        response.vary.update(("Accept-Language", "Cookie"))
    return response
