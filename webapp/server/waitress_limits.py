"""A waitress that bears clients who never read, and takes large bodies only from those it knows."""

import copy
import hmac
import logging
import socket
from collections.abc import Callable
from functools import partial
from typing import Any

from waitress.adjustments import Adjustments
from waitress.channel import HTTPChannel
from waitress.parser import HTTPRequestParser
from waitress.server import TcpWSGIServer
from waitress.task import ThreadedTaskDispatcher, WSGITask

MOST_HEAD_BYTES = 1 << 20
"""Cookies go by the host, whatever the port: browsers send up to 180 of 4,096 bytes."""

MOST_BODY_BYTES = 1 << 20
MOST_POSTED_BYTES = 1 << 37
"""What a client may send who has the token: a few hundred million lines."""

STUCK_SECONDS = 60
"""After so long without a byte taken, a client is not waited for any more."""

BUFFERED_BYTES = 1 << 20
"""What is made in advance for each client that reads slowly."""

_LOOK_SECONDS = 10


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
        # So that it is known when a client leaves whose question is being answered.
        channel_request_lookahead=1,
        # select(2) knows no file beyond the 1,024th, of which sources may need many.
        asyncore_use_poll=True,
    )
    dispatcher = ThreadedTaskDispatcher()
    dispatcher.set_thread_count(threads)
    # It warns whenever two questions come at once.
    dispatcher.queue_logger.setLevel(logging.ERROR)
    return _Server(
        application,
        {},
        True,
        listening,
        dispatcher=dispatcher,
        adj=adjustments,
        sockinfo=(listening.family, listening.type, listening.proto, listening.getsockname()),
        bind_socket=False,
        token=token,
    )


class _Server(TcpWSGIServer):  # type: ignore[misc]
    """Closes connections where an answer waits and nobody reads."""

    def __init__(self, *arguments: Any, token: str, **named: Any) -> None:
        self.channel_class = partial(_Channel, token)
        super().__init__(*arguments, **named)

    def maintenance(self, now: float) -> None:
        """Close idle connections, as waitress does, and those that are stuck."""
        super().maintenance(now)
        for channel in tuple(self.active_channels.values()):
            stuck = channel.last_activity < now - STUCK_SECONDS
            if stuck and channel.requests and channel.total_outbufs_len:
                # Not `will_close`: that waits until the client can be written to. And not at
                # once: this is called while files to wait for are gathered, this one among them.
                self.trigger.pull_trigger(channel.handle_close)


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
        super().__init__(*arguments, **named)


class _Parser(HTTPRequestParser):  # type: ignore[misc]
    """Refuses large bodies before they are read, unless the token came with them."""

    adj: Adjustments

    def __init__(self, token: str, adjustments: Adjustments) -> None:
        super().__init__(adjustments)
        self._token = token

    def parse_header(self, header_plus: bytes) -> None:
        """Read the headers, and decide by them how much may follow."""
        super().parse_header(header_plus)
        if not has_token(self.headers.get("AUTHORIZATION", ""), self._token):
            small: Adjustments = copy.copy(self.adj)
            small.max_request_body_size = MOST_BODY_BYTES
            self.adj = small


def has_token(header: str, token: str) -> bool:
    """Return whether an Authorization header holds a token; there must be one to be held."""
    scheme, _, given = header.partition(" ")
    same = hmac.compare_digest(given.strip().encode("utf-8", "replace"), token.encode())
    return bool(token) and scheme.lower() == "bearer" and same
