"""Responses of routes: JSON, files, errors in a format for the client, and compression."""

from collections.abc import Callable, Iterable, Mapping
from itertools import chain
from typing import Any, TypeVar

from flask import Flask, Response, jsonify, make_response, render_template, request
from flask.globals import request_ctx
from flask_babel import LazyString, gettext, lazy_gettext
from isal import igzip
from werkzeug.exceptions import HTTPException, NotFound

from nwx.access.hidden_urls import HiddenError
from nwx.charts.pictures import DrawingBusyError
from nwx.errors import (
    CaptureIndexError,
    EngineBusyError,
    EngineConflictError,
    EngineUnavailableError,
    NotBuiltError,
    NwxError,
    QueryError,
    QuestionTimeoutError,
    UsageError,
    WithheldError,
)
from nwx.searching.answers import answer_to_json, encoded_answer
from nwx.steering.specifications.specification_store import UnknownCrawlError
from nwx.values.records import BYTE_ORDER_MARK
from webapp.site.openapi import JSON_TYPE, ErrorAnswer, ErrorDetails
from webapp.site.question_limits import Export
from webapp.site.words import error_text

_Form = TypeVar("_Form")


def json_answer(answer: object, status: int = 200) -> Response:
    """Return an answer as JSON."""
    return Response(encoded_answer(answer), status, mimetype=JSON_TYPE)


def form_of(forms: Mapping[str, _Form], suffix: str, refusal: LazyString) -> _Form:
    """Return the entry of `forms` for the end of an address.

    Raises NotFound if it is unknown; `refusal` has `choices` and `suffix`.
    """
    if suffix not in forms:
        raise NotFound(str(refusal) % {"choices": ", ".join(forms), "suffix": repr(suffix)})
    return forms[suffix]


def exported_file(name: str, media_type: str, begin: Callable[[], Iterable[str]]) -> Response:
    """Return a file whose pieces are made while it is sent.

    Errors of `begin` are raised, so that an error can still be answered.
    Raises EngineBusyError if too many exports are running.
    """
    export = Export()
    try:
        pieces = begin()
    except BaseException:
        export.end()
        raise
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    response = Response(export.pieces(pieces), mimetype=media_type, headers=headers)
    response.call_on_close(export.end)
    return response


RETRY_SECONDS = 5
_HEADINGS = {
    400: lazy_gettext("Bad request"),
    403: lazy_gettext("Not allowed"),
    404: lazy_gettext("Not in this archive"),
    405: lazy_gettext("Method not allowed"),
    409: lazy_gettext("Changed meanwhile"),
    413: lazy_gettext("Too large"),
    429: lazy_gettext("Too many requests"),
    451: lazy_gettext("May not be shown"),
    503: lazy_gettext("The archive is unavailable"),
}
_BUSY = (EngineBusyError, QuestionTimeoutError, DrawingBusyError)
_BUSY_HEADING = lazy_gettext("The archive is busy")


def register_failures(app: Flask) -> None:
    """Register handlers that answer every error of an application in a format for the client."""
    app.register_error_handler(NwxError, _known)
    app.register_error_handler(HTTPException, _http)


def status_of(error: NwxError) -> int:
    """Return the HTTP status of an error."""
    if isinstance(error, (NotBuiltError, UnknownCrawlError)):
        return 404
    if isinstance(error, UsageError):
        return 400
    if isinstance(error, WithheldError):
        return 403
    if isinstance(error, HiddenError):
        return 451
    if isinstance(error, EngineConflictError):
        return 409
    if isinstance(error, (CaptureIndexError, EngineUnavailableError, *_BUSY)):
        return 503
    return 500


def _known(error: NwxError) -> Response:
    details: dict[str, Any] = {}
    if isinstance(error, QueryError):
        details = {"query": error.query, "position": error.position}
    heading = str(_BUSY_HEADING) if isinstance(error, _BUSY) else ""
    if isinstance(error, WithheldError):
        heading = str(_HEADINGS[451])
    return error_answer(status_of(error), error_text(error), heading, **details)


_MESSAGES = {
    405: lazy_gettext("this address does not accept this method"),
    500: lazy_gettext("the service could not answer; its log says why"),
}
"""Translatable messages that replace Werkzeug's English ones."""


def _http(error: HTTPException) -> Response | HTTPException:
    if error.code is None or error.code < 400:
        return error
    message = error.description or error.name
    if message == type(error).description and error.code in _MESSAGES:
        message = str(_MESSAGES[error.code])
    if error.code == 404 and "URL was not found" in message:
        return no_page()
    answered = error_answer(error.code, message)
    for name, value in error.get_headers():
        if name in ("Allow", "Retry-After"):
            answered.headers[name] = value
    return answered


def no_page() -> Response:
    """Return the 404 response for an address without a page."""
    return error_answer(404, gettext("there is no page %(path)s", path=request.path))


def error_answer(status: int, message: str, heading: str = "", **details: Any) -> Response:
    """Return an error response in the format of the requested address: JSON, text or HTML."""
    if request.path.startswith(("/api/", "/urls")) or request.path == "/health":
        response = jsonify(answer_to_json(ErrorAnswer(ErrorDetails(status, message, **details))))
    elif request.path.startswith(("/cdx", "/replay-refusal")):
        response = Response(f"{message}\n", mimetype="text/plain")
    elif request_ctx.url_adapter is None:
        # The request itself is bad, and a page would need addresses made from it.
        response = Response(f"{message}\n", mimetype="text/plain")
    else:
        heading = heading or str(_HEADINGS.get(status, gettext("Something went wrong")))
        page = render_template("error.html", status=status, heading=heading, message=message)
        response = make_response(page)
    response.status_code = status
    if status == 503:
        response.headers["Retry-After"] = str(RETRY_SECONDS)
    return response


WORTH_BYTES = 1_400
"""Shorter responses fit into one packet uncompressed."""

_LEVEL = 2
_COMPRESSING = frozenset(("cdx", "memento"))
"""The blueprints that decide on compression themselves."""

_TYPES = frozenset(
    (
        "application/json",
        "application/opensearchdescription+xml",
        "image/svg+xml",
        "text/javascript",
    )
)


def register_compression(app: Flask) -> None:
    """Make an application compress responses if clients accept it, and mark CSV for Excel."""
    app.after_request(_compress)
    app.after_request(_mark_csv)


def _mark_csv(response: Response) -> Response:
    """Begin a CSV file with a byte order mark if the request has `excel`."""
    if response.mimetype == "text/csv" and request.args.get("excel"):
        response.response = chain((BYTE_ORDER_MARK.encode(),), response.iter_encoded())
        response.headers.pop("Content-Length", None)
    return response


def _compress(response: Response) -> Response:
    if not _may_be_compressed(response):
        return response
    response.vary.add("Accept-Encoding")
    if request.accept_encodings.quality("gzip") <= 0:
        return response
    body = response.get_data()
    if len(body) >= WORTH_BYTES:
        response.set_data(igzip.compress(body, compresslevel=_LEVEL, mtime=0))
        response.content_encoding = "gzip"
    return response


def _may_be_compressed(response: Response) -> bool:
    """Return whether a response is not streamed, is text, and is not compressed yet."""
    if request.blueprint in _COMPRESSING:
        return False
    if response.is_streamed or response.direct_passthrough or response.content_encoding:
        return False
    media_type = response.mimetype or ""
    plain = media_type.startswith("text/") or media_type in _TYPES
    return plain and response.status_code not in (204, 304)
