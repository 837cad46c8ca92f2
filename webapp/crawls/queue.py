"""Routes of the crawler's queue, for programs with its token."""

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec
from flask import Blueprint, Flask, Response, current_app, request
from msgspec import UNSET, UnsetType
from werkzeug.datastructures import WWWAuthenticate
from werkzeug.exceptions import (
    Forbidden,
    HTTPException,
    MethodNotAllowed,
    RequestEntityTooLarge,
    Unauthorized,
    UnsupportedMediaType,
)

from nwx.access.restricted_engine import RestrictedEngines
from nwx.engine.base import Engine
from nwx.engine.indices.crawl_queue import (
    LEASE_SECONDS,
    LimitsOf,
    PutCounts,
    QueueCounts,
    no_limits,
)
from nwx.errors import NwxError, ProtocolError
from nwx.steering.queue.protocol import (
    MOST_LEASE_SECONDS,
    MOST_LEASED,
    MOST_REQUEST_BYTES,
    MOST_URL_CHARACTERS,
    check_queue_name,
    counts_to_json,
    queued_to_json,
    read_leases,
    read_updates,
)
from nwx.values.urls import asked_host
from webapp.headers import has_token
from webapp.login_page import with_token
from webapp.site import parameters, responses
from webapp.site.openapi import Operation, Parameter
from webapp.site.viewer import viewer


@dataclass(frozen=True, slots=True)
class LeasedUrlAnswer:
    """A leased URL; `leased_until` is in seconds since 1970."""

    url: str
    host: str
    priority: float
    via: str
    crawl: str
    state: str
    lease: str | UnsetType = UNSET
    leased_until: float | UnsetType = UNSET


@dataclass(frozen=True, slots=True)
class LeasedUrlsAnswer:
    """The leased URLs, the first to fetch first."""

    urls: tuple[LeasedUrlAnswer, ...]


@dataclass(frozen=True, slots=True)
class FinishedAnswer:
    """The number of leased URLs that this request marked as fetched."""

    finished: int


@dataclass(frozen=True, slots=True)
class ReleasedAnswer:
    """The number of leased URLs that this request returned to the queue."""

    released: int


_CRAWL = Parameter("crawl", "the name of a crawl; all crawls without it")
_ERRORS: Mapping[str, str] = {
    "400": "a parameter or an item makes no sense; nothing was changed",
    "401": "the token is missing or wrong",
    "403": "the queue is off",
    "503": "the engine cannot be reached, or is busy",
}
_BODY_ERRORS: Mapping[str, str] = {
    **_ERRORS,
    "413": "the body is too large",
    "415": "the body is compressed",
}

QUEUE_OPERATIONS = (
    Operation(
        "putUrls",
        "/urls",
        "Send URLs with their priorities to the crawler's queue",
        (Parameter("sender", "the name of a sender that numbers its updates"),),
        PutCounts,
        errors={**_BODY_ERRORS, "507": "the queue is full"},
        method="post",
    ),
    Operation(
        "nextUrls",
        "/urls/next",
        "Lease the URLs that are to be fetched next",
        (
            Parameter(
                "n",
                "how many at most; 1 without it",
                {"type": "integer", "minimum": 1, "maximum": MOST_LEASED},
            ),
            Parameter("host", "only URLs of this host"),
            _CRAWL,
            Parameter(
                "seconds",
                "how long the leases last",
                {"type": "number", "minimum": 1, "maximum": MOST_LEASE_SECONDS},
            ),
        ),
        LeasedUrlsAnswer,
        errors=_ERRORS,
    ),
    Operation(
        "finishUrls",
        "/urls/finish",
        "Note that leased URLs were fetched",
        answer=FinishedAnswer,
        errors=_BODY_ERRORS,
        method="post",
    ),
    Operation(
        "releaseUrls",
        "/urls/release",
        "Let leased URLs wait again",
        answer=ReleasedAnswer,
        errors=_BODY_ERRORS,
        method="post",
    ),
    Operation(
        "countUrls",
        "/urls/counts",
        "Count the URLs of the queue by their state",
        (_CRAWL,),
        QueueCounts,
        example="/urls/counts",
    ),
)


