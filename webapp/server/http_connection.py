"""A connection of a client, from its first byte to its end."""

import asyncio
import time
from collections import deque
from collections.abc import Callable
from contextvars import Context, copy_context
from functools import partial
from http import HTTPStatus
from typing import Any, Protocol, cast

from webapp.hosts import Application
from webapp.server.answers import WsgiAnswer, refusal
from webapp.server.connections import ConnectionState
from webapp.server.request_reader import Request, RequestReader, environ_base

BUFFERED_BYTES = 1 << 20
"""What is made in advance for each client that reads slowly."""

HEALTH_PATH = "/health"
_PIPELINED = 1
"""So many requests may wait behind the one that is answered."""


class Tasks(Protocol):
    """Threads that do one task after the other."""

    def submit(self, task: Callable[[], None]) -> None:
        """Have a task done."""


class ConnectionHost(Protocol):
    """The server, as its connections know it."""

    application: Application
    token: str
    place: tuple[str, int]
    ending: bool

    def opened(self, connection: "HttpConnection") -> None:
        """Note a new connection."""

    def closed(self, connection: "HttpConnection") -> None:
        """Note the end of a connection."""

    def answer_at_once(self, answer: WsgiAnswer) -> bytes | None:
        """Return the whole answer where that takes no time, else None."""

    def soon(self, call: Callable[..., None], *arguments: Any) -> None:
        """Have a function called by the thread of the loop; called by any thread."""

    def tasks(self, path: str) -> Tasks:
        """Return the threads in which a request is answered."""


