"""An HTTP connection: uvicorn's, with limits on size, form and duration of requests.

uvicorn reads requests and frames responses. This module adds limits on heads
and bodies, the timeouts of `webapp.server.connections`, responses to clients
that have closed their sending side, HTTP/1.0 keep-alive, the refusals that
RFC 9112 requires, and immediate responses without a task of the loop.
"""

import asyncio
import time
from functools import lru_cache
from http import HTTPStatus
from typing import Any

from httptools import HttpParserCallbackError, HttpParserError, HttpParserUpgrade, parse_url
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from webapp.headers import has_token
from webapp.server.connections import ConnectionHost, ConnectionState, RepeatedHead, TimedConnection

MOST_HEADERS = 100
MOST_HEAD_BYTES = 1 << 20
"""Browsers send cookies of all ports of a host: up to 180 of 4,096 bytes."""

MOST_BODY_BYTES = 1 << 20
MOST_POSTED_BYTES = 1 << 37
"""The most bytes of a body from a client with the token: a few hundred million lines."""

BUFFERED_BYTES = 1 << 20
"""The most unsent bytes of a response buffered for a slow client."""

FIRST_REQUEST_SECONDS = 0.5
"""At shutdown, how long to wait for the first request of a connection."""

CONNECTION, ENVIRON = "connection", "environ"
"""Keys of an ASGI scope's state: the connection, and the WSGI environment of its request."""

_MOST_CHUNK_COST = 16
"""The most bytes sent for each byte of a body: chunks of one byte take six."""

_VERSIONS = ("1.0", "1.1")
_HINTS = {HTTPStatus.MISDIRECTED_REQUEST: ": this host name is unknown; --host-name adds it"}


class _RefusedError(Exception):
    """The request is refused, and its rest is not read."""


