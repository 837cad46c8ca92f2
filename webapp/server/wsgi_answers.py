"""An ASGI bridge for WSGI applications, in which slow clients hold no threads.

Bodies are read before a thread is taken. A thread makes one piece of a
response and is released while the client reads it.
"""

import io
import logging
import sys
import threading
import time
from asyncio import wrap_future
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from contextlib import ExitStack
from contextvars import copy_context
from functools import lru_cache
from http import HTTPStatus
from queue import SimpleQueue
from tempfile import SpooledTemporaryFile
from typing import IO, Any, TypeVar
from urllib.parse import unquote_to_bytes

from webapp.headers import Application, ShortAnswers
from webapp.server.connections import Headers
from webapp.server.http_connection import CONNECTION, ENVIRON, HttpConnection
from webapp.server.metrics import OTHER_ROUTE, RequestCounts, request_id
from webapp.server.protection import ROUTE

HEALTH_PATH = "/health"
SLOW_SECONDS = 0.005
SLOW_PAUSE_SECONDS = 1.0
"""If immediate answers take more than SLOW_SECONDS on average, threads answer for this time.

A single slow one matters little: the system may schedule other processes first.
"""

_USUAL_ANSWERS = 64
"""The last answer's weight in the moving average is one in this number."""

_HELD_BYTES = 1 << 20
"""Bodies larger than this are kept in a temporary file."""

_UNPREFIXED = {"CONTENT_TYPE", "CONTENT_LENGTH"}
_BODILESS = (204, 304)
_FAILED = b"the server failed; its log says how\n"
_FAILED_HEAD = ("500 Internal Server Error", [("Content-Type", "text/plain")])

_logger = logging.getLogger("nwx.server")
_Found = TypeVar("_Found")


class AnswerThreads:
    """A pool of daemon threads that run tasks in order; the process does not wait for them.

    It would wait for the threads of an executor, however long an answer takes.
    """

    def __init__(self, number: int, name: str) -> None:
        self._tasks: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._number = number
        for each in range(number):
            threading.Thread(target=self._work, name=f"{name}-{each}", daemon=True).start()

    async def run(self, task: Callable[[], _Found]) -> _Found:
        """Run a task in a thread; return its result or raise its error."""
        future: Future[_Found] = Future()

        def done() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(task())
            except Exception as error:  # noqa: BLE001 - raised again by the awaiting caller
                future.set_exception(error)

        self._tasks.put(done)
        return await wrap_future(future)

    def end(self) -> None:
        """End the threads after all queued tasks."""
        for _ in range(self._number):
            self._tasks.put(None)

    def _work(self) -> None:
        while (task := self._tasks.get()) is not None:
            task()