class HttpConnection(asyncio.Protocol):
    """Reads requests and sends their answers, one after the other.

    All but what `Receiver` names is called by the thread of the loop.
    """

    def __init__(self, host: ConnectionHost) -> None:
        self._host = host
        self._waiting: deque[Request] = deque()
        self._answer: WsgiAnswer | None = None
        self._context: Context
        self._transport: asyncio.Transport
        self._reader: RequestReader
        self._has_left = self._is_lost = self._refusing = self._paused = False
        self._has_answered = False
        self._given_bytes = self._taken_bytes = self._window_start = 0
        self.client = ""
        self.doomed = False
        self.began = self.last_activity = self.window_began = time.monotonic()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(BUFFERED_BYTES, BUFFERED_BYTES // 2)
        address = transport.get_extra_info("peername") or ("", 0)
        self.client = str(address[0])
        base = environ_base(*self._host.place, self.client, address[1])
        self._reader = RequestReader(self._host.token, base)
        self._host.opened(self)

    def data_received(self, data: bytes) -> None:
        """Read bytes of requests; those behind one that is refused are dropped."""
        self.last_activity = time.monotonic()
        if self._refusing:
            return
        if not self._reader.begun:
            self.began = self.last_activity
        self._waiting += self._reader.feed(data)
        if self._reader.wants_continue and self._answer is None and not self._waiting:
            self._reader.wants_continue = False
            self._transport.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if self._answer is None:
            self._answer_next()
        if len(self._waiting) > _PIPELINED:
            self._transport.pause_reading()

    def eof_received(self) -> bool:
        """Note that a client sends no more; what it has asked for is still answered."""
        self._has_left = True
        return self._answer is not None or bool(self._waiting)

    def connection_lost(self, error: Exception | None) -> None:
        """End what is made for the client."""
        self._has_left = self._is_lost = True
        self._host.closed(self)
        self._reader.close()
        while self._waiting:
            self._waiting.popleft().body.close()
        if self._answer is not None and self._paused:
            self._submit(self._answer.close)

    def resume_writing(self) -> None:
        """Go on with an answer of which the client has taken enough."""
        if self._paused and self._answer is not None:
            self._go_on()

    def _answer_next(self) -> None:
        """Answer the requests that wait, as many as can be answered at once, and the next."""
        while self._waiting and not self._is_lost:
            request = self._waiting.popleft()
            answer = WsgiAnswer(request, self, last=self._host.ending)
            whole = self._host.answer_at_once(answer)
            if whole is None:
                self._answer = answer
                self._context = copy_context()
                self._go_on()
                return
            self._write(whole)
            self._has_answered = True
            if not answer.keep:
                self._transport.close()
                return
        if self._reader.refused is not None:
            self._refuse(self._reader.refused)
        elif self._has_left or (self._host.ending and self._has_answered):
            self._transport.close()
        else:
            self._transport.resume_reading()

    def _refuse(self, status: HTTPStatus) -> None:
        """Answer a request that is not read to its end; the rest of it is dropped for a while."""
        self._refusing = True
        self.began = time.monotonic()
        self._write(refusal(status))
        # Closed at once, the answer could be lost: the client still sends.
        if self._has_left:
            self._transport.close()
        elif self._transport.can_write_eof():
            self._transport.write_eof()

    def _go_on(self) -> None:
        answer = self._answer
        if answer is not None:
            self._paused = False
            self._submit(partial(answer.go_on, self._host.application))

    def _submit(self, task: Callable[[], None]) -> None:
        path = self._answer.request.environ["PATH_INFO"] if self._answer else ""
        self._host.tasks(path).submit(partial(self._context.run, task))

    def _write(self, data: bytes) -> None:
        if self._is_lost:
            return
        if not self._unsent():
            self.window_began, self._window_start = time.monotonic(), self._given_bytes
        self._given_bytes += len(data)
        self._transport.write(data)

    # What the threads call that answer (`Receiver`).

    def has_left(self) -> bool:
        """Return whether nobody may wait for the answer any more."""
        return self._has_left

    def is_lost(self) -> bool:
        """Return whether nothing can be sent any more."""
        return self._is_lost

    def send(self, data: bytes) -> None:
        """Send bytes of the answer."""
        self._host.soon(self._write, data)

    def pause(self) -> None:
        """Have the answer go on once the client has taken enough of it."""
        self._host.soon(self._pause)

    def end(self, *, keep: bool) -> None:
        """End the answer, and the connection too unless it is to be kept."""
        self._host.soon(self._end, keep)

    def _pause(self) -> None:
        self._paused = True
        if self._is_lost:
            if self._answer is not None:
                self._submit(self._answer.close)
        elif self._unsent() <= BUFFERED_BYTES:
            self._go_on()

    def _end(self, keep: bool) -> None:
        self._answer = None
        self._has_answered = True
        self.last_activity = time.monotonic()
        if keep and not self._is_lost:
            self._answer_next()
        else:
            self._transport.close()

    # What decides whether the connection stays open (`webapp.server.connections.Connection`).

    def _unsent(self) -> int:
        """Return how many bytes wait for the client, and note what it has taken."""
        unsent = self._transport.get_write_buffer_size()
        taken = self._given_bytes - unsent
        if taken != self._taken_bytes:
            self._taken_bytes = taken
            if unsent:
                self.last_activity = time.monotonic()
        return unsent

    @property
    def window_bytes(self) -> int:
        """The bytes that the client has taken since its window began."""
        return self._taken_bytes - self._window_start

    def begin_window(self, now: float) -> None:
        """Count anew what the client takes."""
        self.window_began, self._window_start = now, self._taken_bytes

    @property
    def state(self) -> ConnectionState:
        """What the connection waits for."""
        if self._unsent():
            return ConnectionState.READER
        if self._answer is not None:
            return ConnectionState.ANSWER
        if self._refusing:
            return ConnectionState.HEAD
        if not self._reader.begun:
            return ConnectionState.IDLE
        return ConnectionState.BODY if self._reader.in_body else ConnectionState.HEAD

    @property
    def sends_much(self) -> bool:
        """Whether the client may send a large body."""
        return self._reader.sends_much

    def abort(self) -> None:
        """Close the connection, whatever it waits for."""
        self.doomed = True
        self._transport.abort()

    def close_if_idle(self, *, new_too: bool) -> None:
        """Close the connection unless a request is being answered.

        One that has had no answer yet is closed with `new_too` only: its
        request may be under way.
        """
        if self._answer is None and not self._unsent() and (new_too or self._has_answered):
            self._transport.close()
