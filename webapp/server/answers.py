"""The answer of a WSGI application to one request, as bytes of HTTP/1."""

import logging
import time
from collections.abc import Callable, Iterable, Iterator
from email.utils import formatdate
from http import HTTPStatus
from typing import Any, Protocol

from webapp.hosts import Application
from webapp.server.request_reader import Request

ShortAnswers = Callable[[dict[str, Any], Callable[..., Any]], Iterable[bytes] | None]
"""As a WSGI application; None stands for an answer that it cannot give at once."""

PIECES_AT_ONCE = 4
"""So many pieces are made before it is asked how many the client has taken."""

_BODILESS = ("1", "204", "304")
_FAILED = b"the server failed; its log says how\n"

_logger = logging.getLogger("nwx.server")


class Receiver(Protocol):
    """The connection that an answer is for; all is called by any thread."""

    def has_left(self) -> bool:
        """Return whether nobody may wait for the answer any more."""

    def is_lost(self) -> bool:
        """Return whether nothing can be sent any more."""

    def send(self, data: bytes) -> None:
        """Send bytes of the answer."""

    def pause(self) -> None:
        """Have the answer go on once the client has taken enough of it."""

    def end(self, *, keep: bool) -> None:
        """End the answer, and the connection too unless it is to be kept."""


class WsgiAnswer:
    """The answer to one request.

    Some pieces are made at a time, so that a client that reads slowly
    takes no thread meanwhile.
    """

    def __init__(self, request: Request, receiver: Receiver, *, last: bool) -> None:
        self.request = request
        self._receiver = receiver
        self._keep = request.keep_alive and not last
        self._is_head = request.environ["REQUEST_METHOD"] == "HEAD"
        self._status = ""
        self._headers: list[tuple[str, str]] = []
        self._given: Iterable[bytes] = ()
        self._pieces: Iterator[bytes] | None = None
        self._head_sent = self._chunked = False
        self._remaining: int | None = None
        request.environ["nwx.client_has_left"] = receiver.has_left

    def at_once(self, application: ShortAnswers) -> bytes | None:
        """Return the whole answer where an application can give it at once."""
        given = application(self.request.environ, self._start)
        if given is None:
            return None
        self.request.body.close()
        return self._encoded(b"".join(given), last=True)

    @property
    def keep(self) -> bool:
        """Whether the connection is kept behind the answer."""
        return self._keep

    def go_on(self, application: Application) -> None:
        """Make some pieces; the receiver is told how it goes on. Not called by two threads."""
        try:
            if self._pieces is None:
                self._given = application(self.request.environ, self._start)
                self._pieces = iter(self._given)
            self._make(self._pieces)
        except Exception:
            _logger.exception("the answer to %s failed", self.request.environ["PATH_INFO"][:200])
            self._fail()

    def _make(self, pieces: Iterator[bytes]) -> None:
        for _ in range(PIECES_AT_ONCE):
            piece = None if self._receiver.is_lost() else next(pieces, None)
            if piece is None:
                data = self._encoded(b"", last=True)
                self.close()
                if data:
                    self._receiver.send(data)
                self._receiver.end(keep=self._keep)
                return
            if piece and (data := self._encoded(piece, last=self._is_whole(piece))):
                self._receiver.send(data)
        self._receiver.pause()

    def _is_whole(self, piece: bytes) -> bool:
        return self._remaining == len(piece)

    def _fail(self) -> None:
        """Tell the client of a failure, if only by closing the connection in the middle."""
        self.close()
        if not self._head_sent:
            self._headers = []
            self._start("500 Internal Server Error", [("Content-Type", "text/plain")])
            self._keep = False
            self._receiver.send(self._encoded(_FAILED, last=True))
        self._receiver.end(keep=False)

    def close(self) -> None:
        """Let go of what the answer is made from; closing twice is harmless."""
        given, self._given = self._given, ()
        self._pieces = iter(())
        self.request.body.close()
        if hasattr(given, "close"):
            given.close()

    def _start(
        self, status: str, headers: list[tuple[str, str]], exc_info: Any = None
    ) -> Callable[[bytes], None]:
        """Take status and headers; this is `start_response` of WSGI."""
        if self._head_sent and exc_info:
            raise exc_info[1].with_traceback(exc_info[2])
        self._status, self._headers = status, headers
        self._remaining = None
        for name, value in headers:
            if name.lower() == "content-length":
                self._remaining = int(value)
        return self._write

    def _write(self, data: bytes) -> None:
        """Send bytes as WSGI's `write` does, which hardly an application calls."""
        self._receiver.send(self._encoded(data, last=False))

    def _encoded(self, data: bytes, *, last: bool) -> bytes:
        """Return bytes of the body as they go over the connection, behind the head at first."""
        head = b""
        if not self._head_sent:
            head = self._head(len(data) if last else None)
            self._head_sent = True
        if self._is_head or self._status.startswith(_BODILESS):
            return head
        if self._chunked:
            chunk = b"%x\r\n%b\r\n" % (len(data), data) if data else b""
            return b"".join((head, chunk, b"0\r\n\r\n" if last else b""))
        if self._remaining is not None:
            data = data[: self._remaining]
            self._remaining -= len(data)
            if last and self._remaining:
                self._keep = False  # or the client would wait for the rest
        return head + data

    def _head(self, whole_bytes: int | None) -> bytes:
        """Return the head; `whole_bytes` is the length of a body that follows at once."""
        lines = [f"HTTP/1.1 {self._status}"]
        for name, value in self._headers:
            if "\n" in value or "\r" in value or "\n" in name or "\r" in name:
                raise ValueError(f"a line break in the header {name[:80]!r}")
            lines.append(f"{name}: {value}")
        if self._remaining is None and not self._status.startswith(_BODILESS):
            lines += self._framing(whole_bytes)
        if not self._keep:
            lines.append("Connection: close")
        elif self.request.version == "1.0":
            lines.append("Connection: keep-alive")
        lines += ("Server: nwx", f"Date: {_date(int(time.time()))}", "\r\n")
        return "\r\n".join(lines).encode("latin-1")

    def _framing(self, whole_bytes: int | None) -> list[str]:
        """Return the headers that tell where a body of unknown length ends."""
        if whole_bytes is not None:
            self._remaining = whole_bytes
            return [f"Content-Length: {whole_bytes}"]
        if self.request.version == "1.1":
            self._chunked = True
            return ["Transfer-Encoding: chunked"]
        self._keep = False
        return []


def refusal(status: HTTPStatus) -> bytes:
    """Return the answer to a request that is not read to its end."""
    body = f"{status.phrase}\n".encode()
    head = (
        f"HTTP/1.1 {status.value} {status.phrase}\r\nContent-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\nServer: nwx\r\n"
        f"Date: {_date(int(time.time()))}\r\n\r\n"
    )
    return head.encode() + body


_dates: dict[int, str] = {}


def _date(second: int) -> str:
    """Return the date of a moment; that of the last one is kept."""
    found = _dates.get(second)
    if found is None:
        _dates.clear()
        found = _dates[second] = formatdate(second, usegmt=True)
    return found
