"""Answers of any length: short ones whole, long ones piece by piece and only so many at once."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from flask import Response, request
from isal import isal_zlib
from werkzeug.datastructures import Accept
from werkzeug.http import parse_accept_header

from nwx.engine.document_index import Work, working
from nwx.errors import EngineBusyError, QuestionTimeoutError
from webapp.cdx.service import cdx_service, origin_headers
from webapp.site.question_limits import client_waits

WHOLE_BYTES = 1 << 16
WORTH_GZIP = 1_400
SHORT_CHECKS = 20
"""An answer for which more captures are read than so many checks let pass is a long one."""

SILENT_SECONDS = 60.0
"""So long an answer may read without finding anything to send."""

HELD_SECONDS = 5.0
"""After so long, what was found is sent, however little."""

COMMON_HEADERS = (
    ("Cache-Control", "private, no-cache"),  # it depends on who asks
    ("X-Content-Type-Options", "nosniff"),
)
_GZIP_LEVEL = 1
_GZIP = 31  # window bits that make a gzip member


class AnswerWork(Work):
    """The work of one answer, however many captures are read for it.

    A short one is read at once. One that reads, or sends, more than that
    takes one of the `places` for long answers, stops once the client has
    left, and may read for SILENT_SECONDS without finding anything to send.
    Closing it, which may be done twice, makes room for another.
    """

    def __init__(
        self, places: threading.BoundedSemaphore, is_wanted: Callable[[], bool] = lambda: True
    ) -> None:
        super().__init__()
        self._places = places
        self._is_wanted = is_wanted
        self._checks = 0
        self._has_place = False
        self.progressed()

    def progressed(self) -> None:
        """Note that something was found to send."""
        self._silent_until = time.monotonic() + SILENT_SECONDS

    def check(self) -> None:
        """Raise EngineBusyError or QuestionTimeoutError where the answer is to stop."""
        self._checks += 1
        if self._checks <= SHORT_CHECKS:
            return
        self.take_place()
        if not self._is_wanted():
            raise QuestionTimeoutError("nobody waits for the answer any more")
        if time.monotonic() > self._silent_until:
            raise QuestionTimeoutError(
                f"nothing was found among the captures read in {SILENT_SECONDS:g} s; narrow the"
                " question with url, from or to, or ask page by page"
            )

    def take_place(self) -> None:
        """Take a place for a long answer; raises EngineBusyError where none is free."""
        if self._has_place:
            return
        if not self._places.acquire(blocking=False):
            raise EngineBusyError(
                "too many long answers are under way; try again soon, or ask for less with limit"
            )
        self._has_place = True

    def close(self) -> None:
        """Give back the place."""
        if self._has_place:
            self._has_place = False
            self._places.release()


@dataclass(frozen=True, slots=True)
class BegunAnswer:
    """The first bytes of an answer; where it has not `ended`, the other pieces, read under `work`.

    Closing it, which may be done twice, makes room for another.
    """

    media_type: str
    head: bytes
    ended: bool
    pieces: Iterator[bytes]
    work: AnswerWork

    def close(self) -> None:
        """Give back the place of a long answer."""
        self.work.close()


def begin(answer: Callable[[], tuple[Iterable[bytes], str]], work: AnswerWork) -> BegunAnswer:
    """Return the beginning of an answer, whose pieces and media type `answer` gives.

    Raises EngineBusyError on a long answer while too many are under way,
    QuestionTimeoutError where reading finds nothing.
    """
    try:
        with working(work):
            found, media_type = answer()
            pieces = iter(found)
            head, ended = beginning(pieces)
        if not ended:
            work.take_place()
    except BaseException:
        work.close()
        raise
    if ended:
        work.close()
    return BegunAnswer(media_type, head, ended, pieces, work)


def as_response(
    answer: Callable[[], tuple[Iterable[bytes], str]], *, gzip: bool | None
) -> Response:
    """Return the response of an answer, whose pieces and media type `answer` gives.

    Errors of its beginning are raised here, as by `begin`. `gzip` None
    compresses where the client takes it.
    """
    work = AnswerWork(cdx_service().streams, client_waits(request.environ))
    return continued(begin(answer, work), gzip=gzip)


def continued(begun: BegunAnswer, *, gzip: bool | None) -> Response:
    """Return the response of an answer that has begun; `gzip` as in `as_response`."""
    compress = gzip is not False and takes_gzip(request.headers.get("Accept-Encoding", ""))
    if begun.ended:
        body, compressed = whole(begun.head, compress=compress)
        return _response(body, begun.media_type, compressed=compressed)
    return _response(_Stream(begun, compress=compress), begun.media_type, compressed=compress)


@lru_cache(1_000)
def takes_gzip(accepted: str) -> bool:
    """Return whether an Accept-Encoding header names gzip, and does not refuse it."""
    return "gzip" in accepted and parse_accept_header(accepted, Accept).quality("gzip") > 0


def whole(body: bytes, *, compress: bool) -> tuple[bytes, bool]:
    """Return a whole answer, and whether it is compressed, which is worth it for long ones only."""
    if not (compress and len(body) >= WORTH_GZIP):
        return body, False
    return b"".join(_compressed(iter((body,)))), True


def beginning(pieces: Iterator[bytes]) -> tuple[bytes, bool]:
    """Return the first bytes of an answer, and whether there are no more.

    They are fewer than WHOLE_BYTES where it takes long to find so many.
    """
    found: list[bytes] = []
    size = 0
    late = time.monotonic() + HELD_SECONDS
    for piece in pieces:
        found.append(piece)
        size += len(piece)
        if size >= WHOLE_BYTES or (piece and time.monotonic() > late):
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

    def __init__(self, begun: BegunAnswer, *, compress: bool) -> None:
        self._work = begun.work
        joined = _joined(begun.head, begun.pieces)
        self._pieces = _compressed(joined) if compress else joined

    def __iter__(self) -> "_Stream":
        return self

    def __next__(self) -> bytes:
        with working(self._work):
            self._work.progressed()
            return next(self._pieces)

    def close(self) -> None:
        """Let go of the sources; closing twice is harmless."""
        self._work.close()
        self._pieces.close()  # type: ignore[attr-defined]  # all are generators


def _joined(head: bytes, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Join pieces to larger ones; what was held for long is sent, however small."""
    yield head
    held: list[bytes] = []
    size = 0
    late = time.monotonic() + HELD_SECONDS
    for piece in pieces:
        held.append(piece)
        size += len(piece)
        if size >= WHOLE_BYTES or time.monotonic() > late:
            yield b"".join(held)
            held, size = [], 0
            late = time.monotonic() + HELD_SECONDS
    if held:
        yield b"".join(held)


def _compressed(pieces: Iterator[bytes]) -> Iterator[bytes]:
    member = isal_zlib.compressobj(_GZIP_LEVEL, wbits=_GZIP)
    for piece in pieces:
        packed = member.compress(piece)
        if len(piece) < WHOLE_BYTES:  # one that was long in coming
            packed += member.flush(isal_zlib.Z_SYNC_FLUSH)
        if packed:
            yield packed
    yield member.flush()
