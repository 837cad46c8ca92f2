"""A waitress that bears slow and silent clients, and takes large bodies only with a token."""

import copy
import hmac
import logging
import socket
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.server import TcpWSGIServer
from waitress.task import ThreadedTaskDispatcher, WSGITask

from webapp.server import connections
from webapp.server.connections import ConnectionState

MOST_HEAD_BYTES = 1 << 20
"""Cookies go by the host, whatever the port: browsers send up to 180 of 4,096 bytes."""

MOST_BODY_BYTES = 1 << 20
MOST_POSTED_BYTES = 1 << 37
"""What a client may send who has the token: a few hundred million lines."""

BUFFERED_BYTES = 1 << 20
"""What is made in advance for each client that reads slowly."""

HEALTH_PATH = "/health"
_HEALTH_THREADS = 1
_LOOK_SECONDS = 1
_RESERVE = 100
"""Connections beyond the most there should be, where all are being answered."""


def make_server(
    application: Callable[..., Any], listening: socket.socket, threads: int, token: str = ""
) -> TcpWSGIServer:
    """Return a server at a listening socket, ready to run; `close` it after use."""
    adjustments = Adjustments(
        sockets=[listening],
        threads=threads,
        ident="nwx",
        max_request_header_size=MOST_HEAD_BYTES,
        max_request_body_size=MOST_POSTED_BYTES,
        outbuf_high_watermark=BUFFERED_BYTES,
        cleanup_interval=_LOOK_SECONDS,
        connection_limit=connections.MOST_CONNECTIONS + _RESERVE,
        # So that it is known when a client leaves whose question is being answered.
        channel_request_lookahead=1,
        # select(2) knows no file beyond the 1,024th, of which sources may need many.
        asyncore_use_poll=True,
    )
    return _Server(
        application,
        {},
        True,
        listening,
        dispatcher=_dispatcher(threads),
        adj=adjustments,
        sockinfo=(listening.family, listening.type, listening.proto, listening.getsockname()),
        bind_socket=False,
        token=token,
    )


class _Server(TcpWSGIServer):  # type: ignore[misc]
    """Closes connections that have had their time, and some where there are too many."""

    def __init__(self, *arguments: Any, token: str, **named: Any) -> None:
        self.channel_class = partial(_Channel, token)
        self._health = _dispatcher(_HEALTH_THREADS)
        super().__init__(*arguments, **named)

    def maintenance(self, now: float) -> None:
        """Close the connections that have had their time."""
        for channel in tuple(self.active_channels.values()):
            if not channel.doomed and connections.is_overdue(channel, now):
                self._close(channel)

    def handle_accept(self) -> None:
        """Take a connection, and close another where there are too many."""
        super().handle_accept()
        if len(self.active_channels) > connections.MOST_CONNECTIONS:
            found = connections.one_to_close(self.active_channels.values(), time.time())
            if found:
                self._close(found)

    def _close(self, channel: Any) -> None:
        channel.doomed = True
        # Not `will_close`: that waits until the client can be written to. And not at
        # once: this is called while files to wait for are gathered, this one among them.
        self.trigger.pull_trigger(channel.handle_close)

    def add_task(self, task: Any) -> None:
        """Have a request answered; whether all is well is told though all threads are busy."""
        is_health = task.requests[0].path == HEALTH_PATH
        (self._health if is_health else self.task_dispatcher).add_task(task)

    def close(self) -> None:
        """End the threads that tell whether all is well, and close the socket."""
        self._health.shutdown(timeout=0)
        super().close()


def _dispatcher(threads: int) -> ThreadedTaskDispatcher:
    dispatcher = ThreadedTaskDispatcher()
    dispatcher.set_thread_count(threads)
    # It warns whenever two questions come at once.
    dispatcher.queue_logger.setLevel(logging.ERROR)
    return dispatcher


class _Task(WSGITask):  # type: ignore[misc]
    """Sends short answers in one go, head and body, rather than in two packets."""

    wrote_header: bool

    def write(self, data: bytes) -> None:
        """Send more of an answer."""
        whole = self.complete and not self.wrote_header and self.content_length == len(data)
        if not (whole and data and self.has_body):
            super().write(data)
            return
        head: bytes = self.build_response_header()
        self.wrote_header = True
        self.content_bytes_written = len(data)
        self.channel.write_soon(head + data)


class _Channel(HTTPChannel):  # type: ignore[misc]
    task_class = _Task

    def __init__(self, token: str, *arguments: Any, **named: Any) -> None:
        self.parser_class = partial(_Parser, token)
        self.began = self.window_began = time.time()
        self.window_bytes = 0
        self.doomed = self.has_left = False
        super().__init__(*arguments, **named)
        self.client = str(self.addr[0])

    @property
    def state(self) -> ConnectionState:
        """What the connection waits for."""
        if self.total_outbufs_len:
            return ConnectionState.READER
        if self.requests:
            return ConnectionState.ANSWER
        if self.request is None:
            return ConnectionState.IDLE
        return ConnectionState.BODY if self.request.headers_finished else ConnectionState.HEAD

    @property
    def sends_much(self) -> bool:
        """Whether the client may send a large body."""
        return self.request is not None and bool(self.request.has_token)

    def readable(self) -> bool:
        """Return whether there may be something to read, other than the end that is known."""
        if self.has_left and self.requests:
            return False
        return bool(super().readable())

    def handle_read(self) -> None:
        """Read what a client sends; one that ends while it is answered still gets its answer."""
        if self.requests and self._is_at_end():
            self.has_left = True
        else:
            super().handle_read()

    def _is_at_end(self) -> bool:
        try:
            return bool(self.socket.recv(1, socket.MSG_PEEK) == b"")
        except OSError:
            return False  # Reading will meet it again.

    def check_client_disconnected(self) -> bool:
        """Return whether nobody may wait for an answer any more, so that long ones end."""
        return self.has_left or bool(super().check_client_disconnected())

    def received(self, data: bytes) -> bool:
        """Take bytes of a client; those of a new request begin its time."""
        if self.request is None:
            self.began = time.time()
        return bool(super().received(data))

    def write_soon(self, data: Any) -> int:
        """Have bytes of an answer sent; the first that wait begin the time of the reader."""
        if not self.total_outbufs_len:
            self.window_began, self.window_bytes = time.time(), 0
        return int(super().write_soon(data))

    def send(self, data: bytes, do_close: bool = True) -> int:
        """Send bytes of an answer, and count those that the client takes."""
        sent = int(super().send(data, do_close=do_close))
        self.window_bytes += sent
        return sent


class _Parser(HTTPRequestParser):  # type: ignore[misc]
    """Refuses large bodies before they are read, unless the token came with them."""

    adj: Adjustments

    def __init__(self, token: str, adjustments: Adjustments) -> None:
        super().__init__(adjustments)
        self._token = token
        self.has_token = False

    def parse_header(self, header_plus: bytes) -> None:
        """Read the headers, and decide by them how much may follow."""
        super().parse_header(header_plus)
        self.has_token = has_token(self.headers.get("AUTHORIZATION", ""), self._token)
        if not self.has_token:
            small: Adjustments = copy.copy(self.adj)
            small.max_request_body_size = MOST_BODY_BYTES
            self.adj = small


def has_token(header: str, token: str) -> bool:
    """Return whether an Authorization header holds a token; there must be one to be held."""
    scheme, _, given = header.partition(" ")
    same = hmac.compare_digest(given.strip().encode("utf-8", "replace"), token.encode())
    return bool(token) and scheme.lower() == "bearer" and same