class WsgiBridge:
    """An ASGI application that answers with a WSGI application.

    `at_once`, if given, returns short answers, and None for all others; it is
    called first, in the loop's thread, and its additions to the environment
    are passed to `application`. Requests are counted in `counts`. `place` is
    the host and port in environments, `prefix` the public path of the
    application.
    """

    def __init__(
        self,
        application: Application,
        threads: int,
        place: tuple[str, int],
        at_once: ShortAnswers | None = None,
        counts: RequestCounts | None = None,
        prefix: str = "",
    ) -> None:
        self._application = application
        self._counts = counts
        self._at_once = at_once
        self._threads = AnswerThreads(threads, "answer")
        # A separate thread: health checks are answered even if all others are busy.
        self._health = AnswerThreads(1, "health")
        self._usual_seconds = self._slow_until = 0.0
        self._common = {
            "wsgi.version": (1, 0),
            "wsgi.url_scheme": "http",
            "wsgi.errors": sys.stderr,
            "wsgi.multithread": True,
            "wsgi.multiprocess": True,
            "wsgi.run_once": False,
            "wsgi.input_terminated": True,
            "SERVER_SOFTWARE": "nwx",
            "SERVER_NAME": place[0],
            "SERVER_PORT": str(place[1]),
            "SCRIPT_NAME": prefix,
        }

    def end(self) -> None:
        """End the threads."""
        self._threads.end()
        self._health.end()

    def count(self, environ: dict[str, Any], status: int, seconds: float) -> None:
        """Count and log an answered request; called in the loop's thread."""
        if self._counts is not None:
            self._counts.add(environ.get(ROUTE, OTHER_ROUTE), status, seconds)
            if self._counts.log is not None:
                self._counts.log.add(environ, status, seconds)

    def environ_of(
        self, method: str, version: str, path: bytes, query: bytes, headers: Headers
    ) -> dict[str, Any]:
        """Return the environment of a request; the path is decoded as Latin-1, as in WSGI.

        The target is added as it was sent if decoding the path loses a part of it.
        """
        environ = self._common.copy()
        if b"%" in path:
            target = path + b"?" + query if query else path
            environ["REQUEST_URI"] = target.decode("latin-1")
            path = unquote_to_bytes(path)
        environ["REQUEST_METHOD"] = method
        environ["SERVER_PROTOCOL"] = f"HTTP/{version}"
        environ["PATH_INFO"] = path.decode("latin-1")
        environ["QUERY_STRING"] = query.decode("latin-1")
        for name, value in headers:
            key = _environ_key(name)
            text = value.decode("latin-1")
            if key in environ:
                joint = "; " if key == "HTTP_COOKIE" else ", "
                text = f"{environ[key]}{joint}{text}"
            if key:
                environ[key] = text
        return environ

    def answer_at_once(self, environ: dict[str, Any]) -> tuple[bytes, bytes] | None:
        """Return the head lines and the body of an immediate answer, or None.

        A busy disk or processor can make short answers slow; then threads
        answer for a while, several at a time.
        """
        started = time.monotonic()
        if self._at_once is None or started < self._slow_until:
            return None
        lines: list[bytes] = []

        def start(status: str, headers: list[tuple[str, str]]) -> None:
            lines.append(f"HTTP/1.1 {status}\r\n".encode("latin-1"))
            lines.extend([_header_line(*pair) for pair in headers])

        given = self._at_once(environ, start)
        now = time.monotonic()
        self._usual_seconds += (now - started - self._usual_seconds) / _USUAL_ANSWERS
        if self._usual_seconds > SLOW_SECONDS:
            self._usual_seconds, self._slow_until = 0.0, now + SLOW_PAUSE_SECONDS
        if given is None:
            return None
        self.count(environ, int(lines[0][9:12]), now - started)
        return b"".join(lines), b"".join(given)

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer a request."""
        connection: HttpConnection = scope["state"][CONNECTION]
        environ = scope["state"][ENVIRON]
        answer = _Answer(environ, connection, send)
        environ["wsgi.input"] = io.BytesIO()
        if "CONTENT_LENGTH" in environ or "HTTP_TRANSFER_ENCODING" in environ:
            try:
                if not await _read_body(environ, receive):
                    return
            except OSError:
                connection.refuse(HTTPStatus.INSUFFICIENT_STORAGE)
                return
        await self._answer(answer, environ["PATH_INFO"])

    async def _answer(self, answer: "_Answer", path: str) -> None:
        """Answer a request piece by piece, taking a thread for each."""
        threads = self._health if path == HEALTH_PATH else self._threads
        context, started = copy_context(), time.monotonic()
        try:
            while not answer.ended:
                piece = await threads.run(lambda: context.run(answer.next_piece, self._application))
                await answer.send_piece(piece, ended=answer.ended)
        except Exception:
            _logger.exception(
                "the answer to %s failed (%s)", path[:200], request_id(answer.environ)
            )
            if answer.has_begun:
                # Close in the middle, so that the client sees that it is incomplete.
                answer.connection.transport.close()
            else:
                answer.start(*_FAILED_HEAD)
                await answer.send_piece(_FAILED, ended=True, close=True)
        finally:
            if not answer.ended:
                await threads.run(lambda: context.run(answer.close))
            self.count(answer.environ, answer.status, time.monotonic() - started)


class _Answer:
    """The answer to one request; not thread-safe."""

    def __init__(self, environ: dict[str, Any], connection: HttpConnection, send: Any) -> None:
        self.connection = connection
        self.has_begun = self.ended = False
        self.environ = environ
        self._send = send
        self.status = 0
        self._headers: list[tuple[bytes, bytes]] = []
        self._length: int | None = None
        self._written: list[bytes] = []
        self._given: Iterable[bytes] = ()
        self._pieces: Iterator[bytes] | None = None

    def start(
        self, status: str, headers: list[tuple[str, str]], exc_info: Any = None
    ) -> Callable[[bytes], None]:
        """Set status and headers: the `start_response` of WSGI."""
        if self.has_begun and exc_info:
            raise exc_info[1].with_traceback(exc_info[2])
        self.status, self._length = int(status[:3]), None
        self._headers = _encoded(headers)
        for name, value in headers:
            if name.lower() == "content-length":
                self._length = int(value)
        return self._written.append

    def next_piece(self, application: Application) -> bytes:
        """Return the next piece; it is the last one if the answer has `ended` afterwards."""
        if self._pieces is None:
            self._given = application(self.environ, self.start)
            self._pieces = iter(self._given)
        if self.connection.is_lost:
            self.close()
            return b""
        for piece in self._pieces:
            if piece:
                break
        else:
            piece = b""
        data = b"".join((*self._written, piece))
        self._written.clear()
        if not piece or len(data) == self._length:
            self.close()
        return data

    def close(self) -> None:
        """Close the WSGI iterable and the body; may be called twice."""
        self.ended = True
        given, self._given = self._given, ()
        self._pieces = iter(())
        self.environ["wsgi.input"].close()
        if hasattr(given, "close"):
            given.close()

    async def send_piece(self, data: bytes, *, ended: bool, close: bool = False) -> None:
        """Send a piece, after the head if it is the first; waits while the client is slow."""
        if not self.has_begun:
            await self._begin(len(data) if ended else None, close=close)
        if self.status in _BODILESS:
            data = b""
        elif self._length is not None:
            data = data[: self._length]
            self._length -= len(data)
        self.connection.sending(len(data))
        await self._send({"type": "http.response.body", "body": data, "more_body": not ended})
        if ended:
            self.environ["wsgi.input"].close()

    async def _begin(self, whole_bytes: int | None, *, close: bool) -> None:
        """Send the head; `whole_bytes` is the length of a body made of a single piece."""
        self.has_begun = True
        headers = self._headers
        headers.append((b"x-request-id", request_id(self.environ).encode()))
        if self.environ["REQUEST_METHOD"] == "HEAD":
            whole_bytes = whole_bytes or None  # GET may have a body
        if self._length is None and whole_bytes is not None and self.status not in _BODILESS:
            self._length = whole_bytes
            headers.append((b"content-length", b"%d" % whole_bytes))
        if close:
            headers.append((b"connection", b"close"))
        headers += self.connection.begin_answer(has_length=self._length is not None)
        await self._send({"type": "http.response.start", "status": self.status, "headers": headers})


async def _read_body(environ: dict[str, Any], receive: Any) -> bool:
    """Read a body before a thread is taken; return whether it is complete.

    Raises OSError if there is no disk space for it.
    """
    body: IO[bytes] = SpooledTemporaryFile(_HELD_BYTES, prefix="nwx-request-")  # noqa: SIM115
    with ExitStack() as stack:
        stack.callback(body.close)
        more, size = True, 0
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return False
            size += body.write(message["body"])
            more = message["more_body"]
        body.seek(0)
        stack.pop_all()
    environ["wsgi.input"] = body
    if size:
        # The length of a chunked body is known now.
        environ.pop("HTTP_TRANSFER_ENCODING", None)
        environ["CONTENT_LENGTH"] = str(size)
    return True


def _encoded(headers: list[tuple[str, str]]) -> Headers:
    for name, value in headers:
        if "\n" in value or "\r" in value or "\n" in name or "\r" in name:
            raise ValueError(f"a line break in the header {name[:80]!r}")
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers]


@lru_cache(1_000)
def _header_line(name: str, value: str) -> bytes:
    return b"%b: %b\r\n" % _encoded([(name, value)])[0]


@lru_cache(1_000)
def _environ_key(name: bytes) -> str:
    """Return the WSGI key of a header, "" for one with `_`, which could be mistaken for another."""
    if b"_" in name or len(name) > 200:
        return ""
    key = name.decode("latin-1").upper().replace("-", "_")
    return key if key in _UNPREFIXED else f"HTTP_{key}"