class HttpConnection(TimedConnection, HttpToolsProtocol):
    """Reads requests and starts their responses, one after the other.

    Only called by the loop's thread. `has_left` is set once the client may
    no longer wait for the response, `is_lost` once nothing can be sent.
    `number` identifies the connection to the process that accepted it.
    """

    number = 0

    def __init__(self, host: ConnectionHost, **given: Any) -> None:
        TimedConnection.__init__(self)
        HttpToolsProtocol.__init__(self, **given | {"app_state": {CONNECTION: self}})
        self._host = host
        self._running: RequestResponseCycle | None = None
        self._refused: HTTPStatus | None = None
        self.has_left = self._has_answered = self._is_unframed = self._is_answered = False
        self.is_lost = self.refusing = self.has_begun = False
        self._client_environ: dict[str, Any] = {}
        self._head = RepeatedHead()
        self._begin_request()

    def _begin_request(self) -> None:
        self._begun = self._in_body = self.sends_much = False
        self._read = self._headers_read = self._head_bytes = self._body_bytes = 0
        self._most_bytes = MOST_BODY_BYTES
        self._environ: dict[str, Any] | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Set up the buffer limits and the client's part of environments."""
        super().connection_made(transport)
        transport.set_write_buffer_limits(BUFFERED_BYTES, BUFFERED_BYTES // 2)
        self.client_host, port = self.client or ("", 0)
        self._client_environ = {
            "REMOTE_ADDR": self.client_host,
            "REMOTE_HOST": self.client_host,
            "REMOTE_PORT": str(port),
            "nwx.client_has_left": lambda: self.has_left,
        }
        self._host.opened(self)

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the response to the client."""
        self.has_left = self.is_lost = True
        if self._running is not None:
            _disconnect(self._running)
        super().connection_lost(exc)
        self._host.closed(self)

    def eof_received(self) -> bool:  # type: ignore[override]
        """Handle the end of the client's input; complete requests are still answered."""
        self.has_left = True
        return self._is_answering and (bool(self.pipeline) or not self._in_body)

    # Requests.

    def data_received(self, data: bytes) -> None:
        """Parse bytes of requests; bytes after a refused request are dropped."""
        self.last_activity = time.monotonic()
        if not self.has_begun:
            self.has_begun = True
            self._host.begun(self)
        if self._refused is not None:
            return
        self._parsed: dict[str, Any] | None = None
        if not self._begun:
            if self._is_repeated(data):
                return
            self.began, self._begun = self.last_activity, True
        self._read += len(data)
        try:
            self.parser.feed_data(data)
            if self._parsed is not None and not self._begun:
                self._head.remember(data, self._parsed)
        except HttpParserUpgrade:
            # Upgrades are ignored: answer in HTTP, then close.
            self.cycle.keep_alive = False
        except HttpParserCallbackError as error:
            if not isinstance(error.__context__, _RefusedError | HttpParserError):
                raise
            self._refused = self._refused or HTTPStatus.BAD_REQUEST
        except HttpParserError:
            self._refused = HTTPStatus.BAD_REQUEST
        if self._read > MOST_HEAD_BYTES + _MOST_CHUNK_COST * self._body_bytes:
            self._refused = self._refused or HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE
        if self._refused is not None:
            self._end_request()

    def _is_repeated(self, data: bytes) -> bool:
        """Answer bytes that repeat the headers of the last request; return whether it was done."""
        if self._is_answering or self._host.ending:
            return False
        self._environ = self._head.environ(data)
        return self._environ is not None and self._answer_at_once(self._environ)

    def on_message_begin(self) -> None:
        """Begin a request; called by the parser, like the other `on_` methods."""
        self._begun = True
        super().on_message_begin()

    def on_url(self, url: bytes) -> None:
        """Add a part of the target."""
        self._count_head(len(url))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Add a header; trailers after a body are dropped."""
        self._headers_read += 1
        self._count_head(len(name) + len(value))
        if not self._in_body:
            super().on_header(name, value)

    def _count_head(self, size: int) -> None:
        self._head_bytes += size
        if self._head_bytes > MOST_HEAD_BYTES or self._headers_read > MOST_HEADERS:
            self._refuse(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE)

    def on_headers_complete(self) -> None:
        """Check the head of a request, and start its response."""
        version = self.parser.get_http_version()
        if version not in _VERSIONS:
            self._refuse(HTTPStatus.HTTP_VERSION_NOT_SUPPORTED)
        is_old = version == "1.0"
        path, query = self._target()
        has_body, codings = self._check_headers(path, is_old=is_old)
        keep = self.parser.should_keep_alive() and not (self._host.ending or (is_old and codings))
        environ = self._environ  # set by `_is_repeated` for a request not answered at once
        if environ is None:
            method = self.parser.get_method().decode("ascii")
            environ = self._host.environ_of(method, version, path, query, self.headers)
            environ |= self._client_environ
            self._parsed = environ.copy() if keep and not (is_old or has_body) else None
            if not (has_body or self._is_answering):
                self._is_answered = self._answer_at_once(environ, is_old=is_old, keep=keep)
        if self._is_answered:
            return
        self.scope["state"][ENVIRON] = environ
        self.expect_100_continue = self.expect_100_continue and not is_old
        super().on_headers_complete()
        self._in_body = True
        self.cycle.keep_alive = keep

    def _target(self) -> tuple[bytes, bytes]:
        """Return the path, without the service's prefix, and the query of the request."""
        parts = parse_url(self.url)
        if parts.path is None:
            self.url = b"/"
        path, prefix = parts.path or b"/", self._host.prefix
        if prefix and (path + b"/").startswith(prefix + b"/"):
            path = path[len(prefix) :] or b"/"
        return path, parts.query or b""

    def _answer_at_once(
        self, environ: dict[str, Any], *, is_old: bool = False, keep: bool = True
    ) -> bool:
        """Answer a request at once if possible; return whether it was done."""
        answer = self._host.answer_at_once(environ)
        if answer is None:
            return False
        further = _header_lines(tuple(self.server_state.default_headers))
        if is_old or not keep:
            further += b"connection: %b\r\n" % (b"keep-alive" if keep else b"close")
        data = b"%b%b\r\n%b" % (answer[0], further, answer[1])
        self.sending(len(data))
        self.transport.write(data)
        self._has_answered = True
        if not keep:
            self.transport.close()
        return True

    def _check_headers(self, path: bytes, *, is_old: bool) -> tuple[bool, bytes]:
        """Return whether a request has a body, and its transfer codings; refuse invalid requests.

        RFC 9112: exactly one Host (3.2), no unknown transfer coding (6.1).
        """
        hosts, lengths, codings = 0, 0, b""
        for name, value in self.headers:
            if name == b"host":
                hosts += 1
                if not self._host.answers_to(value.decode("latin-1")):
                    self._refuse(HTTPStatus.MISDIRECTED_REQUEST)
            elif name == b"transfer-encoding":
                codings += (b"," * bool(codings)) + value.lower()
            elif name == b"authorization":
                self.sends_much = has_token(value.decode("latin-1"), self._host.token)
            elif name == b"content-length" and value.isdigit():
                lengths = int(value[:16])
        if hosts > 1 or not (hosts or is_old):
            self._refuse(HTTPStatus.BAD_REQUEST)
        if codings and codings.strip() != b"chunked":
            self._refuse(HTTPStatus.NOT_IMPLEMENTED)
        if self.sends_much:
            self._most_bytes = MOST_POSTED_BYTES
        elif lengths or codings:
            self._most_bytes = self._host.most_body_bytes(path.decode("latin-1"))
        if lengths > self._most_bytes:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        return bool(lengths or codings), codings

    def on_body(self, body: bytes) -> None:
        """Add a part of the body, within the limit."""
        self._body_bytes += len(body)
        if self._body_bytes > self._most_bytes:
            self._refuse(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
        super().on_body(body)

    def on_message_complete(self) -> None:
        """End the request."""
        if not self._is_answered:
            super().on_message_complete()
        self._is_answered = False
        self._begin_request()

    def refuse(self, status: HTTPStatus) -> None:
        """Stop reading the current request, and send an error response."""
        self._refused = status
        if self._running is not None:
            _disconnect(self._running)
        if not self.refusing:
            self._send_refusal()

    def _refuse(self, status: HTTPStatus) -> None:
        self._refused = status
        raise _RefusedError

    def _end_request(self) -> None:
        """Drop the refused request; its error response follows the responses before it."""
        if self._in_body:
            if self.pipeline and self._running is not None:
                self.pipeline.popleft()
                self.cycle = self._running
            else:
                _disconnect(self.cycle)
        if not self._is_answering:
            self._send_refusal()

    def _send_refusal(self) -> None:
        """Send the error response of the refused request; drop the rest of its bytes."""
        assert self._refused is not None
        self.refusing = True
        self.began = time.monotonic()
        self.transport.write(_refusal(self._refused, self.server_state.default_headers))
        self._host.count({}, self._refused, 0.0)
        # The client is still sending: closing at once could lose the response.
        self.flow.resume_reading()
        if self.has_left:
            self.transport.close()
        elif self.transport.can_write_eof():
            self.transport.write_eof()

    # Answers.

    @property
    def _is_answering(self) -> bool:
        """Whether a response is under way."""
        one = self._running
        return one is not None and not (one.response_complete or one.disconnected)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        self._is_unframed = False
        super()._start_asgi_task(cycle, app)

    def on_response_complete(self) -> None:
        """Continue with the next request, or close."""
        self._has_answered = True
        self.last_activity = time.monotonic()
        if self.transport.is_closing():
            return
        if self.pipeline:
            self._start_asgi_task(*self.pipeline.pop())
        elif self._refused is not None:
            self._send_refusal()
        elif self.has_left or self._host.ending:
            self.transport.close()
        else:
            self.flow.resume_reading()

    def begin_answer(self, *, has_length: bool) -> tuple[tuple[bytes, bytes], ...]:
        """Return the additional headers of a response: only HTTP/1.0 needs any."""
        if self._running is None or self._running.scope["http_version"] != "1.0":
            return ()
        if not has_length:
            # HTTP/1.0 has no chunks: the response ends with the connection.
            self._running.keep_alive = self._running.chunked_encoding = False
            self._is_unframed = True
        return ((b"connection", b"keep-alive"),) if self._running.keep_alive else ()

    def sending(self, size: int) -> None:
        super().sending(size)
        if self._is_unframed and self._running is not None:
            self._running.expected_content_length = size

    @property
    def state(self) -> ConnectionState:
        if self.unsent_bytes():
            return ConnectionState.READER
        if self._is_answering and (self.pipeline or not self._in_body):
            return ConnectionState.ANSWER
        if self.refusing:
            return ConnectionState.HEAD
        if self._in_body:
            return ConnectionState.BODY
        return ConnectionState.HEAD if self._begun else ConnectionState.IDLE

    def shutdown(self) -> None:
        """Close the connection after the current response.

        If there was no response yet, wait for FIRST_REQUEST_SECONDS: a request may be under way.
        """
        if self._is_answering and self._running is not None:
            self._running.keep_alive = False
        elif self._has_answered:
            self.transport.close()
        else:
            self.loop.call_later(FIRST_REQUEST_SECONDS, self._close_unless_answering)

    def _close_unless_answering(self) -> None:
        if not self._is_answering:
            self.transport.close()


@lru_cache(4)
def _header_lines(headers: tuple[tuple[bytes, bytes], ...]) -> bytes:
    return b"".join(b"%b: %b\r\n" % pair for pair in headers)


def _disconnect(cycle: RequestResponseCycle) -> None:
    """Mark the client of a response as disconnected, so that it ends."""
    cycle.disconnected = True
    cycle.message_event.set()


def _refusal(status: HTTPStatus, headers: list[tuple[bytes, bytes]]) -> bytes:
    """Return the bytes of an error response that closes the connection."""
    body = f"{status.phrase}{_HINTS.get(status, '')}\n"
    head = f"HTTP/1.1 {status.value} {status.phrase}\r\ncontent-type: text/plain; charset=utf-8\r\n"
    head += f"content-length: {len(body)}\r\nconnection: close\r\n"
    head += "".join(f"{name.decode()}: {value.decode()}\r\n" for name, value in headers)
    return f"{head}\r\n{body}".encode()
