"""Answers that are pictures or other renders: never a page of our origin, whatever their bytes."""

import hashlib

from flask import Response, request

NO_SCRIPTS = "default-src 'none'; style-src 'unsafe-inline'; sandbox; frame-ancestors 'none'"
"""What the bytes of an archive may do in a browser: nothing."""

KEPT_SECONDS = 3_600
_ETAG_DIGITS = 32

_MAGICS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
)
_WEBP = "image/webp"
_JSON = "application/json"
_TEXT = "text/plain"
_BYTES = "application/octet-stream"
_JSON_TYPES = (_JSON, "application/har+json", "text/json")

NO_PICTURE = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 20" width="320" height="200">'
    '<rect width="32" height="20" fill="#8884"/>'
    '<path d="M11 14l4-5 3 3 2-2 3 4z" fill="#888"/></svg>'
)
"""What is shown in the place of a picture that cannot be shown."""


def etag_of(*parts: object) -> str:
    """Return the ETag of what is made of these parts alone."""
    named = "\n".join(map(str, parts))
    return hashlib.blake2b(named.encode("utf-8", "surrogatepass")).hexdigest()[:_ETAG_DIGITS]


def not_modified(etag: str) -> Response | None:
    """Return the answer to who has it already, None where it has to be sent."""
    if not request.if_none_match.contains_weak(etag):
        return None
    return _kept(Response(status=304), etag)


def picture_answer(payload: bytes, media_type: str, etag: str) -> Response:
    """Return a picture of our own making."""
    return _kept(_harmless(Response(payload, mimetype=media_type)), etag)


def placeholder_answer(status: int = 404) -> Response:
    """Return a picture that stands for one that is not there; browsers show it all the same."""
    response = _harmless(Response(NO_PICTURE, status, mimetype="image/svg+xml"))
    response.headers["Cache-Control"] = "no-store"
    return response


def render_answer(payload: bytes, media_type: str, name: str, etag: str) -> Response:
    """Return a stored render: pictures and JSON as they are, texts and HTML as plain text.

    All else is a download, of a file of a name.
    """
    served = served_type(payload, media_type)
    response = _harmless(Response(payload))
    if served == _TEXT:
        response.headers["Content-Type"] = f"{_TEXT}; charset=utf-8"
    else:
        response.headers["Content-Type"] = served
    disposition = "attachment" if served in (_BYTES, "application/pdf") else "inline"
    response.headers["Content-Disposition"] = f"{disposition}; filename={name}"
    return _kept(response, etag)


def served_type(payload: bytes, media_type: str) -> str:
    """Return the content type that bytes are served with, by what they are and are said to be."""
    for magic, found in _MAGICS:
        if payload.startswith(magic):
            return found
    if payload[:4] == b"RIFF" and payload[8:12] == b"WEBP":
        return _WEBP
    if media_type in _JSON_TYPES:
        return _JSON
    if media_type.startswith("text/") or media_type.endswith(("xml", "html")):
        return _TEXT
    if media_type == "application/pdf" and payload.startswith(b"%PDF-"):
        return media_type
    return _BYTES


def _harmless(response: Response) -> Response:
    response.headers["Content-Security-Policy"] = NO_SCRIPTS
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Cross-Origin-Resource-Policy"] = "same-origin"
    return response


def _kept(response: Response, etag: str) -> Response:
    response.set_etag(etag)
    response.headers["Cache-Control"] = f"private, max-age={KEPT_SECONDS}"
    return response
