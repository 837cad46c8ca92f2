"""The CDX server at its addresses, for crawlers, playback and people.

`/cdx` asks all collections, `/<collection>/cdx` one. What stands behind
names a dialect, or for crawlers a spelling of digests: `/cdx/ia`,
`/web/cdx/hex`. `/<collection>` is OutbackCDX's address, in its dialect.
"""

from collections.abc import Sequence
from typing import Any

from flask import Blueprint, Flask, Response, request
from flask.typing import ResponseReturnValue
from werkzeug.exceptions import HTTPException
from werkzeug.routing import BaseConverter, ValidationError

from nwx.cdxserver.dialects import DIALECTS, IA, OUTBACK, PYWB, Dialect, dialect_named
from nwx.cdxserver.parameters import Parameters, parameters_of
from nwx.cdxserver.waybackxml import MEDIA_TYPE as XML
from nwx.cdxserver.waybackxml import answer_xml
from nwx.errors import NwxError
from nwx.formats.cdxrow import Row
from nwx.formats.digest import Form
from webapp import cdx_writing, failures
from webapp.cdx_service import cdx_service, require
from webapp.cdx_streams import as_response

blueprint = Blueprint("cdx", __name__)

SPELLINGS = {"hex": Form.BARE_HEX, "base32": Form.BARE_BASE32}
VARIANTS = ",".join((*DIALECTS, *SPELLINGS))
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


def prepare(app: Flask) -> None:
    """Make an application ready for the addresses of the CDX server."""
    app.url_map.converters["collection"] = CollectionName


@blueprint.get("/cdx")
@blueprint.get(f"/cdx/<any({VARIANTS}):variant>")
def all_captures(variant: str = "") -> ResponseReturnValue:
    """Answer from all collections."""
    return _answer(variant or PYWB.name)


@blueprint.get("/<collection:collection>/cdx")
@blueprint.get(f"/<collection:collection>/cdx/<any({VARIANTS}):variant>")
def captures(collection: str, variant: str = "") -> ResponseReturnValue:
    """Answer from one collection."""
    require(collection)
    return _answer(variant or PYWB.name, collection)


@blueprint.get("/cdx/search/cdx")
def as_internet_archive() -> ResponseReturnValue:
    """Answer at the address that the Internet Archive has."""
    return _answer(IA.name)


@blueprint.get("/<collection:collection>/timemap/cdx")
def as_timemap(collection: str) -> ResponseReturnValue:
    """Answer at the address that the Wayback Machine has for crawlers."""
    if collection == ALL_OF_IA and not cdx_service().knows(collection):
        return _answer(IA.name)
    require(collection)
    return _answer(IA.name, collection)


@blueprint.get("/<collection:collection>")
def as_outback(collection: str) -> ResponseReturnValue:
    """Answer at the address that OutbackCDX has."""
    asked = {"url", "urlkey", "q"} & set(request.args)
    if not asked and not cdx_service().knows(collection):
        return failures.answer(404, f"there is no page {request.path}")
    require(collection)
    return _answer(OUTBACK.name, collection)


@blueprint.post("/<collection:collection>")
def add(collection: str) -> ResponseReturnValue:
    """Store captures."""
    return cdx_writing.add(collection)


@blueprint.post("/<collection:collection>/delete")
def delete(collection: str) -> ResponseReturnValue:
    """Delete captures."""
    return cdx_writing.delete(collection)


def _answer(variant: str, collection: str = "") -> Response:
    parameters = parameters_of(request.query_string.decode("utf-8", "surrogateescape"))
    gzip = parameters.truth("gzip") if parameters.text("gzip") else None
    server = cdx_service().server
    if parameters.text("q"):
        pieces = answer_xml(parameters, server.source, collection)
        return as_response(pieces, XML, gzip=gzip)
    dialect = _dialect(parameters, variant)
    spelling = SPELLINGS.get(variant)
    answer = server.answer(parameters, dialect, collection=collection, digest=spelling, seen=_cover)
    return as_response(answer.pieces, answer.media_type, gzip=gzip)


def _cover(rows: Sequence[Row]) -> None:
    """Make the files of captures known to whoever is about to play them."""
    places = cdx_service().places
    if places is not None:
        places.cover((row.collection, row.filename) for row in rows)


def _dialect(parameters: Parameters, variant: str) -> Dialect:
    """Return the dialect of a question; crawlers that want a spelling speak that of IA."""
    name = parameters.text("dialect")
    return dialect_named(name or (IA.name if variant in SPELLINGS else variant))


@blueprint.errorhandler(NwxError)
def known_failure(error: NwxError) -> Response:
    """Return one of our errors as a line of text."""
    return _failure(failures.status_of(error), str(error))


@blueprint.errorhandler(HTTPException)
def http_failure(error: HTTPException) -> Response:
    """Return an error of HTTP as a line of text."""
    answered = _failure(error.code or 500, error.description or error.name)
    for name, value in error.get_headers():
        if name in ("Allow", "WWW-Authenticate"):
            answered.headers[name] = value
    return answered


def _failure(status: int, message: str) -> Response:
    response = Response(f"{message}\n", status=status, mimetype="text/plain")
    if status == 503:
        response.headers["Retry-After"] = str(failures.RETRY_SECONDS)
    return response
