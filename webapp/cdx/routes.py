"""Routes of the CDX server: look-ups, captures sent by crawlers, replication to followers."""

import json
import shutil
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import chain, islice
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO, cast

from flask import Blueprint, Flask, Response, current_app, request
from flask.typing import ResponseReturnValue
from werkzeug.datastructures import WWWAuthenticate
from werkzeug.exceptions import (
    Forbidden,
    HTTPException,
    NotFound,
    Unauthorized,
    UnsupportedMediaType,
)
from werkzeug.routing import BaseConverter, ValidationError

from nwx.cdx.files import whole_line_blocks
from nwx.cdxserver.changes import DEFAULT_SIZE, ChangeFeed, NumberedBatch
from nwx.cdxserver.loaded_lines import Loaded, load_lines, unload_lines
from nwx.cdxserver.query_model import DIALECTS, IA, OUTBACK, parameters_of
from nwx.cdxserver.server import MEDIA_TYPE as XML
from nwx.cdxserver.server import answer_xml
from nwx.cdxserver.write_batches import BY_BATCH, USUAL_VERSION
from nwx.engine.base import Engine
from nwx.engine.indices.change_log import Aliases
from nwx.errors import CdxError, CdxQueryError, NwxError
from nwx.values.urls import url_parts
from webapp.cdx.gate import BEGUN, Gate, asked
from webapp.cdx.service import (
    CDX_EXTENSION,
    SPELLINGS,
    CdxService,
    cdx_server,
    cdx_service,
    knows_collection,
    require_write,
)
from webapp.cdx.streams import BegunAnswer, as_response, continued
from webapp.headers import ShortAnswers, has_token
from webapp.login_page import with_token
from webapp.site import responses
from webapp.site.context import SERVICE_EXTENSION

_GZIP = b"\x1f\x8b"
_HELD_BYTES = 1 << 20
MOST_NAME = 200


def add_lines(collection: str) -> Response:
    """Store the captures of the CDX lines in the request."""
    return _answer(collection, load_lines, "Added")


def delete_lines(collection: str) -> Response:
    """Delete the captures of the CDX lines in the request."""
    return _answer(collection, unload_lines, "Deleted")


def _answer(collection: str, change: Callable[..., Loaded], word: str) -> Response:
    engine = authorized()
    if cdx_service().follows:
        raise Forbidden("this server follows a primary; write to that")
    if len(collection) > MOST_NAME:
        raise CdxQueryError(f"a collection cannot be named {collection[:40]!r}")
    skip_bad = _skips_bad_lines()
    _check_plain(request.headers.get("Content-Encoding", "identity").lower() != "identity")
    try:
        with _whole_body() as body:
            blocks = whole_line_blocks(body)
            first = next(blocks, b"")
            _check_plain(first.startswith(_GZIP))
            blocks = chain((first,), blocks) if first else blocks
            done = change(engine, blocks, collection, skip_bad=skip_bad, name="the request")
    except CdxError as error:
        raise CdxQueryError(
            f"line {error.line}: {error}; nothing was changed; badLines=skip leaves invalid lines"
            " out"
        ) from error
    number = done.lines if word == "Added" else done.changed
    return Response(f"{word} {number} records\n", mimetype="text/plain")


@contextmanager
def _whole_body() -> Iterator[BinaryIO]:
    """Yield the body, completely read: a slow client must not block other writers.

    `nwx serve` has read it before; gunicorn and others read it on demand.
    """
    given = request.environ["wsgi.input"]
    if isinstance(given, SpooledTemporaryFile):
        yield cast("BinaryIO", given)
        return
    with SpooledTemporaryFile(_HELD_BYTES, prefix="nwx-request-") as body:
        shutil.copyfileobj(given, body)
        body.seek(0)
        yield cast("BinaryIO", body)


