"""The addresses of the queue: updates come in, leases go out (docs/steering-protocol.md)."""

from collections.abc import Mapping
from typing import Any

import msgspec
from flask import Blueprint, Flask, Response, request
from werkzeug.datastructures import WWWAuthenticate
from werkzeug.exceptions import (
    Forbidden,
    HTTPException,
    MethodNotAllowed,
    RequestEntityTooLarge,
    Unauthorized,
    UnsupportedMediaType,
)

from nwx.engine.indices.crawl_queue import LEASE_SECONDS
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
from webapp.queue.service import QUEUE_EXTENSION, QueueService, queue_service
from webapp.server.tokens import has_token
from webapp.site import failures
from webapp.users.guards import with_token

blueprint = Blueprint("queue", __name__, url_prefix="/urls")

_NEXT_PARAMETERS = ("n", "host", "crawl", "seconds")


class QueueFullError(HTTPException):
    """A queue that takes no more URLs."""

    code = 507


def prepare_queue(app: Flask, service: QueueService) -> None:
    """Make an application ready for the addresses of the queue."""
    app.extensions[QUEUE_EXTENSION] = service
    app.register_blueprint(blueprint)


@blueprint.post("")
@with_token
def take_updates() -> Response:
    """Take updates of URLs, all or none."""
    service = _authorized()
    _check_parameters("sender")
    sender = request.args.get("sender", "")
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
    """Lease the URLs that are to be fetched next."""
    if request.method == "HEAD":
        raise MethodNotAllowed(["GET"], "what is asked here is leased; use GET")
    service = _authorized()
    _check_parameters(*_NEXT_PARAMETERS)
    host, crawl = request.args.get("host", "").lower(), request.args.get("crawl", "")
    check_queue_name("crawl", crawl)
    if len(host) > MOST_URL_CHARACTERS:
        raise ProtocolError("host is too long")
    count = int(_number("n", 1, 1, MOST_LEASED, whole=True))
    seconds = _number("seconds", LEASE_SECONDS, 1, MOST_LEASE_SECONDS)
    leased = service.engine.crawl_queue().lease(count, host, crawl, seconds, service.limits)
    return _json({"urls": [queued_to_json(one) for one in leased]})


@blueprint.post("/finish")
@with_token
def finish() -> Response:
    """Note that leased URLs were fetched."""
    service = _authorized()
    _check_parameters()
    return _json({"finished": service.engine.crawl_queue().finish(read_leases(_body()))})


@blueprint.post("/release")
@with_token
def release() -> Response:
    """Take leased URLs back into the queue."""
    service = _authorized()
    _check_parameters()
    return _json({"released": service.engine.crawl_queue().release(read_leases(_body()))})


@blueprint.get("/counts")
def counts() -> Response:
    """Tell how many URLs there are in each state."""
    _check_parameters("crawl")
    crawl = request.args.get("crawl", "")
    check_queue_name("crawl", crawl)
    found = queue_service().engine.crawl_queue().counts(crawl)
    return _json(msgspec.to_builtins(found))


def _authorized() -> QueueService:
    """Return the queue to write to; raises Forbidden or Unauthorized."""
    service = queue_service()
    if not service.token:
        raise Forbidden("the queue takes nothing here; it needs NWX_QUEUE_TOKEN to be set")
    if not has_token(request.headers.get("Authorization", ""), service.token):
        raise Unauthorized(
            "the queue needs the header `Authorization: Bearer TOKEN`",
            www_authenticate=WWWAuthenticate("bearer"),
        )
    return service


def _body() -> bytes:
    """Return the body of a request; raises what is wrong with it before it is read."""
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


def _number(name: str, usual: float, least: float, most: float, *, whole: bool = False) -> float:
    text = request.args.get(name, "")
    if not text:
        return usual
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not least <= value <= most or (whole and not value.is_integer()):
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
    """Return one of our errors as JSON."""
    details = {}
    if isinstance(error, ProtocolError) and error.item is not None:
        details["item"] = error.item
    return _failure(failures.status_of(error), str(error), details)


@blueprint.errorhandler(HTTPException)
def http_failure(error: HTTPException) -> Response:
    """Return an error of HTTP as JSON."""
    answered = _failure(error.code or 500, error.description or error.name, {})
    for name, value in error.get_headers():
        if name in ("Allow", "WWW-Authenticate"):
            answered.headers[name] = value
    return answered


def _failure(status: int, message: str, details: Mapping[str, int]) -> Response:
    response = _json({"error": {"status": status, "message": message, **details}}, status)
    if status == 503:
        response.headers["Retry-After"] = str(failures.RETRY_SECONDS)
    return response
