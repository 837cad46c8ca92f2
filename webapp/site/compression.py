"""Answers compressed for clients that take it."""

from flask import Flask, Response, request
from isal import igzip

WORTH_BYTES = 1_400
"""Less fits into one packet either way."""

_LEVEL = 2
_COMPRESSING = frozenset(("cdx", "memento"))
"""The blueprints whose answers are compressed where they are made, or on purpose are not."""

_TYPES = frozenset(
    (
        "application/json",
        "application/opensearchdescription+xml",
        "image/svg+xml",
        "text/javascript",
    )
)


def register_compression(app: Flask) -> None:
    """Compress the answers of an application where clients ask for it."""
    app.after_request(_compress)


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
    """Return whether an answer is whole, a text, and not compressed yet."""
    if request.blueprint in _COMPRESSING:
        return False
    if response.is_streamed or response.direct_passthrough or response.content_encoding:
        return False
    media_type = response.mimetype or ""
    plain = media_type.startswith("text/") or media_type in _TYPES
    return plain and response.status_code not in (204, 304)