def authorized(*, basic: bool = False) -> Engine:
    """Return the engine if the request has the token; raises Forbidden or Unauthorized."""
    found = cdx_service()
    if found.engine is None or not found.token:
        raise Forbidden("writing is off here; it needs an archive, and NWX_CDX_TOKEN to be set")
    if not has_token(request.headers.get("Authorization", ""), found.token, basic=basic):
        raise Unauthorized(
            "this needs the header `Authorization: Bearer TOKEN`"
            if basic
            else "writing needs the header `Authorization: Bearer TOKEN`",
            www_authenticate=WWWAuthenticate(
                "basic" if basic else "bearer", {"realm": "nwx"} if basic else None
            ),
        )
    return found.engine


def _check_plain(packed: bool) -> None:
    """Raise UnsupportedMediaType if the body is compressed: each of its lines would be bad."""
    if packed:
        raise UnsupportedMediaType("the body is compressed; send lines of plain text")


def _skips_bad_lines() -> bool:
    text = parameters_of(request.query_string.decode("utf-8", "surrogateescape")).text("badLines")
    if text not in ("", "error", "skip"):
        raise CdxQueryError(f"badLines is {text[:40]!r}; choose error or skip")
    return text == "skip"


_MOST = (1 << 63) - 1
_ALIASES_AT_ONCE = 1_000


def changes(collection: str) -> Response:
    """Stream the changes after a sequence number as write batches."""
    engine = _engine_of(collection)
    asked = parameters_of(request.query_string.decode("utf-8", "surrogateescape"))
    feed = ChangeFeed(
        engine, collection, asked.number("version", USUAL_VERSION, 0, _MOST) or USUAL_VERSION
    )
    since = asked.number("since", 0, 0, _MOST) or 0
    found = feed.batches(since, asked.number("size", DEFAULT_SIZE, 1, _MOST) or DEFAULT_SIZE)
    return Response(_json_lines(found), mimetype="application/json")


def _json_lines(batches: Iterator[NumberedBatch]) -> Iterator[bytes]:
    """Yield a JSON array with an object on each line, as OutbackCDX writes it."""
    start = b"[\n"
    for number, data in batches:
        encoded = b64encode(data)
        yield b'%b{"sequenceNumber": "%d", "writeBatch": "%b"}' % (start, number, encoded)
        start = b",\n"
    yield b"[]\n" if start == b"[\n" else b"\n]\n"


def sequence(collection: str) -> Response:
    """Answer with the sequence number of the last change."""
    engine = _engine_of(collection)
    number = str(ChangeFeed(engine, collection).sequence())
    return Response(number, mimetype="text/plain", headers={BY_BATCH: "batches"})


def aliases(collection: str) -> Response:
    """List aliases in order, starting at a urlkey."""
    asked = parameters_of(request.query_string.decode("utf-8", "surrogateescape"))
    known = _engine_of(collection).aliases.of_collection(collection) or Aliases()
    found = (one._asdict() for one in known if one.alias >= asked.text("key"))
    most = asked.number("limit", _ALIASES_AT_ONCE, 0, _MOST)
    return Response(json.dumps(list(islice(found, most))), mimetype="application/json")


def _engine_of(collection: str) -> Engine:
    engine = authorized(basic=True)
    if collection not in engine.collections():
        raise NotFound(f"there is no collection {collection[:80]!r}")
    return engine


blueprint = Blueprint("cdx", __name__)

VARIANTS = ",".join((*DIALECTS, *SPELLINGS))
_GATE_EXTENSION = "nwx-cdx-gate"
ALL_OF_IA = "web"
"""The name for all collections in addresses of the Internet Archive, unless a collection has it."""


class CollectionName(BaseConverter):
    """Converter of the first path segment if it is a collection, not a page."""

    regex = r"[^/]+"

    def __init__(self, map: Any) -> None:
        super().__init__(map)
        self._pages: frozenset[str] = frozenset()

    def to_python(self, value: str) -> str:
        """Return the name; raises ValidationError on the name of a page."""
        if not self._pages:
            starts = (rule.rule.split("/")[1] for rule in self.map.iter_rules())
            self._pages = frozenset(start for start in starts if not start.startswith("<"))
        if value in self._pages:
            raise ValidationError
        return value


