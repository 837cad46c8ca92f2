"""Answers of any length: short ones whole, long ones piece by piece and only so many at once."""

import threading
from collections.abc import Iterator

from flask import Response, request
from isal import isal_zlib
from werkzeug.exceptions import ServiceUnavailable

from webapp.cdx.origins import origin_headers
from webapp.cdx.service import cdx_service

WHOLE_BYTES = 1 << 16
WORTH_GZIP = 1_400
COMMON_HEADERS = (
    ("Cache-Control", "no-cache"),
    ("X-Content-Type-Options", "nosniff"),
)
_GZIP_LEVEL = 1
_GZIP = 31  # window bits that make a gzip member


def as_response(pieces: Iterator[bytes], media_type: str, *, gzip: bool | None) -> Response:
    """Return the response of an answer; errors of its beginning are raised here.

    `gzip` None compresses where the client takes it. Raises
    ServiceUnavailable on a long answer while too many are under way.
    """
    compress = gzip is not False and "gzip" in request.headers.get("Accept-Encoding", "")
    compress = compress and request.accept_encodings.quality("gzip") > 0
    head, ended = beginning(pieces)
    if ended and not (compress and len(head) >= WORTH_GZIP):
        return _response(head, media_type, compressed=False)
    if ended:
        return _response(b"".join(_compressed(iter((head,)))), media_type, compressed=True)
    stream = _Stream(head, pieces, cdx_service().streams, compress=compress)
    return _response(stream, media_type, compressed=compress)


def beginning(pieces: Iterator[bytes]) -> tuple[bytes, bool]:
    """Return the first bytes of an answer, and whether there are no more."""
    found: list[bytes] = []
    size = 0
    for piece in pieces:
        found.append(piece)
        size += len(piece)
        if size >= WHOLE_BYTES:
            return b"".join(found), False
    return b"".join(found), True


def _response(body: "bytes | _Stream", media_type: str, *, compressed: bool) -> Response:
    response = Response(body, mimetype=media_type)
    response.headers.extend(COMMON_HEADERS)
    asking = request.headers.get("Origin", "")
    response.headers.extend(origin_headers(asking, cdx_service().origins))
    if compressed:
        response.headers["Content-Encoding"] = "gzip"
    return response


class _Stream:
    """The pieces of a long answer; closing it, read or not, makes room for another."""

    def __init__(
        self,
        head: bytes,
        pieces: Iterator[bytes],
        slots: threading.BoundedSemaphore,
        *,
        compress: bool,
    ) -> None:
        if not slots.acquire(blocking=False):
            raise ServiceUnavailable(
                "too many long answers are under way; try again soon, or ask for less with limit"
            )
        self._slots = slots
        self._open = True
        whole = _joined(head, pieces)
        self._pieces = _compressed(whole) if compress else whole

    def __iter__(self) -> "_Stream":
        return self

    def __next__(self) -> bytes:
        return next(self._pieces)

    def close(self) -> None:
        """Let go of the sources; closing twice is harmless."""
        if self._open:
            self._open = False
            self._slots.release()
            self._pieces.close()  # type: ignore[attr-defined]  # all are generators


def _joined(head: bytes, pieces: Iterator[bytes]) -> Iterator[bytes]:
    yield head
    held: list[bytes] = []
    size = 0
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= WHOLE_BYTES:
            yield b"".join(held)
            held, size = [], 0
    if held:
        yield b"".join(held)


def _compressed(pieces: Iterator[bytes]) -> Iterator[bytes]:
    member = isal_zlib.compressobj(_GZIP_LEVEL, wbits=_GZIP)
    for piece in pieces:
        if packed := member.compress(piece):
            yield packed
    yield member.flush()
