"""Answers of any length: short ones whole, long ones streamed, with a limit on concurrent ones."""

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
from webapp.headers import KEPT_PRIVATE
from webapp.site.question_limits import client_waits

WHOLE_BYTES = 1 << 16
WORTH_GZIP = 1_400
SHORT_CHECKS = 20
"""An answer whose reading takes more than this number of checks is a long one."""

SILENT_SECONDS = 60.0
"""How long an answer may read without finding anything to send."""

HELD_SECONDS = 5.0
"""The time after which any captures found are sent, however few."""

COMMON_HEADERS = (
    KEPT_PRIVATE,
    ("X-Content-Type-Options", "nosniff"),
)
_GZIP_LEVEL = 1
_GZIP = 31  # window bits that make a gzip member


class AnswerWork(Work):
    """The work of one answer, however many captures are read for it.

    A short answer is read at once. One that reads or sends more takes one of
    the `places` for long answers, stops when the client disconnects, and may
    read for SILENT_SECONDS without finding anything to send.
    Closing it, which may be done twice, releases its place.
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
        """Restart the limit of SILENT_SECONDS: something was found to send."""
        self._silent_until = time.monotonic() + SILENT_SECONDS

    def check(self) -> None:
        """Raise EngineBusyError or QuestionTimeoutError if the answer must stop."""
        self._checks += 1
        if self._checks <= SHORT_CHECKS:
            return
        self.take_place()
        if not self._is_wanted():
            raise QuestionTimeoutError("the client no longer waits for the answer")
        if time.monotonic() > self._silent_until:
            raise QuestionTimeoutError(
                f"nothing was found among the captures read in {SILENT_SECONDS:g} s; narrow the"
                " query with url, from or to, or request it page by page"
            )

    def take_place(self) -> None:
        """Take a place for a long answer; raises EngineBusyError if none is free."""
        if self._has_place:
            return
        if not self._places.acquire(blocking=False):
            raise EngineBusyError(
                "too many long answers are in progress; try again soon, or request less with limit"
            )
        self._has_place = True

    def close(self) -> None:
        """Release the place."""
        if self._has_place:
            self._has_place = False
            self._places.release()


@dataclass(frozen=True, slots=True)
class BegunAnswer:
    """The first bytes of an answer, and the other pieces unless it has `ended`, read under `work`.

    Closing it, which may be done twice, releases its place.
    """

    media_type: str
    head: bytes
    ended: bool
    pieces: Iterator[bytes]
    work: AnswerWork

    def close(self) -> None:
        """Release the place of a long answer."""
        self.work.close()


def begin(answer: Callable[[], tuple[Iterable[bytes], str]], work: AnswerWork) -> BegunAnswer:
    """Return the beginning of an answer; `answer` returns its pieces and media type.

    Raises EngineBusyError on a long answer while too many others run,
    QuestionTimeoutError if reading finds nothing for too long.
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
    """Return the response of an answer; `answer` returns its pieces and media type.

    Errors of its beginning are raised as by `begin`. `gzip` None compresses
    if the client accepts gzip.
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
    """Return whether an Accept-Encoding header accepts gzip by name."""
    return "gzip" in accepted and parse_accept_header(accepted, Accept).quality("gzip") > 0


def whole(body: bytes, *, compress: bool) -> tuple[bytes, bool]:
    """Return a whole body and whether it is compressed: only from WORTH_GZIP bytes on."""
    if not (compress and len(body) >= WORTH_GZIP):
        return body, False
    return b"".join(_compressed(iter((body,)))), True


def beginning(pieces: Iterator[bytes]) -> tuple[bytes, bool]:
    """Return the first bytes of an answer, and whether there are no more.

    These are fewer than WHOLE_BYTES if finding more takes longer than HELD_SECONDS.
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
    """The pieces of a long answer; closing it, read or not, releases its place."""

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
        """Release the place and the sources; may be called twice."""
        self._work.close()
        self._pieces.close()  # type: ignore[attr-defined]  # all are generators


def _joined(head: bytes, pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield pieces joined to WHOLE_BYTES or more; smaller ones after HELD_SECONDS."""
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
        if len(piece) < WHOLE_BYTES:  # sent early because reading took long
            packed += member.flush(isal_zlib.Z_SYNC_FLUSH)
        if packed:
            yield packed
    yield member.flush()