def prepare_cdx(app: Flask, service: CdxService) -> None:
    """Register the CDX server and its fast path in an application."""
    if service.token:
        # Loads the public suffix list, so that the first write does not wait for it.
        url_parts("http://example.org/")
    app.extensions[CDX_EXTENSION] = service
    app.url_map.converters["collection"] = CollectionName
    gate = app.extensions[_GATE_EXTENSION] = Gate(app, app.wsgi_app, service)
    app.wsgi_app = gate  # type: ignore[method-assign]


def at_once_of(app: Flask) -> ShortAnswers:
    """Return the function for short answers of an application with a CDX server."""
    gate: Gate = app.extensions[_GATE_EXTENSION]
    return gate.at_once


@blueprint.get("/cdx")
@blueprint.get(f"/cdx/<any({VARIANTS}):variant>")
def all_captures(variant: str = "") -> ResponseReturnValue:
    """Answer from all collections."""
    return _answer_of_routes(variant)


@blueprint.get("/<collection:collection>/cdx")
@blueprint.get(f"/<collection:collection>/cdx/<any({VARIANTS}):variant>")
def collection_captures(collection: str, variant: str = "") -> ResponseReturnValue:
    """Answer from one collection."""
    require_write(collection)
    return _answer_of_routes(variant, collection)


@blueprint.get("/cdx/search/cdx")
def as_internet_archive() -> ResponseReturnValue:
    """Answer at the address of the Internet Archive's CDX server."""
    return _answer_of_routes(IA.name)


@blueprint.get("/<collection:collection>/timemap/cdx")
def as_timemap(collection: str) -> ResponseReturnValue:
    """Answer at the Wayback Machine's address for crawlers."""
    if collection == ALL_OF_IA and not knows_collection(collection):
        return _answer_of_routes(IA.name)
    require_write(collection)
    return _answer_of_routes(IA.name, collection)


@blueprint.get("/<collection:collection>")
def as_outback(collection: str) -> ResponseReturnValue:
    """Answer at the address of OutbackCDX."""
    asked = {"url", "urlkey", "q"} & set(request.args)
    if not asked and not knows_collection(collection):
        return _no_page()
    require_write(collection)
    return _answer_of_routes(OUTBACK.name, collection)


def _no_page() -> Response:
    """Return the 404 page if the application has pages, else a line of text."""
    if SERVICE_EXTENSION in current_app.extensions:
        return responses.no_page()
    return _failure(404, f"there is no page {request.path}")


for _path, _method, _view in (
    ("", "POST", add_lines),
    ("/delete", "POST", delete_lines),
    ("/changes", "GET", changes),
    ("/sequence", "GET", sequence),
    ("/aliases", "GET", aliases),
):
    _rule = f"/<collection:collection>{_path}"
    blueprint.add_url_rule(_rule, view_func=with_token(_view), methods=[_method])


def _answer_of_routes(variant: str, collection: str = "") -> Response:
    begun = request.environ.pop(BEGUN, None)
    if isinstance(begun, NwxError):
        raise begun
    if isinstance(begun, BegunAnswer):
        return continued(begun, gzip=None)
    parameters = parameters_of(request.query_string.decode("utf-8", "surrogateescape"))
    gzip = parameters.truth("gzip") if parameters.text("gzip") else None

    def answer() -> tuple[Iterable[bytes], str]:
        if parameters.text("q"):
            return answer_xml(parameters, cdx_server().source, collection), XML
        found = asked(cdx_service(), cdx_server(), parameters, collection, variant)
        return found.pieces, found.media_type

    return as_response(answer, gzip=gzip)


@blueprint.errorhandler(NwxError)
def known_failure(error: NwxError) -> Response:
    """Return an NwxError as a line of text."""
    return _failure(responses.status_of(error), str(error))


@blueprint.errorhandler(HTTPException)
def http_failure(error: HTTPException) -> Response:
    """Return an HTTP error as a line of text."""
    answered = _failure(error.code or 500, error.description or error.name)
    for name, value in error.get_headers():
        if name in ("Allow", "Retry-After", "WWW-Authenticate"):
            answered.headers[name] = value
    return answered


def _failure(status: int, message: str) -> Response:
    response = Response(f"{message}\n", status=status, mimetype="text/plain")
    if status == 503:
        response.headers["Retry-After"] = str(responses.RETRY_SECONDS)
    return response
