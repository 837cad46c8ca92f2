"""The CDX server at its addresses, for crawlers, playback and people.

`/cdx` asks all collections, `/<collection>/cdx` one. What stands behind
names a dialect, or for crawlers a spelling of digests: `/cdx/ia`,
`/web/cdx/hex`. `/<collection>` is OutbackCDX's address, in its dialect.
"""

from collections.abc import Iterable
from typing import Any

from flask import Blueprint, Flask, Response, current_app, request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import HTTPException
from werkzeug.routing import BaseConverter, ValidationError

from nwx.cdxserver.query_model import DIALECTS, IA, OUTBACK, parameters_of
from nwx.cdxserver.server import MEDIA_TYPE as XML
from nwx.cdxserver.server import answer_xml
from nwx.errors import NwxError
from nwx.values.urls import url_parts
from webapp.cdx import outback
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
from webapp.headers import ShortAnswers
from webapp.site import responses
from webapp.site.context import SERVICE_EXTENSION
from webapp.users.login_page import with_token

blueprint = Blueprint("cdx", __name__)

VARIANTS = ",".join((*DIALECTS, *SPELLINGS))
_GATE_EXTENSION = "nwx-cdx-gate"
ALL_OF_IA = "web"
"""What stands for all collections in addresses of the Internet Archive, where none is named so."""


class CollectionName(BaseConverter):
    """The first part of an address where it names a collection and no page."""

    regex = r"[^/]+"

    def __init__(self, map: Any) -> None:
        super().__init__(map)
        self._pages: frozenset[str] = frozenset()

    def to_python(self, value: str) -> str:
        """Return the name; raises ValidationError on what a page is called."""
        if not self._pages:
            starts = (rule.rule.split("/")[1] for rule in self.map.iter_rules())
            self._pages = frozenset(start for start in starts if not start.startswith("<"))
        if value in self._pages:
            raise ValidationError
        return value


def prepare_cdx(app: Flask, service: CdxService) -> None:
    """Make an application ready for the addresses of a CDX server."""
    if service.token:
        # Loads the list of public suffixes, which the first captures to be stored would wait for.
        url_parts("http://example.org/")
    app.extensions[CDX_EXTENSION] = service
    app.url_map.converters["collection"] = CollectionName
    gate = app.extensions[_GATE_EXTENSION] = Gate(app, app.wsgi_app, service)
    app.wsgi_app = gate  # type: ignore[method-assign]


def at_once_of(app: Flask) -> ShortAnswers:
    """Return what gives the short answers of an application with a CDX server, None for others."""
    gate: Gate = app.extensions[_GATE_EXTENSION]
    return gate.at_once


@blueprint.get("/cdx")
@blueprint.get(f"/cdx/<any({VARIANTS}):variant>")
def all_captures(variant: str = "") -> ResponseReturnValue:
    """Answer from all collections."""
    return _answer(variant)


@blueprint.get("/<collection:collection>/cdx")
@blueprint.get(f"/<collection:collection>/cdx/<any({VARIANTS}):variant>")
def collection_captures(collection: str, variant: str = "") -> ResponseReturnValue:
    """Answer from one collection."""
    require_write(collection)
    return _answer(variant, collection)


@blueprint.get("/cdx/search/cdx")
def as_internet_archive() -> ResponseReturnValue:
    """Answer at the address that the Internet Archive has."""
    return _answer(IA.name)


@blueprint.get("/<collection:collection>/timemap/cdx")
def as_timemap(collection: str) -> ResponseReturnValue:
    """Answer at the address that the Wayback Machine has for crawlers."""
    if collection == ALL_OF_IA and not knows_collection(collection):
        return _answer(IA.name)
    require_write(collection)
    return _answer(IA.name, collection)


@blueprint.get("/<collection:collection>")
def as_outback(collection: str) -> ResponseReturnValue:
    """Answer at the address that OutbackCDX has."""
    asked = {"url", "urlkey", "q"} & set(request.args)
    if not asked and not knows_collection(collection):
        return _no_page()
    require_write(collection)
    return _answer(OUTBACK.name, collection)


def _no_page() -> Response:
    """Return a page that says so where there are pages, else a line of text."""
    if SERVICE_EXTENSION in current_app.extensions:
        return responses.no_page()
    return _failure(404, f"there is no page {request.path}")


for _path, _method, _view in (
    ("", "POST", outback.add_lines),
    ("/delete", "POST", outback.delete_lines),
    ("/changes", "GET", outback.changes),
    ("/sequence", "GET", outback.sequence),
    ("/aliases", "GET", outback.aliases),
):
    _rule = f"/<collection:collection>{_path}"
    blueprint.add_url_rule(_rule, view_func=with_token(_view), methods=[_method])


def _answer(variant: str, collection: str = "") -> Response:
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
    """Return one of our errors as a line of text."""
    return _failure(responses.status_of(error), str(error))


@blueprint.errorhandler(HTTPException)
def http_failure(error: HTTPException) -> Response:
    """Return an error of HTTP as a line of text."""
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