QUEUE_EXTENSION = "nwx-queue"
MOST_URLS = 50_000_000
_KNOWN_SECONDS = 5.0


class QueueSize:
    """The number of URLs of a queue, counted every 5 seconds: other processes add URLs too."""

    def __init__(self) -> None:
        self._guard = threading.Lock()
        self._total = 0
        self._counted = -_KNOWN_SECONDS

    def total(self, engine: Engine) -> int:
        """Return the number of URLs of the queue of an engine."""
        with self._guard:
            now = time.monotonic()
            if now - self._counted >= _KNOWN_SECONDS:
                self._total, self._counted = engine.crawl_queue().counts().total, now
            return self._total

    def add(self, number: int) -> None:
        """Add `number` URLs to the total."""
        with self._guard:
            self._total += number


@dataclass(slots=True)
class QueueService:
    """The queue of an archive; clients with the `token` may write to it and lease, "" is nobody.

    `limits` bound the leases of each crawl. A queue with about `most_urls`
    URLs takes no more.
    """

    engine: Engine
    token: str = ""
    limits: LimitsOf = no_limits
    most_urls: int = MOST_URLS
    size: QueueSize = field(default_factory=QueueSize)
    engines: RestrictedEngines = field(init=False)

    def __post_init__(self) -> None:
        self.engines = RestrictedEngines(self.engine)


def queue_service() -> QueueService:
    """Return the queue of the running application."""
    found: QueueService = current_app.extensions[QUEUE_EXTENSION]
    return found


blueprint = Blueprint("queue", __name__, url_prefix="/urls")

_NEXT_PARAMETERS = ("n", "host", "crawl", "seconds")


class QueueFullError(HTTPException):
    """A queue that takes no more URLs."""

    code = 507


def prepare_queue(app: Flask, service: QueueService) -> None:
    """Register the queue and its routes in an application."""
    app.extensions[QUEUE_EXTENSION] = service
    app.register_blueprint(blueprint)


@blueprint.post("")
@with_token
def take_updates() -> Response:
    """Store updates of URLs, all or none."""
    service = _authorized()
    _check_parameters("sender")
    sender = _text("sender")
    posted = read_updates(_body(), sender)
    total = service.size.total(service.engine)
    if total + len(posted.updates) > service.most_urls:
        raise QueueFullError(
            f"the queue is full: it has {total:,} of at most {service.most_urls:,} URLs"
        )
    counts = service.engine.crawl_queue().put(posted.updates, sender, posted.orders)
    service.size.add(counts.new)
    return _json(counts_to_json(counts))


@blueprint.get("/next")
@with_token
def lease_next() -> Response:
    """Lease the URLs to fetch next."""
    if request.method == "HEAD":
        raise MethodNotAllowed(["GET"], "this address leases URLs; use GET")
    service = _authorized()
    _check_parameters(*_NEXT_PARAMETERS)
    host, crawl = _text("host"), _text("crawl")
    check_queue_name("crawl", crawl)
    if len(host) > MOST_URL_CHARACTERS:
        raise ProtocolError("host is too long")
    count = int(_number("n", 1, 1, MOST_LEASED, whole=True))
    seconds = _number("seconds", LEASE_SECONDS, 1, MOST_LEASE_SECONDS)
    leased = service.engine.crawl_queue().lease(
        count, asked_host(host), crawl, seconds, service.limits
    )
    return _json({"urls": [queued_to_json(one) for one in leased]})


@blueprint.post("/finish")
@with_token
def finish() -> Response:
    """Mark leased URLs as fetched."""
    service = _authorized()
    _check_parameters()
    return _json({"finished": service.engine.crawl_queue().finish(read_leases(_body()))})


