"""Errors as answers: pages for people, JSON for programs, plain text for playback."""

from typing import Any

from flask import Flask, Response, jsonify, make_response, render_template, request
from flask.globals import request_ctx
from flask_babel import gettext, lazy_gettext
from werkzeug.exceptions import HTTPException

from nwx.access.restricted.hidden_urls import HiddenError
from nwx.charts.pictures import DrawingBusyError
from nwx.errors import (
    CaptureIndexError,
    EngineBusyError,
    EngineUnavailableError,
    NwxError,
    QueryError,
    QuestionTimeoutError,
    UsageError,
    WithheldError,
)
from nwx.searching.answers import answer_to_json
from webapp.site.error_texts import error_text
from webapp.site.openapi import ErrorAnswer, ErrorDetails

RETRY_SECONDS = 5
_HEADINGS = {
    400: lazy_gettext("Bad request"),
    404: lazy_gettext("Not in this archive"),
    405: lazy_gettext("Method not allowed"),
    451: lazy_gettext("May not be shown"),
    503: lazy_gettext("The archive is unavailable"),
}
_BUSY = (EngineBusyError, QuestionTimeoutError, DrawingBusyError)
_BUSY_HEADING = lazy_gettext("The archive is busy")


def register_failures(app: Flask) -> None:
    """Answer every error of an application in the form that the asker reads."""
    app.register_error_handler(NwxError, _known)
    app.register_error_handler(HTTPException, _http)


def status_of(error: NwxError) -> int:
    """Return the HTTP status that fits an error."""
    if isinstance(error, UsageError):
        return 400
    if isinstance(error, WithheldError):
        return 403
    if isinstance(error, HiddenError):
        return 451
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


def _http(error: HTTPException) -> Response | HTTPException:
    if error.code is None or error.code < 400:
        return error
    message = error.description or error.name
    if error.code == 404 and "URL was not found" in message:
        message = gettext("there is no page %(path)s", path=request.path)
    answered = error_answer(error.code, message)
    for name, value in error.get_headers():
        if name in ("Allow", "Retry-After"):
            answered.headers[name] = value
    return answered


def error_answer(status: int, message: str, heading: str = "", **details: Any) -> Response:
    """Return an error in the form that fits the address asked for."""
    if request.path.startswith(("/api/", "/urls")) or request.path == "/health":
        response = jsonify(answer_to_json(ErrorAnswer(ErrorDetails(status, message, **details))))
    elif request.path.startswith(("/cdx", "/replay-refusal")):
        response = Response(f"{message}\n", mimetype="text/plain")
    elif request_ctx.url_adapter is None:
        # The request itself is at fault, and a page has addresses that are made of it.
        response = Response(f"{message}\n", mimetype="text/plain")
    else:
        heading = heading or str(_HEADINGS.get(status, gettext("Something went wrong")))
        page = render_template("error.html", status=status, heading=heading, message=message)
        response = make_response(page)
    response.status_code = status
    if status == 503:
        response.headers["Retry-After"] = str(RETRY_SECONDS)
    return response