@blueprint.post("/release")
@with_token
def release() -> Response:
    """Return leased URLs to the queue."""
    service = _authorized()
    _check_parameters()
    return _json({"released": service.engine.crawl_queue().release(read_leases(_body()))})


@blueprint.get("/counts")
def counts() -> Response:
    """Answer with the number of URLs in each state; without the token, of those not hidden."""
    _check_parameters("crawl")
    crawl = _text("crawl")
    check_queue_name("crawl", crawl)
    service = queue_service()
    engine = service.engine if _has_token(service) else service.engines.for_viewer(viewer())
    found = engine.crawl_queue().counts(crawl)
    return _json(msgspec.to_builtins(found))


def _authorized() -> QueueService:
    """Return the queue if the request has its token; raises Forbidden or Unauthorized."""
    service = queue_service()
    if not service.token:
        raise Forbidden("the queue is disabled here; set NWX_QUEUE_TOKEN")
    if not _has_token(service):
        raise Unauthorized(
            "the queue needs the header `Authorization: Bearer TOKEN`",
            www_authenticate=WWWAuthenticate("bearer"),
        )
    return service


def _has_token(service: QueueService) -> bool:
    return has_token(request.headers.get("Authorization", ""), service.token)


def _body() -> bytes:
    """Return the body; raises UnsupportedMediaType or RequestEntityTooLarge."""
    if request.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise UnsupportedMediaType("the body is compressed; send plain JSON")
    body: bytes = request.environ["wsgi.input"].read(MOST_REQUEST_BYTES + 1)
    if len(body) > MOST_REQUEST_BYTES:
        raise RequestEntityTooLarge(
            f"the body has more than {MOST_REQUEST_BYTES:,} bytes; send several requests"
        )
    return body


def _check_parameters(*known: str) -> None:
    for name in request.args:
        if name not in known:
            others = ", ".join(known) or "none"
            raise ProtocolError(f"there is no parameter {name[:40]!r}; known: {others}")


def _text(name: str) -> str:
    """Return a parameter, by default ""; raises ProtocolError on different values."""
    values = request.args.getlist(name)
    if len(set(values)) > 1:
        raise ProtocolError(f"{name} is given {len(values)} times; give it once")
    return values[0] if values else ""


def _number(name: str, usual: float, least: float, most: float, *, whole: bool = False) -> float:
    text = _text(name)
    if not text:
        return usual
    value = float(text) if parameters.DECIMAL.fullmatch(text) else -1.0
    if not least <= value <= most or (whole and not text.isdigit()):
        raise ProtocolError(f"{name} is {text[:40]!r}; give a number from {least:g} to {most:g}")
    return value


def _json(answer: Mapping[str, Any], status: int = 200) -> Response:
    response = Response(
        msgspec.json.encode(answer) + b"\n", status=status, mimetype="application/json"
    )
    response.headers["Cache-Control"] = "no-store"
    return response


@blueprint.errorhandler(NwxError)
def known_failure(error: NwxError) -> Response:
    """Return an NwxError as JSON."""
    details = {}
    if isinstance(error, ProtocolError) and error.item is not None:
        details["item"] = error.item
    return _failure(responses.status_of(error), str(error), details)


@blueprint.errorhandler(HTTPException)
def http_failure(error: HTTPException) -> Response:
    """Return an HTTP error as JSON."""
    answered = _failure(error.code or 500, error.description or error.name, {})
    for name, value in error.get_headers():
        if name in ("Allow", "Retry-After", "WWW-Authenticate"):
            answered.headers[name] = value
    return answered


def _failure(status: int, message: str, details: Mapping[str, int]) -> Response:
    response = _json({"error": {"status": status, "message": message, **details}}, status)
    if status == 503:
        response.headers["Retry-After"] = str(responses.RETRY_SECONDS)
    return response
